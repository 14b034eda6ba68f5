//! Bundles: a connector goes from one worker or cluster to another.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::Timestamp;

use crate::answers::{Info, Offsets, Status};
use crate::arguments::State;
use crate::bundle::{Bundle, FORMAT};
use crate::client::{Client, connector};
use crate::commands::lifecycle;
use crate::creation::{self, Request};
use crate::error::Error;
use crate::terminal::Terminal;

pub fn export(
    client: &Client,
    terminal: &mut Terminal<'_>,
    name: &str,
    output: Option<&Path>,
    stop: bool,
) -> Result<(), Error> {
    let before = lifecycle::status(client, name)?;
    if !stop {
        if !before.is_at_rest() {
            terminal.note(&format!(
                "`{name}` isn't stopped: the offsets are those of now, and records after them will come again where the \
                 bundle is imported (`--stop` stops it first)"
            ));
        }
        return gather(client, &before).and_then(|bundle| hand_over(terminal, &bundle, output));
    }
    lifecycle::bring_to_rest(client, name)?;
    let exported = gather(client, &before).and_then(|bundle| hand_over(terminal, &bundle, output));
    exported.map_err(Error::after(format!("`{name}` was stopped")))
}

/// With the state that it is in, or was in.
fn gather(client: &Client, status: &Status) -> Result<Bundle, Error> {
    let name = &status.name;
    let config = client.get(&connector(name, "/config"))?.read()?;
    let offsets: Offsets = client.get(&connector(name, "/offsets"))?.read()?;
    Ok(Bundle {
        format: FORMAT.to_owned(),
        name: name.clone(),
        kind: status.kind.clone(),
        state: status.wanted(),
        config,
        offsets: offsets.offsets,
        exported_at: Some(Timestamp::now().to_string()),
    })
}

fn hand_over(terminal: &mut Terminal<'_>, bundle: &Bundle, output: Option<&Path>) -> Result<(), Error> {
    let Some(file) = output else { return terminal.document(&bundle.text()) };
    // A configuration may hold passwords.
    let written = File::options().mode(0o600).write(true).create(true).truncate(true).open(file);
    let written = written.and_then(|mut file| file.write_all(bundle.text().as_bytes()));
    written.map_err(|source| Error::Unwritable { file: file.to_owned(), source })?;
    terminal.say(&format!("{}: exported, to be {} again", bundle.name, bundle.state.name()))
}

pub fn import(
    client: &Client,
    terminal: &mut Terminal<'_>,
    file: &Path,
    name: Option<String>,
    state: Option<State>,
) -> Result<(), Error> {
    let Bundle { name: exported, mut config, state: before, offsets, .. } = Bundle::read(file)?;
    let name = name.unwrap_or(exported);
    config.insert("name".to_owned(), name.clone().into());
    let initial_state = Some(state.unwrap_or(before));
    let answer = creation::create(client, terminal, Request { name, config, initial_state, offsets })?;
    terminal.show(&answer, || Ok(format!("{}: imported", answer.read::<Info>()?.name)))
}
