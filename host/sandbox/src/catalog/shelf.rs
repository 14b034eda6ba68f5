//! The files that `plugin.path` leads to, as they were opened last.
//!
//! They are looked at again and again. Looking is a few calls to the file system, and works on those that tell nobody
//! of changes (NFS, mounts of containers), where a watch would have to look as well.

use std::collections::HashSet;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::join_all;

use super::pace::Pace;
use super::scan::{self, Found};
use super::{Catalog, File, Opener, Plugins};
use crate::{Error, cache};

pub(crate) struct Shelf {
    plugin_path: Vec<PathBuf>,
    opener: Arc<Opener>,
    /// Those that were there first come first: whoever comes with their class and version is refused.
    files: Vec<File>,
    /// New or changed files that have been seen once, so they may not be written in full.
    unsettled: Vec<Found>,
    /// What was wrong with the folders at the last look.
    trouble: Option<String>,
}

impl Shelf {
    /// Opens all files at once.
    pub(crate) async fn open(plugin_path: &[PathBuf], opener: Arc<Opener>) -> Result<Self, Error> {
        let opened = scan::files(plugin_path)?.into_iter().map(|found| {
            let opener = Arc::clone(&opener);
            async move {
                let opened = match read(found.clone()).await {
                    Ok(bytes) => opener.open(found.path.clone(), bytes, Pace::AtOnce).await,
                    Err(Unread::Changing) => return Err(found),
                    Err(Unread::Broken(reason)) => Err(reason),
                };
                Ok(File { found, opened: opened.map(Arc::new) })
            }
        });
        let opened = join_all(opened).await;
        let mut shelf =
            Self { plugin_path: plugin_path.to_vec(), opener, files: Vec::new(), unsettled: Vec::new(), trouble: None };
        for outcome in opened {
            match outcome {
                Ok(file) => shelf.files.push(file),
                Err(found) => shelf.unsettled.push(found),
            }
        }
        Ok(shelf)
    }

    pub(crate) fn opener(&self) -> Arc<Opener> {
        Arc::clone(&self.opener)
    }

    pub(crate) fn catalog(&self) -> Catalog {
        Catalog::new(&self.files)
    }

    /// The catalogue with one more file.
    pub(crate) fn catalog_with(&self, file: &File) -> Catalog {
        Catalog::new(self.files.iter().chain([file]))
    }

    pub(crate) fn add(&mut self, file: File) {
        self.files.push(file);
    }

    /// Looks for what was removed, has changed or is new since the last look; false if nothing has. A file is opened
    /// when it looks as it did the time before.
    pub(crate) async fn look_again(&mut self) -> bool {
        let Some(found) = self.scan().await else { return false };
        let there: HashSet<_> = found.iter().map(|file| &file.path).collect();
        let before = self.files.len();
        self.files.retain(|file| {
            let stays = there.contains(&file.found.path);
            if !stays {
                tracing::info!(file = %file.found.path.display(), "A plugin file was removed.");
            }
            stays
        });
        let mut changed = self.files.len() != before;
        let is_known = |found: &Found| self.files.iter().any(|file| file.found == *found);
        let news: Vec<_> = found.into_iter().filter(|found| !is_known(found)).collect();
        let seen = mem::take(&mut self.unsettled);
        let (settled, unsettled) = news.into_iter().partition(|found| seen.contains(found));
        self.unsettled = unsettled;
        for found in settled {
            changed |= self.take_in(found).await;
        }
        changed
    }

    /// None if the folders can't be read at present: then all is left as it is.
    async fn scan(&mut self) -> Option<Vec<Found>> {
        let plugin_path = self.plugin_path.clone();
        let scanned = Pace::AtOnce.work(move || scan::files_there(&plugin_path)).await;
        let (found, trouble) = match scanned {
            Ok(Ok(found)) => (Some(found), None),
            Ok(Err(error)) => (None, Some(error.to_string())),
            Err(panic) => (None, Some(panic.to_string())),
        };
        if let Some(trouble) = &trouble
            && self.trouble.as_ref() != Some(trouble)
        {
            tracing::warn!(trouble, "The plugins can't be looked at again; those that are known stay.");
        }
        self.trouble = trouble;
        found
    }

    /// False if that changes nothing.
    async fn take_in(&mut self, found: Found) -> bool {
        let read = read(found.clone()).await;
        let place = self.files.iter().position(|file| file.found.path == found.path);
        let opened = match read {
            Err(Unread::Changing) => return false,
            Err(Unread::Broken(reason)) => Err(reason),
            Ok(bytes) => {
                let digest = cache::digest(&bytes);
                if let Some(file) = place.map(|place| &mut self.files[place])
                    && file.digest() == Some(&digest)
                {
                    file.found = found;
                    return false;
                }
                self.opener().open(found.path.clone(), bytes, Pace::InBackground).await
            }
        };
        if let Some(place) = place {
            self.files.remove(place);
        }
        if let Ok(component) = &opened {
            log(component);
        }
        self.files.push(File { found, opened: opened.map(Arc::new) });
        true
    }
}

fn log(component: &Plugins) {
    let plugins = component.manifest.plugins.iter();
    let plugins: Vec<_> = plugins.map(|(plugin, _)| format!("{} {}", plugin.name, plugin.version)).collect();
    tracing::info!(file = %component.path.display(), ?plugins, "A plugin file was taken in.");
}

enum Unread {
    /// It is no longer what was found.
    Changing,
    Broken(String),
}

async fn read(found: Found) -> Result<Vec<u8>, Unread> {
    let read = move || {
        let bytes = std::fs::read(&found.path);
        if scan::look(&found.path).as_ref() == Some(&found) { Some(bytes) } else { None }
    };
    match Pace::AtOnce.work(read).await {
        Ok(Some(Ok(bytes))) => Ok(bytes),
        Ok(Some(Err(error))) => Err(Unread::Broken(format!("cannot be read: {error}"))),
        Ok(None) => Err(Unread::Changing),
        Err(panic) => Err(Unread::Broken(panic.to_string())),
    }
}
