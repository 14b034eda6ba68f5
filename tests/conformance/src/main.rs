//! Runs the scenarios against a worker, or compares two files of observations, and prints the differences.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use bulkhead_conformance::{
    FileConnectors, Observations, Quirks, Scenario, Target, compare, expected_distributed, expected_standalone, read,
    run, scenarios, write,
};
use clap::Parser;

/// Compares the REST answers of a worker with those of Apache Kafka Connect.
#[derive(Parser)]
struct Options {
    /// Base URL of the worker, e.g. http://127.0.0.1:8083
    #[arg(long, required_unless_present = "observed")]
    url: Option<String>,
    /// Folder for data files, which the worker sees under the same path [default: a new one]
    #[arg(long)]
    work: Option<PathBuf>,
    /// Run only the scenario of this name (repeatable) [default: all that have an expectation]
    #[arg(long)]
    only: Vec<String>,
    /// Leave out accidents of Apache's implementation; take 4xx where it answers 500
    #[arg(long)]
    skip_quirks: bool,
    /// Connector class to read files with
    #[arg(long, default_value_t = FileConnectors::default().source)]
    file_source: String,
    /// Connector class to write files with
    #[arg(long, default_value_t = FileConnectors::default().sink)]
    file_sink: String,
    /// Take what Apache 4.4 answered in distributed mode [default: in standalone mode]
    #[arg(long, conflicts_with = "expected")]
    distributed: bool,
    /// File of expected observations, to be taken instead
    #[arg(long)]
    expected: Option<PathBuf>,
    /// Write the observations to this file too
    #[arg(long)]
    out: Option<PathBuf>,
    /// Compare this file of observations instead of running anything
    #[arg(long, conflicts_with = "url")]
    observed: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let mut expected = match &options.expected {
        Some(file) => read(file)?,
        None if options.distributed => expected_distributed()?,
        None => expected_standalone()?,
    };
    if !options.only.is_empty() {
        expected.retain(|scenario, _| options.only.contains(scenario));
    }
    let observed = observe(&options, &expected)?;
    let quirks = if options.skip_quirks { Quirks::Skip } else { Quirks::Compare };
    let report = compare(&expected, &observed, quirks);
    println!("{report}");
    Ok(if report.differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn observe(options: &Options, expected: &Observations) -> anyhow::Result<Observations> {
    if let Some(file) = &options.observed {
        return read(file);
    }
    let Some(url) = options.url.clone() else { bail!("neither --url nor --observed is given") };
    let connectors = FileConnectors { source: options.file_source.clone(), sink: options.file_sink.clone() };
    let work = options
        .work
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("bulkhead-conformance-{}", std::process::id())));
    let scenarios: Vec<Scenario> = scenarios()?.into_iter().filter(|one| expected.contains_key(&one.name)).collect();
    let observed = run(&Target { url, work, connectors }, &scenarios)?;
    if let Some(file) = &options.out {
        write(&observed, file)?;
    }
    Ok(observed)
}
