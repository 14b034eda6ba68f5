//! Values in place of references, just before an instance is started or asked.

use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::config::Resolution;
use bulkhead_model::work::{Event, Run};
use bulkhead_model::{Instance, RawConfig};
use bulkhead_pipeline::ports::{Clients, Plugins};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::Shared;

/// What a connector wants when values that it was told have run out: `none`, or a restart.
const RELOAD: &str = "config.action.reload";

/// Looks after the values that an instance was told, for as long as it is held.
pub(crate) type Watch = AbortOnDropHandle<()>;

impl<S, C> Shared<S, C> {
    /// What the references of a configuration stand for now, as far as they stand for anything. An error
    /// is a provider that broke down.
    pub(crate) async fn look_up(&self, config: &RawConfig) -> Result<Resolution, String> {
        let providers = self.settings.providers.clone();
        if !providers.concern(config) {
            return Ok(Resolution::default());
        }
        let config = config.clone();
        let answer = tokio::task::spawn_blocking(move || providers.resolve(&config)).await;
        answer.map_err(|error| format!("a config provider failed: {error}"))
    }

    /// As [`Self::look_up`], for who can't go on unless every reference has a value.
    pub(crate) async fn resolve(&self, config: &RawConfig) -> Result<Resolution, String> {
        let resolution = self.look_up(config).await?;
        let first = resolution.problems(config.iter()).next();
        first.map_or(Ok(resolution), |(_, problem)| Err(problem))
    }
}

impl<S: Plugins, C: Clients> Shared<S, C> {
    /// Asks again each time that the values have run out, and reports others. None where there is nothing
    /// to look after, or nobody wants to know.
    pub(crate) fn watch(
        self: &Arc<Self>,
        run: Run,
        instance: Instance,
        config: &RawConfig,
        told: &Resolution,
    ) -> Option<Watch> {
        let ttl = told.ttl().filter(|_| config.get(RELOAD).map(str::trim) != Some("none"))?;
        let (shared, config, told) = (Arc::clone(self), config.clone(), told.clone());
        let watch = async move { shared.watch_until_dropped(ttl, run, instance, &config, &told).await };
        Some(AbortOnDropHandle::new(tokio::spawn(watch)))
    }

    /// What is reported may not be acted on, e.g. beside a rebalance, and so is reported again.
    async fn watch_until_dropped(
        &self,
        ttl: Duration,
        run: Run,
        instance: Instance,
        config: &RawConfig,
        told: &Resolution,
    ) {
        loop {
            sleep(ttl).await;
            match self.look_up(config).await {
                Ok(now) if told.is_outdated_by(&now) => {
                    self.report(Event::ValuesChanged { run, instance: instance.clone() });
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%instance, error, "Values of references can't be looked up again."),
            }
        }
    }
}
