//! What the loop does about records that could not be processed.

use std::sync::Arc;

use super::decode::{Converted, Refused};
use super::fetch::{Fetch, Original};
use super::run::{Progress, SinkLoop};
use crate::batch::SinkBatch;
use crate::control::{Observer, TaskFailure};
use crate::ports::{Consumed, Consumer, Rejection, SinkTask};
use crate::tolerance::{Fault, Log};

impl<T: SinkTask, C: Consumer, O: Observer> SinkLoop<T, C, O> {
    /// Converts a fetch; records that can't be are reported, and skipped or fail the task.
    pub(super) async fn convert(&mut self, mut consumed: Consumed) -> Result<(SinkBatch, Arc<Fetch>), TaskFailure> {
        let Converted { batch, rows, refused } = self.decoder.decode(&consumed).await?;
        if self.dead_letters.is_none() {
            consumed.data = bytes::Bytes::new();
        }
        for Refused { original, fault } in refused {
            self.report(&original, &fault).await?;
        }
        Ok((batch, Arc::new(Fetch::new(consumed, rows))))
    }

    /// What the task refused of a batch, as the answer of `put`.
    pub(super) async fn rejected(&mut self, fetch: &Fetch, rejections: Vec<Rejection>) -> Result<(), TaskFailure> {
        for Rejection { index, message } in rejections {
            let Some(original) = fetch.original(index as usize) else {
                return Err(TaskFailure::Client(format!("it refused record {index} of a batch that has fewer")));
            };
            self.report(&original, &Fault::rejected(message)).await?;
        }
        Ok(())
    }

    /// What the task found bad by `sink-context.report`, of this batch or an earlier one.
    pub(super) async fn reported(
        &mut self,
        progress: &Progress,
        current: Option<&Fetch>,
        reports: Vec<(u64, Rejection)>,
    ) -> Result<(), TaskFailure> {
        for (number, Rejection { index, message }) in reports {
            let index = index as usize;
            let original = match current {
                Some(fetch) if progress.puts.checked_sub(1) == Some(number) => fetch.original(index),
                Some(_) | None => progress.history.original(number, index),
            };
            let Some(original) = original else {
                return Err(TaskFailure::Client(format!(
                    "it reported record {index} of batch {number}, which is committed, too long ago, or was never \
                     put: {message}"
                )));
            };
            self.report(&original, &Fault::rejected(message)).await?;
        }
        Ok(())
    }

    /// Logs a record and sends it to the dead-letter queue, once, also if the task then fails.
    async fn report(&mut self, original: &Original, fault: &Fault) -> Result<(), TaskFailure> {
        let judged = self.tolerance.judge(&self.id, fault, || original.to_string(), || original.details());
        if let Some(dead_letters) = &mut self.dead_letters {
            dead_letters.write(original, fault).await?;
        }
        judged
    }

    /// Whether reports that come after a `put` can be followed back to their record. As
    /// [`has_reporter`](super::has_reporter), by which the task is told that it may report.
    pub(super) fn keeps_history(&self) -> bool {
        self.dead_letters.is_some() || self.tolerance.log != Log::Nothing
    }

    /// Whether all that was reported is in the dead-letter queue; else nothing may be committed.
    pub(super) async fn all_reports_written(&mut self) -> Result<bool, TaskFailure> {
        match &mut self.dead_letters {
            Some(dead_letters) => dead_letters.flush(self.settings.flush_timeout).await,
            None => Ok(true),
        }
    }

    /// The task fails; what it reported before goes out if that is possible.
    pub(super) async fn write_last_reports(&mut self) {
        match self.all_reports_written().await {
            Ok(true) => {}
            Ok(false) => tracing::error!("The dead-letter queue did not take all records in time."),
            Err(error) => tracing::error!(%error, "The dead-letter queue did not take all records."),
        }
    }
}
