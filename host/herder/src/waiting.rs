//! Requests that are answered when their effect is there.
//!
//! A request waits for a condition, not for an event: whatever happens to the connector meanwhile, the
//! condition is looked at after every step, and holds or fails sooner or later.

use bulkhead_model::work::Run;
use bulkhead_model::{ConnectorName, Instance, TargetState, TaskId};

use crate::Herder;
use crate::api::{Refusal, Reply, RequestId};
use crate::instances::Progress;
use crate::task_configs::TaskProgress;

/// What a request waits for.
#[derive(Debug)]
pub(crate) enum Wait {
    /// The connector runs with its newest configuration and has the tasks that go with it.
    Settled { name: ConnectorName, created: bool },
    /// The connector is up again, in a run later than this.
    ConnectorRestarted { name: ConnectorName, after: Run },
    /// The task was told to start, in a run later than this.
    TaskRestarted { task: TaskId, after: Run },
}

impl Herder {
    pub(crate) fn wait(&mut self, id: RequestId, wait: Wait) {
        self.waiting.push((id, wait));
    }

    /// Answers every request whose wait is over.
    pub(crate) fn answer_waiting(&mut self) {
        for (id, wait) in std::mem::take(&mut self.waiting) {
            match self.outcome(&wait) {
                None => self.waiting.push((id, wait)),
                Some(Err(refusal)) => self.reply(id, Err(refusal)),
                Some(Ok(())) => self.answer(id, &wait),
            }
        }
    }

    fn answer(&mut self, id: RequestId, wait: &Wait) {
        match wait {
            Wait::Settled { name, created } => self.reply_connector(id, name, *created),
            Wait::ConnectorRestarted { .. } | Wait::TaskRestarted { .. } => self.reply(id, Ok(Reply::Done)),
        }
    }

    fn outcome(&self, wait: &Wait) -> Option<Result<(), Refusal>> {
        match wait {
            Wait::Settled { name, .. } => self.settled(name),
            Wait::ConnectorRestarted { name, after } => self.connector_restarted(name, *after),
            Wait::TaskRestarted { task, after } => self.task_restarted(task, *after),
        }
    }

    fn settled(&self, name: &ConnectorName) -> Option<Result<(), Refusal>> {
        match self.instances.progress(&Instance::Connector(name.clone())) {
            Progress::Unwanted => Some(Err(gone(name))),
            Progress::Pending | Progress::Starting { .. } => None,
            Progress::Failed { trace, .. } => Some(Err(Refusal::Failed(trace.to_owned()))),
            Progress::Settled { .. } if self.cluster.target(name) != TargetState::Started => Some(Ok(())),
            Progress::Settled { .. } => match self.reconfigurations.progress(name) {
                TaskProgress::Settled => Some(Ok(())),
                TaskProgress::Pending => None,
                TaskProgress::Failed(error) => Some(Err(Refusal::Failed(error.to_owned()))),
            },
        }
    }

    fn connector_restarted(&self, name: &ConnectorName, after: Run) -> Option<Result<(), Refusal>> {
        match self.instances.progress(&Instance::Connector(name.clone())) {
            Progress::Unwanted => Some(Err(gone(name))),
            Progress::Settled { run, .. } if run > after => Some(Ok(())),
            Progress::Failed { run, trace } if run > after => Some(Err(Refusal::Failed(trace.to_owned()))),
            Progress::Pending | Progress::Starting { .. } | Progress::Settled { .. } | Progress::Failed { .. } => None,
        }
    }

    fn task_restarted(&self, task: &TaskId, after: Run) -> Option<Result<(), Refusal>> {
        match self.instances.progress(&Instance::Task(task.clone())) {
            Progress::Unwanted => Some(Err(gone(task))),
            Progress::Starting { run } | Progress::Settled { run } | Progress::Failed { run, .. } if run > after => {
                Some(Ok(()))
            }
            Progress::Pending | Progress::Starting { .. } | Progress::Settled { .. } | Progress::Failed { .. } => None,
        }
    }
}

fn gone(what: impl std::fmt::Display) -> Refusal {
    Refusal::Conflict(format!("{what} was deleted or stopped before the request was done"))
}
