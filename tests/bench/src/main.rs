//! Benches of the sandbox, by the very interface that the worker uses; and of whole workers.
//!
//! `instantiate` and `boundary` print figures, and with `--check` fail where one is over its limit;
//! `worker` measures any worker that speaks Connect's REST. Build with `--release`, of course.

mod boundary;
mod figures;
mod instantiate;
#[cfg(feature = "worker")]
mod worker;

use std::process::ExitCode;

use anyhow::bail;
use figures::Report;

const USAGE: &str = "bulkhead-bench instantiate [--check]
bulkhead-bench boundary [--check]
bulkhead-bench worker --name NAME --url URL --bootstrap ADDRESS --folder FOLDER [--records N] [--line BYTES]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match arguments {
        ["instantiate"] => runtime.block_on(instantiate::run()).map(drop),
        ["instantiate", "--check"] => runtime.block_on(instantiate::run()).and_then(Report::check),
        ["boundary"] => runtime.block_on(boundary::run()).map(drop),
        ["boundary", "--check"] => runtime.block_on(boundary::run()).and_then(Report::check),
        #[cfg(feature = "worker")]
        ["worker", options @ ..] => worker(options),
        _ => bail!("{USAGE}"),
    }
}

#[cfg(feature = "worker")]
fn worker(options: &[&str]) -> anyhow::Result<()> {
    let option = |name: &str| options.chunks(2).find(|pair| pair[0] == name).and_then(|pair| pair.get(1).copied());
    let required = |name: &str| option(name).ok_or_else(|| anyhow::anyhow!("{name} is missing\n{USAGE}"));
    let number = |name: &str, otherwise: usize| option(name).map_or(Ok(otherwise), str::parse);
    let rates = worker::Measurement {
        url: required("--url")?.to_owned(),
        bootstrap: required("--bootstrap")?.to_owned(),
        records: number("--records", 500_000)?,
        line: number("--line", 100)?,
        folder: required("--folder")?.into(),
    }
    .run()?;
    let name = option("--name").unwrap_or("worker");
    println!("{name}: source {:.0} records/s, sink {:.0} records/s", rates.source_per_s, rates.sink_per_s);
    Ok(())
}
