//! Numbers that the worker shows beside its own, in this connector's or task's group.

use crate::bindings::base::bulkhead::connect::metrics::Kind;
use crate::host;

macro_rules! metric {
    ($($(#[$doc:meta])* $name:ident, $(#[$act_doc:meta])* $act:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(u32);

        impl $name {
            /// Registers it; the same name gives the same metric.
            pub fn new(name: &str, description: &str) -> Self {
                Self::with_tags(name, description, &[])
            }

            /// Registers it with tags that tell it from others of its name.
            pub fn with_tags(name: &str, description: &str, tags: &[(&str, &str)]) -> Self {
                let tags: Vec<_> = tags.iter().map(|(tag, value)| ((*tag).to_owned(), (*value).to_owned())).collect();
                Self(host::register_metric(Kind::$name, name, description, &tags))
            }

            $(#[$act_doc])*
            pub fn $act(&self, value: f64) {
                host::record_value(self.0, value);
            }
        }
    )*};
}

metric! {
    /// A number that only grows.
    Counter,
    /// Adds to it.
    add;
    /// A number that goes up and down.
    Gauge,
    /// Sets it.
    set;
    /// How often values of which size occur.
    Histogram,
    /// Takes note of a value.
    record;
}
