//! What is true of the cluster at the time of a scrape.

use std::fmt;
use std::sync::Arc;

use bulkhead_herder::{ClusterView, GroupView};
use bulkhead_model::{Instance, State};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::ports::SandboxView;
use crate::seen::{Seen, instances};

/// Collects from one snapshot.
pub(super) struct Now {
    pub(super) view: Arc<ClusterView>,
    pub(super) sandbox: Arc<dyn SandboxView>,
}

/// Something that instances have a number of.
struct Measure {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    /// None if there is no series for the instance.
    value: fn(&Seen<'_>) -> Option<f64>,
}

const MEASURES: [Measure; 4] = [
    Measure {
        name: "state",
        help: "0 unassigned, 1 running, 2 paused, 3 failed, 4 restarting, 5 stopped",
        kind: MetricType::Gauge,
        value: |seen| state_number(seen.status.map_or(State::Unassigned.name(), |status| status.state)),
    },
    Measure {
        name: "restarts",
        help: "Automatic restarts since it last ran quietly for a while",
        kind: MetricType::Gauge,
        value: |seen| seen.restarts().map(f64::from),
    },
    Measure {
        name: "memory_bytes",
        help: "Memory of its sandbox",
        kind: MetricType::Gauge,
        value: |seen| seen.usage.as_ref().map(|usage| usage.memory_bytes as f64),
    },
    Measure {
        name: "cpu_seconds",
        help: "CPU time since it started",
        kind: MetricType::Counter,
        value: |seen| seen.usage.as_ref().map(|usage| usage.cpu.as_secs_f64()),
    },
];

/// The numbers are read by alerts: they stay as they are.
fn state_number(state: &str) -> Option<f64> {
    match state {
        "UNASSIGNED" => Some(0.0),
        "RUNNING" => Some(1.0),
        "PAUSED" => Some(2.0),
        "FAILED" => Some(3.0),
        "RESTARTING" => Some(4.0),
        "STOPPED" => Some(5.0),
        _ => None,
    }
}

impl Collector for Now {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        group(&mut encoder, &self.view.group)?;
        let connectors = self.view.connectors.values();
        let seen: Vec<_> =
            connectors.flat_map(|connector| instances(&self.view, &connector.info, &*self.sandbox)).collect();
        for measure in &MEASURES {
            measure.encode(&mut encoder, &seen)?;
        }
        Ok(())
    }
}

fn group(encoder: &mut DescriptorEncoder<'_>, group: &GroupView) -> fmt::Result {
    let rebalances = ConstCounter::new(group.rebalances);
    let help = "Rebalances completed since the worker started";
    rebalances.encode(encoder.encode_descriptor("bulkhead_rebalances", help, None, MetricType::Counter)?)?;
    let gauges = [
        ("bulkhead_generation", "Generation of the group", group.generation.map(i64::from)),
        ("bulkhead_leader", "1 if this worker is the leader", Some(i64::from(group.leads))),
        (
            "bulkhead_settled",
            "1 if all that is assigned here runs, and no rebalance is due",
            Some(i64::from(group.settled)),
        ),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
    }
    Ok(())
}

impl Measure {
    /// Two families, as a connector's own series has no label for a task.
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>, seen: &[Seen<'_>]) -> fmt::Result {
        let name = format!("bulkhead_connector_{}", self.name);
        let mut family = encoder.encode_descriptor(&name, self.help, None, self.kind)?;
        for seen in seen {
            if let (Instance::Connector(connector), Some(value)) = (&seen.instance, (self.value)(seen)) {
                let labels = [("connector", connector.as_str())];
                self.sample(value, family.encode_family(&labels)?)?;
            }
        }
        let name = format!("bulkhead_task_{}", self.name);
        let mut family = encoder.encode_descriptor(&name, self.help, None, self.kind)?;
        for seen in seen {
            if let (Instance::Task(task), Some(value)) = (&seen.instance, (self.value)(seen)) {
                let number = task.number.to_string();
                let labels = [("connector", task.connector.as_str()), ("task", number.as_str())];
                self.sample(value, family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn sample(&self, value: f64, encoder: MetricEncoder<'_>) -> fmt::Result {
        match self.kind {
            MetricType::Counter => ConstCounter::new(value).encode(encoder),
            _ => ConstGauge::new(value).encode(encoder),
        }
    }
}

impl fmt::Debug for Now {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Now").finish_non_exhaustive()
    }
}
