//! What an instance may ask about itself.

use crate::host;

/// Who an instance is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The connector's name.
    pub connector: String,
    /// The task's number; none for the connector itself.
    pub task: Option<u32>,
    /// Grows with every start of the task.
    pub generation: u64,
    /// Whose connector it is.
    pub tenant: String,
    /// The worker that runs it.
    pub worker: String,
}

/// Who this instance is.
pub fn identity() -> Identity {
    let found = host::who_am_i();
    Identity {
        connector: found.connector,
        task: found.task,
        generation: found.generation,
        tenant: found.tenant,
        worker: found.worker,
    }
}

/// True once the worker wants this instance to stop; cheap enough for every loop. One that blocks looks here between two
/// short waits.
pub fn should_stop() -> bool {
    host::should_stop()
}
