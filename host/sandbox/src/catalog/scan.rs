//! Which files `plugin.path` leads to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;

const ENDING: &str = "wasm";

/// All component files below the folders and among the files of a plugin path, each once, in order.
pub(crate) fn files(plugin_path: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in plugin_path {
        let found = at(path).map_err(|source| Error::PluginPath { path: path.clone(), source })?;
        for file in found {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

fn at(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        if file.extension().is_some_and(|ending| ending == ENDING) && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
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
        assert_eq!(found, [path("notes.txt"), path("a.wasm"), path("b.wasm")]);
        let missing = files(&[path("nowhere")]).unwrap_err();
        assert!(missing.to_string().contains("nowhere"), "{missing}");
    }
}
