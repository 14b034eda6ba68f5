//! `manifest`: what is inside the component.

use super::plugin::Kind;
use super::{Component, Exports, FileAccess, Needs, Plugin, find};
use crate::bindings::base::bulkhead::connect::config_def::ConfigKey;
use crate::bindings::base::exports::bulkhead::connect::manifest as wit;
use crate::config::Key;

impl<C: Component> wit::Guest for Exports<C> {
    fn plugins() -> Vec<wit::Plugin> {
        C::plugins().iter().map(Plugin::to_wit).collect()
    }

    fn config_keys(plugin: String) -> Vec<ConfigKey> {
        find::<C>(&plugin).map_or_else(|_| Vec::new(), |plugin| ordered(&plugin.keys()))
    }
}

/// The keys, each with its place in its group.
fn ordered(keys: &[Key]) -> Vec<ConfigKey> {
    let numbered = |(at, key): (usize, &Key)| {
        let place = keys[..=at].iter().filter(|other| other.get_group() == key.get_group()).count();
        key.to_wit(u32::try_from(place).unwrap_or(0))
    };
    keys.iter().enumerate().map(numbered).collect()
}

impl Plugin {
    fn to_wit(&self) -> wit::Plugin {
        wit::Plugin {
            name: self.name.to_owned(),
            kind: match self.kind {
                Kind::Source(..) => wit::PluginType::Source,
                Kind::Sink(..) => wit::PluginType::Sink,
                Kind::Transform(_) => wit::PluginType::Transformation,
                Kind::Predicate(_) => wit::PluginType::Predicate,
                Kind::Converter(_) => wit::PluginType::Converter,
                Kind::HeaderConverter(_) => wit::PluginType::HeaderConverter,
            },
            version: self.version.to_owned(),
            documentation: self.documentation.to_owned(),
            aliases: owned(self.aliases),
            needs: self.needs.to_wit(),
        }
    }
}

impl Needs {
    fn to_wit(self) -> wit::Needs {
        wit::Needs {
            network: owned(self.network),
            files: match self.files {
                FileAccess::None => wit::FileAccess::None,
                FileAccess::ReadOnly => wit::FileAccess::ReadOnly,
                FileAccess::ReadWrite => wit::FileAccess::ReadWrite,
            },
            env: owned(self.env),
        }
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    use super::*;

    /// Does nothing.
    #[derive(Config)]
    #[allow(dead_code)]
    struct Settings {
        /// A text.
        #[config(default = "x", group = "A")]
        one: String,
        #[config(group = "B")]
        two: Option<u64>,
        #[config(group = "A", importance = "low")]
        three: Password,
    }

    struct Idle;

    impl SinkTask for Idle {
        type Config = Settings;

        async fn start(_settings: Settings) -> Result<Self> {
            Ok(Self)
        }

        async fn put(&mut self, _batch: &SinkBatch) -> Result<Rejections> {
            Ok(Rejections::none())
        }
    }

    struct OnePlugin;

    impl Component for OnePlugin {
        fn plugins() -> Vec<Plugin> {
            let needs = Needs { files: FileAccess::ReadOnly, network: &["*:443"], ..Needs::default() };
            vec![
                Plugin::sink::<crate::sink::EqualTasks<Idle>, Idle>("org.example.Idle", "1.2")
                    .aliases(&["Old"])
                    .needs(needs),
            ]
        }
    }

    #[test]
    fn a_plugin_is_described_with_its_needs() {
        let plugins = <Exports<OnePlugin> as wit::Guest>::plugins();
        assert_eq!(plugins.len(), 1);
        assert_eq!((plugins[0].name.as_str(), plugins[0].kind), ("org.example.Idle", wit::PluginType::Sink));
        assert_eq!((plugins[0].version.as_str(), plugins[0].documentation.as_str()), ("1.2", "Does nothing."));
        assert_eq!(
            (&plugins[0].needs.network, plugins[0].needs.files),
            (&vec!["*:443".to_owned()], wit::FileAccess::ReadOnly)
        );
    }

    #[test]
    fn keys_are_numbered_within_their_group_and_found_by_alias_too() {
        let keys = <Exports<OnePlugin> as wit::Guest>::config_keys("Old".to_owned());
        let seen: Vec<_> = keys.iter().map(|key| (key.name.as_str(), key.order, key.default_null)).collect();
        assert_eq!(seen, [("one", 1, false), ("two", 1, true), ("three", 2, false)]);
        assert_eq!(keys[0].default_value.as_deref(), Some("x"));
    }
}
