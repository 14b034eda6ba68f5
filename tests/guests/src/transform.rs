//! A transform and a predicate that misbehave.

use std::time::Duration;

use bulkhead_sdk::bindings::base::bulkhead::connect::types::Failure;
use bulkhead_sdk::bindings::predicate::exports::bulkhead::connect::predicate::Tested;
use bulkhead_sdk::bindings::transform::exports::bulkhead::connect::transform::Transformed;
use bulkhead_sdk::prelude::*;
use bulkhead_sdk::transform::{answer_unchecked, tell_unchecked};

use crate::malformed::two_records;
use crate::{death, modes};

modes! {
    /// What the transform does with its first record.
    TransformMode {
        /// Puts `>` before texts, drops `drop`, fails on `bad`.
        Behave = "behave",
        Spin = "spin",
        OutOfMemory = "oom",
        Panic = "panic",
        Unreachable = "unreachable",
        Sleep = "sleep",
        PanicAtStart = "panic-start",
        ConfigError = "config-error",
        /// An error that isn't the record's.
        Fail = "fail",
        /// Two records where one was given.
        TooMany = "too-many",
        /// Drops a record twice.
        Twice = "twice",
        /// Drops a record that there isn't.
        Beyond = "beyond",
        /// Fails a record that it also drops.
        TwoFates = "two-fates",
        /// A length that runs past the buffer.
        LengthPastData = "length-past-data",
        /// A schema that nobody has registered.
        UnknownSchema = "unknown-schema",
        /// A text that isn't UTF-8, and a JSON text.
        OddValues = "odd-values",
        /// Fewer answers than records; predicates only.
        TooFew = "too-few",
        /// Whether it can reach a network, and what it sees of files and the environment.
        LookAround = "look-around",
    }
}

#[derive(Config)]
pub(crate) struct Settings {
    /// What it does.
    mode: TransformMode,
}

pub(crate) struct HostileTransform(TransformMode);

impl Transform for HostileTransform {
    type Config = Settings;

    async fn start(settings: Settings) -> Result<Self> {
        match settings.mode {
            TransformMode::PanicAtStart => panic!("a panic in configure"),
            TransformMode::ConfigError => Err(Error::config("mode")("wrong, as it was asked to be")),
            mode => Ok(Self(mode)),
        }
    }

    async fn apply(&mut self, record: &mut TransformRecord<'_>) -> Result<Outcome> {
        strike(self.0)?;
        if let Some(answer) = wrong_answer(self.0) {
            answer_unchecked(answer);
        }
        match record.value().as_text() {
            Some("drop") => return Ok(Outcome::Drop),
            Some("bad") => return Err(Error::data("a bad value")),
            Some(_) if self.0 == TransformMode::LookAround => record.replace_value(look_around())?,
            Some(text) => record.replace_value(format!(">{text}"))?,
            None => {}
        }
        Ok(Outcome::Keep)
    }
}

pub(crate) struct HostilePredicate(TransformMode);

impl Predicate for HostilePredicate {
    type Config = Settings;

    async fn start(settings: Settings) -> Result<Self> {
        Ok(Self(settings.mode))
    }

    async fn test(&mut self, record: &TransformRecord<'_>) -> Result<bool> {
        strike(self.0)?;
        match self.0 {
            TransformMode::TooFew => tell_unchecked(Tested { answers: vec![], failed: vec![] }),
            TransformMode::Beyond => tell_unchecked(Tested { answers: vec![true], failed: vec![failure(7)] }),
            _ => {}
        }
        Ok(record.value().as_text().is_some_and(|text| text.contains('a')))
    }
}

fn strike(mode: TransformMode) -> Result<()> {
    match mode {
        TransformMode::Spin => loop {
            std::hint::black_box(());
        },
        TransformMode::OutOfMemory => death::out_of_memory(),
        TransformMode::Panic => panic!("a panic in the middle"),
        TransformMode::Unreachable => death::unreachable(),
        TransformMode::Sleep => {
            std::thread::sleep(Duration::from_secs(600));
            Ok(())
        }
        TransformMode::Fail => Err(Error::failed("no more")),
        _ => Ok(()),
    }
}

/// For a batch of one record.
fn wrong_answer(mode: TransformMode) -> Option<Transformed> {
    let mut two = two_records().records;
    let mut none = two.clone();
    (none.count, none.data) = (0, vec![]);
    (none.values.encoding, none.values.len) = (vec![], vec![]);
    let answer = |records, dropped, failed| Some(Transformed { records, dropped, failed });
    match mode {
        TransformMode::TooMany => answer(two, vec![], vec![]),
        TransformMode::Twice => answer(none, vec![0, 0], vec![]),
        TransformMode::Beyond => answer(none, vec![1], vec![]),
        TransformMode::TwoFates => answer(none, vec![0], vec![failure(0)]),
        TransformMode::LengthPastData => {
            (two.count, two.values.encoding, two.values.len) = (1, vec![2], vec![400]);
            answer(two, vec![], vec![])
        }
        TransformMode::UnknownSchema => {
            (two.count, two.values.encoding, two.values.len) = (1, vec![2], vec![6]);
            two.values.schema = vec![999];
            answer(two, vec![], vec![])
        }
        TransformMode::OddValues => {
            (two.values.encoding, two.values.len, two.data) = (vec![2, 4], vec![1, 7], b"\xff{\"a\":1}".to_vec());
            answer(two, vec![], vec![])
        }
        _ => None,
    }
}

pub(crate) fn failure(index: u32) -> Failure {
    Failure { index, message: "no".to_owned() }
}

pub(crate) fn look_around() -> String {
    let connected = std::net::TcpStream::connect("127.0.0.1:9").err().map(|error| error.kind().to_string());
    let files = std::fs::read_dir("/").map_or(0, Iterator::count);
    format!("{} {files} {}", connected.unwrap_or_else(|| "connected".to_owned()), std::env::vars().count())
}
