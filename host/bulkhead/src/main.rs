//! Reads the command line, runs what it says, and turns errors into one line and an exit code.

use std::process::ExitCode;

use bulkhead::cli::{Cli, Command};
use bulkhead::{distributed, standalone};
use clap::Parser;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("bulkhead").build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&anyhow::Error::new(error).context("the runtime could not be started")),
    };
    let outcome = match cli.command {
        Command::ConnectStandalone(arguments) => runtime.block_on(standalone::run(arguments)),
        Command::ConnectDistributed(arguments) => runtime.block_on(distributed::run(arguments)),
    };
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
