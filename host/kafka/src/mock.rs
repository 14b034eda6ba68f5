//! A broker inside the process, for demos and quick tests.
//!
//! It is right for producing, fetching and groups of one member. It isn't for transactions, Java
//! clients, groups of several, or topics that must keep more than 5 MB a partition.

use std::fmt;

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

/// librdkafka's mock cluster with one broker on a random port of the loopback; it ends when dropped.
pub struct MockBroker {
    cluster: MockCluster<'static, DefaultProducerContext>,
}

/// The mock cluster refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mock broker {what}: {reason}")]
pub struct MockError {
    what: String,
    reason: String,
}

impl MockBroker {
    pub fn start() -> Result<Self, MockError> {
        let cluster = MockCluster::new(1).map_err(|error| MockError::new("did not start", &error))?;
        Ok(Self { cluster })
    }

    /// What to put into `bootstrap.servers`.
    pub fn bootstrap_servers(&self) -> String {
        self.cluster.bootstrap_servers()
    }

    /// Makes a topic. Topics that are written to without are made on the way, with four partitions.
    pub fn create_topic(&self, name: &str, partitions: u16) -> Result<(), MockError> {
        self.cluster
            .create_topic(name, i32::from(partitions), 1)
            .map_err(|error| MockError::new(&format!("did not create topic `{name}`"), &error))
    }
}

impl MockError {
    fn new(what: &str, reason: &impl fmt::Display) -> Self {
        Self { what: what.to_owned(), reason: reason.to_string() }
    }
}

impl fmt::Debug for MockBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MockBroker({})", self.bootstrap_servers())
    }
}
