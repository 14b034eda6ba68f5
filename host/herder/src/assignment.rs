//! What of the cluster's work is this worker's.

use bulkhead_model::Instance;

/// The connectors and tasks that run here. A value of its own, so that nothing else asks how it came
/// about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Assignment {
    /// A standalone worker runs all there is.
    Everything,
}

impl Assignment {
    pub(crate) fn includes(&self, _instance: &Instance) -> bool {
        match self {
            Self::Everything => true,
        }
    }
}
