//! What of the cluster's work is this worker's.

use bulkhead_model::Instance;

use crate::protocol::Work;

/// The connectors and tasks that run here. A value of its own, so that nothing else asks how it came
/// about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Assignment {
    /// A standalone worker runs all there is.
    Everything,
    /// What the leader of the cluster has given to this worker.
    Shared(Work),
}

impl Assignment {
    pub(crate) fn includes(&self, instance: &Instance) -> bool {
        match self {
            Self::Everything => true,
            Self::Shared(work) => work.contains(instance),
        }
    }

    /// What this worker was given; nothing is given to one that runs everything.
    pub(crate) fn instances(&self) -> Vec<Instance> {
        match self {
            Self::Everything => Vec::new(),
            Self::Shared(work) => work.instances().collect(),
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Everything => false,
            Self::Shared(work) => work.is_empty(),
        }
    }
}

impl Default for Assignment {
    fn default() -> Self {
        Self::Shared(Work::default())
    }
}
