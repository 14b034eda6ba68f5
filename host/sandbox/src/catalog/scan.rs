//! Which files `plugin.path` leads to.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Error;

const ENDING: &str = "wasm";

/// A file and what it looked like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
}

/// Changes whenever a file's content or place does. A link counts as what it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    size: u64,
    inode: (u64, u64),
    modified: (i64, i64),
    /// Of content or attributes; nobody can set it.
    changed: (i64, i64),
}

/// All component files below the folders and among the files of a plugin path, each once, in order.
pub(crate) fn files(plugin_path: &[PathBuf]) -> Result<Vec<Found>, Error> {
    let mut files: Vec<Found> = Vec::new();
    for path in plugin_path {
        let found = at(path).map_err(|source| Error::PluginPath { path: path.clone(), source })?;
        for file in found {
            if !files.iter().any(|known| known.path == file.path) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// The same of what is there: folders and files that were removed have nothing.
pub(crate) fn files_there(plugin_path: &[PathBuf]) -> Result<Vec<Found>, Error> {
    let there = plugin_path.iter().filter(|path| path.try_exists().unwrap_or(true));
    files(&there.cloned().collect::<Vec<_>>())
}

/// What a file looks like now; none if it isn't there.
pub(crate) fn look(path: &Path) -> Option<Found> {
    fs::metadata(path).ok().map(|metadata| Found { path: path.to_owned(), stamp: Stamp::of(&metadata) })
}

fn at(path: &Path) -> io::Result<Vec<Found>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_dir() {
        return Ok(vec![Found { path: path.to_owned(), stamp: Stamp::of(&metadata) }]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        // What has gone since it was listed is gone.
        let is_file = |file: &Path| fs::metadata(file).ok().filter(Metadata::is_file);
        if file.extension().is_some_and(|ending| ending == ENDING)
            && let Some(metadata) = is_file(&file)
        {
            files.push(Found { stamp: Stamp::of(&metadata), path: file });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            inode: (metadata.dev(), metadata.ino()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_searched_and_files_taken_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.wasm", "a.wasm", "notes.txt"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let path = |name: &str| dir.path().join(name);
        let found = files(&[path("notes.txt"), dir.path().to_owned(), path("a.wasm")]).unwrap();
        let found: Vec<_> = found.into_iter().map(|file| file.path).collect();
        assert_eq!(found, [path("notes.txt"), path("a.wasm"), path("b.wasm")]);
        let missing = files(&[path("nowhere")]).unwrap_err();
        assert!(missing.to_string().contains("nowhere"), "{missing}");
    }

    #[test]
    fn a_file_that_was_changed_or_put_in_its_place_looks_different() {
        let dir = tempfile::tempdir().unwrap();
        let (file, other) = (dir.path().join("a.wasm"), dir.path().join("b"));
        fs::write(&file, "one").unwrap();
        let first = look(&file).unwrap();
        assert_eq!(look(&file).unwrap(), first);
        fs::write(&other, "two").unwrap();
        fs::rename(&other, &file).unwrap();
        let second = look(&file).unwrap();
        assert_ne!(second, first);
        fs::write(&file, "three").unwrap();
        assert_ne!(look(&file).unwrap(), second);
        assert_eq!(look(&other), None);
    }
}
