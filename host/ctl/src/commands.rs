//! What each command asks the worker, and how its answer is shown.

pub mod lifecycle;

mod bundles;
mod connectors;
mod offsets;
mod worker;

use crate::Host;
use crate::arguments::{Command, Plugins};
use crate::client::Client;
use crate::error::Error;
use crate::terminal::Terminal;

pub fn carry_out(command: Command, client: &Client, terminal: &mut Terminal<'_>, host: Host) -> Result<(), Error> {
    match command {
        Command::List => connectors::list(client, terminal),
        Command::Status { name } => connectors::status(client, terminal, &name),
        Command::Create { file, state, offsets } => {
            connectors::create(client, terminal, &host, &file, state, offsets.as_deref())
        }
        Command::Config { name } => connectors::config(client, terminal, &name),
        Command::Patch { name, changes } => connectors::patch(client, terminal, &name, changes),
        Command::Validate { file } => connectors::validate(client, terminal, &host, &file),
        Command::Delete { name } => connectors::delete(client, terminal, &name),
        Command::Pause { name } => lifecycle::pause(client, terminal, &name),
        Command::Resume { name } => lifecycle::resume(client, terminal, &name),
        Command::Stop { name } => lifecycle::stop(client, terminal, &name),
        Command::Restart { name, task: Some(task), .. } => lifecycle::restart_task(client, terminal, &name, task),
        Command::Restart { name, include_tasks, only_failed, task: None } => {
            lifecycle::restart(client, terminal, &name, lifecycle::Extent { include_tasks, only_failed })
        }
        Command::Offsets(command) => offsets::carry_out(command, client, terminal),
        Command::Topics { name } => connectors::topics(client, terminal, &name),
        Command::Plugins { all, command: None } => worker::plugins(client, terminal, all),
        Command::Plugins { command: Some(Plugins::Files), .. } => worker::plugin_files(client, terminal),
        Command::Plugins { command: Some(Plugins::Install { file }), .. } => {
            worker::install_plugin(client, terminal, &file)
        }
        Command::Loggers { name, level, scope } => worker::loggers(client, terminal, name, level, scope),
        Command::Sandbox { name } => worker::sandbox(client, terminal, &name),
        Command::Export { name, output, stop } => bundles::export(client, terminal, &name, output.as_deref(), stop),
        Command::Import { file, name, state } => bundles::import(client, terminal, &file, name, state),
        Command::Completions { shell } => worker::completions(terminal, shell, host.command),
    }
}
