//! Plugins and clients for tests of the worker.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulkhead_model::config::{ConfigDef, ConfigValue};
use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_model::plugin::{PluginCatalog, PluginDesc, PluginKind};
use bulkhead_model::{ConnectorName, RawConfig, TaskId};
use bulkhead_pipeline::convert::Role;
use bulkhead_pipeline::ports::{
    Aliased, ClientError, Clients, ConsumeError, ConverterTask, Delivery, ErrorInfo, PluginError, Plugins,
    PredicateTask, Purpose, Topics, TransformTask,
};

use crate::plugin::VERSION;
use crate::{
    MemoryConsumer, MemoryConsumerHandle, MemoryProducer, MemoryTopics, ScriptedConnector, ScriptedConverter,
    ScriptedSink, ScriptedSource, ScriptedTransform,
};

/// Two connectors, `test.SourceConnector` and `test.SinkConnector`, whose instances are what the test has put in place;
/// without, they are instances that do nothing. The transform `test.Marked` and the predicate `test.Mentions` are
/// [`ScriptedTransform`]s, the converter `test.MarkedConverter` is a [`ScriptedConverter`]. The key `refuse` of a configuration makes every instance fail.
#[derive(Clone, Default)]
pub struct ScriptedPlugins {
    connectors: Arc<Mutex<HashMap<ConnectorName, ScriptedConnector>>>,
    sources: Arc<Mutex<HashMap<TaskId, ScriptedSource>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ScriptedPlugins {
    /// The instance that the connector of this name gets.
    pub fn put_connector(&self, name: &str, connector: ScriptedConnector) {
        lock(&self.connectors).insert(ConnectorName::new(name), connector);
    }

    /// The instance that this task gets.
    pub fn put_source(&self, connector: &str, task: u32, source: ScriptedSource) {
        lock(&self.sources).insert(ConnectorName::new(connector).task(task), source);
    }
}

fn made<T>(config: &RawConfig, instance: T) -> Result<T, PluginError> {
    match config.get("refuse") {
        None => Ok(instance),
        Some(message) => Err(PluginError::Failed(ErrorInfo { message: message.to_owned(), causes: Vec::new() })),
    }
}

impl Plugins for ScriptedPlugins {
    type Connector = ScriptedConnector;
    type Source = ScriptedSource;
    type Sink = ScriptedSink;

    fn catalog(&self) -> Arc<PluginCatalog> {
        let plugin = |class: &str, kind| PluginDesc {
            class: class.to_owned(),
            aliases: Vec::new(),
            kind,
            version: Some(VERSION.to_owned()),
            documentation: String::new(),
            config: ConfigDef::default(),
        };
        Arc::new(PluginCatalog::new([
            plugin("test.SourceConnector", PluginKind::Source),
            plugin("test.SinkConnector", PluginKind::Sink),
            plugin("test.Marked", PluginKind::Transformation),
            plugin("test.Mentions", PluginKind::Predicate),
            plugin("test.MarkedConverter", PluginKind::Converter),
            plugin("test.MarkedConverter", PluginKind::HeaderConverter),
        ]))
    }

    fn refused_grants(&self, config: &RawConfig) -> Vec<ConfigValue> {
        let refused = config.get("sandbox.memory").filter(|bytes| bytes.len() > 9);
        let errors = vec!["too much".to_owned()];
        let verdict =
            |_| ConfigValue { name: "sandbox.memory".to_owned(), errors, visible: true, ..ConfigValue::default() };
        refused.map(verdict).into_iter().collect()
    }

    async fn connector(&self, name: &ConnectorName, config: &RawConfig) -> Result<ScriptedConnector, PluginError> {
        made(config, lock(&self.connectors).get(name).cloned().unwrap_or_default())
    }

    async fn source_task(&self, task: &TaskId, connector: &RawConfig) -> Result<ScriptedSource, PluginError> {
        made(connector, lock(&self.sources).get(task).cloned().unwrap_or_default())
    }

    async fn sink_task(&self, _task: &TaskId, connector: &RawConfig) -> Result<ScriptedSink, PluginError> {
        made(connector, ScriptedSink::default())
    }

    async fn transform(
        &self,
        _task: &TaskId,
        transform: &Aliased,
        _connector: &RawConfig,
    ) -> Result<Arc<dyn TransformTask>, PluginError> {
        made(&transform.config, Arc::new(ScriptedTransform::new(&transform.config)))
    }

    async fn predicate(
        &self,
        _task: &TaskId,
        predicate: &Aliased,
        _connector: &RawConfig,
    ) -> Result<Arc<dyn PredicateTask>, PluginError> {
        made(&predicate.config, Arc::new(ScriptedTransform::new(&predicate.config)))
    }

    async fn converter(
        &self,
        _task: &TaskId,
        _role: Role,
        converter: &Aliased,
        _connector: &RawConfig,
    ) -> Result<Arc<dyn ConverterTask>, PluginError> {
        made(&converter.config, Arc::new(ScriptedConverter::new(&converter.config)))
    }
}

/// Hands out memory clients and keeps handles on them.
#[derive(Clone, Default)]
pub struct MemoryClients {
    producers: Arc<Mutex<Vec<MemoryProducer>>>,
    consumers: Arc<Mutex<Vec<MemoryConsumerHandle>>>,
    dead_letters: Arc<Mutex<Vec<MemoryProducer>>>,
    topics: MemoryTopics,
    group: Arc<Mutex<Vec<TopicOffset>>>,
}

impl MemoryClients {
    /// Values that any task has sent, in order.
    pub fn values(&self) -> Vec<String> {
        lock(&self.producers).iter().flat_map(MemoryProducer::values).collect()
    }

    /// Values that any task has sent to its dead-letter queue, in order.
    pub fn dead_letters(&self) -> Vec<String> {
        lock(&self.dead_letters).iter().flat_map(MemoryProducer::values).collect()
    }

    /// The consumers of all sinks so far.
    pub fn consumers(&self) -> Vec<MemoryConsumerHandle> {
        lock(&self.consumers).clone()
    }

    /// The topics of the cluster.
    pub fn topics(&self) -> &MemoryTopics {
        &self.topics
    }

    /// Committed offsets of every sink's group.
    pub fn group(&self) -> Vec<TopicOffset> {
        lock(&self.group).clone()
    }
}

/// A producer that the list lets be seen from outside.
fn kept(list: &Mutex<Vec<MemoryProducer>>, delivery: Arc<dyn Delivery>) -> MemoryProducer {
    let producer = MemoryProducer::new(delivery);
    lock(list).push(producer.handle());
    producer
}

impl Clients for MemoryClients {
    type Producer = MemoryProducer;
    type Consumer = MemoryConsumer;

    fn producer(
        &self,
        _task: &TaskId,
        _connector: &RawConfig,
        delivery: Arc<dyn Delivery>,
    ) -> Result<MemoryProducer, ClientError> {
        Ok(kept(&self.producers, delivery))
    }

    fn dead_letter_producer(
        &self,
        _task: &TaskId,
        _connector: &RawConfig,
        delivery: Arc<dyn Delivery>,
    ) -> Result<MemoryProducer, ClientError> {
        Ok(kept(&self.dead_letters, delivery))
    }

    fn topics(&self, _: &TaskId, _: &RawConfig, _: Purpose) -> Result<Arc<dyn Topics>, ClientError> {
        Ok(Arc::new(self.topics.clone()))
    }

    fn consumer(&self, _task: &TaskId, _connector: &RawConfig) -> Result<MemoryConsumer, ClientError> {
        let (consumer, handle) = MemoryConsumer::new();
        lock(&self.consumers).push(handle);
        Ok(consumer)
    }

    async fn group_offsets(&self, _: &ConnectorName, _: &RawConfig) -> Result<Vec<TopicOffset>, ConsumeError> {
        Ok(self.group())
    }

    async fn alter_group_offsets(
        &self,
        _connector: &ConnectorName,
        _config: &RawConfig,
        offsets: Vec<(TopicPartition, Option<i64>)>,
    ) -> Result<(), ConsumeError> {
        let mut group = lock(&self.group);
        for (partition, offset) in offsets {
            group.retain(|known| known.partition != partition);
            group.extend(offset.map(|offset| TopicOffset { partition, offset }));
        }
        Ok(())
    }

    async fn delete_group(&self, _: &ConnectorName, _: &RawConfig) -> Result<(), ConsumeError> {
        lock(&self.group).clear();
        Ok(())
    }
}
