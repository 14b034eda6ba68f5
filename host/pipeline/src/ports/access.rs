//! Where instances and clients come from: the worker is generic over these two.

use std::future::Future;
use std::sync::Arc;

use bulkhead_model::config::ConfigValue;
use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_model::plugin::PluginCatalog;
use bulkhead_model::{ConnectorName, RawConfig, TaskId};

use super::{
    Aliased, Connector, ConsumeError, Consumer, ConverterTask, Delivery, PluginError, PredicateTask, Producer,
    SinkTask, SourceTask, Topics, TransformTask,
};
use crate::convert::Role;

/// Installed plugins. Every call of the makers yields a fresh instance in a sandbox of its own, with the
/// limits and grants that the configuration asks for and the worker allows.
pub trait Plugins: Send + Sync + 'static {
    type Connector: Connector;
    type Source: SourceTask;
    type Sink: SinkTask;

    /// The plugins installed now.
    fn catalog(&self) -> Arc<PluginCatalog>;
    /// Verdicts on the `sandbox.*` keys of a configuration; empty if all is allowed.
    fn refused_grants(&self, config: &RawConfig) -> Vec<ConfigValue>;
    fn connector(
        &self,
        name: &ConnectorName,
        config: &RawConfig,
    ) -> impl Future<Output = Result<Self::Connector, PluginError>> + Send;
    fn source_task(
        &self,
        task: &TaskId,
        connector: &RawConfig,
    ) -> impl Future<Output = Result<Self::Source, PluginError>> + Send;
    fn sink_task(
        &self,
        task: &TaskId,
        connector: &RawConfig,
    ) -> impl Future<Output = Result<Self::Sink, PluginError>> + Send;
    /// A transform of a task's chain, configured.
    fn transform(
        &self,
        task: &TaskId,
        transform: &Aliased,
        connector: &RawConfig,
    ) -> impl Future<Output = Result<Arc<dyn TransformTask>, PluginError>> + Send;
    /// A predicate of a task's chain, configured.
    fn predicate(
        &self,
        task: &TaskId,
        predicate: &Aliased,
        connector: &RawConfig,
    ) -> impl Future<Output = Result<Arc<dyn PredicateTask>, PluginError>> + Send;
    /// A converter of a task, configured. Its alias is that of its role, [`Role::key`].
    fn converter(
        &self,
        task: &TaskId,
        role: Role,
        converter: &Aliased,
        connector: &RawConfig,
    ) -> impl Future<Output = Result<Arc<dyn ConverterTask>, PluginError>> + Send;
}

/// Kafka clients for tasks, made from the worker's properties and the connector's overrides.
pub trait Clients: Send + Sync + 'static {
    type Producer: Producer;
    type Consumer: Consumer;

    /// A session on a producer that tasks with equal properties share.
    fn producer(
        &self,
        task: &TaskId,
        connector: &RawConfig,
        delivery: Arc<dyn Delivery>,
    ) -> Result<Self::Producer, ClientError>;
    /// A session on a producer of the task's own, for its dead-letter queue.
    fn dead_letter_producer(
        &self,
        task: &TaskId,
        connector: &RawConfig,
        delivery: Arc<dyn Delivery>,
    ) -> Result<Self::Producer, ClientError>;
    /// Looks topics up and makes them, with the connector's `admin.override.*`.
    fn topics(&self, task: &TaskId, connector: &RawConfig, purpose: Purpose) -> Result<Arc<dyn Topics>, ClientError>;
    /// A member of the group `connect-NAME`, subscribed to `topics` or `topics.regex`.
    fn consumer(&self, task: &TaskId, connector: &RawConfig) -> Result<Self::Consumer, ClientError>;
    /// Committed offsets of a sink's group, by partition.
    fn group_offsets(
        &self,
        connector: &ConnectorName,
        config: &RawConfig,
    ) -> impl Future<Output = Result<Vec<TopicOffset>, ConsumeError>> + Send;
    /// Sets (or with none, removes) offsets of a sink's group that has no members.
    fn alter_group_offsets(
        &self,
        connector: &ConnectorName,
        config: &RawConfig,
        offsets: Vec<(TopicPartition, Option<i64>)>,
    ) -> impl Future<Output = Result<(), ConsumeError>> + Send;
    /// Deletes a sink's group; fine if there is none.
    fn delete_group(
        &self,
        connector: &ConnectorName,
        config: &RawConfig,
    ) -> impl Future<Output = Result<(), ConsumeError>> + Send;
}

/// What a task makes topics for; its client is named after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Records,
    DeadLetters,
}

/// A client could not be made: a property is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ClientError(pub String);
