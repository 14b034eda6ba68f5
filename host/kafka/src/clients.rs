//! The clients of one worker.

use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_model::{ConnectorName, RawConfig, TaskId};
use bulkhead_pipeline::ports::{ClientError, Clients, ConsumeError, Delivery, Purpose, Topics};

use crate::admin::{self, Admin, ConnectorTopics};
use crate::consumer::{SinkConsumer, is_pattern};
use crate::producer::{Pool, SharedProducer};
use crate::properties::{Effective, Role, Settings};

/// Makes clients for tasks and sees to the offsets of sinks.
#[derive(Clone, Debug)]
pub struct KafkaClients {
    settings: Settings,
    producers: Pool,
}

/// No broker answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no Kafka broker answers at {servers} within {waited:?}{}", match reason { Some(reason) => format!(" ({reason})"), None => String::new() })]
pub struct Unreachable {
    /// `bootstrap.servers` as configured.
    pub servers: String,
    pub waited: Duration,
    /// What the client reported last.
    pub reason: Option<String>,
}

/// Topics of Kafka itself, which no expression in `topics.regex` is meant to match.
const INTERNAL_TOPICS: &str = "^__consumer_offsets$,^__transaction_state$,^__share_group_state$";

impl KafkaClients {
    pub fn new(settings: Settings) -> Self {
        Self { settings, producers: Pool::default() }
    }

    /// Waits until a broker has answered; blocks. Answers with the cluster's id.
    pub fn check_reachable(&self, timeout: Duration) -> Result<String, Unreachable> {
        let unreachable =
            |reason| Unreachable { servers: self.settings.bootstrap_servers().to_owned(), waited: timeout, reason };
        let admin = self.admin(&RawConfig::new()).map_err(|error| unreachable(Some(error.to_string())))?;
        admin.cluster_id(timeout).map_err(unreachable)
    }

    /// The cluster's id, `kafka_cluster_id` of `GET /`.
    pub async fn cluster_id(&self, timeout: Duration) -> Result<String, Unreachable> {
        let clients = self.clone();
        let asked = tokio::task::spawn_blocking(move || clients.check_reachable(timeout)).await;
        asked.unwrap_or_else(|error| {
            Err(Unreachable {
                servers: self.settings.bootstrap_servers().to_owned(),
                waited: timeout,
                reason: Some(error.to_string()),
            })
        })
    }

    /// A client for requests that aren't about records; `connector` may have `admin.override.*`.
    pub(crate) fn admin(&self, connector: &RawConfig) -> Result<Admin, ClientError> {
        Admin::new(&self.settings.effective(Role::Admin, connector)?)
    }

    fn consumer_properties(&self, connector: &ConnectorName, config: &RawConfig) -> Result<Effective, ClientError> {
        let mut properties = self.settings.effective(Role::Consumer, config)?;
        properties.set_default("group.id", format!("connect-{connector}"));
        if is_pattern(config) && properties.our_switch("exclude.internal.topics", true)? {
            properties.set_default("topic.blacklist", INTERNAL_TOPICS);
        }
        Ok(properties)
    }

    /// The group of a sink, unless `consumer.override.group.id` says otherwise.
    fn group(&self, connector: &ConnectorName, config: &RawConfig) -> Result<String, ClientError> {
        let properties = self.consumer_properties(connector, config)?;
        Ok(properties.get("group.id").unwrap_or_default().to_owned())
    }
}

impl Clients for KafkaClients {
    type Producer = SharedProducer;
    type Consumer = SinkConsumer;

    fn producer(
        &self,
        _task: &TaskId,
        connector: &RawConfig,
        delivery: Arc<dyn Delivery>,
    ) -> Result<SharedProducer, ClientError> {
        let mut properties = self.settings.effective(Role::Producer, connector)?;
        properties.set_default("client.id", "connector-producer");
        self.producers.session(&properties, delivery)
    }

    fn dead_letter_producer(
        &self,
        task: &TaskId,
        connector: &RawConfig,
        delivery: Arc<dyn Delivery>,
    ) -> Result<SharedProducer, ClientError> {
        let mut properties = self.settings.effective(Role::Producer, connector)?;
        properties.set_default("client.id", format!("connector-dlq-producer-{task}"));
        self.producers.session(&properties, delivery)
    }

    fn topics(&self, task: &TaskId, connector: &RawConfig, purpose: Purpose) -> Result<Arc<dyn Topics>, ClientError> {
        let client_id = match purpose {
            Purpose::Records => format!("connector-adminclient-{task}"),
            Purpose::DeadLetters => format!("connector-dlq-adminclient-{task}"),
        };
        Ok(Arc::new(ConnectorTopics::new(&self.settings, &client_id, connector)?))
    }

    fn consumer(&self, task: &TaskId, connector: &RawConfig) -> Result<SinkConsumer, ClientError> {
        let mut properties = self.consumer_properties(&task.connector, connector)?;
        properties.set_default("client.id", format!("connector-consumer-{task}"));
        SinkConsumer::join(task, connector, &properties)
    }

    async fn group_offsets(
        &self,
        connector: &ConnectorName,
        config: &RawConfig,
    ) -> Result<Vec<TopicOffset>, ConsumeError> {
        let group = self.group(connector, config).map_err(admin::wrong)?;
        let admin = self.admin(config).map_err(admin::wrong)?;
        admin::blocking(move || admin.group_offsets(&group)).await
    }

    async fn alter_group_offsets(
        &self,
        connector: &ConnectorName,
        config: &RawConfig,
        offsets: Vec<(TopicPartition, Option<i64>)>,
    ) -> Result<(), ConsumeError> {
        let group = self.group(connector, config).map_err(admin::wrong)?;
        let admin = self.admin(config).map_err(admin::wrong)?;
        admin::blocking(move || admin.alter_group_offsets(&group, offsets)).await
    }

    async fn delete_group(&self, connector: &ConnectorName, config: &RawConfig) -> Result<(), ConsumeError> {
        let group = self.group(connector, config).map_err(admin::wrong)?;
        let admin = self.admin(config).map_err(admin::wrong)?;
        admin::blocking(move || admin.delete_group(&group)).await
    }
}
