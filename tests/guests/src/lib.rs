//! A source, a sink, a transform, a predicate and a converter that do on request what no plugin should: the key `mode` says
//! what. They show that a worker survives them. One file for each family of misdeeds; [`source`] and [`sink`] only pick.
//!
//! Build it with `cargo build --target wasm32-wasip2 -p bulkhead-test-guests`.

mod converter;
mod death;
mod flood;
mod malformed;
mod schemas;
mod sink;
mod source;
mod stuck;
mod transform;
mod well_behaved;

bulkhead_sdk::export! {
    source "io.bulkhead.test.Hostile" => (source::Hostile, source::HostileTask),
    sink "io.bulkhead.test.HostileSink" => sink::HostileSink,
    transform "io.bulkhead.test.HostileTransform" => transform::HostileTransform needs { network: ["*:*"], files: read_write },
    predicate "io.bulkhead.test.HostilePredicate" => transform::HostilePredicate,
    converter "io.bulkhead.test.HostileConverter" => converter::HostileConverter needs { network: ["*:*"], files: read_write },
    header_converter "io.bulkhead.test.HostileConverter" => converter::HostileConverter,
}

/// An enum of modes that is read from the names given here; with `#[derive(Config)]` it is a key like any other.
macro_rules! modes {
    ($(#[$doc:meta])* $name:ident { $($(#[$mode_doc:meta])* $mode:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$mode_doc])* $mode,)* }

        impl bulkhead_sdk::config::Setting for $name {
            const KIND: bulkhead_sdk::config::Kind = bulkhead_sdk::config::Kind::Text;

            fn read(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$mode),)*
                    _ => Err(format!("must be one of: {}", [$($text),*].join(", "))),
                }
            }
        }
    };
}

pub(crate) use modes;
