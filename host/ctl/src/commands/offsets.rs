//! Offsets (KIP-875).

use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use ureq::http::Method;

use crate::answers::{self, KafkaOffset, KafkaPartition, Message, Offset};
use crate::arguments::{OffsetArgument, Offsets, SinkOffset, State, Stopping};
use crate::client::{Answer, Client, connector};
use crate::commands::lifecycle;
use crate::error::Error;
use crate::files;
use crate::terminal::{Table, Terminal};

pub fn carry_out(command: Offsets, client: &Client, terminal: &mut Terminal<'_>) -> Result<(), Error> {
    match command {
        Offsets::Get { name } => get(client, terminal, &name),
        Offsets::Set { name, offsets, stopping } => {
            let body = answers::Offsets { offsets: entries(offsets)? };
            let path = connector(&name, "/offsets");
            change(client, terminal, &name, stopping, || client.send(Method::PATCH, &path, &body))
        }
        Offsets::Reset { name, stopping } => {
            let path = connector(&name, "/offsets");
            change(client, terminal, &name, stopping, || client.delete(&path))
        }
    }
}

fn get(client: &Client, terminal: &mut Terminal<'_>, name: &str) -> Result<(), Error> {
    let answer = client.get(&connector(name, "/offsets"))?;
    terminal.show(&answer, || {
        let mut table = Table::new(["PARTITION", "OFFSET"]);
        answer.read::<answers::Offsets<_>>()?.offsets.iter().for_each(|entry| table.row(cells(entry)));
        Ok(table.text())
    })
}

/// Those of a sink in the form in which they can be set; those of a source as they are.
fn cells(Offset { partition, offset }: &Offset) -> [String; 2] {
    let (partition, offset) = (partition.get(), offset.get());
    match (serde_json::from_str(partition), serde_json::from_str(offset)) {
        (Ok(KafkaPartition { kafka_topic, kafka_partition }), Ok(KafkaOffset { kafka_offset })) => {
            [format!("{kafka_topic}:{kafka_partition}"), kafka_offset.to_string()]
        }
        _ => [partition, offset].map(str::to_owned),
    }
}

/// One file, or entries one by one.
fn entries(arguments: Vec<OffsetArgument>) -> Result<Vec<Box<RawValue>>, Error> {
    if let [OffsetArgument::File(file)] = &arguments[..] {
        return Ok(files::offsets(file)?.offsets);
    }
    let entry = |argument| match argument {
        OffsetArgument::Given(offset) => Ok(raw(&offset)),
        OffsetArgument::File(file) => {
            let message = format!("`{}` is not TOPIC:PARTITION=OFFSET, and a file has to be alone", file.display());
            Err(Error::Usage(message))
        }
    };
    arguments.into_iter().map(entry).collect()
}

fn raw(offset: &SinkOffset) -> Box<RawValue> {
    let entry = json!({
        "partition": { "kafka_topic": offset.topic, "kafka_partition": offset.partition },
        "offset": { "kafka_offset": offset.offset },
    });
    to_raw_value(&entry).expect("an entry has texts as keys")
}

fn change(
    client: &Client,
    terminal: &mut Terminal<'_>,
    name: &str,
    stopping: Stopping,
    request: impl FnOnce() -> Result<Answer, Error>,
) -> Result<(), Error> {
    let answer =
        if stopping.stop_and_resume { while_at_rest(client, name, request) } else { told(client, name, request()) }?;
    terminal.show(&answer, || Ok(answer.read::<Message>()?.message))
}

/// What fails leaves it stopped: whether the offsets were changed then isn't certain.
fn while_at_rest(
    client: &Client,
    name: &str,
    request: impl FnOnce() -> Result<Answer, Error>,
) -> Result<Answer, Error> {
    let before = lifecycle::bring_to_rest(client, name)?;
    let answer = request().map_err(Error::after(format!("`{name}` was stopped, and stays so")))?;
    let back = lifecycle::leave_stopped_for(client, name, before.wanted());
    back.map_err(Error::after(format!("the offsets of `{name}` were changed, and it is still stopped")))?;
    Ok(answer)
}

/// A refusal, with what may be the reason.
fn told(client: &Client, name: &str, outcome: Result<Answer, Error>) -> Result<Answer, Error> {
    let refused = |error| match error {
        Error::Refused { status: 400, .. } if runs(client, name) => {
            Error::NotStopped { name: name.to_owned(), source: Box::new(error) }
        }
        error => error,
    };
    outcome.map_err(refused)
}

fn runs(client: &Client, name: &str) -> bool {
    lifecycle::status(client, name).is_ok_and(|status| status.wanted() != State::Stopped)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Reply, Worker, status, written};

    const ALTERED: &str = r#"{"message": "altered"}"#;

    #[test]
    fn offsets_of_sinks_are_shown_as_they_are_set_and_those_of_sources_to_the_last_digit() {
        let sink = r#"{"partition": {"kafka_topic": "t", "kafka_partition": 1}, "offset": {"kafka_offset": 5}}"#;
        let source = r#"{"partition": {"file":"x"}, "offset": {"n":123456789012345678901.50}}"#;
        let worker = Worker::start([Reply::new(200, &format!(r#"{{"offsets": [{sink}, {source}]}}"#))]);
        assert_eq!(
            worker.run("offsets get a"),
            "PARTITION     OFFSET\n\
             t:1           5\n\
             {\"file\":\"x\"}  {\"n\":123456789012345678901.50}\n"
        );
    }

    #[test]
    fn offsets_come_from_a_file_or_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let body = r#"{"offsets":[{"partition": {"p": 1.50}, "offset": null}]}"#;
        let file = written(&folder, "offsets.json", body);
        let file = file.to_str().unwrap();
        let worker = Worker::start([Reply::new(200, ALTERED), Reply::new(200, ALTERED)]);
        assert_eq!(worker.run_words(&["offsets", "set", "a", file]), "altered\n");
        assert_eq!(worker.run("offsets set a t:0=5 u:1=0"), "altered\n");
        let entry = |topic: &str, partition: u32, offset: u64| {
            format!(
                r#"{{"partition":{{"kafka_topic":"{topic}","kafka_partition":{partition}}},"offset":{{"kafka_offset":{offset}}}}}"#
            )
        };
        let given = format!(r#"{{"offsets":[{},{}]}}"#, entry("t", 0, 5), entry("u", 1, 0));
        assert_eq!(
            worker.requests(),
            [format!("PATCH /connectors/a/offsets {body}"), format!("PATCH /connectors/a/offsets {given}")]
        );
        assert_eq!(
            worker.run("offsets set a t:0=5 file"),
            "error: `file` is not TOPIC:PARTITION=OFFSET, and a file has to be alone\n2"
        );
    }

    #[test]
    fn who_forgot_to_stop_is_told_what_does_it() {
        let refused = r#"{"error_code": 400, "message": "must be STOPPED"}"#;
        let worker = Worker::start([
            Reply::new(400, refused),
            status("PAUSED", 1),
            Reply::new(400, refused),
            status("STOPPED", 0),
        ]);
        assert_eq!(
            worker.run("offsets reset a"),
            "error: `a` isn't stopped, which `--stop-and-resume` would see to: must be STOPPED (HTTP 400)\n1"
        );
        assert_eq!(worker.run("offsets reset a"), "error: must be STOPPED (HTTP 400)\n1");
        assert_eq!(worker.requests(), ["DELETE /connectors/a/offsets", "GET /connectors/a/status"].repeat(2));
    }

    #[test]
    fn a_connector_is_stopped_for_the_change_and_gets_its_state_back() {
        for (state, back) in
            [("RUNNING", Some("resume")), ("FAILED", Some("resume")), ("PAUSED", Some("pause")), ("STOPPED", None)]
        {
            let worker = Worker::start([
                status(state, 1),
                Reply::new(204, ""),
                status(state, 1),
                status("STOPPED", 1),
                status("STOPPED", 0),
                Reply::new(200, ALTERED),
                Reply::new(202, ""),
            ]);
            assert_eq!(worker.run("offsets reset a --stop-and-resume"), "altered\n");
            let mut expected = vec!["GET /connectors/a/status".to_owned(), "PUT /connectors/a/stop".to_owned()];
            expected.extend(vec!["GET /connectors/a/status".to_owned(); 3]);
            expected.push("DELETE /connectors/a/offsets".to_owned());
            expected.extend(back.map(|verb| format!("PUT /connectors/a/{verb}")));
            assert_eq!(worker.requests(), expected, "{state}");
        }
    }

    #[test]
    fn what_was_done_before_something_failed_is_said() {
        let bad = || Reply::new(400, r#"{"message": "no such partition"}"#);
        let worker = Worker::start([status("RUNNING", 1), Reply::new(204, ""), status("STOPPED", 0), bad()]);
        assert_eq!(
            worker.run("offsets set a t:9=1 --stop-and-resume"),
            "error: `a` was stopped, and stays so, but then: no such partition (HTTP 400)\n1"
        );
        let worker = Worker::start([
            status("RUNNING", 1),
            Reply::new(204, ""),
            status("STOPPED", 0),
            Reply::new(200, ALTERED),
            Reply::new(500, r#"{"message": null}"#),
        ]);
        assert_eq!(
            worker.run("offsets set a t:9=1 --stop-and-resume"),
            "error: the offsets of `a` were changed, and it is still stopped, but then: the worker doesn't say why (HTTP \
             500)\n1"
        );
        let worker = Worker::start([status("RUNNING", 1), Reply::new(204, ""), status("STOPPED", 1)]);
        assert_eq!(
            worker.run("offsets reset a --stop-and-resume --wait 0"),
            "error: `a` was told to stop, but then: something of it still runs after 0 s (`--wait` gives it more)\n1"
        );
    }
}
