//! A plugin that comes through the worker instead of being put into a folder.
//!
//! It is written beside the others under a name that no scan takes, opened there, and gets its own name only when it
//! is known to be of use.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempPath;
use tokio::fs::File as Handle;
use tokio::io::AsyncWriteExt;
use tokio::sync::OwnedMutexGuard;

use super::pace::Pace;
use super::shelf::Shelf;
use super::{Fault, File, Installed, PluginFile, Plugins, scan};
use crate::cache;

/// How it is called before it has a name.
const SHOWN: &str = "upload.wasm";

/// A class name makes this much of a file's name at most.
const MAX_NAME: usize = 100;

/// Characters of the digest in a file's name.
const DIGEST_IN_NAME: usize = 12;

/// A component that is being handed in; dropping it leaves no trace.
pub struct Upload {
    installed: Arc<Installed>,
    file: Handle,
    path: TempPath,
    folder: PathBuf,
    /// One at a time.
    _door: OwnedMutexGuard<()>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Uploaded {
    pub file: PluginFile,
    /// False if a file with the same content was there already: then that is the file.
    pub is_new: bool,
}

/// Why a plugin was not taken.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("another plugin is being handed in; try again when that is done")]
    Busy,
    #[error("no folder of `plugin.path` can be written to: {0}")]
    NoFolder(String),
    #[error("the component {0}")]
    Unusable(String),
    #[error("{0}; give it another version")]
    Taken(String),
    #[error("the component could not be kept: {0}")]
    Io(#[from] io::Error),
}

impl Upload {
    pub(crate) async fn begin(installed: &Arc<Installed>) -> Result<Self, InstallError> {
        let door = Arc::clone(&installed.door).try_lock_owned().map_err(|_| InstallError::Busy)?;
        let plugin_path = installed.plugin_path.clone();
        let (file, folder) = blocking(move || first_writable(&plugin_path)).await?;
        let (file, path) = file.into_parts();
        Ok(Self { installed: Arc::clone(installed), file: Handle::from_std(file), path, folder, _door: door })
    }

    /// Takes the next piece.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), InstallError> {
        Ok(self.file.write_all(bytes).await?)
    }

    /// Opens the whole and, if it is of use, puts it where it stays.
    pub async fn install(mut self) -> Result<Uploaded, InstallError> {
        self.file.flush().await?;
        self.file.sync_all().await?;
        let path = self.path.to_path_buf();
        let bytes = blocking(move || Ok(std::fs::read(path)?)).await?;
        let mut shelf = self.installed.shelf.lock().await;
        let digest = cache::digest(&bytes);
        if let Some(file) = shelf.catalog().files.into_iter().find(|file| file.digest.as_ref() == Some(&digest)) {
            return Ok(Uploaded { file, is_new: false });
        }
        let opened = shelf.opener().open(self.folder.join(SHOWN), bytes, Pace::InBackground).await;
        let component = opened.map_err(InstallError::Unusable)?;
        let target = self.folder.join(name(&component));
        let component = Arc::new(Plugins { path: target.clone(), ..component });
        check(&shelf, &self.path, &component)?;
        let (path, folder) = (self.path, self.folder);
        let found = blocking(move || keep(path, &target, &folder)).await?;
        shelf.add(File { found, opened: Ok(component) });
        let catalog = self.installed.publish(&shelf);
        let file = catalog.files.last().cloned();
        let file = file.ok_or_else(|| io::Error::other("it is not in the catalogue"))?;
        tracing::info!(file = %file.path.display(), digest, "A plugin was installed.");
        Ok(Uploaded { file, is_new: true })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, InstallError> + Send + 'static,
) -> Result<T, InstallError> {
    Pace::AtOnce.work(work).await.map_err(io::Error::other)?
}

/// An empty file in the first folder that takes one.
fn first_writable(plugin_path: &[PathBuf]) -> Result<(tempfile::NamedTempFile, PathBuf), InstallError> {
    let mut refused = Vec::new();
    for folder in plugin_path.iter().filter(|path| path.is_dir()) {
        // Narrowed by the worker's umask.
        let mut file = tempfile::Builder::new();
        let file = file.prefix(".upload-").suffix(".part").permissions(Permissions::from_mode(0o666));
        match file.tempfile_in(folder) {
            Ok(file) => return Ok((file, folder.clone())),
            Err(error) => refused.push(error.to_string()),
        }
    }
    let refused = if refused.is_empty() { "it names no folder".to_owned() } else { refused.join("; ") };
    Err(InstallError::NoFolder(refused))
}

/// Whether all that the component provides would be taken.
fn check(shelf: &Shelf, path: &Path, component: &Arc<Plugins>) -> Result<(), InstallError> {
    let found = scan::look(path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let with_it = shelf.catalog_with(&File { found, opened: Ok(Arc::clone(component)) });
    let faults = with_it.files.last().map(|file| file.faults.as_slice()).unwrap_or_default();
    match faults.first() {
        None => Ok(()),
        Some(taken @ Fault::Taken { .. }) => Err(InstallError::Taken(taken.to_string())),
        Some(other) => Err(InstallError::Unusable(format!("is not taken: {other}"))),
    }
}

/// Gives the file its name, for good.
fn keep(path: TempPath, target: &Path, folder: &Path) -> Result<scan::Found, InstallError> {
    // Whatever has the name has the digest in it.
    path.persist(target).map_err(|refused| refused.error)?;
    std::fs::File::open(folder)?.sync_all()?;
    Ok(scan::look(target).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?)
}

/// After the first class, its version and the content; nothing in it is anybody's choice of a path.
fn name(component: &Plugins) -> String {
    let first = component.manifest.plugins.first();
    let (class, version) = first.map(|(plugin, _)| (plugin.name.as_str(), plugin.version.as_str())).unwrap_or_default();
    let class = class.rsplit(['.', '$']).next().unwrap_or_default();
    let digest = component.digest.get(..DIGEST_IN_NAME).unwrap_or(&component.digest);
    format!("{}-{}-{digest}.wasm", safe(class), safe(version))
}

/// Letters, digits and a few signs, none of them in front.
fn safe(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+') { c } else { '_' };
    let text: String = text.chars().take(MAX_NAME).map(allowed).collect();
    if text.starts_with(|c: char| c.is_ascii_alphanumeric()) { text } else { format!("x{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_nothing_of_a_path() {
        for (text, expected) in [
            ("FileSource", "FileSource"),
            ("1.0-rc_1+b", "1.0-rc_1+b"),
            ("../../etc", "x.._.._etc"),
            ("a/b\\c\0d", "a_b_c_d"),
            ("ä", "x_"),
            ("", "x"),
        ] {
            assert_eq!(safe(text), expected);
        }
        assert_eq!(safe(&"a".repeat(1000)).len(), MAX_NAME);
    }

    #[test]
    fn the_first_folder_that_can_be_written_to_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.wasm");
        std::fs::write(&file, "").unwrap();
        let missing = folder.path().join("missing");
        let refused = |path: &[PathBuf]| first_writable(path).unwrap_err().to_string();
        assert_eq!(
            refused(&[file.clone(), missing.clone()]),
            "no folder of `plugin.path` can be written to: it names no folder"
        );
        let (part, chosen) = first_writable(&[file, missing, folder.path().to_owned()]).unwrap();
        assert_eq!((chosen.as_path(), part.path().parent()), (folder.path(), Some(folder.path())));
        assert_eq!(part.path().extension().unwrap(), "part");
    }
}
