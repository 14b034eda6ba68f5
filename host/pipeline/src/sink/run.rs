//! The loop itself.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_model::{RawConfig, TaskId};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::SinkSettings;
use super::dead_letters::DeadLetters;
use super::decode::Decoder;
use super::fetch::{Fetch, History};
use super::positions::{Positions, Span};
use crate::batch::SinkBatch;
use crate::control::{Call, Observer, TaskFailure, ToldTopics, Wanted, failed_in, wait_while_paused};
use crate::lookup::Asked;
use crate::ports::{
    ConsumeError, Consumed, Consumer, ConsumerEvent, FetchLimits, PluginError, Revocation, SinkControl, SinkTask,
};
use crate::tolerance::{Tolerance, random};

/// The longest wait for the consumer before the loop looks at everything else again.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The pause after the consumer reported something that may pass.
const RETRY_CONSUME: Duration = Duration::from_secs(1);

/// A sink task with all it needs. The worker makes one for each run.
pub struct SinkLoop<T, C, O> {
    pub id: TaskId,
    pub task: Arc<T>,
    pub consumer: C,
    pub decoder: Decoder,
    pub observer: O,
    pub tolerance: Tolerance,
    pub dead_letters: Option<DeadLetters>,
    pub settings: SinkSettings,
    pub wanted: watch::Receiver<Wanted>,
}

/// What changes while the loop runs.
#[derive(Default)]
pub(super) struct Progress {
    positions: Positions,
    /// Put failed with a retriable error: the batch comes again.
    redelivery: Option<Redelivery>,
    /// Partitions that the task itself has paused.
    paused_by_task: HashSet<TopicPartition>,
    /// Whether the operator has paused the connector.
    paused: bool,
    topics: ToldTopics,
    next_commit: Option<Instant>,
    /// Calls of `put` so far; the guest numbers them from 0.
    pub(super) puts: u64,
    pub(super) history: History,
}

/// What `put` is given, and where it comes from.
struct Delivered {
    batch: SinkBatch,
    fetch: Arc<Fetch>,
    span: Span,
}

struct Redelivery {
    delivered: Delivered,
    attempt: u32,
    since: Instant,
    at: Instant,
}

impl<T: SinkTask, C: Consumer, O: Observer> SinkLoop<T, C, O> {
    /// Runs the task until it is told to stop or fails.
    pub async fn run(mut self, config: &RawConfig) -> Result<(), TaskFailure> {
        if *self.wanted.borrow() == Wanted::Paused {
            self.observer.started();
            if wait_while_paused(&mut self.wanted).await == Wanted::Stop {
                return Ok(());
            }
        }
        self.task.start(config).await.map_err(failed_in(Call::Start))?;
        self.observer.started();
        let mut progress = Progress::default();
        let outcome = self.put_until_stopped(&mut progress).await;
        let finished = match &outcome {
            Ok(()) => self.finish(&mut progress).await,
            Err(_) => {
                self.write_last_reports().await;
                Ok(())
            }
        };
        let stopped = self.task.stop().await.map_err(failed_in(Call::Stop));
        self.consumer.close().await;
        outcome.and(finished).and(stopped)
    }

    async fn put_until_stopped(&mut self, progress: &mut Progress) -> Result<(), TaskFailure> {
        progress.next_commit = Some(Instant::now() + self.settings.flush_interval);
        loop {
            let wanted = *self.wanted.borrow_and_update();
            match wanted {
                Wanted::Stop => return Ok(()),
                Wanted::Paused => self.pause(progress).await?,
                Wanted::Running => self.resume(progress)?,
            }
            if let Some(dead_letters) = &mut self.dead_letters {
                dead_letters.check()?;
            }
            if progress.next_commit.is_none_or(|at| at <= Instant::now()) {
                self.commit(progress, &progress.positions.partitions()).await?;
                progress.next_commit = Some(Instant::now() + self.settings.flush_interval);
            }
            if progress.redelivery.as_ref().is_some_and(|redelivery| redelivery.at <= Instant::now()) {
                self.put_again(progress).await?;
                continue;
            }
            let limits = self.limits(progress);
            let event = tokio::select! {
                event = self.consumer.next(limits) => event,
                changed = self.wanted.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => return Ok(()),
                },
            };
            match event {
                Ok(event) => self.handle(progress, event).await?,
                Err(ConsumeError::Retriable(error)) => {
                    tracing::warn!(error, "Consuming failed and is tried again.");
                    let _ = timeout(RETRY_CONSUME, self.wanted.changed()).await;
                }
                Err(error @ ConsumeError::Fatal(_)) => return Err(client(error)),
            }
        }
    }

    /// Waits no longer than until the next thing is due.
    fn limits(&self, progress: &Progress) -> FetchLimits {
        let due = progress.next_commit.into_iter().chain(progress.redelivery.as_ref().map(|redelivery| redelivery.at));
        let now = Instant::now();
        let max_wait = due.map(|at| at.saturating_duration_since(now)).fold(LONGEST_WAIT, Duration::min);
        FetchLimits { max_records: self.settings.max_records, max_bytes: self.settings.max_bytes, max_wait }
    }

    async fn handle(&mut self, progress: &mut Progress, event: ConsumerEvent) -> Result<(), TaskFailure> {
        match event {
            ConsumerEvent::Idle => Ok(()),
            ConsumerEvent::Assigned(partitions) => self.assigned(progress, partitions).await,
            ConsumerEvent::Revoked(revocation) => self.revoked(progress, revocation).await,
            ConsumerEvent::Records(consumed) => {
                let span = Span::of(&consumed);
                self.note_topics(progress, &consumed);
                if self.look_up_schemas(&consumed).await == Asked::Interrupted {
                    return self.read_again(span).await;
                }
                let (batch, fetch) = self.convert(consumed).await?;
                self.put(progress, Delivered { batch, fetch, span }, None).await
            }
        }
    }

    /// Nothing of a fetch was put, and the task is to pause or to stop first.
    async fn read_again(&mut self, span: Span) -> Result<(), TaskFailure> {
        if *self.wanted.borrow() == Wanted::Stop {
            return Ok(());
        }
        self.consumer.seek(&span.starts).await.map_err(client)
    }

    async fn assigned(&mut self, progress: &mut Progress, partitions: Vec<TopicPartition>) -> Result<(), TaskFailure> {
        progress.positions.assign(&partitions);
        if progress.paused || progress.redelivery.is_some() {
            self.consumer.pause(&partitions).map_err(client)?;
        }
        self.task.open(&partitions).await.map_err(failed_in(Call::Open))?;
        self.obey(progress).await
    }

    async fn revoked(&mut self, progress: &mut Progress, revocation: Revocation) -> Result<(), TaskFailure> {
        let partitions = &revocation.partitions;
        if !revocation.lost {
            self.commit(progress, partitions).await?;
        }
        self.task.close(partitions).await.map_err(failed_in(Call::Close))?;
        progress.positions.revoke(partitions);
        progress.paused_by_task.retain(|partition| !partitions.contains(partition));
        // Nothing of a batch that is to come again was put; whoever owns the partitions now gets it.
        // What belongs to partitions that stay is read again.
        if let Some(redelivery) = progress.redelivery.take_if(|held| held.touches(partitions)) {
            let mut again = redelivery.delivered.span.starts;
            again.retain(|start| progress.positions.contains(&start.partition));
            self.consumer.seek(&again).await.map_err(client)?;
            self.resume_partitions(progress)?;
        }
        Ok(())
    }

    /// `tried` says how often `put` has failed with this batch, and since when.
    async fn put(
        &mut self,
        progress: &mut Progress,
        delivered: Delivered,
        tried: Option<(u32, Instant)>,
    ) -> Result<(), TaskFailure> {
        progress.puts += 1;
        match self.task.put(&delivered.batch).await {
            Ok(rejections) => {
                let Delivered { fetch, span, .. } = delivered;
                self.rejected(&fetch, rejections).await?;
                let mut control = self.task.take_control();
                self.reported(progress, Some(&fetch), std::mem::take(&mut control.reported)).await?;
                if self.keeps_history() {
                    progress.history.push(progress.puts - 1, fetch, span.ends.clone());
                }
                progress.positions.put(span.ends);
                if tried.is_some() {
                    self.resume_partitions(progress)?;
                }
                self.carry_out(progress, control).await
            }
            Err(PluginError::Retriable(error)) => {
                let mut control = self.task.take_control();
                self.reported(progress, Some(&delivered.fetch), std::mem::take(&mut control.reported)).await?;
                let asked = control.retry_after_ms.map(|ms| Duration::from_millis(u64::from(ms)));
                let (tries, since) = tried.unwrap_or_else(|| (0, Instant::now()));
                let (attempt, after) = (tries + 1, since.elapsed());
                let Some(delay) = self.tolerance.retry_call(attempt, after, random(), asked) else {
                    return Err(TaskFailure::GaveUp { call: Call::Put, error, after });
                };
                tracing::warn!(%error, attempt, ?delay, "Put failed and is tried again.");
                let at = Instant::now() + delay;
                progress.redelivery = Some(Redelivery { delivered, attempt, since, at });
                self.consumer.pause(&progress.positions.partitions()).map_err(client)?;
                self.carry_out(progress, control).await
            }
            Err(error) => {
                let reports = self.task.take_control().reported;
                self.reported(progress, Some(&delivered.fetch), reports).await?;
                Err(TaskFailure::Plugin { call: Call::Put, error })
            }
        }
    }

    async fn put_again(&mut self, progress: &mut Progress) -> Result<(), TaskFailure> {
        match progress.redelivery.take() {
            Some(Redelivery { delivered, attempt, since, .. }) => {
                self.put(progress, delivered, Some((attempt, since))).await
            }
            None => Ok(()),
        }
    }

    /// Carries out what the task asked for during its last call.
    async fn obey(&mut self, progress: &mut Progress) -> Result<(), TaskFailure> {
        let mut control = self.task.take_control();
        self.reported(progress, None, std::mem::take(&mut control.reported)).await?;
        self.carry_out(progress, control).await
    }

    async fn carry_out(&mut self, progress: &mut Progress, control: SinkControl) -> Result<(), TaskFailure> {
        if !control.seek.is_empty() {
            self.consumer.seek(&control.seek).await.map_err(client)?;
            progress.positions.seek(&control.seek);
        }
        if !control.pause.is_empty() {
            self.consumer.pause(&control.pause).map_err(client)?;
            progress.paused_by_task.extend(control.pause);
        }
        if !control.resume.is_empty() {
            progress.paused_by_task.retain(|partition| !control.resume.contains(partition));
            self.resume_partitions(progress)?;
        }
        if control.commit_soon {
            progress.next_commit = None;
        }
        Ok(())
    }

    async fn pause(&mut self, progress: &mut Progress) -> Result<(), TaskFailure> {
        if !progress.paused {
            progress.paused = true;
            let partitions = progress.positions.partitions();
            self.consumer.pause(&partitions).map_err(client)?;
            self.commit(progress, &partitions).await?;
            self.observer.paused();
        }
        Ok(())
    }

    fn resume(&mut self, progress: &mut Progress) -> Result<(), TaskFailure> {
        if progress.paused {
            progress.paused = false;
            self.resume_partitions(progress)?;
            self.observer.resumed();
        }
        Ok(())
    }

    /// Resumes what neither the operator, nor the task, nor a redelivery holds.
    fn resume_partitions(&mut self, progress: &Progress) -> Result<(), TaskFailure> {
        if progress.paused || progress.redelivery.is_some() {
            return Ok(());
        }
        let mut partitions = progress.positions.partitions();
        partitions.retain(|partition| !progress.paused_by_task.contains(partition));
        self.consumer.resume(&partitions).map_err(client)
    }

    /// Lets the task make records durable and commits what it says. A commit that fails is a warning:
    /// the offsets come again.
    async fn commit(&mut self, progress: &mut Progress, partitions: &[TopicPartition]) -> Result<(), TaskFailure> {
        let offered = progress.positions.offered(partitions);
        if offered.is_empty() {
            return Ok(());
        }
        let returned = self.task.pre_commit(&offered).await.map_err(failed_in(Call::PreCommit))?;
        let mut control = self.task.take_control();
        self.reported(progress, None, std::mem::take(&mut control.reported)).await?;
        if self.all_reports_written().await? {
            self.commit_accepted(progress, &offered, returned).await;
        } else {
            tracing::warn!("Offsets wait for the dead-letter queue and come again with the next commit.");
        }
        self.carry_out(progress, control).await
    }

    async fn commit_accepted(&mut self, progress: &mut Progress, offered: &[TopicOffset], returned: Vec<TopicOffset>) {
        let accepted = progress.positions.accept(offered, returned);
        if accepted.is_empty() {
            return;
        }
        match self.consumer.commit(accepted.clone()).await {
            Ok(()) => progress.positions.committed(&accepted),
            Err(error) => {
                return tracing::warn!(%error, "Offsets could not be committed and come again with the next commit.");
            }
        }
        let Progress { history, positions, .. } = progress;
        history.forget(|end| positions.is_settled(end));
    }

    /// The last commit and `close`, when the task ends because it was told to.
    async fn finish(&mut self, progress: &mut Progress) -> Result<(), TaskFailure> {
        let partitions = progress.positions.partitions();
        self.commit(progress, &partitions).await?;
        self.task.close(&partitions).await.map_err(failed_in(Call::Close))
    }

    fn note_topics(&self, progress: &mut Progress, consumed: &Consumed) {
        progress.topics.look(&self.observer);
        for topic in &consumed.topics {
            if !progress.topics.contains(topic) {
                progress.topics.tell(topic.clone(), &self.observer);
            }
        }
    }
}

impl Redelivery {
    fn touches(&self, partitions: &[TopicPartition]) -> bool {
        self.delivered.span.ends.iter().any(|end| partitions.contains(&end.partition))
    }
}

fn client(error: ConsumeError) -> TaskFailure {
    TaskFailure::Client(format!("the consumer failed: {error}"))
}
