//! Compiled code on disk, so that a worker starts at once.
//!
//! An entry belongs to one component file (by digest) under one engine (version and settings): the code
//! as `NAME.cwasm`, and beside it `NAME.json` with the component's manifest and the code's own digest.
//! Entries appear by rename, the `.json` last, so several workers may share a folder; an entry that
//! isn't what its `.json` says is as good as none.
//!
//! **Invariant:** only this module writes to the folder, which nobody else may enter (mode 0700):
//! compiled code is believed.

mod load;

use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::Error;
use crate::catalog::Manifest;

pub(crate) struct Cache {
    dir: PathBuf,
    /// Tells engines apart: code of one doesn't run on another.
    engine: String,
}

/// What is known of compiled code.
#[derive(Serialize, Deserialize)]
struct Entry {
    code_digest: String,
    manifest: Manifest,
}

/// Digest of a file, as its name in the cache.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

impl Cache {
    pub(crate) fn open(dir: &Path, engine: &Engine) -> Result<Self, Error> {
        make_private(dir).map_err(|source| Error::CacheDir { path: dir.to_owned(), source })?;
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Ok(Self { dir: dir.to_owned(), engine: format!("{:016x}", hasher.finish()) })
    }

    /// The code and manifest of a component file; none if they have to be made.
    pub(crate) fn load(&self, engine: &Engine, file: &str) -> Option<(Component, Manifest)> {
        let entry = fs::read(self.path(file, "json")).ok()?;
        let entry: Entry = serde_json::from_slice(&entry).ok()?;
        let code = self.path(file, "cwasm");
        if digest(&fs::read(&code).ok()?) != entry.code_digest {
            tracing::warn!(file = %code.display(), "Compiled code is damaged; compiling again.");
            return None;
        }
        match load::component(engine, &code) {
            Ok(component) => Some((component, entry.manifest)),
            Err(cause) => {
                tracing::warn!(file = %code.display(), %cause, "Compiled code is of no use; compiling again.");
                None
            }
        }
    }

    /// Keeps code and manifest of a component file. Failing to is a pity and no more.
    pub(crate) fn store(&self, file: &str, component: &Component, manifest: &Manifest) {
        if let Err(cause) = self.try_store(file, component, manifest) {
            tracing::warn!(dir = %self.dir.display(), %cause, "Compiled code could not be kept.");
        }
    }

    fn try_store(&self, file: &str, component: &Component, manifest: &Manifest) -> io::Result<()> {
        let code = component.serialize().map_err(io::Error::other)?;
        let entry = Entry { code_digest: digest(&code), manifest: manifest.clone() };
        self.write(file, "cwasm", &code)?;
        self.write(file, "json", &serde_json::to_vec(&entry)?)
    }

    /// Writes under another name first: nobody ever sees half a file.
    fn write(&self, file: &str, ending: &str, bytes: &[u8]) -> io::Result<()> {
        let unfinished = self.dir.join(format!(".{file}.{}.{ending}", std::process::id()));
        fs::write(&unfinished, bytes)?;
        fs::rename(&unfinished, self.path(file, ending))
    }

    fn path(&self, file: &str, ending: &str) -> PathBuf {
        self.dir.join(format!("{file}-{}.{ending}", self.engine))
    }
}

/// Makes a folder that only this user can enter, or makes it so.
fn make_private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_component(engine: &Engine) -> Component {
        Component::new(engine, wat::parse_str("(component)").unwrap()).unwrap()
    }

    #[test]
    fn what_was_kept_is_found_and_what_was_damaged_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::default();
        let cache = Cache::open(dir.path(), &engine).unwrap();
        assert!(cache.load(&engine, "f").is_none());
        cache.store("f", &a_component(&engine), &Manifest::default());
        assert!(cache.load(&engine, "f").is_some());

        let code = cache.path("f", "cwasm");
        let mut bytes = fs::read(&code).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&code, bytes).unwrap();
        assert!(cache.load(&engine, "f").is_none());
    }

    #[test]
    fn nobody_else_may_enter_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        Cache::open(&path, &Engine::default()).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
