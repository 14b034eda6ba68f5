//! Reads the command line, runs what it says, and turns errors into one line and an exit code.

use std::process::ExitCode;

use bulkhead::cli::{Cli, Command};
use bulkhead::{distributed, properties, standalone};
use clap::{CommandFactory, Parser};

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::ConnectStandalone(arguments) => work(standalone::run(arguments)),
        Command::ConnectDistributed(arguments) => work(distributed::run(arguments)),
        Command::Ctl(arguments) => bulkhead_ctl::run(arguments, host()),
    }
}

/// What the commands to other workers need of this one's.
fn host() -> bulkhead_ctl::Host {
    let properties = |bytes: &[u8]| properties::parse(bytes).map(|config| config.into_iter().collect());
    bulkhead_ctl::Host { command: Cli::command(), properties }
}

/// Runs a worker to its end.
fn work(worker: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("bulkhead").build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&anyhow::Error::new(error).context("the runtime could not be started")),
    };
    let outcome = runtime.block_on(worker);
    // Whatever a client's own thread still waits for must not hold up the end of the process.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// One line with all causes; a worker that could not run ends with 1.
fn fail(error: &anyhow::Error) -> ExitCode {
    eprintln!("bulkhead: {error:#}");
    ExitCode::FAILURE
}
