//! Configurations: the raw map a user submits, the definition a plugin gives of its keys, and what
//! validation answers.

mod def;
mod raw;

pub use def::{ConfigDef, ConfigKey, ConfigType, ConfigValue, DefaultValue, Importance, Validator, Width};
pub use raw::{ConfigPatch, RawConfig};
