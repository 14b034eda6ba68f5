use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use crate::config::{Config, RawConfig};
use crate::connector::{AnyConnector, SinkType, SourceType};
use crate::offsets::Offsets;
use crate::sink::{self, SinkConnector, SinkTask};
use crate::source::{self, SourceConnector, SourceTask};
use crate::{Error, Result};

/// One plugin of a component.
pub struct Plugin {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) needs: Needs,
    pub(super) connector: Box<dyn AnyConnector>,
    pub(super) task: TaskType,
}

/// What instances need beyond computing: the most that an operator has to grant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// `host:port` patterns; `*` stands for any host or port.
    pub network: &'static [&'static str],
    /// Whether folders of the worker's machine may be opened.
    pub files: FileAccess,
    /// Names of environment variables.
    pub env: &'static [&'static str],
}

/// Access to the folders that the operator grants.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub enum FileAccess {
    #[default]
    None,
    ReadOnly,
    ReadWrite,
}

type Starting<T> = Pin<Box<dyn Future<Output = Result<T>>>>;

/// How a plugin's task is started.
pub(super) enum TaskType {
    Source(fn(RawConfig) -> Starting<source::Driver>),
    Sink(fn(RawConfig) -> Starting<sink::Driver>),
}

impl Plugin {
    /// A source: its connector and its task.
    pub fn source<C: SourceConnector, T: SourceTask>(name: &'static str, version: &'static str) -> Self {
        let task = TaskType::Source(|config| Box::pin(start_source::<T>(config)));
        Self::new(name, version, Box::new(SourceType::<C>(PhantomData)), task)
    }

    /// A sink: its connector and its task.
    pub fn sink<C: SinkConnector, T: SinkTask>(name: &'static str, version: &'static str) -> Self {
        let task = TaskType::Sink(|config| Box::pin(start_sink::<T>(config)));
        Self::new(name, version, Box::new(SinkType::<C>(PhantomData)), task)
    }

    /// Other class names under which a configuration may name it.
    #[must_use]
    pub fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// What its instances need.
    #[must_use]
    pub fn needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    fn new(name: &'static str, version: &'static str, connector: Box<dyn AnyConnector>, task: TaskType) -> Self {
        Self { name, version, aliases: &[], needs: Needs::default(), connector, task }
    }

    pub(super) async fn start_source(&self, config: RawConfig) -> Result<source::Driver> {
        match self.task {
            TaskType::Source(start) => start(config).await,
            TaskType::Sink(_) => Err(Error::failed(format!("`{}` is a sink, not a source", self.name))),
        }
    }

    pub(super) async fn start_sink(&self, config: RawConfig) -> Result<sink::Driver> {
        match self.task {
            TaskType::Sink(start) => start(config).await,
            TaskType::Source(_) => Err(Error::failed(format!("`{}` is a source, not a sink", self.name))),
        }
    }
}

pub(crate) async fn start_source<T: SourceTask>(config: RawConfig) -> Result<source::Driver> {
    let config = T::Config::parse(&config)?;
    Ok(source::Driver::new(Box::new(T::start(config, &Offsets::new()).await?)))
}

pub(crate) async fn start_sink<T: SinkTask>(config: RawConfig) -> Result<sink::Driver> {
    let config = T::Config::parse(&config)?;
    Ok(sink::Driver::new(Box::new(T::start(config).await?)))
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plugin({} {})", self.name, self.version)
    }
}
