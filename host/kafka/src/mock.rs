//! A broker inside the process, for demos and quick tests.
//!
//! It is right for producing, fetching and groups of one member. It isn't for transactions, Java
//! clients, groups of several, or topics that must keep more than 5 MB a partition.

use std::fmt;

use bulkhead_model::RawConfig;
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, Producer};

/// librdkafka's mock cluster with one broker on a random port of the loopback; it ends when dropped.
pub struct MockBroker {
    /// Owns the cluster.
    client: BaseProducer,
    servers: String,
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
        let client: BaseProducer = ClientConfig::new()
            .set("test.mock.num.brokers", "1")
            .create()
            .map_err(|error| MockError::new("did not start", &error))?;
        let cluster = client.client().mock_cluster();
        let servers = cluster
            .ok_or_else(|| MockError::new("did not start", &"librdkafka was built without it"))?
            .bootstrap_servers();
        groups::start_at_once(client.client());
        Ok(Self { client, servers })
    }

    /// What to put into `bootstrap.servers`.
    pub fn bootstrap_servers(&self) -> String {
        self.servers.clone()
    }

    /// What a worker has to be told to use this broker.
    ///
    /// When the last member has left a group, the mock waits for the others to join again for a session
    /// time-out less a second, before it takes a new member: hence a short one, so that a restarted sink
    /// is back soon.
    pub fn worker_properties(&self) -> RawConfig {
        RawConfig::from([
            ("bootstrap.servers", self.servers.as_str()),
            ("consumer.session.timeout.ms", "1500"),
            ("consumer.heartbeat.interval.ms", "300"),
        ])
    }

    /// Makes a topic. Topics that are written to without are made on the way, with four partitions.
    pub fn create_topic(&self, name: &str, partitions: u16) -> Result<(), MockError> {
        let failed = |reason: &dyn fmt::Display| MockError::new(&format!("did not create topic `{name}`"), reason);
        let cluster = self.client.client().mock_cluster().ok_or_else(|| failed(&"it is gone"))?;
        cluster.create_topic(name, i32::from(partitions), 1).map_err(|error| failed(&error))
    }
}

mod groups {
    //! A setting of the mock that rdkafka doesn't wrap.
    #![allow(unsafe_code, reason = "librdkafka's function for it has no safe wrapper")]

    use rdkafka::bindings as c;
    use rdkafka::client::{Client, ClientContext};

    /// A group's first member need not wait for others, which is three seconds by default.
    pub(super) fn start_at_once<C: ClientContext>(client: &Client<C>) {
        // SAFETY: the client is alive and owns the cluster; a client without one answers null.
        unsafe {
            let cluster = c::rd_kafka_handle_mock_cluster(client.native_ptr());
            if !cluster.is_null() {
                c::rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, 0);
            }
        }
    }
}

impl MockError {
    fn new(what: &str, reason: &dyn fmt::Display) -> Self {
        Self { what: what.to_owned(), reason: reason.to_string() }
    }
}

impl fmt::Debug for MockBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MockBroker({})", self.servers)
    }
}
