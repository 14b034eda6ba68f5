//! Sending: from a batch to the producer, and what comes back.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::run::{Progress, SourceLoop};
use super::submitted::BatchOffsets;
use crate::acks::Arrived;
use crate::batch::{Encoding, Item, RecordRef, SourceBatch};
use crate::control::{Call, Observer, TaskFailure, Wanted, failed_in};
use crate::convert::Lookup;
use crate::ports::{ProduceError, Producer, Sent, SourceTask, TopicError};
use crate::tolerance::{Fault, Stage, random};
use crate::transform::passage::Passage;

/// Between two tries to make a topic.
const TOPIC_RETRY: Duration = Duration::from_millis(100);

/// How long a task that is to stop waits for a topic to be made.
const STOP_PATIENCE: Duration = Duration::from_secs(1);

/// What one try to send a record came to.
enum Step {
    /// On its way, or dropped by a transform.
    Done,
    Full,
    /// Nobody has looked yet whether this topic exists.
    NewTopic(Arc<str>),
    /// The converter of this stage has to know a schema first.
    LookUp(Stage, Lookup),
    /// The producer says that the cause may pass.
    Again(Fault),
    Refused(Fault),
}

/// Whether to go on with the next record.
#[derive(PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// The task is to stop and this record can't be sent now.
    GiveUp,
}

impl<T: SourceTask, P: Producer, O: Observer> SourceLoop<T, P, O> {
    pub(super) async fn send_batch(&mut self, progress: &mut Progress, batch: &SourceBatch) -> Result<(), TaskFailure> {
        if progress.gave_up {
            return Ok(());
        }
        progress.topics.look(&self.observer);
        self.encoder.begin();
        let passage = self.encoder.transform(&batch.records).await?;
        let mut offsets = progress.submitted.begin_batch(batch);
        if self.task.wants_deliveries() {
            progress.batch_starts.push((progress.submitted.next_sequence(), progress.batches));
        }
        progress.batches += 1;
        for record in batch.records.records() {
            let bytes = record.key.bytes.len() + record.value.bytes.len();
            let sequence = progress.submitted.submit(batch, &mut offsets, record.index, bytes);
            let origin = Origin { batch, offsets: &offsets, record, passage: passage.as_ref() };
            if self.send_record(progress, &origin, sequence).await? == Flow::GiveUp {
                progress.submitted.fail(sequence);
                progress.gave_up = true;
                return Ok(());
            }
        }
        Ok(())
    }

    async fn send_record(
        &mut self,
        progress: &mut Progress,
        origin: &Origin<'_>,
        sequence: u64,
    ) -> Result<Flow, TaskFailure> {
        let mut failed: Option<(u32, Instant)> = None;
        loop {
            match self.try_to_send(progress, origin, sequence) {
                Step::Done => return Ok(Flow::Next),
                Step::Full => {
                    self.acks.room().await;
                    self.take_deliveries(progress).await?;
                }
                Step::NewTopic(topic) => {
                    if self.make_topic(&topic).await? == Flow::GiveUp {
                        return Ok(Flow::GiveUp);
                    }
                }
                Step::LookUp(stage, lookup) => {
                    if self.look_up(progress, stage, lookup).await? == Flow::GiveUp {
                        return Ok(Flow::GiveUp);
                    }
                }
                Step::Again(fault) => {
                    let (attempt, since) = failed.unwrap_or_else(|| (1, Instant::now()));
                    let Some(delay) = self.tolerance.retry(attempt, since.elapsed(), random()) else {
                        self.refused(progress, sequence, Some(origin), &fault)?;
                        return Ok(Flow::Next);
                    };
                    failed = Some((attempt + 1, since));
                    tracing::warn!(error = %fault, attempt, ?delay, "A record could not be sent and is tried again.");
                    if self.stopped_within(delay).await {
                        return Ok(Flow::GiveUp);
                    }
                }
                Step::Refused(fault) => {
                    self.refused(progress, sequence, Some(origin), &fault)?;
                    return Ok(Flow::Next);
                }
            }
        }
    }

    /// Encodes a record and queues it, or settles it if a transform dropped it.
    fn try_to_send(&mut self, progress: &mut Progress, origin: &Origin<'_>, sequence: u64) -> Step {
        let (producer, observer, topics) = (&self.producer, &self.observer, &mut progress.topics);
        let creator = &self.topics;
        let sent = self.encoder.encode(&origin.record, origin.passage, |outgoing| {
            if !topics.contains(outgoing.topic) {
                if creator.as_ref().is_some_and(|creator| !creator.is_ready(outgoing.topic)) {
                    return Step::NewTopic(outgoing.topic.into());
                }
                topics.tell(outgoing.topic.into(), observer);
            }
            match producer.send(outgoing, sequence) {
                Ok(Sent::Queued) => Step::Done,
                Ok(Sent::Full) => Step::Full,
                Err(ProduceError::Retriable(message)) => Step::Again(Fault::producing(message)),
                Err(error) => Step::Refused(Fault::producing(error.to_string())),
            }
        });
        match sent {
            Ok(Some(step)) => step,
            Ok(None) => {
                progress.submitted.settle(sequence);
                Step::Done
            }
            Err(Fault { missing: Some(lookup), stage, .. }) => Step::LookUp(stage, *lookup),
            Err(fault) => Step::Refused(fault),
        }
    }

    /// Makes a topic, as often as it takes: what may pass is no reason to fail.
    async fn make_topic(&mut self, topic: &str) -> Result<Flow, TaskFailure> {
        let Some(creator) = &mut self.topics else { return Ok(Flow::Next) };
        let mut wanted = self.wanted.clone();
        let stopped = async {
            let _ = wanted.wait_for(|wanted| *wanted == Wanted::Stop).await;
            sleep(STOP_PATIENCE).await;
        };
        let made = tokio::select! {
            made = creator.ensure(topic) => made,
            () = stopped => return Ok(Flow::GiveUp),
        };
        match made {
            Ok(()) => Ok(Flow::Next),
            Err(TopicError::Retriable(error)) => {
                tracing::warn!(topic, error, "A topic could not be looked up or created and is tried again.");
                let stopped = self.stopped_within(TOPIC_RETRY).await;
                Ok(if stopped { Flow::GiveUp } else { Flow::Next })
            }
            Err(error @ (TopicError::Denied(_) | TopicError::Refused(_))) => Err(TaskFailure::Client(format!(
                "topic `{topic}` doesn't exist and can't be created (topic.creation.*): {error}"
            ))),
        }
    }

    /// Waits; a stop ends the wait.
    pub(super) async fn stopped_within(&self, delay: Duration) -> bool {
        let mut wanted = self.wanted.clone();
        timeout(delay, wanted.wait_for(|wanted| *wanted == Wanted::Stop)).await.is_ok()
    }

    /// Logs a record that can't be sent, and skips it or fails the task.
    fn refused(
        &self,
        progress: &mut Progress,
        sequence: u64,
        origin: Option<&Origin<'_>>,
        fault: &Fault,
    ) -> Result<(), TaskFailure> {
        let name = || match origin {
            Some(origin) => format!("record {sequence} of this run, for topic `{}`,", origin.record.topic()),
            None => format!("record {sequence} of this run"),
        };
        let details = || match origin {
            Some(origin) => origin.details(),
            None => format!("source record is number {sequence} of this run"),
        };
        let judged = self.tolerance.judge(&self.id, fault, name, details);
        match &judged {
            Ok(()) => progress.submitted.settle(sequence),
            Err(_) => progress.submitted.fail(sequence),
        }
        judged
    }

    /// Settles what the producer has reported, and tells the task if it wants to know.
    pub(super) async fn take_deliveries(&mut self, progress: &mut Progress) -> Result<(), TaskFailure> {
        let arrived = self.acks.take();
        self.settle(progress, &arrived);
        if let Some(failure) = progress.failure.take() {
            return Err(failure);
        }
        if arrived.written.is_empty() {
            return Ok(());
        }
        let deliveries = progress.deliveries(arrived);
        self.task.committed(deliveries).await.map_err(failed_in(Call::Committed))
    }

    pub(super) fn settle(&self, progress: &mut Progress, arrived: &Arrived) {
        for (first, end) in &arrived.acked {
            for sequence in *first..*end {
                progress.submitted.settle(sequence);
            }
        }
        for (sequence, error) in &arrived.failed {
            let outcome = match error {
                ProduceError::Fatal(message) => Err(TaskFailure::Client(message.clone())),
                ProduceError::Record(message) | ProduceError::Retriable(message) => {
                    self.refused(progress, *sequence, None, &Fault::producing(message.clone()))
                }
            };
            if let Err(failure) = outcome {
                progress.failure.get_or_insert(failure);
            }
        }
        progress.submitted.advance();
    }
}

/// A record and where it comes from.
struct Origin<'a> {
    batch: &'a SourceBatch,
    /// At this record.
    offsets: &'a BatchOffsets,
    record: RecordRef<'a>,
    /// What guests have made of the batch, if there are any.
    passage: Option<&'a Passage>,
}

impl Origin<'_> {
    /// For the log: all that is known, texts cut short.
    fn details(&self) -> String {
        let record = &self.record;
        let partition = self.batch.partition.get(record.index).map_or(0, |partition| *partition as usize);
        let partition = self.batch.partitions.get(partition).map_or("null", |partition| &partition.0);
        let offset = self.offsets.current(self.batch).map_or("null".into(), String::from_utf8_lossy);
        let mut details = format!(
            "source record is {{sourcePartition={partition}, sourceOffset={offset}, topic='{}', partition={}, \
             timestamp={}, key={}, value={}",
            record.topic(),
            number(record.partition()),
            number(record.timestamp()),
            shown(record.key),
            shown(record.value),
        );
        for (key, item) in record.headers() {
            let _ = write!(details, ", header {}={}", key.escape_debug(), shown(item));
        }
        details.push('}');
        details
    }
}

fn number(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}

/// Most characters of a text in the log.
const SHOWN: usize = 1024;

fn shown(item: Item<'_>) -> String {
    match item.encoding {
        Encoding::None => "null".to_owned(),
        Encoding::Text | Encoding::Json => {
            let end = item.bytes.len().min(4 * SHOWN);
            let text = String::from_utf8_lossy(&item.bytes[..end]);
            let cut: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
            if text.chars().nth(SHOWN).is_some() { format!("'{cut}…'") } else { format!("'{cut}'") }
        }
        Encoding::Bytes | Encoding::Cbor => format!("[{} bytes]", item.bytes.len()),
    }
}
