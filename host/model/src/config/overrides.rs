//! Which settings of Kafka's clients a connector may choose (KIP-458).

use std::collections::BTreeSet;
use std::fmt;

use super::RawConfig;

/// `connector.client.config.override.policy` of a worker, with its list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OverridePolicy {
    #[default]
    All,
    None,
    /// Who the client is, and nothing else: `security.protocol`, `sasl.mechanism`, `sasl.jaas.config`.
    Principal,
    /// What `connector.client.config.override.allowlist` names, without the prefix of the client.
    Allowlist(BTreeSet<String>),
}

/// The policy is none of Connect's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Invalid value {0} for configuration {POLICY}: It has to be All, None, Principal or Allowlist, or Apache's class of \
     one of them"
)]
pub struct UnknownPolicy(pub String);

const POLICY: &str = "connector.client.config.override.policy";
const ALLOWLIST: &str = "connector.client.config.override.allowlist";
const PACKAGE: &str = "org.apache.kafka.connect.connector.policy.";
const CLASS: &str = "ConnectorClientConfigOverridePolicy";
const PRINCIPAL: &[&str] = &["security.protocol", "sasl.mechanism", "sasl.jaas.config"];

impl OverridePolicy {
    /// Reads a worker's properties.
    pub fn of_worker(worker: &RawConfig) -> Result<Self, UnknownPolicy> {
        let Some(given) = worker.get(POLICY).map(str::trim).filter(|given| !given.is_empty()) else {
            return Ok(Self::All);
        };
        let name = given.strip_prefix(PACKAGE).unwrap_or(given);
        match name.strip_suffix(CLASS).unwrap_or(name) {
            "All" => Ok(Self::All),
            "None" => Ok(Self::None),
            "Principal" => Ok(Self::Principal),
            "Allowlist" => {
                let keys = worker.get(ALLOWLIST).unwrap_or_default().split(',').map(str::trim);
                Ok(Self::Allowlist(keys.filter(|key| !key.is_empty()).map(str::to_owned).collect()))
            }
            _ => Err(UnknownPolicy(given.to_owned())),
        }
    }

    /// Why a connector may not choose `key`, which is given without the prefix of the client.
    pub fn refusal(&self, key: &str) -> Option<String> {
        let allowed = match self {
            Self::All => true,
            Self::None => false,
            Self::Principal => PRINCIPAL.contains(&key),
            Self::Allowlist(keys) => keys.contains(key),
        };
        (!allowed).then(|| format!("The policy {self} ({POLICY}) of this worker lets no connector override {key}"))
    }
}

impl fmt::Display for OverridePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "All",
            Self::None => "None",
            Self::Principal => "Principal",
            Self::Allowlist(_) => "Allowlist",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(policy: &str, keys: &[&str]) -> Vec<String> {
        let worker = RawConfig::from([(POLICY, policy), (ALLOWLIST, "linger.ms , ,acks")]);
        let policy = OverridePolicy::of_worker(&worker).unwrap();
        keys.iter().filter(|key| policy.refusal(key).is_some()).map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn each_policy_lets_through_what_it_is_for() {
        let keys = ["sasl.jaas.config", "security.protocol", "sasl.mechanism", "linger.ms", "acks", "client.id"];
        assert_eq!(refused("", &keys), [""; 0]);
        assert_eq!(refused("All", &keys), [""; 0]);
        assert_eq!(refused(" None ", &keys), keys);
        assert_eq!(refused("Principal", &keys), keys[3..]);
        assert_eq!(refused("Allowlist", &keys), [keys[0], keys[1], keys[2], keys[5]]);
    }

    #[test]
    fn policies_go_by_apaches_names_and_others_are_refused() {
        let class = "org.apache.kafka.connect.connector.policy.NoneConnectorClientConfigOverridePolicy";
        assert_eq!(refused(class, &["acks"]), ["acks"]);
        assert_eq!(refused("AllConnectorClientConfigOverridePolicy", &["acks"]), [""; 0]);
        let error = OverridePolicy::of_worker(&RawConfig::from([(POLICY, "com.acme.Mine")])).unwrap_err();
        let expected = "Invalid value com.acme.Mine for configuration connector.client.config.override.policy: It has \
                        to be All, None, Principal or Allowlist, or Apache's class of one of them";
        assert_eq!(error.to_string(), expected);
    }
}
