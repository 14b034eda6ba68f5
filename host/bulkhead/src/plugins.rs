//! Everything that configurations may name: plugins of `plugin.path`, and what this worker brings.

mod files;

use std::sync::Arc;

use bulkhead_herder::api::Event;
use bulkhead_model::plugin::{PluginCatalog, PluginDesc};
use bulkhead_pipeline::{convert, transform};
use bulkhead_sandbox::Changes;
use tokio::sync::mpsc;

pub use files::PluginFolder;

use crate::driver::ports::News;

/// The catalogue that REST lists and the herder validates against. The sandbox has left out of `installed` whatever the
/// worker brings itself.
pub fn catalog(installed: &PluginCatalog) -> Arc<PluginCatalog> {
    let installed = installed.iter().map(|plugin| PluginDesc::clone(plugin));
    let ours = convert::builtin_plugins().into_iter().chain(transform::builtin_plugins());
    Arc::new(PluginCatalog::new(installed.chain(ours)))
}

/// Tells the herder whenever what is installed has changed.
pub async fn follow(mut changes: Changes, news: mpsc::Sender<News>) {
    while let Some(installed) = changes.next().await {
        if news.send(News::Event(Event::Plugins(catalog(&installed)))).await.is_err() {
            return;
        }
    }
}
