//! `metrics`: an instance's own counters and gauges, which go when it goes.

use std::sync::PoisonError;

use crate::output::escaped;
use crate::stats::{Metric, MetricKind};
use crate::tenant::Tenant;
use crate::v0_1::wit::metrics::{Host, Kind};

/// The WIT package promises this many.
const MAX_METRICS: usize = 200;
/// Longest name, description, tag or tag value.
const MAX_TEXT: usize = 256;
const MAX_TAGS: usize = 16;

#[derive(Default)]
pub(crate) struct Metrics {
    all: Vec<Metric>,
}

impl Metrics {
    pub(crate) fn all(&self) -> &[Metric] {
        &self.all
    }

    /// The number of the metric of this name and these tags; 0 if there is no room for it.
    fn register(&mut self, metric: Metric) -> u32 {
        let same = |known: &Metric| known.name == metric.name && known.tags == metric.tags;
        if let Some(index) = self.all.iter().position(same) {
            return index as u32 + 1;
        }
        if self.all.len() == MAX_METRICS {
            return 0;
        }
        self.all.push(metric);
        self.all.len() as u32
    }

    fn record(&mut self, number: u32, value: f64) {
        let index = (number as usize).checked_sub(1);
        let Some(metric) = index.and_then(|index| self.all.get_mut(index)) else { return };
        match metric.kind {
            MetricKind::Counter | MetricKind::Histogram => metric.value += value,
            MetricKind::Gauge => metric.value = value,
        }
        metric.count += 1;
    }
}

impl Host for Tenant {
    fn register(&mut self, kind: Kind, name: String, description: String, tags: Vec<(String, String)>) -> u32 {
        let tags = tags.iter().take(MAX_TAGS);
        let metric = Metric {
            kind: kind.into(),
            name: escaped(&name, MAX_TEXT),
            description: escaped(&description, MAX_TEXT),
            tags: tags.map(|(tag, value)| (escaped(tag, MAX_TEXT), escaped(value, MAX_TEXT))).collect(),
            value: 0.0,
            count: 0,
        };
        let mut metrics = self.shared.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.register(metric)
    }

    fn record_value(&mut self, metric: u32, value: f64) {
        if value.is_finite() {
            let mut metrics = self.shared.metrics.lock().unwrap_or_else(PoisonError::into_inner);
            metrics.record(metric, value);
        }
    }
}

impl From<Kind> for MetricKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Counter => Self::Counter,
            Kind::Gauge => Self::Gauge,
            Kind::Histogram => Self::Histogram,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(kind: MetricKind, name: &str) -> Metric {
        Metric { kind, name: name.to_owned(), description: String::new(), tags: Vec::new(), value: 0.0, count: 0 }
    }

    #[test]
    fn a_counter_adds_and_a_gauge_is_set() {
        let mut metrics = Metrics::default();
        let counter = metrics.register(metric(MetricKind::Counter, "c"));
        let gauge = metrics.register(metric(MetricKind::Gauge, "g"));
        for value in [2.0, 3.0] {
            metrics.record(counter, value);
            metrics.record(gauge, value);
        }
        let values: Vec<_> = metrics.all().iter().map(|metric| metric.value).collect();
        assert_eq!(values, [5.0, 3.0]);
    }

    #[test]
    fn the_same_name_is_the_same_metric_and_past_the_limit_nobody_sees_it() {
        let mut metrics = Metrics::default();
        for round in 0..2 {
            for number in 0..MAX_METRICS {
                let found = metrics.register(metric(MetricKind::Counter, &number.to_string()));
                assert_eq!(found as usize, number + 1, "round {round}");
            }
        }
        assert_eq!(metrics.register(metric(MetricKind::Counter, "one more")), 0);
        metrics.record(0, 1.0);
        metrics.record(9999, 1.0);
    }
}
