//! What instances take, as REST shows it.

use std::sync::Arc;

use bulkhead_model::Instance;
use bulkhead_rest::{InstanceLimits, InstanceUsage, PartKind, PartUsage, SandboxView};
use bulkhead_sandbox::{InstanceStats, Part, Sandbox};

/// The sandbox of this worker.
pub struct SandboxUsage(pub Arc<Sandbox>);

impl SandboxView for SandboxUsage {
    fn usage(&self, instance: &Instance) -> Option<InstanceUsage> {
        self.0.instance(instance).as_ref().map(usage)
    }

    fn parts(&self, instance: &Instance) -> Vec<PartUsage> {
        self.0.parts(instance).iter().filter_map(part).collect()
    }
}

fn part(stats: &InstanceStats) -> Option<PartUsage> {
    let (kind, alias) = match stats.part.as_ref()? {
        Part::Transform(alias) => (PartKind::Transform, alias),
        Part::Predicate(alias) => (PartKind::Predicate, alias),
        Part::Converter(alias) => (PartKind::Converter, alias),
    };
    Some(PartUsage { kind, alias: alias.clone(), plugin: stats.plugin.clone(), usage: usage(stats) })
}

fn usage(stats: &InstanceStats) -> InstanceUsage {
    InstanceUsage {
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
    }
}
