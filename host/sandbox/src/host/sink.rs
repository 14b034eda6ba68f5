//! `sink-context`: what a sink task wishes is kept until the worker takes it.

use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_pipeline::ports::Rejection;

use super::failed;
use crate::instance::SinkState;
use crate::output::escaped;
use crate::tenant::Tenant;
use crate::v0_1::wit::sink_context::Host;
use crate::v0_1::wit::types::{self, Error};

/// Wishes and reports that may pile up between two looks of the worker.
const MAX_WISHES: usize = 100_000;
/// Longest reason given for a rejected record.
const MAX_REASON: usize = 8 << 10;

impl Host for Tenant {
    fn assignment(&mut self) -> Vec<types::TopicPartition> {
        self.shared.sink().assignment.iter().map(Into::into).collect()
    }

    fn seek(&mut self, offsets: Vec<types::TopicOffset>) -> Result<(), Error> {
        let mut sink = self.shared.sink();
        let offsets: Vec<TopicOffset> = offsets.into_iter().map(Into::into).collect();
        for offset in &offsets {
            sink.assigned(&offset.partition)?;
        }
        sink.control.seek.extend(offsets);
        within(sink.control.seek.len())
    }

    fn pause(&mut self, partitions: Vec<types::TopicPartition>) -> Result<(), Error> {
        let mut sink = self.shared.sink();
        for partition in partitions.into_iter().map(TopicPartition::from) {
            sink.assigned(&partition)?;
            sink.control.resume.retain(|resumed| *resumed != partition);
            if !sink.control.pause.contains(&partition) {
                sink.control.pause.push(partition);
            }
        }
        Ok(())
    }

    fn resume(&mut self, partitions: Vec<types::TopicPartition>) -> Result<(), Error> {
        let mut sink = self.shared.sink();
        for partition in partitions.into_iter().map(TopicPartition::from) {
            sink.assigned(&partition)?;
            sink.control.pause.retain(|paused| *paused != partition);
            if !sink.control.resume.contains(&partition) {
                sink.control.resume.push(partition);
            }
        }
        Ok(())
    }

    fn set_timeout(&mut self, timeout: u32) {
        self.shared.sink().control.retry_after_ms = Some(timeout);
    }

    fn request_commit(&mut self) {
        self.shared.sink().control.commit_soon = true;
    }

    fn report(&mut self, batch: u64, index: u32, message: String) -> Result<(), Error> {
        let mut sink = self.shared.sink();
        if !sink.has_reporter {
            return Err(failed("no dead-letter queue and no error log is configured"));
        }
        within(sink.control.reported.len() + 1)?;
        let message = escaped(&message, MAX_REASON);
        sink.control.reported.push((batch, Rejection { index, message }));
        Ok(())
    }

    fn has_reporter(&mut self) -> bool {
        self.shared.sink().has_reporter
    }
}

impl SinkState {
    fn assigned(&self, partition: &TopicPartition) -> Result<(), Error> {
        if self.assignment.contains(partition) {
            return Ok(());
        }
        let TopicPartition { topic, partition } = partition;
        Err(failed(format!("partition {partition} of `{topic}` is not assigned to this task")))
    }
}

fn within(wishes: usize) -> Result<(), Error> {
    if wishes > MAX_WISHES {
        return Err(failed(format!("more than {MAX_WISHES} wishes within one call")));
    }
    Ok(())
}
