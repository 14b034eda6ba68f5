//! Changes to connectors, one at a time.
//!
//! **Invariant:** what is done to one connector is done in the order in which it was asked for, and a
//! change begins only when the one before it is in the config log and was read back. So a decision
//! never rests on a state that another change is about to alter. Connectors don't wait for each other.

use std::collections::{BTreeMap, VecDeque};

use bulkhead_model::offset::OffsetEntry;
use bulkhead_model::{ConfigPatch, ConnectorName, RawConfig, TargetState};

use crate::api::{ConfigRecord, ConnectorStatus, RequestId, RestartRequest};
use crate::cluster_config::Revision;

/// Something that is to change.
#[derive(Debug)]
pub(crate) enum Change {
    Store {
        id: RequestId,
        config: ConfigPatch,
        how: Store,
    },
    Delete {
        id: RequestId,
    },
    SetTarget {
        id: RequestId,
        state: TargetState,
    },
    Restart {
        id: RequestId,
        request: RestartRequest,
    },
    AlterOffsets {
        id: RequestId,
        offsets: Option<Vec<OffsetEntry>>,
    },
    /// Task configurations that the connector made from its configuration of this revision.
    PublishTasks {
        revision: Revision,
        configs: Vec<RawConfig>,
    },
    /// Task configurations from the worker that runs the connector.
    StoreTasks {
        id: RequestId,
        configs: Vec<RawConfig>,
    },
    /// A stopped connector was found to have tasks.
    DropTasks,
}

/// The three ways to write a connector configuration.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    /// With the offsets that it starts at, if they are given.
    Create {
        initial_state: Option<TargetState>,
        offsets: Option<Vec<OffsetEntry>>,
    },
    Put,
    Patch,
}

/// How far the present change of a connector is.
#[derive(Debug)]
pub(crate) enum Step {
    Validating {
        id: RequestId,
        how: Store,
    },
    /// The offsets of a connector that is being created are written before it is.
    GivingOffsets {
        id: RequestId,
        config: RawConfig,
        initial_state: Option<TargetState>,
    },
    Writing(Write),
    /// Offsets are altered when no task is left that could commit its own.
    AwaitingEndOfTasks {
        id: RequestId,
        offsets: Option<Vec<OffsetEntry>>,
    },
    AlteringOffsets {
        id: RequestId,
        reset: bool,
    },
}

/// Records on their way into the config log and back.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) acknowledged: bool,
    /// Records of the present append that haven't been read back.
    unread: VecDeque<ConfigRecord>,
    /// What is to be appended when that is done.
    pub(crate) later: VecDeque<Vec<ConfigRecord>>,
    pub(crate) then: Then,
}

/// What follows when everything is written.
#[derive(Debug)]
pub(crate) enum Then {
    Stored { id: RequestId, created: bool },
    Done { id: RequestId },
    Restarting { id: RequestId, status: ConnectorStatus },
    TasksPublished,
    TasksDropped,
}

impl Write {
    pub(crate) fn new(unread: &[ConfigRecord], later: VecDeque<Vec<ConfigRecord>>, then: Then) -> Self {
        Self { acknowledged: false, unread: unread.iter().cloned().collect(), later, then }
    }

    fn read(&mut self, record: &ConfigRecord) {
        if self.unread.front() == Some(record) {
            self.unread.pop_front();
        }
    }

    /// Whether the present append is durable and was read back.
    pub(crate) fn is_complete(&self) -> bool {
        self.acknowledged && self.unread.is_empty()
    }
}

/// The changes of all connectors, waiting and present.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    lines: BTreeMap<ConnectorName, Line>,
}

#[derive(Debug, Default)]
struct Line {
    present: Option<Step>,
    waiting: VecDeque<Change>,
}

impl Changes {
    pub(crate) fn add(&mut self, name: &ConnectorName, change: Change) {
        self.lines.entry(name.clone()).or_default().waiting.push_back(change);
    }

    /// The next change that may begin.
    pub(crate) fn next(&mut self, name: &ConnectorName) -> Option<Change> {
        let line = self.lines.get_mut(name)?;
        if line.present.is_some() {
            return None;
        }
        let next = line.waiting.pop_front();
        if next.is_none() {
            self.lines.remove(name);
        }
        next
    }

    pub(crate) fn enter(&mut self, name: &ConnectorName, step: Step) {
        self.lines.entry(name.clone()).or_default().present = Some(step);
    }

    /// Ends the present step; whoever takes it enters the next one or goes on to the next change.
    pub(crate) fn leave(&mut self, name: &ConnectorName) -> Option<Step> {
        self.lines.get_mut(name)?.present.take()
    }

    pub(crate) fn present(&self, name: &ConnectorName) -> Option<&Step> {
        self.lines.get(name)?.present.as_ref()
    }

    pub(crate) fn writing(&mut self, name: &ConnectorName) -> Option<&mut Write> {
        match self.lines.get_mut(name)?.present.as_mut()? {
            Step::Writing(write) => Some(write),
            Step::Validating { .. }
            | Step::GivingOffsets { .. }
            | Step::AwaitingEndOfTasks { .. }
            | Step::AlteringOffsets { .. } => None,
        }
    }

    /// A record came back from the log.
    pub(crate) fn read(&mut self, record: &ConfigRecord) {
        if let Some(write) = record.connector().and_then(|name| self.writing(name)) {
            write.read(record);
        }
    }

    /// Connectors that are being changed, and how.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = (&ConnectorName, &Step)> {
        self.lines.iter().filter_map(|(name, line)| Some((name, line.present.as_ref()?)))
    }
}

impl ConfigRecord {
    /// Whom it is about; none for what concerns the whole cluster.
    pub(crate) fn connector(&self) -> Option<&ConnectorName> {
        match self {
            Self::Connector { name, .. }
            | Self::TargetState { name, .. }
            | Self::Commit { name, .. }
            | Self::TaskCount { name, .. } => Some(name),
            Self::Task { id, .. } => Some(&id.connector),
            Self::Restart(request) => Some(&request.connector),
            Self::SessionKey(_) | Self::LoggerLevel { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> ConnectorName {
        ConnectorName::new("orders")
    }

    fn delete(id: u64) -> Change {
        Change::Delete { id: RequestId(id) }
    }

    #[test]
    fn a_change_waits_for_the_one_before_it() {
        let mut changes = Changes::default();
        changes.add(&name(), delete(1));
        changes.add(&name(), delete(2));
        assert!(matches!(changes.next(&name()), Some(Change::Delete { id: RequestId(1) })));
        changes.enter(&name(), Step::Validating { id: RequestId(1), how: Store::Put });
        assert!(changes.next(&name()).is_none());
        changes.leave(&name());
        assert!(matches!(changes.next(&name()), Some(Change::Delete { id: RequestId(2) })));
        assert!(changes.next(&name()).is_none());
    }

    #[test]
    fn a_write_is_complete_when_it_is_acknowledged_and_read_back_in_any_order() {
        let record = ConfigRecord::Commit { name: name(), tasks: 0 };
        let other = ConfigRecord::Commit { name: name(), tasks: 1 };
        let write = || Write::new(std::slice::from_ref(&record), VecDeque::new(), Then::TasksPublished);
        let mut read_first = write();
        read_first.read(&other);
        read_first.read(&record);
        assert!(!read_first.is_complete());
        read_first.acknowledged = true;
        assert!(read_first.is_complete());
        let mut acknowledged_first = write();
        acknowledged_first.acknowledged = true;
        assert!(!acknowledged_first.is_complete());
    }
}
