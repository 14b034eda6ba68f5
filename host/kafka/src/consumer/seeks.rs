//! Seeks that are under way.
//!
//! librdkafka refuses to seek in a partition that it has only just been given and doesn't fetch from
//! yet, which is when a sink asks for it most often. So a seek is tried until it is taken.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_pipeline::ports::ConsumeError;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use tokio::sync::oneshot;

use super::context::Context;
use super::inbox::Shared;
use super::partitions;

/// Pause between two attempts.
const AGAIN: Duration = Duration::from_millis(10);

/// One attempt; it takes librdkafka's threads, not the network.
const ATTEMPT: Duration = Duration::from_secs(1);

/// How long a seek may take: the committed offset is looked up first.
const LONGEST: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct Seeks {
    pending: Vec<Seek>,
}

struct Seek {
    all: Vec<TopicOffset>,
    /// Not taken yet.
    left: Vec<TopicOffset>,
    answer: oneshot::Sender<Result<(), ConsumeError>>,
    deadline: Instant,
}

impl Seeks {
    pub(super) fn begin(&mut self, offsets: Vec<TopicOffset>, answer: oneshot::Sender<Result<(), ConsumeError>>) {
        self.pending.push(Seek { left: offsets.clone(), all: offsets, answer, deadline: Instant::now() + LONGEST });
    }

    /// How long the thread may sleep.
    pub(super) fn rest(&self) -> Option<Duration> {
        (!self.pending.is_empty()).then_some(AGAIN)
    }

    pub(super) fn go_on(
        &mut self,
        consumer: &BaseConsumer<Context>,
        assigned: &HashSet<TopicPartition>,
        shared: &Shared,
    ) {
        for mut seek in std::mem::take(&mut self.pending) {
            let outcome = if seek.left.is_empty() { Ok(()) } else { seek.attempt(consumer, assigned) };
            match outcome {
                Ok(()) if !seek.left.is_empty() => self.pending.push(seek),
                outcome => {
                    shared.sought(&seek.all);
                    // Nobody waits for the answer if the task is being stopped.
                    let _ = seek.answer.send(outcome);
                }
            }
        }
    }
}

impl Seek {
    fn attempt(
        &mut self,
        consumer: &BaseConsumer<Context>,
        assigned: &HashSet<TopicPartition>,
    ) -> Result<(), ConsumeError> {
        if let Some(foreign) = self.left.iter().find(|offset| !assigned.contains(&offset.partition)) {
            let TopicPartition { topic, partition } = &foreign.partition;
            return Err(ConsumeError::Retriable(format!(
                "partition {topic}-{partition} isn't assigned to this task, so it can't seek there"
            )));
        }
        let answer = consumer.seek_partitions(partitions::offsets(&self.left)?, ATTEMPT);
        let answer = answer.map_err(|error| self.failed(&error))?;
        let mut left = Vec::new();
        for element in answer.elements() {
            match judge(element.error()) {
                Taken::Yes => {}
                Taken::NotYet if Instant::now() < self.deadline => left.extend(
                    self.left
                        .iter()
                        .find(|offset| {
                            offset.partition.partition == element.partition()
                                && &*offset.partition.topic == element.topic()
                        })
                        .cloned(),
                ),
                Taken::NotYet => return Err(ConsumeError::Retriable("seeking took too long".to_owned())),
                Taken::Never(error) => return Err(self.failed(&error)),
            }
        }
        self.left = left;
        Ok(())
    }

    fn failed(&self, error: &KafkaError) -> ConsumeError {
        ConsumeError::Retriable(format!("seeking in {} partitions failed: {error}", self.left.len()))
    }
}

/// What became of one partition of an attempt. It is outdated if the assignment moved on meanwhile.
enum Taken {
    Yes,
    NotYet,
    Never(KafkaError),
}

fn judge(outcome: KafkaResult<()>) -> Taken {
    let Err(error) = outcome else { return Taken::Yes };
    match error.rdkafka_error_code() {
        Some(Code::State | Code::Outdated | Code::PreviousInProgress | Code::OperationTimedOut | Code::InProgress) => {
            Taken::NotYet
        }
        _ => Taken::Never(error),
    }
}
