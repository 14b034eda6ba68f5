//! Admin calls that librdkafka has no counterpart for: offsets under an isolation level, fencing by transactional id,
//! the brokers of a cluster.

mod fencing;
mod offsets;

use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::DescribeClusterRequest;
use tokio::time::{Instant, sleep};

use crate::Error;
use crate::connection::{ClientSettings, Dialer};
pub use offsets::{Isolation, Position};

/// Pause before brokers that change are asked again.
const RETRY: Duration = Duration::from_millis(100);

/// Asks brokers; each call opens the connections it needs. A call ends within the request time-out, give or take one
/// request: what may pass by itself is tried again until then.
#[derive(Clone)]
pub struct Admin {
    dialer: Arc<Dialer>,
}

/// What a cluster says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub id: String,
    pub brokers: Vec<BrokerNode>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerNode {
    pub id: i32,
    pub host: String,
    pub port: u16,
}

impl Admin {
    /// Fails when a setting is wrong or a file of the security settings can't be read.
    pub fn new(settings: ClientSettings) -> Result<Self, Error> {
        Ok(Self { dialer: Dialer::new(settings)? })
    }

    pub async fn cluster(&self) -> Result<Cluster, Error> {
        let deadline = self.deadline();
        loop {
            match self.ask_for_cluster().await {
                Err(error) if !error.is_refusal() => pause(deadline, RETRY, error).await?,
                answer => return answer,
            }
        }
    }

    async fn ask_for_cluster(&self) -> Result<Cluster, Error> {
        let mut connection = self.dialer.bootstrap().await?;
        let request = DescribeClusterRequest::default();
        let answer = connection.call(&request, self.dialer.request_timeout()).await?;
        if let Some(code) = ResponseError::try_from_code(answer.error_code) {
            let message = answer.error_message.map(|text| text.to_string());
            return Err(Error::refused("DescribeCluster", code, message));
        }
        let broker = |broker: &kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker| {
            let port = u16::try_from(broker.port).ok()?;
            Some(BrokerNode { id: broker.broker_id.0, host: broker.host.to_string(), port })
        };
        Ok(Cluster { id: answer.cluster_id.to_string(), brokers: answer.brokers.iter().filter_map(broker).collect() })
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.dialer.request_timeout()
    }
}

/// Waits before the next attempt, or gives `error` back when there is no time for one.
async fn pause(deadline: Instant, time: Duration, error: Error) -> Result<(), Error> {
    if Instant::now() + time >= deadline {
        return Err(error);
    }
    tracing::debug!(error = error.explain(), "Trying again.");
    sleep(time).await;
    Ok(())
}
