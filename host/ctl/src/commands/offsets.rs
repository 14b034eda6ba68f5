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
    let back = lifecycle::leave_stopped_for(client, name, before);
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
