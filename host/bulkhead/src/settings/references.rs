//! References to secrets in a worker's properties: the providers that connectors use serve them as well.

use bulkhead_model::RawConfig;
use bulkhead_model::config::Resolution;
use bulkhead_worker::{Providers, Secrets, providers};

/// Properties in which references have become what they stand for.
pub(super) struct Resolved {
    pub(super) properties: RawConfig,
    pub(super) providers: Providers,
    resolution: Resolution,
}

impl Resolved {
    /// The error is everything that is wrong with providers and references.
    pub(super) fn new(raw: &RawConfig, secrets: Secrets) -> Result<Self, Vec<String>> {
        let providers = Providers::from_properties(raw, &providers::environment(), secrets)?;
        let resolution = providers.resolve(raw);
        let problems: Vec<_> = resolution.problems(raw.iter()).map(|(_, problem)| problem).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self { properties: resolution.apply(raw), providers, resolution })
    }

    /// What is wrong with the properties, in words without secrets.
    pub(super) fn masked(&self, problems: Vec<String>) -> Vec<String> {
        problems.iter().map(|problem| self.resolution.mask(problem).into_owned()).collect()
    }
}
