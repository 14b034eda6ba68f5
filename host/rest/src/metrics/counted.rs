//! What only grows.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// From a read of the view to what the request limit allows.
const SECONDS: [f64; 10] = [0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 45.0, 90.0];

/// A worker's counters. Cheap to clone; all clones count in the same place.
#[derive(Clone)]
pub struct Metrics(Arc<Counted>);

struct Counted {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<Served, Histogram, fn() -> Histogram>,
    refused: Family<Refused, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Served {
    method: &'static str,
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    topic: String,
}

impl Default for Metrics {
    fn default() -> Self {
        let durations: fn() -> Histogram = || Histogram::new(SECONDS);
        let mut counted = Counted {
            registry: Registry::with_prefix("bulkhead"),
            requests: Family::default(),
            durations: Family::new_with_constructor(durations),
            refused: Family::default(),
        };
        let registry = &mut counted.registry;
        registry.register("rest_requests", "Requests answered", counted.requests.clone());
        registry.register("rest_request_duration_seconds", "Time that answers took", counted.durations.clone());
        registry.register("refused_records", "Records of internal topics that can't be read", counted.refused.clone());
        Self(Arc::new(counted))
    }
}

impl Metrics {
    /// A record of one of the worker's own topics can't be read, and was left out.
    pub fn refused(&self, topic: &str) {
        self.0.refused.get_or_create(&Refused { topic: topic.to_owned() }).inc();
    }

    /// `method` and `route` must be of a limited number: each pair stays for ever.
    pub(super) fn answered(&self, method: &'static str, route: &str, status: StatusCode, time: Duration) {
        let route = route.to_owned();
        self.0.durations.get_or_create(&Served { method, route: route.clone() }).observe(time.as_secs_f64());
        self.0.requests.get_or_create(&Answered { method, route, status: status.as_u16() }).inc();
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.0.registry
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
