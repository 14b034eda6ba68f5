//! Values of environment variables (KIP-887). The environment is that of the worker's start.

use std::collections::BTreeMap;

use bulkhead_model::RawConfig;
use bulkhead_model::config::Answer;
use fancy_regex::Regex;

use super::{Keys, Provider};

pub(super) struct Environment {
    allowed: BTreeMap<String, String>,
}

impl Environment {
    /// `allowlist.pattern` has to match whole names; without it everything may be asked for.
    pub(super) fn new(config: &RawConfig, variables: &BTreeMap<String, String>) -> Result<Self, String> {
        let Some(pattern) = config.get("allowlist.pattern") else { return Ok(Self { allowed: variables.clone() }) };
        let pattern = whole(pattern).map_err(|error| format!("allowlist.pattern {pattern}: {error}"))?;
        let is_allowed = |name: &str| pattern.is_match(name).unwrap_or(false);
        let allowed = variables.iter().filter(|(name, _)| is_allowed(name));
        Ok(Self { allowed: allowed.map(|(name, value)| (name.clone(), value.clone())).collect() })
    }
}

impl Provider for Environment {
    fn get(&self, path: &str, keys: Keys<'_>) -> Result<Answer, String> {
        if !path.is_empty() {
            return Err(format!("Path is not supported for EnvVarConfigProvider, invalid value '{path}'"));
        }
        Ok(keys.of(self.allowed.clone()))
    }
}

/// First alone, so that an unbalanced parenthesis can't close the one around.
fn whole(pattern: &str) -> Result<Regex, Box<fancy_regex::Error>> {
    Regex::new(pattern).and_then(|_| Regex::new(&format!("\\A(?:{pattern})\\z"))).map_err(Box::new)
}
