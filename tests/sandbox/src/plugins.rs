//! Where the compiled guests are.

use std::path::{Path, PathBuf};

/// Overrides the folder of the compiled guests.
const FOLDER: &str = "BULKHEAD_PLUGINS";

/// A compiled guest, e.g. `file_source`.
///
/// # Panics
/// If it isn't there, with the command that makes it.
pub fn plugin(name: &str) -> PathBuf {
    let path = folder().join(format!("{name}.wasm"));
    assert!(path.is_file(), "{} is not there: run cargo xtask guests", path.display());
    path
}

fn folder() -> PathBuf {
    match std::env::var_os(FOLDER) {
        Some(folder) => PathBuf::from(folder),
        None => workspace().join("target/plugins"),
    }
}

fn workspace() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("the crate is two folders below the workspace")
}
