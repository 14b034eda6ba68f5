//! `bulkhead ctl`: the REST interface of a Connect worker, ours or Apache's, as a command line.
//!
//! Start at [`run`]; the commands are declared in [`arguments`] and carried out in `commands`. **Invariant:** this crate
//! knows a worker by its REST interface only, so it uses no other crate of the workspace. What it shows comes from
//! workers and their plugins: nothing but [`terminal`] writes to a terminal, and it escapes control characters.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answers;
pub mod arguments;
mod bundle;
mod client;
mod commands;
mod creation;
mod error;
mod files;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod terminal;
#[cfg(test)]
mod testing;

use std::io::{stderr, stdout};
use std::process::ExitCode;

use arguments::Ctl;
use client::Client;
use terminal::Terminal;

/// What the command line around this one provides.
#[derive(Debug)]
pub struct Host {
    /// The whole of it, for shell completion.
    pub command: clap::Command,
    pub properties: ReadProperties,
}

/// Reads a file of Java properties; the error says what is wrong with it.
pub type ReadProperties = fn(&[u8]) -> Result<Vec<(String, String)>, String>;

/// Carries out one command. What goes wrong is one line on standard error, and the exit code is 1, or 2 if the command
/// can't be meant so.
pub fn run(arguments: Ctl, host: Host) -> ExitCode {
    let (mut out, mut notes) = (stdout().lock(), stderr().lock());
    let mut terminal = Terminal::new(arguments.options.json, &mut out, &mut notes);
    run_on(&mut terminal, arguments, host)
}

fn run_on(terminal: &mut Terminal<'_>, arguments: Ctl, host: Host) -> ExitCode {
    let outcome = Client::new(&arguments.options)
        .and_then(|client| commands::carry_out(arguments.command, &client, terminal, host));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            terminal.fail(&error);
            error.code()
        }
    }
}
