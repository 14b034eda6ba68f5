//! `manifest`: what is inside the component.

use super::plugin::TaskType;
use super::{Component, Exports, FileAccess, Needs, Plugin, find};
use crate::bindings::base::bulkhead::connect::config_def::ConfigKey;
use crate::bindings::base::exports::bulkhead::connect::manifest as wit;
use crate::config::Key;

impl<C: Component> wit::Guest for Exports<C> {
    fn plugins() -> Vec<wit::Plugin> {
        C::plugins().iter().map(Plugin::to_wit).collect()
    }

    fn config_keys(plugin: String) -> Vec<ConfigKey> {
        find::<C>(&plugin).map_or_else(|_| Vec::new(), |plugin| ordered(&plugin.connector.keys()))
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
            kind: match self.task {
                TaskType::Source(_) => wit::PluginType::Source,
                TaskType::Sink(_) => wit::PluginType::Sink,
            },
            version: self.version.to_owned(),
            documentation: self.connector.documentation().to_owned(),
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
