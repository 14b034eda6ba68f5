//! For people: why there is no plugin for a connector.

use bulkhead_model::RawConfig;
use bulkhead_model::plugin::Unresolved;

pub(crate) fn missing(config: &RawConfig, unresolved: &Unresolved) -> String {
    let class = config.connector_class().unwrap_or_default();
    match unresolved {
        Unresolved::Unknown => format!("no connector plugin of class `{class}` is installed (see plugin.path)"),
        Unresolved::Ambiguous(classes) => format!("the class `{class}` may be any of {}", classes.join(", ")),
        Unresolved::NoSuchVersion(other) => format!("connector plugin `{class}`: {other}"),
    }
}
