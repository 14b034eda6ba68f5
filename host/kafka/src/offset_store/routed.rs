//! The offsets of a worker whose connectors may have topics of their own.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bulkhead_model::offset::{SourceOffset, SourcePartition};
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::ports::{BoxFuture, OffsetStore, OffsetStoreError, OffsetWrite};

use super::{OffsetTopic, OwnTopic};
use crate::admin::TopicAdmin;
use crate::topic_log::{LogRecord, LogSettings};

/// The key by which a connector asks for a topic of its own.
const TOPIC: &str = "offsets.storage.topic";

type Refuse = Arc<dyn Fn(&LogRecord, &str) + Send + Sync>;

/// The worker's topic, and those of connectors that name one ([`OwnTopic`]). A topic is opened when the
/// first connector wants it, with the settings of the worker's, and stays open.
#[derive(Clone)]
pub struct OffsetTopics {
    worker: OffsetTopic,
    admin: TopicAdmin,
    settings: LogSettings,
    patience: Duration,
    refuse: Refuse,
    opened: Arc<tokio::sync::Mutex<HashMap<String, OffsetTopic>>>,
    own: Arc<Mutex<HashMap<ConnectorName, OwnTopic>>>,
}

impl OffsetTopics {
    /// `settings` and `patience` are those with which `worker` was opened; `refuse` as there.
    pub fn new(
        worker: OffsetTopic,
        admin: TopicAdmin,
        settings: LogSettings,
        patience: Duration,
        refuse: impl Fn(&LogRecord, &str) + Send + Sync + 'static,
    ) -> Self {
        let (opened, own) = Default::default();
        Self { worker, admin, settings, patience, refuse: Arc::new(refuse), opened, own }
    }

    async fn assign(&self, connector: ConnectorName, topic: Option<String>) -> Result<(), OffsetStoreError> {
        let Some(topic) = topic.filter(|topic| topic != self.worker.topic()) else {
            self.own().remove(&connector);
            return Ok(());
        };
        let own = self.topic(topic).await?;
        self.own().insert(connector, OwnTopic::new(own, self.worker.clone()));
        Ok(())
    }

    async fn topic(&self, topic: String) -> Result<OffsetTopic, OffsetStoreError> {
        let mut opened = self.opened.lock().await;
        if let Some(open) = opened.get(&topic) {
            return Ok(open.clone());
        }
        let (settings, refuse) = (LogSettings { topic: topic.clone(), ..self.settings.clone() }, self.refuse.clone());
        let open = OffsetTopic::open(&self.admin, settings, self.patience, move |record, why| refuse(record, why));
        let open = open.await.map_err(|error| OffsetStoreError(format!("{TOPIC}: {error}")))?;
        opened.insert(topic, open.clone());
        Ok(open)
    }

    fn store(&self, connector: &ConnectorName) -> Arc<dyn OffsetStore> {
        match self.own().get(connector) {
            Some(own) => Arc::new(own.clone()),
            None => Arc::new(self.worker.clone()),
        }
    }

    fn own(&self) -> MutexGuard<'_, HashMap<ConnectorName, OwnTopic>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OffsetStore for OffsetTopics {
    fn configure(&self, connector: &ConnectorName, config: &RawConfig) -> BoxFuture<Result<(), OffsetStoreError>> {
        let topic = config.get(TOPIC).map(str::trim).filter(|topic| !topic.is_empty()).map(str::to_owned);
        let (topics, connector) = (self.clone(), connector.clone());
        Box::pin(async move { topics.assign(connector, topic).await })
    }

    fn read(
        &self,
        connector: &ConnectorName,
        partitions: Vec<SourcePartition>,
    ) -> BoxFuture<Result<Vec<Option<SourceOffset>>, OffsetStoreError>> {
        self.store(connector).read(connector, partitions)
    }

    fn all(
        &self,
        connector: &ConnectorName,
    ) -> BoxFuture<Result<Vec<(SourcePartition, SourceOffset)>, OffsetStoreError>> {
        self.store(connector).all(connector)
    }

    fn write(&self, connector: &ConnectorName, offsets: Vec<OffsetWrite>) -> BoxFuture<Result<(), OffsetStoreError>> {
        self.store(connector).write(connector, offsets)
    }
}

impl fmt::Debug for OffsetTopics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OffsetTopics({})", self.worker.topic())
    }
}
