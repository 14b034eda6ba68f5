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

#[cfg(test)]
mod tests {
    use crate::testing::{Reply, Worker, written};

    const STATUS: &str = r#"{"name":"a","connector":{"state":"RUNNING","worker_id":"w:1"},"tasks":[
        {"id":0,"state":"RUNNING","worker_id":"w:1"},
        {"id":1,"state":"FAILED","worker_id":"w:2","trace":"it broke\n\tat \u001b[2Jhere"}],"type":"source"}"#;

    #[test]
    fn a_listing_counts_tasks_by_their_state() {
        let listing = format!(r#"{{"b":{{"status":{STATUS},"info":{{}}}},"a":{{"status":{STATUS}}}}}"#);
        let worker = Worker::start([Reply::new(200, &listing), Reply::new(200, "{}")]);
        assert_eq!(
            worker.run("list"),
            "NAME  TYPE    STATE    TASKS\n\
             a     source  RUNNING  1 FAILED, 1 RUNNING\n\
             b     source  RUNNING  1 FAILED, 1 RUNNING\n"
        );
        assert_eq!(worker.run("list"), "NAME  TYPE  STATE  TASKS\n");
        assert_eq!(worker.requests(), ["GET /connectors?expand=status&expand=info"; 2]);
    }

    #[test]
    fn a_status_shows_why_tasks_failed_without_steering_the_terminal() {
        let worker = Worker::start([Reply::new(200, STATUS), Reply::new(200, STATUS)]);
        assert_eq!(
            worker.run("status a"),
            "INSTANCE  STATE    WORKER\n\
             a         RUNNING  w:1\n\
             a-0       RUNNING  w:1\n\
             a-1       FAILED   w:2\n\
             \n\
             a-1:\n  it broke\n      at \\u{1b}[2Jhere\n"
        );
        assert_eq!(worker.run("status a --json"), format!("{STATUS}\n"));
    }

    #[test]
    fn a_connector_is_created_as_the_file_and_the_options_say() {
        let folder = tempfile::tempdir().unwrap();
        let file = written(&folder, "a.properties", "name=a\nconnector.class=C\n");
        let offsets = written(&folder, "offsets.json", r#"{"offsets": [{"partition": {"p": 1}, "offset": {"o": 5}}]}"#);
        let [file, offsets] = [&file, &offsets].map(|path| path.to_str().unwrap());
        let worker = Worker::start([Reply::new(201, r#"{"name": "a"}"#), Reply::new(201, r#"{"name": "a"}"#)]);
        assert_eq!(worker.run_words(&["create", file]), "a: created\n");
        let words = ["create", file, "--state", "stopped", "--offsets", offsets, "--json"];
        assert_eq!(worker.run_words(&words), "{\"name\": \"a\"}\n");
        let config = r#""name":"a","config":{"name":"a","connector.class":"C"}"#;
        let more = r#""initial_state":"STOPPED","offsets":[{"partition": {"p": 1}, "offset": {"o": 5}}]"#;
        assert_eq!(
            worker.requests(),
            [format!("POST /connectors {{{config}}}"), format!("POST /connectors {{{config},{more}}}")]
        );
    }

    #[test]
    fn a_configuration_is_shown_and_changed_key_by_key() {
        let worker = Worker::start([
            Reply::new(200, r#"{"connector.class": "C", "x": null}"#),
            Reply::new(200, r#"{"name": "a"}"#),
        ]);
        assert_eq!(worker.run("config a"), "KEY              VALUE\nconnector.class  C\nx\n");
        assert_eq!(worker.run("patch a x=1=2 y-"), "a: configured\n");
        assert_eq!(worker.requests()[1], r#"PATCH /connectors/a/config {"x":"1=2","y":null}"#);
        assert_eq!(
            worker.run("patch a x"),
            "error: invalid value 'x' for '<KEY=VALUE|KEY->...': it is neither KEY=VALUE nor KEY-2"
        );
    }

    #[test]
    fn mistakes_in_a_configuration_are_listed_and_end_with_1() {
        let folder = tempfile::tempdir().unwrap();
        let file = written(&folder, "a.json", r#"{"connector.class": "org.C$1", "x": "y"}"#);
        let nameless = written(&folder, "b.json", "{}");
        let [file, nameless] = [&file, &nameless].map(|path| path.to_str().unwrap());
        let config = |name: &str, errors: &str| {
            format!(r#"{{"definition": null, "value": {{"name": "{name}", "value": null, "errors": [{errors}]}}}}"#)
        };
        let wrong = format!(
            r#"{{"error_count": 2, "configs": [{}, {}, {{"value": null}}]}}"#,
            config("name", "\"is missing\", \"is empty\""),
            config("x", "")
        );
        let right = format!(r#"{{"error_count": 0, "configs": [{}]}}"#, config("name", ""));
        let worker = Worker::start([Reply::new(200, &wrong), Reply::new(200, &right)]);
        assert_eq!(
            worker.run_words(&["validate", file]),
            "KEY   ERROR\nname  is missing\nname  is empty\nerror: errors in the configuration: 2\n1"
        );
        assert_eq!(worker.run_words(&["validate", file]), "valid\n");
        let request = r#"PUT /connector-plugins/org.C%241/config/validate {"connector.class":"org.C$1","x":"y"}"#;
        assert_eq!(worker.requests(), [request; 2]);
        let answer = worker.run_words(&["validate", nameless]);
        assert!(answer.ends_with("b.json can't be used: it has no `connector.class`\n1"), "{answer}");
    }

    #[test]
    fn a_connector_is_deleted_and_its_topics_are_listed() {
        let worker = Worker::start([Reply::new(204, ""), Reply::new(200, r#"{"a": {"topics": ["t", "u"]}}"#)]);
        assert_eq!(worker.run("delete a --json"), "");
        assert_eq!(worker.run("topics a"), "t\nu\n");
        assert_eq!(worker.requests(), ["DELETE /connectors/a", "GET /connectors/a/topics"]);
    }
}
