//! A connector's configuration: raw as the worker holds it, and typed as `#[derive(Config)]` reads it.

mod key;
mod raw;
mod setting;

pub use key::{Importance, Key, Kind};
pub use raw::RawConfig;
pub use setting::{Password, Setting};

use crate::Result;

/// Typed settings: the keys that users may set, and how to read them.
///
/// Derive it rather than writing it. Each field is a key; the doc comments of fields are the keys' documentation, that
/// of the struct is the plugin's.
///
/// ```
/// use bulkhead_sdk::prelude::*;
///
/// /// Emits a growing number.
/// #[derive(Config)]
/// struct Settings {
///     /// Topic to write to.
///     topic: String,
///     /// Records a second.
///     #[config(default = 10, range(1..=100_000), importance = "medium")]
///     rate: u32,
///     /// Credentials for the counter service.
///     #[config(optional)]
///     token: Option<Password>,
/// }
///
/// let settings = Settings::parse(&RawConfig::from([("topic", "numbers")]))?;
/// assert_eq!(settings.rate, 10);
/// # Ok::<_, bulkhead_sdk::Error>(())
/// ```
///
/// | attribute | meaning |
/// |---|---|
/// | `name = "file.path"` | the key; otherwise the field's name with `.` for `_` |
/// | `default = 10` | what holds if the key is absent; without it the key is required |
/// | `optional` | may be absent; for `Option<T>`, where it goes without saying |
/// | `range(1..=10)`, `range(1..)` | bounds of a number |
/// | `one_of("a", "b")` | the only values (for a list: the only elements) |
/// | `non_empty` | an empty text is refused |
/// | `importance = "high"` | `high` (if not said otherwise), `medium` or `low` |
/// | `group = "Login"`, `display = "User name"` | how user interfaces arrange it |
/// | `internal` | not shown to users, e.g. what a connector hands to its tasks |
pub trait Config: Sized {
    /// The plugin's documentation.
    const DOCUMENTATION: &'static str;

    /// All keys, in the order in which they are shown.
    fn keys() -> Vec<Key>;

    /// Reads the settings; the error names the key to blame.
    fn parse(config: &RawConfig) -> Result<Self>;
}
