//! The catalogue that is in force, and who keeps it so.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bulkhead_model::plugin::PluginCatalog;
use tokio::sync::{Mutex, watch};

use super::shelf::Shelf;
use super::{BrokenFile, Catalog, Opener};
use crate::Error;

/// Whoever has a catalogue may keep it; others get the next one.
pub(crate) struct Installed {
    pub(super) plugin_path: Vec<PathBuf>,
    pub(super) shelf: Mutex<Shelf>,
    catalog: watch::Sender<Arc<Catalog>>,
    /// Held by the one who hands in a plugin.
    pub(super) door: Arc<Mutex<()>>,
}

/// Tells of new catalogues.
pub struct Changes(watch::Receiver<Arc<Catalog>>);

impl Installed {
    /// Opens all files of a plugin path.
    pub(crate) async fn open(plugin_path: &[PathBuf], opener: Arc<Opener>) -> Result<Self, Error> {
        let shelf = Shelf::open(plugin_path, opener).await?;
        let catalog = shelf.catalog();
        warn(&catalog, &Catalog::default());
        Ok(Self {
            plugin_path: plugin_path.to_vec(),
            shelf: Mutex::new(shelf),
            catalog: watch::Sender::new(Arc::new(catalog)),
            door: Arc::default(),
        })
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.borrow())
    }

    pub(crate) fn changes(&self) -> Changes {
        Changes(self.catalog.subscribe())
    }

    /// Looks for changes once; see [`Shelf::look_again`].
    pub(crate) async fn look_again(&self) {
        let mut shelf = self.shelf.lock().await;
        if shelf.look_again().await {
            self.publish(&shelf);
        }
    }

    pub(super) fn publish(&self, shelf: &Shelf) -> Arc<Catalog> {
        let catalog = Arc::new(shelf.catalog());
        let before = self.catalog.send_replace(Arc::clone(&catalog));
        warn(&catalog, &before);
        catalog
    }

    /// Looks for changes for as long as there is somebody to use them.
    pub(crate) fn keep_looking(self: &Arc<Self>, interval: Duration) {
        let this = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                let Some(installed) = Weak::upgrade(&this) else { return };
                installed.look_again().await;
            }
        });
    }
}

/// Says what is wrong that wasn't before.
fn warn(catalog: &Catalog, before: &Catalog) {
    let known: Vec<_> = before.broken().collect();
    for broken in catalog.broken().filter(|broken| !known.contains(broken)) {
        let BrokenFile { path, reason } = broken;
        tracing::warn!(file = %path.display(), reason, "A plugin file cannot be used.");
    }
}

impl Changes {
    /// The next catalogue; of several that came meanwhile the last. None if there will be no more.
    pub async fn next(&mut self) -> Option<Arc<PluginCatalog>> {
        self.0.changed().await.ok()?;
        Some(Arc::clone(&self.0.borrow_and_update().listed))
    }
}
