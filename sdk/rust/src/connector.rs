//! What source and sink connectors have in common: their erased form, for a component's exports.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use crate::bindings::base::bulkhead::connect::config_def::ConfigValue;
use crate::config::{Config, RawConfig};
use crate::offsets::JsonMap;
use crate::sink::{self, SinkConnector};
use crate::source::{self, ExactlyOnce, SourceConnector};
use crate::{Error, ErrorKind, Result, TopicPartition, host};

/// What a connector finds wrong with a configuration, key by key.
#[derive(Debug, Default)]
pub struct Verdict(Vec<ConfigValue>);

impl Verdict {
    /// Refuses the value of a key.
    pub fn refuse(&mut self, key: &str, why: impl Into<String>) {
        self.about(key).errors.push(why.into());
    }

    /// Proposes values for a key.
    pub fn recommend(&mut self, key: &str, values: impl IntoIterator<Item = impl Into<String>>) {
        self.about(key).recommended.extend(values.into_iter().map(Into::into));
    }

    /// Hides a key that makes no sense beside the others.
    pub fn hide(&mut self, key: &str) {
        self.about(key).visible = false;
    }

    /// All that was refused: keys and why.
    pub fn refusals(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|about| about.errors.iter().map(|error| (about.name.as_str(), error.as_str())))
    }

    /// What the types of the settings find wrong; the worker knows only what their attributes say.
    fn of_settings<S: Config>(config: &RawConfig) -> Self {
        let mut verdict = Self::default();
        if let Err(error) = S::parse(config)
            && let ErrorKind::Config(Some(key)) = error.kind()
        {
            verdict.refuse(key, error.message());
        }
        verdict
    }

    fn about(&mut self, key: &str) -> &mut ConfigValue {
        let known = self.0.iter().position(|about| about.name == key);
        let place = known.unwrap_or_else(|| {
            let nothing = (None, Vec::new(), Vec::new());
            let (value, recommended, errors) = nothing;
            self.0.push(ConfigValue { name: key.to_owned(), value, recommended, errors, visible: true });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    pub(crate) fn into_wit(self) -> Vec<ConfigValue> {
        self.0
    }
}

/// Asks the worker to call `task_configs` again and to restart the tasks if anything changed. Asking often is fine.
pub fn request_task_reconfiguration() {
    host::request_task_reconfiguration();
}

/// Makes the connector FAILED; its tasks go on.
pub fn raise_error(error: &Error) {
    host::raise_error(error.message().to_owned(), error.causes().to_vec());
}

pub(crate) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// A type of connector: all that can be asked without starting one.
pub(crate) trait AnyConnector {
    fn validate(&self, config: RawConfig) -> Answer<'_, Verdict>;
    fn start(&self, config: RawConfig) -> Answer<'_, Box<dyn Running>>;
    fn exactly_once(&self, config: &RawConfig) -> ExactlyOnce;
    fn sets_transaction_boundaries(&self, config: &RawConfig) -> bool;
    fn alter_source_offsets(&self, config: RawConfig, offsets: Vec<(JsonMap, JsonMap)>) -> Answer<'_, bool>;
    fn alter_sink_offsets(&self, config: RawConfig, offsets: Vec<(TopicPartition, Option<i64>)>) -> Answer<'_, bool>;
}

/// A started connector.
pub(crate) trait Running {
    fn task_configs(&mut self, max_tasks: u32) -> Answer<'_, Vec<RawConfig>>;
    fn stop(&mut self) -> Answer<'_, ()>;
}

/// A started connector and its own configuration, over which those of its tasks are laid.
struct Started<C, K> {
    connector: C,
    config: RawConfig,
    kind: PhantomData<K>,
}

/// The type of a source connector, respectively of a sink connector.
pub(crate) struct SourceType<C>(pub(crate) PhantomData<C>);
pub(crate) struct SinkType<C>(pub(crate) PhantomData<C>);

impl<C: SourceConnector> AnyConnector for SourceType<C> {
    fn validate(&self, config: RawConfig) -> Answer<'_, Verdict> {
        Box::pin(async move {
            let mut verdict = Verdict::of_settings::<C::Config>(&config);
            C::validate(&config, &mut verdict).await?;
            Ok(verdict)
        })
    }

    fn start(&self, config: RawConfig) -> Answer<'_, Box<dyn Running>> {
        Box::pin(async move {
            let connector = C::start(C::Config::parse(&config)?).await?;
            Ok(Box::new(Started { connector, config, kind: PhantomData::<Self> }) as Box<dyn Running>)
        })
    }

    fn exactly_once(&self, config: &RawConfig) -> ExactlyOnce {
        C::exactly_once(config)
    }

    fn sets_transaction_boundaries(&self, config: &RawConfig) -> bool {
        C::sets_transaction_boundaries(config)
    }

    fn alter_source_offsets(&self, config: RawConfig, offsets: Vec<(JsonMap, JsonMap)>) -> Answer<'_, bool> {
        Box::pin(async move { C::alter_offsets(&config, &offsets).await })
    }

    fn alter_sink_offsets(&self, _: RawConfig, _: Vec<(TopicPartition, Option<i64>)>) -> Answer<'_, bool> {
        Box::pin(async { Err(Error::failed("a source has no consumer offsets")) })
    }
}

impl<C: source::SourceConnector> Running for Started<C, SourceType<C>> {
    fn task_configs(&mut self, max_tasks: u32) -> Answer<'_, Vec<RawConfig>> {
        Box::pin(async move {
            let own = self.connector.task_configs(max_tasks).await?;
            Ok(own.into_iter().map(|task| self.config.overlaid(task)).collect())
        })
    }

    fn stop(&mut self) -> Answer<'_, ()> {
        Box::pin(self.connector.stop())
    }
}

impl<C: SinkConnector> AnyConnector for SinkType<C> {
    fn validate(&self, config: RawConfig) -> Answer<'_, Verdict> {
        Box::pin(async move {
            let mut verdict = Verdict::of_settings::<C::Config>(&config);
            C::validate(&config, &mut verdict).await?;
            Ok(verdict)
        })
    }

    fn start(&self, config: RawConfig) -> Answer<'_, Box<dyn Running>> {
        Box::pin(async move {
            let connector = C::start(C::Config::parse(&config)?).await?;
            Ok(Box::new(Started { connector, config, kind: PhantomData::<Self> }) as Box<dyn Running>)
        })
    }

    fn exactly_once(&self, _config: &RawConfig) -> ExactlyOnce {
        ExactlyOnce::Unknown
    }

    fn sets_transaction_boundaries(&self, _config: &RawConfig) -> bool {
        false
    }

    fn alter_source_offsets(&self, _: RawConfig, _: Vec<(JsonMap, JsonMap)>) -> Answer<'_, bool> {
        Box::pin(async { Err(Error::failed("a sink has no source offsets")) })
    }

    fn alter_sink_offsets(&self, config: RawConfig, offsets: Vec<(TopicPartition, Option<i64>)>) -> Answer<'_, bool> {
        Box::pin(async move { C::alter_offsets(&config, &offsets).await })
    }
}

impl<C: sink::SinkConnector> Running for Started<C, SinkType<C>> {
    fn task_configs(&mut self, max_tasks: u32) -> Answer<'_, Vec<RawConfig>> {
        Box::pin(async move {
            let own = self.connector.task_configs(max_tasks).await?;
            Ok(own.into_iter().map(|task| self.config.overlaid(task)).collect())
        })
    }

    fn stop(&mut self) -> Answer<'_, ()> {
        Box::pin(self.connector.stop())
    }
}
