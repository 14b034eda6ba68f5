//! What instances take, as REST shows it.

use std::sync::Arc;

use bulkhead_model::Instance;
use bulkhead_rest::{InstanceLimits, InstanceUsage, SandboxView};
use bulkhead_sandbox::Sandbox;

/// The sandbox of this worker.
pub struct SandboxUsage(pub Arc<Sandbox>);

impl SandboxView for SandboxUsage {
    fn usage(&self, instance: &Instance) -> Option<InstanceUsage> {
        let stats = self.0.instance(instance)?;
        Some(InstanceUsage {
            memory_bytes: stats.memory,
            // The memory of a component never shrinks.
            peak_memory_bytes: stats.memory,
            cpu: stats.cpu,
            dropped_log_lines: stats.dropped_log_lines,
            limits: InstanceLimits {
                memory_bytes: stats.memory_limit,
                call_timeout: stats.call_timeout,
                cpu_burst: stats.cpu_burst,
            },
        })
    }
}
