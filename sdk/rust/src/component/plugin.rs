use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use crate::config::{Config, Key, RawConfig};
use crate::connector::{AnyConnector, SinkType, SourceType};
use crate::converter::{Converter, ConverterDriver, Role};
use crate::offsets::Offsets;
use crate::sink::{self, SinkConnector, SinkTask};
use crate::source::{self, SourceConnector, SourceTask};
use crate::transform::{Predicate, PredicateDriver, Transform, TransformDriver};
use crate::{Error, Result};

/// One plugin of a component.
pub struct Plugin {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) needs: Needs,
    pub(super) documentation: &'static str,
    keys: fn() -> Vec<Key>,
    pub(super) kind: Kind,
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

type StartConverter = fn(RawConfig, Role) -> Starting<ConverterDriver>;

/// What a plugin is, and how it is started.
pub(super) enum Kind {
    Source(Box<dyn AnyConnector>, fn(RawConfig) -> Starting<source::Driver>),
    Sink(Box<dyn AnyConnector>, fn(RawConfig) -> Starting<sink::Driver>),
    Transform(fn(RawConfig) -> Starting<TransformDriver>),
    Predicate(fn(RawConfig) -> Starting<PredicateDriver>),
    /// Of keys and values.
    Converter(StartConverter),
    HeaderConverter(StartConverter),
}

impl Plugin {
    /// A source: its connector and its task.
    pub fn source<C: SourceConnector, T: SourceTask>(name: &'static str, version: &'static str) -> Self {
        let connector = Box::new(SourceType::<C>(PhantomData));
        Self::new::<C::Config>(name, version, Kind::Source(connector, |config| Box::pin(start_source::<T>(config))))
    }

    /// A sink: its connector and its task.
    pub fn sink<C: SinkConnector, T: SinkTask>(name: &'static str, version: &'static str) -> Self {
        let connector = Box::new(SinkType::<C>(PhantomData));
        Self::new::<C::Config>(name, version, Kind::Sink(connector, |config| Box::pin(start_sink::<T>(config))))
    }

    /// A transformation.
    pub fn transform<T: Transform>(name: &'static str, version: &'static str) -> Self {
        Self::new::<T::Config>(name, version, Kind::Transform(|config| Box::pin(start_transform::<T>(config))))
    }

    /// A predicate.
    pub fn predicate<P: Predicate>(name: &'static str, version: &'static str) -> Self {
        Self::new::<P::Config>(name, version, Kind::Predicate(|config| Box::pin(start_predicate::<P>(config))))
    }

    /// A converter of keys and values.
    pub fn converter<C: Converter>(name: &'static str, version: &'static str) -> Self {
        let kind = Kind::Converter(|config, role| Box::pin(start_converter::<C>(config, role)));
        Self::new::<C::Config>(name, version, kind)
    }

    /// A converter of header values.
    pub fn header_converter<C: Converter>(name: &'static str, version: &'static str) -> Self {
        let kind = Kind::HeaderConverter(|config, role| Box::pin(start_converter::<C>(config, role)));
        Self::new::<C::Config>(name, version, kind)
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

    fn new<S: Config>(name: &'static str, version: &'static str, kind: Kind) -> Self {
        let (documentation, keys) = (S::DOCUMENTATION, S::keys);
        Self { name, version, aliases: &[], needs: Needs::default(), documentation, keys, kind }
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        (self.keys)()
    }

    pub(super) fn into_connector(self) -> Result<Box<dyn AnyConnector>> {
        match self.kind {
            Kind::Source(connector, _) | Kind::Sink(connector, _) => Ok(connector),
            Kind::Transform(_) | Kind::Predicate(_) | Kind::Converter(_) | Kind::HeaderConverter(_) => {
                Err(self.is_no("connector"))
            }
        }
    }

    pub(super) async fn start_source(&self, config: RawConfig) -> Result<source::Driver> {
        let Kind::Source(_, start) = &self.kind else { return Err(self.is_no("source")) };
        start(config).await
    }

    pub(super) async fn start_sink(&self, config: RawConfig) -> Result<sink::Driver> {
        let Kind::Sink(_, start) = &self.kind else { return Err(self.is_no("sink")) };
        start(config).await
    }

    pub(super) async fn start_transform(&self, config: RawConfig) -> Result<TransformDriver> {
        let Kind::Transform(start) = &self.kind else { return Err(self.is_no("transformation")) };
        start(config).await
    }

    pub(super) async fn start_predicate(&self, config: RawConfig) -> Result<PredicateDriver> {
        let Kind::Predicate(start) = &self.kind else { return Err(self.is_no("predicate")) };
        start(config).await
    }

    /// Whether it is a converter of such.
    pub(super) fn converts(&self, role: Role) -> bool {
        match role {
            Role::Key | Role::Value => matches!(self.kind, Kind::Converter(_)),
            Role::Header => matches!(self.kind, Kind::HeaderConverter(_)),
        }
    }

    pub(super) async fn start_converter(&self, config: RawConfig, role: Role) -> Result<ConverterDriver> {
        let (Kind::Converter(start) | Kind::HeaderConverter(start)) = &self.kind else {
            return Err(self.is_no("converter"));
        };
        start(config, role).await
    }

    fn is_no(&self, what: &str) -> Error {
        Error::failed(format!("`{}` is no {what}", self.name))
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

pub(crate) async fn start_transform<T: Transform>(config: RawConfig) -> Result<TransformDriver> {
    Ok(TransformDriver::new(T::start(T::Config::parse(&config)?).await?))
}

pub(crate) async fn start_predicate<P: Predicate>(config: RawConfig) -> Result<PredicateDriver> {
    Ok(PredicateDriver::new(P::start(P::Config::parse(&config)?).await?))
}

pub(crate) async fn start_converter<C: Converter>(config: RawConfig, role: Role) -> Result<ConverterDriver> {
    Ok(ConverterDriver::new(C::start(C::Config::parse(&config)?, role).await?))
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plugin({} {})", self.name, self.version)
    }
}
