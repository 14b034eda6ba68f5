//! Benches of the sandbox, by the very interface that the worker uses; and of whole workers.
//!
//! `instantiate` and `boundary` print figures, and with `--check` fail where one is over its limit;
//! `worker` and `restart` measure any worker that speaks Connect's REST. Build with `--release`, of course.

mod boundary;
mod figures;
mod instantiate;
#[cfg(feature = "worker")]
mod restart;
#[cfg(feature = "worker")]
mod worker;

use std::process::ExitCode;

use anyhow::bail;
use figures::Report;
#[cfg(feature = "worker")]
use worker::Rates;

const USAGE: &str = "bulkhead-bench instantiate [--check]
bulkhead-bench boundary [--check]
bulkhead-bench worker --name NAME --url URL --bootstrap ADDRESS --folder FOLDER [--records N] [--line BYTES]
bulkhead-bench restart --bootstrap ADDRESS --times N --cluster NAME,URL,STATUS-TOPIC,CONNECTOR... [--at-least RATIO]
    with two clusters, the ratio of the second one's median to the first one's too";

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
        #[cfg(feature = "worker")]
        ["restart", options @ ..] => restart(options),
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
    let Rates { source_per_s, sink_per_s, structured_per_s } = rates;
    println!(
        "{name}: source {source_per_s:.0} records/s, sink {sink_per_s:.0} records/s, \
         structured {structured_per_s:.0} records/s"
    );
    Ok(())
}

/// Restarts in clusters, by their medians.
#[cfg(feature = "worker")]
fn restart(options: &[&str]) -> anyhow::Result<()> {
    let all = |name: &'static str| options.chunks(2).filter(move |pair| pair[0] == name).filter_map(|pair| pair.get(1));
    let one = |name: &'static str| all(name).next().copied();
    let required = |name: &'static str| one(name).ok_or_else(|| anyhow::anyhow!("{name} is missing\n{USAGE}"));
    let bootstrap = required("--bootstrap")?;
    let subject = |text: &&str| match text.split(',').collect::<Vec<_>>()[..] {
        [name, url, statuses, connector] => Ok(restart::Subject::new(name, url, connector, bootstrap, statuses)),
        _ => bail!("{text} is no cluster\n{USAGE}"),
    };
    let subjects = all("--cluster").map(subject).collect::<Result<Vec<_>, _>>()?;
    let samples = restart::run(&subjects, required("--times")?.parse()?)?;
    for (subject, samples) in subjects.iter().zip(&samples) {
        Report::default().samples(&format!("{}: restart until RUNNING", subject.name), "ms", samples, None);
    }
    if let [ours, theirs] = &samples[..] {
        let ratio = theirs.median() / ours.median();
        println!("{} / {}: {ratio:.1}", subjects[1].name, subjects[0].name);
        let least = one("--at-least").map_or(Ok(0.0), str::parse)?;
        anyhow::ensure!(ratio >= least, "the ratio is below {least}");
    }
    Ok(())
}
