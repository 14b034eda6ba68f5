//! Configurations: the raw map a user submits, the definition a plugin gives of its keys, the typed
//! values they make together, and what validation answers.

mod check;
mod def;
pub mod java_regex;
mod mask;
mod overrides;
mod parse;
mod raw;
pub mod references;
mod resolution;
mod validate;

pub use def::{ConfigDef, ConfigKey, ConfigType, ConfigValue, DefaultValue, Importance, Validator, Width};
pub use mask::Mask;
pub use overrides::{OverridePolicy, UnknownPolicy};
pub use parse::{Invalid, Password, Typed};
pub use raw::{ConfigPatch, RawConfig};
pub use resolution::{Answer, Resolution};
pub use validate::{Given, TypedConfig};
