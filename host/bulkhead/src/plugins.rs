//! Everything that configurations may name: plugins of `plugin.path`, and what this worker brings.

mod files;

use std::collections::BTreeSet;
use std::sync::Arc;

use bulkhead_herder::api::Event;
use bulkhead_model::plugin::{PluginCatalog, PluginDesc};
use bulkhead_pipeline::{convert, transform};
use bulkhead_sandbox::Changes;
use tokio::sync::mpsc;

pub use files::PluginFolder;

use crate::driver::ports::News;

/// The catalogue that REST lists and the herder validates against. No file takes the place of what the worker brings.
pub fn catalog(installed: &PluginCatalog) -> Arc<PluginCatalog> {
    let ours: Vec<_> = convert::builtin_plugins().into_iter().chain(transform::builtin_plugins()).collect();
    let names: BTreeSet<_> = ours.iter().map(|plugin| (plugin.kind, plugin.class.clone())).collect();
    let installed = installed.iter().filter(|plugin| {
        let is_free = !names.contains(&(plugin.kind, plugin.class.clone()));
        if !is_free {
            tracing::warn!(class = plugin.class, "A file provides a class that the worker brings; it is not used.");
        }
        is_free
    });
    let installed = installed.map(|plugin| PluginDesc::clone(plugin));
    Arc::new(PluginCatalog::new(installed.chain(ours.iter().cloned())))
}

/// Tells the herder whenever what is installed has changed.
pub async fn follow(mut changes: Changes, news: mpsc::Sender<News>) {
    while let Some(installed) = changes.next().await {
        if news.send(News::Event(Event::Plugins(catalog(&installed)))).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_model::config::ConfigDef;
    use bulkhead_model::plugin::PluginKind;

    use super::*;

    #[test]
    fn what_the_worker_brings_is_not_replaced() {
        let plugin = |class: &str| PluginDesc {
            class: class.to_owned(),
            aliases: Vec::new(),
            kind: PluginKind::Converter,
            version: Some("99".to_owned()),
            documentation: String::new(),
            config: ConfigDef::default(),
        };
        let json = "org.apache.kafka.connect.json.JsonConverter";
        let catalog = catalog(&PluginCatalog::new([plugin("a.Converter"), plugin(json)]));
        let version = |class| catalog.resolve(class, &[PluginKind::Converter]).unwrap().version.clone();
        assert_eq!(version("a.Converter").as_deref(), Some("99"));
        assert_eq!(version(json).as_deref(), Some(convert::CONNECT_VERSION));
    }
}
