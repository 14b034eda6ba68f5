//! The dead-letter queue: a topic for records that could not be processed (KIP-298).

use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::config::Mask;
use bulkhead_model::{RawConfig, TaskId};
use tokio::time::{Instant, timeout_at};

use super::fetch::Original;
use crate::acks::Acks;
use crate::control::TaskFailure;
use crate::ports::{NewTopic, Outgoing, ProduceError, Producer, Sent, TopicError, Topics};
use crate::tolerance::{Fault, Log, Tolerance};

/// The `errors.deadletterqueue.*` keys of a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterSettings {
    pub topic: String,
    pub replication_factor: i32,
    /// Whether headers say what went wrong.
    pub context_headers: bool,
}

/// Writes records to the queue and knows which of them have arrived.
pub struct DeadLetters {
    settings: DeadLetterSettings,
    task: TaskId,
    producer: Box<dyn Producer>,
    acks: Arc<Acks>,
    /// What headers about a fault must not tell.
    mask: Mask,
    sent: u64,
    acknowledged: u64,
}

/// Longest text of a header: a converter may say all of a value that it refuses.
const MAX_TEXT: usize = 32 << 10;

/// Whether a sink with this configuration has where to report records (KIP-610): a dead-letter queue, or
/// the log.
pub fn has_reporter(config: &RawConfig) -> bool {
    DeadLetterSettings::from_config(config).is_some() || Tolerance::from_config(config).log != Log::Nothing
}

impl DeadLetterSettings {
    /// None without `errors.deadletterqueue.topic.name`. Validation has refused wrong values before, so
    /// that unreadable ones count as absent.
    pub fn from_config(config: &RawConfig) -> Option<Self> {
        let text = |key: &str| config.get(&format!("errors.deadletterqueue.{key}")).map(str::trim);
        Some(Self {
            topic: text("topic.name").filter(|topic| !topic.is_empty())?.to_owned(),
            replication_factor: text("topic.replication.factor").and_then(|text| text.parse().ok()).unwrap_or(3),
            context_headers: text("context.headers.enable").is_some_and(|text| text.eq_ignore_ascii_case("true")),
        })
    }

    /// Makes the topic, with one partition, if there is none.
    pub async fn create_topic(&self, topics: &dyn Topics) -> Result<(), TaskFailure> {
        let failed = |error: TopicError| {
            TaskFailure::Client(format!("the dead-letter queue `{}` can't be used: {error}", self.topic))
        };
        if topics.exists(&self.topic).await.map_err(failed)? {
            return Ok(());
        }
        let (name, replication_factor) = (self.topic.clone(), self.replication_factor);
        let wanted = NewTopic { name, partitions: 1, replication_factor, settings: Default::default() };
        topics.create(wanted).await.map_err(failed).map(|_| ())
    }
}

impl DeadLetters {
    /// `acks` is what the producer's session was opened with.
    pub fn new(settings: DeadLetterSettings, task: TaskId, producer: Box<dyn Producer>, acks: Arc<Acks>) -> Self {
        Self { settings, task, producer, acks, mask: Mask::default(), sent: 0, acknowledged: 0 }
    }

    /// Keeps these secrets out of what headers say of a fault. The records themselves stay as they are.
    pub fn with_mask(self, mask: Mask) -> Self {
        Self { mask, ..self }
    }

    /// Hands a record to the producer: its own key, value, headers and timestamp, and perhaps what went
    /// wrong.
    pub(super) async fn write(&mut self, original: &Original, fault: &Fault) -> Result<(), TaskFailure> {
        let context = if self.settings.context_headers { self.context(original, fault) } else { Vec::new() };
        let own = original.headers.iter().map(|(key, value)| (&**key, value.as_deref()));
        let context = context.iter().map(|(key, text)| (*key, Some(text.as_bytes())));
        let headers: Vec<_> = own.chain(context).collect();
        let outgoing = Outgoing {
            topic: &self.settings.topic,
            partition: None,
            timestamp: original.timestamp.filter(|timestamp| *timestamp >= 0),
            key: original.key.as_deref(),
            value: original.value.as_deref(),
            headers: &headers,
        };
        while self.producer.send(&outgoing, self.sent).map_err(|error| self.failed(&error))? == Sent::Full {
            self.acks.room().await;
            self.acknowledged += self.arrived()?;
        }
        self.sent += 1;
        Ok(())
    }

    /// Fails if a record could not be written.
    pub(super) fn check(&mut self) -> Result<(), TaskFailure> {
        self.acknowledged += self.arrived()?;
        Ok(())
    }

    /// Waits until everything is written. False: not yet.
    pub(super) async fn flush(&mut self, within: Duration) -> Result<bool, TaskFailure> {
        let deadline = Instant::now() + within;
        loop {
            self.check()?;
            if self.acknowledged == self.sent {
                return Ok(true);
            }
            if timeout_at(deadline, self.acks.arrived()).await.is_err() {
                self.check()?;
                return Ok(self.acknowledged == self.sent);
            }
        }
    }

    /// How many acknowledgements have come since the last look.
    fn arrived(&self) -> Result<u64, TaskFailure> {
        let arrived = self.acks.take();
        match arrived.failed.first() {
            Some((_, error)) => Err(self.failed(error)),
            None => Ok(arrived.acked.iter().map(|(first, end)| end - first).sum()),
        }
    }

    fn failed(&self, error: &ProduceError) -> TaskFailure {
        let topic = &self.settings.topic;
        TaskFailure::Client(format!("a record could not be written to the dead-letter queue `{topic}`: {error}"))
    }

    /// In Connect's order.
    fn context(&self, original: &Original, fault: &Fault) -> Vec<(&'static str, String)> {
        let told = |text: &str| shortened(self.mask.apply(text).into_owned());
        vec![
            ("__connect.errors.topic", original.topic.to_string()),
            ("__connect.errors.partition", original.partition.to_string()),
            ("__connect.errors.offset", original.offset.to_string()),
            ("__connect.errors.connector.name", self.task.connector.to_string()),
            ("__connect.errors.task.id", self.task.number.to_string()),
            ("__connect.errors.stage", fault.stage.to_string()),
            ("__connect.errors.class.name", fault.class.clone()),
            ("__connect.errors.exception.class.name", fault.exception.to_owned()),
            ("__connect.errors.exception.message", told(&fault.message)),
            ("__connect.errors.exception.stacktrace", told(&fault.trace())),
        ]
    }
}

fn shortened(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_has_a_name_or_is_none() {
        let named = RawConfig::from([("errors.deadletterqueue.topic.name", " dead ")]);
        let expected = DeadLetterSettings { topic: "dead".to_owned(), replication_factor: 3, context_headers: false };
        assert_eq!(DeadLetterSettings::from_config(&named), Some(expected));
        let blank = RawConfig::from([("errors.deadletterqueue.topic.name", " ")]);
        assert_eq!(DeadLetterSettings::from_config(&blank), None);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let text = shortened("ä".repeat(MAX_TEXT));
        assert_eq!(text.len(), MAX_TEXT + '…'.len_utf8());
        assert_eq!(shortened("short".to_owned()), "short");
    }
}
