//! What went wrong with a record.

use std::fmt;

use crate::convert::{CAUSED_BY, ConvertError, Converter, Lookup};
use crate::transform::StageError;

/// Where a record was when it failed; the names are Connect's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Transformation,
    KeyConverter,
    ValueConverter,
    HeaderConverter,
    TaskPut,
    TaskPoll,
    KafkaProduce,
}

/// Why a record could not be processed, in the terms of Connect's error reports (KIP-298).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub stage: Stage,
    /// The class that was at work.
    pub class: String,
    /// The class of Connect's exception where the error stands for exactly one; else a name of our own,
    /// which begins with `bulkhead.` and stays as it is.
    pub exception: &'static str,
    pub message: String,
    /// What lies behind it.
    cause: Option<String>,
    /// Where in the configuration, e.g. which transform.
    place: Option<Box<str>>,
    /// Nothing went wrong yet: this has to be looked up first.
    pub(crate) missing: Option<Box<Lookup>>,
}

/// What Connect names as the class of a `put`.
const SINK_TASK: &str = "org.apache.kafka.connect.sink.SinkTask";

/// What Connect names as the class of sending.
const SENDER: &str = "org.apache.kafka.connect.runtime.WorkerSourceTask";

impl Fault {
    pub fn converting(stage: Stage, converter: &dyn Converter, error: ConvertError) -> Self {
        Self::of(stage, converter.class().to_owned(), error)
    }

    pub fn transforming(error: StageError) -> Self {
        let place = Some(format!("transform `{}`", error.transform).into());
        Self { place, ..Self::of(Stage::Transformation, error.class, error.source) }
    }

    /// A record could not be taken into, or out of, the form that transforms work on.
    pub fn reading(error: ConvertError) -> Self {
        Self::of(Stage::Transformation, "bulkhead.Record".to_owned(), error)
    }

    /// A sink task refuses the record.
    pub fn rejected(message: String) -> Self {
        let (stage, class) = (Stage::TaskPut, SINK_TASK.to_owned());
        Self { stage, class, exception: "bulkhead.RecordRejected", message, cause: None, place: None, missing: None }
    }

    /// Kafka doesn't take the record.
    pub fn producing(message: String) -> Self {
        let (stage, class) = (Stage::KafkaProduce, SENDER.to_owned());
        Self { stage, class, exception: "bulkhead.ProduceFailed", message, cause: None, place: None, missing: None }
    }

    pub(crate) fn of(stage: Stage, class: String, error: ConvertError) -> Self {
        let missing = if let ConvertError::Missing(lookup) = &error { Some(Box::new(lookup.clone())) } else { None };
        let (exception, text) = match error {
            ConvertError::Data(message) => ("org.apache.kafka.connect.errors.DataException", message),
            ConvertError::Config(message) => ("org.apache.kafka.common.config.ConfigException", message),
            ConvertError::Other(message) => ("bulkhead.ConversionFailed", message),
            ConvertError::Retriable(message) => ("org.apache.kafka.connect.errors.RetriableException", message),
            missing @ ConvertError::Missing(_) => ("bulkhead.ConversionFailed", missing.to_string()),
        };
        let (message, cause) = match text.split_once(CAUSED_BY) {
            Some((message, cause)) => (message.to_owned(), Some(cause.to_owned())),
            None => (text, None),
        };
        Self { stage, class, exception, message, cause, place: None, missing }
    }

    /// What stands where Java has a stack trace: error, place, and cause.
    pub fn trace(&self) -> String {
        let Self { exception, stage, class, message, .. } = self;
        let place = self.place.as_ref().map(|place| format!(", {place}")).unwrap_or_default();
        let cause = self.cause.as_ref().map(|cause| format!("Caused by: {cause}\n")).unwrap_or_default();
        format!("{exception}: {message}\n\tat {stage} ({class}{place})\n{cause}")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.cause {
            Some(cause) => write!(f, "{CAUSED_BY}{cause}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transformation => "TRANSFORMATION",
            Self::KeyConverter => "KEY_CONVERTER",
            Self::ValueConverter => "VALUE_CONVERTER",
            Self::HeaderConverter => "HEADER_CONVERTER",
            Self::TaskPut => "TASK_PUT",
            Self::TaskPoll => "TASK_POLL",
            Self::KafkaProduce => "KAFKA_PRODUCE",
        })
    }
}
