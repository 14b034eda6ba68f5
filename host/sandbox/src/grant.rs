//! What an instance may do: a decision over plain data.
//!
//! Three lists meet. The plugin's manifest says what it needs, the connector's configuration asks (or
//! says nothing and gets the worker's default), the worker's ceiling bounds what may be asked. An access
//! needs all three; asking for more than the ceiling is refused with both values, needing less than
//! what was asked for is fine.

mod files;
mod network;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use bulkhead_model::RawConfig;

pub use files::{Access, Folder};
pub use network::{HostPattern, NetworkRule, PortPattern};

use crate::limits::mebibytes;
use crate::settings::{bytes, list, milliseconds};

pub const MEMORY: &str = "sandbox.memory";
pub const FILES: &str = "sandbox.files";
pub const NETWORK: &str = "sandbox.network";
pub const ENV: &str = "sandbox.env";
pub const CALL_TIMEOUT: &str = "sandbox.call.timeout.ms";

/// The operator's side: `sandbox.default.*` and `sandbox.max.*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub memory: u64,
    pub max_memory: u64,
    pub files: Vec<Folder>,
    pub max_files: Ceiling<Folder>,
    pub network: Vec<NetworkRule>,
    pub max_network: Ceiling<NetworkRule>,
    pub env: Vec<EnvName>,
    pub max_env: Ceiling<EnvName>,
    pub call_timeout: Duration,
}

/// The most that may be asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Ceiling<T> {
    /// Anything.
    None,
    /// No more than the default.
    Default,
    At(Vec<T>),
}

/// The plugin's side, from its manifest and its code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    pub files: Option<Access>,
    pub network: Vec<NetworkRule>,
    pub env: Vec<EnvName>,
    /// Bytes of memory that an instance has from its first moment.
    pub initial_memory: u64,
}

/// What one instance gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    pub memory: u64,
    pub files: Vec<Folder>,
    pub network: Vec<NetworkRule>,
    pub env: Vec<EnvName>,
    pub call_timeout: Duration,
}

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvName(pub String);

/// Why a key of a configuration cannot be granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub key: &'static str,
    /// The key's text; none if the configuration doesn't have it.
    pub value: Option<String>,
    pub message: String,
}

/// A thing that may be granted as a whole or in part.
pub trait Rule: Clone + Display + FromStr<Err = String> {
    /// Whether `self` allows all that `other` does.
    fn covers(&self, other: &Self) -> bool;
    /// What both allow.
    fn common(&self, other: &Self) -> Option<Self>;
}

impl Grant {
    /// Nothing but computing, within these bounds.
    pub fn computing(memory: u64, call_timeout: Duration) -> Self {
        Self { memory, files: Vec::new(), network: Vec::new(), env: Vec::new(), call_timeout }
    }
}

impl Policy {
    /// What an instance of a plugin gets under a configuration, or everything that is wrong with what
    /// the configuration asks for.
    pub fn grant(&self, needs: &Needs, config: &RawConfig) -> Result<Grant, Vec<Refusal>> {
        let mut refusals = Vec::new();
        let mut asks = Asks { config, refusals: &mut refusals };
        let memory = asks.memory(self, needs);
        let files = asks.rules(FILES, &self.files, &self.max_files);
        let network = asks.rules(NETWORK, &self.network, &self.max_network);
        let env = asks.rules(ENV, &self.env, &self.max_env);
        let call_timeout = asks.value(CALL_TIMEOUT, milliseconds);
        if !refusals.is_empty() {
            return Err(refusals);
        }
        Ok(Grant {
            memory: memory.unwrap_or(self.memory),
            files: files::within(needs.files, files),
            network: common(&needs.network, &network),
            env: common(&needs.env, &env),
            call_timeout: call_timeout.unwrap_or(self.call_timeout),
        })
    }
}

/// Reads what a connector asks for, and collects what it may not have.
struct Asks<'a> {
    config: &'a RawConfig,
    refusals: &'a mut Vec<Refusal>,
}

impl Asks<'_> {
    fn refuse(&mut self, key: &'static str, message: String) {
        self.refusals.push(Refusal { key, value: self.config.get(key).map(str::to_owned), message });
    }

    fn value<T>(&mut self, key: &'static str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let text = self.config.get(key)?;
        match parse(text) {
            Ok(value) => Some(value),
            Err(message) => {
                self.refuse(key, format!("`{text}` {message}"));
                None
            }
        }
    }

    fn memory(&mut self, policy: &Policy, needs: &Needs) -> Option<u64> {
        let asked = self.value(MEMORY, bytes);
        let granted = asked.unwrap_or(policy.memory);
        let (needed, most) = (needs.initial_memory, policy.max_memory);
        if granted > most {
            let (granted, most) = (mebibytes(granted), mebibytes(most));
            self.refuse(MEMORY, format!("{granted} are asked for, {most} are allowed (`sandbox.max.memory`)"));
        } else if needed > granted {
            let (needed, granted, most) = (mebibytes(needed), mebibytes(granted), mebibytes(most));
            self.refuse(
                MEMORY,
                format!("the plugin needs {needed} to start, {granted} are allowed (`sandbox.memory` may ask for up to {most})"),
            );
        }
        asked
    }

    /// What is asked for: the key's list, or the default where there is none.
    fn rules<T: Rule>(&mut self, key: &'static str, default: &[T], ceiling: &Ceiling<T>) -> Vec<T> {
        let Some(text) = self.config.get(key) else {
            return default.to_vec();
        };
        let asked = match list(text).map(str::parse).collect::<Result<Vec<T>, String>>() {
            Ok(asked) => asked,
            Err(message) => {
                self.refuse(key, message);
                return Vec::new();
            }
        };
        let allowed = match ceiling {
            Ceiling::None => return asked,
            Ceiling::Default => default,
            Ceiling::At(most) => most,
        };
        for rule in &asked {
            if !allowed.iter().any(|most| most.covers(rule)) {
                let worker_key = key.replacen("sandbox.", "sandbox.max.", 1);
                self.refuse(key, format!("`{rule}` is asked for, {} (`{worker_key}`)", shown(allowed)));
            }
        }
        asked
    }
}

fn shown<T: Display>(allowed: &[T]) -> String {
    if allowed.is_empty() {
        return "none is allowed".to_owned();
    }
    let rules: Vec<_> = allowed.iter().map(|rule| format!("`{rule}`")).collect();
    format!("allowed: {}", rules.join(", "))
}

/// What both lists allow.
fn common<T: Rule>(needed: &[T], asked: &[T]) -> Vec<T> {
    let pairs = needed.iter().flat_map(|need| asked.iter().map(move |ask| (need, ask)));
    pairs.filter_map(|(need, ask)| need.common(ask)).collect()
}

impl Rule for EnvName {
    fn covers(&self, other: &Self) -> bool {
        self == other
    }

    fn common(&self, other: &Self) -> Option<Self> {
        self.covers(other).then(|| self.clone())
    }
}

impl FromStr for EnvName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.contains(['=', '\0']) {
            return Err(format!("`{text}` is no name of an environment variable"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl Display for EnvName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
