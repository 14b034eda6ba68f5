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
    let before = if stop { lifecycle::bring_to_rest(client, name)? } else { lifecycle::status(client, name)? };
    if !stop && !before.is_at_rest() {
        terminal.note(&format!(
            "`{name}` isn't stopped: the offsets are those of now, and records after them will come again where the \
             bundle is imported (`--stop` stops it first)"
        ));
    }
    let exported = gather(client, &before).and_then(|bundle| hand_over(terminal, &bundle, output));
    if stop { exported.map_err(Error::after(format!("`{name}` was stopped"))) } else { exported }
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use serde_json::Value;

    use super::*;
    use crate::testing::{Reply, Worker, status, written};

    const CONFIG: &str = r#"{"name":"a","connector.class":"C","password":"${file:/x:y}"}"#;
    const OFFSET: &str = r#"{"partition":{"p":1.50},"offset":{"o":123456789012345678901}}"#;

    fn config() -> Reply {
        Reply::new(200, CONFIG)
    }

    fn offsets() -> Reply {
        Reply::new(200, &format!(r#"{{"offsets":[{OFFSET}]}}"#))
    }

    fn bundle(state: &str) -> String {
        format!(
            r#"{{"format":"bulkhead.connector/1","name":"a","type":"source","state":"{state}","config":{CONFIG},"offsets":[{OFFSET}]}}"#
        )
    }

    /// Runs `import` on a bundle.
    fn import(worker: &Worker, text: &str, more: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = written(&folder, "a.json", text);
        worker.run_words(&[&["import", file.to_str().unwrap()], more].concat())
    }

    #[test]
    fn a_bundle_of_a_running_connector_is_a_snapshot_and_says_so() {
        let worker = Worker::start([status("RUNNING", 1), config(), offsets()]);
        let answer = worker.run("export a");
        let (document, note) = answer.split_once("`a` isn't stopped: ").unwrap();
        assert!(note.starts_with("the offsets are those of now, and records after them will come again"), "{note}");
        assert!(document.contains(&format!("\n    {OFFSET}\n")), "{document}");
        let mut document: Value = serde_json::from_str(document).unwrap();
        let time = document.as_object_mut().unwrap().remove("exported_at").unwrap();
        assert!(time.as_str().unwrap().parse::<Timestamp>().is_ok(), "{time}");
        assert_eq!(document, serde_json::from_str::<Value>(&bundle("RUNNING")).unwrap());
    }

    #[test]
    fn a_connector_that_is_stopped_for_its_bundle_is_to_run_again_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        let worker =
            Worker::start([status("RUNNING", 1), Reply::new(204, ""), status("STOPPED", 0), config(), offsets()]);
        let words = ["export", "a", "--stop", "-o", file.to_str().unwrap()];
        assert_eq!(worker.run_words(&words), "a: exported, to be RUNNING again\n");
        assert_eq!(
            worker.requests(),
            [
                "GET /connectors/a/status",
                "PUT /connectors/a/stop",
                "GET /connectors/a/status",
                "GET /connectors/a/config",
                "GET /connectors/a/offsets",
            ]
        );
        let permissions = fs::metadata(&file).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, 0o600);
        assert_eq!(Bundle::read(&file).unwrap().state, State::Running);
    }

    #[test]
    fn a_bundle_that_could_not_be_made_leaves_word_of_the_stop() {
        let gone = Reply::new(404, r#"{"message": "Connector a not found"}"#);
        let worker = Worker::start([status("RUNNING", 1), Reply::new(204, ""), status("STOPPED", 0), gone]);
        assert_eq!(
            worker.run("export a --stop"),
            "error: `a` was stopped, but then: Connector a not found (HTTP 404)\n1"
        );
    }

    #[test]
    fn a_bundle_is_imported_by_one_request() {
        let created = || Reply::new(201, r#"{"name": "b"}"#);
        let worker = Worker::start([created(), created()]);
        assert_eq!(import(&worker, &bundle("PAUSED"), &[]), "b: imported\n");
        assert_eq!(import(&worker, &bundle("PAUSED"), &["--name", "b", "--state", "running"]), "b: imported\n");
        let request = format!(
            r#"POST /connectors {{"name":"a","config":{CONFIG},"initial_state":"PAUSED","offsets":[{OFFSET}]}}"#
        );
        let renamed = request.replace("\"a\"", "\"b\"").replace("PAUSED", "RUNNING");
        assert_eq!(worker.requests(), [request, renamed]);
    }

    /// What a worker says that takes no offsets.
    fn unknown() -> Reply {
        let message = r#"Unrecognized field \"offsets\" (class CreateConnectorRequest), not marked as ignorable"#;
        Reply::new(500, &format!(r#"{{"error_code": 500, "message": "{message}"}}"#))
    }

    const NOTE: &str = "the worker takes no offsets at creation: they are set while the connector is stopped\n";

    #[test]
    fn a_worker_without_offsets_at_creation_gets_them_while_the_connector_is_stopped() {
        for (state, back) in [("RUNNING", Some("resume")), ("PAUSED", Some("pause")), ("STOPPED", None)] {
            let worker = Worker::start([
                unknown(),
                Reply::new(201, r#"{"name": "a"}"#),
                Reply::new(200, r#"{"message": "altered"}"#),
                Reply::new(202, ""),
            ]);
            assert_eq!(import(&worker, &bundle(state), &[]), format!("a: imported\n{NOTE}"));
            let mut expected = vec![
                format!(r#"POST /connectors {{"name":"a","config":{CONFIG},"initial_state":"STOPPED"}}"#),
                format!(r#"PATCH /connectors/a/offsets {{"offsets":[{OFFSET}]}}"#),
            ];
            expected.extend(back.map(|verb| format!("PUT /connectors/a/{verb}")));
            assert_eq!(worker.requests()[1..], expected, "{state}");
        }
    }

    #[test]
    fn an_import_that_fails_half_way_says_how_far_it_came() {
        let bad = || Reply::new(500, r#"{"message": "no"}"#);
        let created = || Reply::new(201, r#"{"name": "a"}"#);
        let altered = Reply::new(200, r#"{"message": "altered"}"#);
        for (replies, said) in [
            (vec![unknown(), bad()], "no"),
            (vec![unknown(), created(), bad()], "`a` was created and is STOPPED, without its offsets, but then: no"),
            (
                vec![unknown(), created(), altered, bad()],
                "`a` was created with its offsets and is STOPPED, but then: no",
            ),
        ] {
            let worker = Worker::start(replies);
            assert_eq!(import(&worker, &bundle("RUNNING"), &[]), format!("{NOTE}error: {said} (HTTP 500)\n1"));
        }
    }

    #[test]
    fn a_refusal_for_another_reason_is_final_and_so_is_a_file_that_is_no_bundle() {
        let worker = Worker::start([Reply::new(409, r#"{"message": "Connector a already exists"}"#)]);
        assert_eq!(import(&worker, &bundle("RUNNING"), &[]), "error: Connector a already exists (HTTP 409)\n1");
        let answer = import(&worker, r#"{"format": "other/1"}"#, &[]);
        assert!(answer.contains("its format is `other/1`, and this version reads `bulkhead.connector/1`"), "{answer}");
        assert_eq!(worker.requests().len(), 1);
    }
}
