//! Topics of a connector's tasks.

use bulkhead_model::RawConfig;
use bulkhead_pipeline::ports::{BoxFuture, ClientError, Creation, NewTopic, TopicError, Topics};
use tokio::runtime::Handle;

use super::TopicAdmin;
use crate::properties::Settings;

/// A connector's admin client, for one task.
pub(crate) struct ConnectorTopics {
    /// Some until it is dropped.
    admin: Option<TopicAdmin>,
}

impl ConnectorTopics {
    pub(crate) fn new(settings: &Settings, client_id: &str, connector: &RawConfig) -> Result<Self, ClientError> {
        Ok(Self { admin: Some(TopicAdmin::of_connector(settings, client_id, connector)?) })
    }

    fn ask<T, F>(&self, request: impl FnOnce(TopicAdmin) -> F) -> BoxFuture<Result<T, TopicError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, TopicError>> + Send + 'static,
    {
        match self.admin.clone() {
            Some(admin) => Box::pin(request(admin)),
            None => Box::pin(std::future::ready(Err(TopicError::Refused("the admin client is gone".to_owned())))),
        }
    }
}

impl Topics for ConnectorTopics {
    fn exists(&self, topic: &str) -> BoxFuture<Result<bool, TopicError>> {
        let topic = topic.to_owned();
        self.ask(async move |admin| Ok(admin.partition_count(&topic).await?.is_some()))
    }

    fn create(&self, topic: NewTopic) -> BoxFuture<Result<Creation, TopicError>> {
        self.ask(async move |admin| admin.create_topic(topic).await)
    }
}

impl Drop for ConnectorTopics {
    /// A client waits for its threads when it ends.
    fn drop(&mut self) {
        if let (Some(admin), Ok(runtime)) = (self.admin.take(), Handle::try_current()) {
            runtime.spawn_blocking(move || drop(admin));
        }
    }
}
