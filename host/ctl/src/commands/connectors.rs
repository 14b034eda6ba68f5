//! Connectors and their configurations.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};
use ureq::http::Method;

use crate::Host;
use crate::answers::{Info, Listing, Status, Topics, Validated};
use crate::arguments::{Change, State};
use crate::client::{Client, connector, segment};
use crate::creation;
use crate::error::Error;
use crate::files;
use crate::terminal::{Table, Terminal};

pub fn list(client: &Client, terminal: &mut Terminal<'_>) -> Result<(), Error> {
    let answer = client.get("/connectors?expand=status&expand=info")?;
    terminal.show(&answer, || {
        let mut table = Table::new(["NAME", "TYPE", "STATE", "TASKS"]);
        for (name, listed) in answer.read::<Listing>()? {
            let tasks = counted(&listed.status);
            table.row([name, listed.status.kind, listed.status.connector.state, tasks]);
        }
        Ok(table.text())
    })
}

/// E.g. `1 FAILED, 2 RUNNING`.
fn counted(status: &Status) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for task in &status.tasks {
        *counts.entry(&task.state.state).or_default() += 1;
    }
    let counts: Vec<_> = counts.into_iter().map(|(state, count)| format!("{count} {state}")).collect();
    counts.join(", ")
}

pub fn status(client: &Client, terminal: &mut Terminal<'_>, name: &str) -> Result<(), Error> {
    let answer = client.get(&connector(name, "/status"))?;
    terminal.show(&answer, || Ok(states(&answer.read()?)))
}

/// Every instance on a line, then why some of them failed.
pub fn states(status: &Status) -> String {
    let mut table = Table::new(["INSTANCE", "STATE", "WORKER"]);
    let mut traces = String::new();
    let tasks = status.tasks.iter().map(|task| (format!("{}-{}", status.name, task.id), &task.state));
    for (instance, state) in std::iter::once((status.name.clone(), &status.connector)).chain(tasks) {
        if let Some(trace) = &state.trace {
            traces += &format!("\n{instance}:\n");
            traces.extend(trace.lines().map(|line| format!("  {line}\n")));
        }
        table.row([instance, state.state.clone(), state.worker_id.clone()]);
    }
    table.text() + &traces
}

pub fn create(
    client: &Client,
    terminal: &mut Terminal<'_>,
    host: &Host,
    file: &Path,
    state: Option<State>,
    offsets: Option<&Path>,
) -> Result<(), Error> {
    let mut request = files::connector(file, host)?;
    request.initial_state = state.or(request.initial_state);
    if let Some(offsets) = offsets {
        request.offsets = files::offsets(offsets)?.offsets;
    }
    let answer = creation::create(client, terminal, request)?;
    terminal.show(&answer, || Ok(format!("{}: created", answer.read::<Info>()?.name)))
}

pub fn config(client: &Client, terminal: &mut Terminal<'_>, name: &str) -> Result<(), Error> {
    let answer = client.get(&connector(name, "/config"))?;
    terminal.show(&answer, || {
        let mut table = Table::new(["KEY", "VALUE"]);
        for (key, value) in answer.read::<Map<String, Value>>()? {
            table.row([key, value.as_str().unwrap_or_default().to_owned()]);
        }
        Ok(table.text())
    })
}

pub fn patch(client: &Client, terminal: &mut Terminal<'_>, name: &str, changes: Vec<Change>) -> Result<(), Error> {
    let member = |change| match change {
        Change::Set { key, value } => (key, value.into()),
        Change::Remove { key } => (key, Value::Null),
    };
    let patch: Map<_, _> = changes.into_iter().map(member).collect();
    let answer = client.send(Method::PATCH, &connector(name, "/config"), &patch)?;
    terminal.show(&answer, || Ok(format!("{name}: configured")))
}

pub fn validate(client: &Client, terminal: &mut Terminal<'_>, host: &Host, file: &Path) -> Result<(), Error> {
    let config = files::connector(file, host)?.config;
    let class = config.get("connector.class").and_then(Value::as_str);
    let class = class.ok_or_else(|| files::unusable(file, "it has no `connector.class`".to_owned()))?;
    let path = format!("/connector-plugins/{}/config/validate", segment(class));
    let answer = client.send(Method::PUT, &path, &config)?;
    let validated: Validated = answer.read()?;
    terminal.show(&answer, || Ok(mistakes(&validated)))?;
    if validated.error_count == 0 { Ok(()) } else { Err(Error::Invalid { count: validated.error_count }) }
}

fn mistakes(validated: &Validated) -> String {
    let mut table = Table::new(["KEY", "ERROR"]);
    for value in validated.configs.iter().filter_map(|config| config.value.as_ref()) {
        value.errors.iter().for_each(|error| table.row([value.name.clone(), error.clone()]));
    }
    if validated.error_count == 0 { "valid".to_owned() } else { table.text() }
}

pub fn delete(client: &Client, terminal: &mut Terminal<'_>, name: &str) -> Result<(), Error> {
    client.delete(&connector(name, ""))?;
    terminal.say(&format!("{name}: deleted"))
}

pub fn topics(client: &Client, terminal: &mut Terminal<'_>, name: &str) -> Result<(), Error> {
    let answer = client.get(&connector(name, "/topics"))?;
    terminal.show(&answer, || {
        let topics = answer.read::<BTreeMap<String, Topics>>()?.into_values().flat_map(|topics| topics.topics);
        Ok(topics.collect::<Vec<_>>().join("\n"))
    })
}
