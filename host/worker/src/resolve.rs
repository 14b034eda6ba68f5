//! Values in place of references, just before an instance is started or asked.

use bulkhead_model::RawConfig;
use bulkhead_model::config::Resolution;

use crate::Shared;

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
