//! The loop itself.

use std::sync::Arc;

use bulkhead_model::{RawConfig, TaskId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::SourceSettings;
use super::encode::Encoder;
use super::submitted::Submitted;
use super::topics::TopicCreator;
use crate::acks::{Acks, Arrived};
use crate::batch::SourceBatch;
use crate::control::{Call, Observer, TaskFailure, ToldTopics, Wanted, failed_in, wait_while_paused};
use crate::ports::{Crash, OffsetStore, PluginError, Producer, SourceDelivery, SourceTask};
use crate::tolerance::{Tolerance, random};

/// Entries behind a hanging record that are kept at most (20 bytes each); then polling waits for it.
const MAX_SUBMITTED: usize = 1_000_000;

/// A source task with all it needs. The worker makes one for each run.
pub struct SourceLoop<T, P, O> {
    pub id: TaskId,
    pub task: Arc<T>,
    pub producer: P,
    /// The same that the producer's session was opened with.
    pub acks: Arc<Acks>,
    pub encoder: Encoder,
    /// None: the broker decides what becomes of topics that don't exist.
    pub topics: Option<TopicCreator>,
    pub offsets: Arc<dyn OffsetStore>,
    pub observer: O,
    pub tolerance: Tolerance,
    pub settings: SourceSettings,
    pub wanted: watch::Receiver<Wanted>,
}

/// A poll under way. If the loop is dropped, the poll is as well, and with it the last hold on the task.
type Poll = AbortOnDropHandle<Result<SourceBatch, PluginError>>;

/// What changes while the loop runs.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) submitted: Submitted,
    pub(super) topics: ToldTopics,
    /// The first record that failed while nothing is tolerated.
    pub(super) failure: Option<TaskFailure>,
    /// Polls that returned records.
    pub(super) batches: u64,
    /// For tasks that want to hear of deliveries: sequence of each batch's first record.
    pub(super) batch_starts: Vec<(u64, u64)>,
    /// The task stops, and a record was left unsent: none may overtake it.
    pub(super) gave_up: bool,
    retriable_polls: u32,
    retriable_since: Option<Instant>,
}

impl<T: SourceTask, P: Producer, O: Observer> SourceLoop<T, P, O> {
    /// Runs the task until it is told to stop or fails. What was acknowledged is committed either way.
    pub async fn run(mut self, config: &RawConfig) -> Result<(), TaskFailure> {
        if *self.wanted.borrow() == Wanted::Paused {
            self.observer.started();
            if wait_while_paused(&mut self.wanted).await == Wanted::Stop {
                return Ok(());
            }
        }
        self.task.start(config).await.map_err(failed_in(Call::Start))?;
        self.acks.want_written(self.task.wants_deliveries());
        self.observer.started();
        let mut progress = Progress::default();
        let outcome = self.poll_until_stopped(&mut progress).await;
        let stopped = self.finish(&mut progress, outcome).await;
        self.commit_what_was_acknowledged(&mut progress).await;
        stopped
    }

    async fn poll_until_stopped(&mut self, progress: &mut Progress) -> Result<Option<Poll>, TaskFailure> {
        let mut next_commit = Instant::now() + self.settings.flush_interval;
        let mut poll: Option<Poll> = None;
        loop {
            self.take_deliveries(progress).await?;
            let wanted = *self.wanted.borrow_and_update();
            match wanted {
                Wanted::Stop => return Ok(poll),
                Wanted::Paused if poll.is_none() => {
                    self.pause(progress, &mut next_commit).await?;
                    continue;
                }
                Wanted::Running | Wanted::Paused => {}
            }
            if Instant::now() >= next_commit {
                self.commit(progress).await?;
                next_commit = Instant::now() + self.settings.flush_interval;
            }
            if poll.is_none() && self.has_room(progress, None) {
                poll = Some(self.spawn_poll());
            }
            let finished = async {
                match poll.as_mut() {
                    Some(poll) => poll.await,
                    None => std::future::pending().await,
                }
            };
            let batch = tokio::select! {
                batch = finished => batch,
                () = self.acks.arrived() => continue,
                () = sleep_until(next_commit) => continue,
                changed = self.wanted.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return Ok(poll),
                },
            };
            poll = None;
            let Some(batch) = self.polled(progress, batch.unwrap_or_else(|_| Err(lost_poll()))).await? else {
                continue;
            };
            // The guest works on its next batch while this one is sent.
            if self.has_room(progress, Some(&batch)) && *self.wanted.borrow() == Wanted::Running {
                poll = Some(self.spawn_poll());
            }
            self.send_batch(progress, &batch).await?;
        }
    }

    fn spawn_poll(&self) -> Poll {
        let (task, limits) = (self.task.clone(), self.settings.poll);
        AbortOnDropHandle::new(tokio::spawn(async move { task.poll(limits).await }))
    }

    /// Whether the producer may be given more than a batch that is about to be sent.
    fn has_room(&self, progress: &Progress, batch: Option<&SourceBatch>) -> bool {
        let (records, bytes) = batch.map_or((0, 0), |batch| (batch.records.count, batch.records.data.len()));
        progress.submitted.unsettled() + records < self.settings.max_outstanding_records
            && progress.submitted.unsettled_bytes() + bytes < self.settings.max_outstanding_bytes
            && progress.submitted.len() < MAX_SUBMITTED
    }

    /// Judges what a poll returned; a retriable error counts as "nothing now".
    async fn polled(
        &mut self,
        progress: &mut Progress,
        polled: Result<SourceBatch, PluginError>,
    ) -> Result<Option<SourceBatch>, TaskFailure> {
        match polled {
            Ok(batch) => {
                (progress.retriable_polls, progress.retriable_since) = (0, None);
                Ok(Some(batch).filter(|batch| !batch.records.is_empty()))
            }
            Err(PluginError::Retriable(error)) => {
                progress.retriable_polls += 1;
                let after = progress.retriable_since.get_or_insert_with(Instant::now).elapsed();
                let delay = self.tolerance.retry_call(progress.retriable_polls, after, random(), None);
                let Some(delay) = delay else {
                    return Err(TaskFailure::GaveUp { call: Call::Poll, error, after });
                };
                tracing::warn!(%error, attempt = progress.retriable_polls, "Poll failed and is tried again.");
                // A wake-up is enough to look again: a stop must not wait for the delay.
                let _ = timeout(delay, self.wanted.changed()).await;
                Ok(None)
            }
            Err(error) => Err(TaskFailure::Plugin { call: Call::Poll, error }),
        }
    }

    async fn pause(&mut self, progress: &mut Progress, next_commit: &mut Instant) -> Result<(), TaskFailure> {
        self.observer.paused();
        self.drain(progress).await;
        self.commit(progress).await?;
        *next_commit = Instant::now() + self.settings.flush_interval;
        if wait_while_paused(&mut self.wanted).await == Wanted::Running {
            self.observer.resumed();
        }
        Ok(())
    }

    /// Writes committable offsets. A store that fails or is slow is a warning: the offsets come again
    /// with the next commit, under newer ones.
    pub(super) async fn commit(&mut self, progress: &mut Progress) -> Result<(), TaskFailure> {
        let writes = progress.submitted.take_committable().map_err(|error| TaskFailure::Client(error.to_string()))?;
        if writes.is_empty() {
            return Ok(());
        }
        let written =
            timeout(self.settings.flush_timeout, self.offsets.write(&self.id.connector, writes.clone())).await;
        let problem = match written {
            Ok(Ok(())) => return self.task.offsets_committed().await.map_err(failed_in(Call::Committed)),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the store did not answer in time (offset.flush.timeout.ms)".to_owned(),
        };
        tracing::warn!(error = problem, "Source offsets could not be committed and are kept for the next commit.");
        progress.submitted.put_back(writes);
        Ok(())
    }

    /// Lets a waiting poll end, sends what it brought, waits for acknowledgements.
    async fn finish(
        &mut self,
        progress: &mut Progress,
        outcome: Result<Option<Poll>, TaskFailure>,
    ) -> Result<(), TaskFailure> {
        let poll = match outcome {
            Ok(poll) => poll,
            Err(failure) => {
                self.drain(progress).await;
                let _ = self.task.stop().await;
                return Err(failure);
            }
        };
        let stopped = self.task.stop().await.map_err(failed_in(Call::Stop));
        if let Some(poll) = poll
            && let Ok(Ok(batch)) = poll.await
        {
            self.send_batch(progress, &batch).await?;
        }
        self.drain(progress).await;
        stopped
    }

    /// Waits until nothing is unsettled, or `offset.flush.timeout.ms` is over.
    async fn drain(&mut self, progress: &mut Progress) {
        let deadline = Instant::now() + self.settings.flush_timeout;
        while progress.submitted.unsettled() > 0 {
            if timeout_at(deadline, self.acks.arrived()).await.is_err() {
                tracing::warn!(records = progress.submitted.unsettled(), "Gave up waiting for acknowledgements.");
                return;
            }
            let arrived = self.acks.take();
            self.settle(progress, &arrived);
        }
    }

    /// The last commit of a run; the task is gone, so nobody is told.
    async fn commit_what_was_acknowledged(&mut self, progress: &mut Progress) {
        let writes = match progress.submitted.take_committable() {
            Ok(writes) if writes.is_empty() => return,
            Ok(writes) => writes,
            Err(error) => return tracing::error!(%error, "Source offsets could not be committed."),
        };
        let written = timeout(self.settings.flush_timeout, self.offsets.write(&self.id.connector, writes)).await;
        match written {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "The last source offsets could not be committed."),
            Err(_) => tracing::error!("The last source offsets could not be committed in time."),
        }
    }
}

impl Progress {
    /// Sequences back to batch numbers and places.
    pub(super) fn deliveries(&mut self, arrived: Arrived) -> Vec<SourceDelivery> {
        let starts = &self.batch_starts;
        let deliveries = arrived.written.into_iter().map(|(sequence, written)| {
            let (first, batch) = starts[starts.partition_point(|(first, _)| *first <= sequence) - 1];
            SourceDelivery { batch, index: (sequence - first) as u32, written: Some(written) }
        });
        let deliveries = deliveries.collect();
        let oldest = self.submitted.next_sequence() - self.submitted.len() as u64;
        let done = self.batch_starts.partition_point(|(first, _)| *first <= oldest).saturating_sub(1);
        self.batch_starts.drain(..done);
        deliveries
    }
}

/// The task that ran the poll panicked: the instance went with it.
fn lost_poll() -> PluginError {
    let cause = "the sandbox's own code failed during `poll`".to_owned();
    PluginError::Crashed(Crash { trace: cause.clone(), cause })
}
