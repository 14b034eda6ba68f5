//! Files that operators hand over, and those the worker writes itself.

use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use bulkhead_model::RawConfig;
use bulkhead_worker::providers::{Keys, create};
use tempfile::TempDir;

use crate::offset_file::OffsetFile;
use crate::{connector_file, properties};

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a temporary folder can be made"));

/// A letter for the kind of file, then its content.
pub fn files(bytes: &[u8]) {
    match bytes {
        [b'p', content @ ..] => property_file(content),
        [b'c', content @ ..] => connector(content),
        [b'o', content @ ..] => offsets(content),
        [b's', content @ ..] => secrets(content),
        _ => {}
    }
}

/// Written out, they are read the same.
fn property_file(content: &[u8]) {
    let Ok(config) = properties::parse(content) else { return };
    let mut text = String::new();
    for (key, value) in config.iter() {
        text += &format!("{}={}\n", escaped(key), escaped(value));
    }
    assert_eq!(properties::parse(text.as_bytes()), Ok(config), "{text}");
}

/// Every character as an escape, those beyond the basic plane as two.
fn escaped(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn connector(content: &[u8]) {
    if let Ok(file) = connector_file::parse(content) {
        assert!(!file.name.as_str().trim().is_empty());
    }
}

/// A file that was opened can be opened again, whatever it held at its end.
fn offsets(content: &[u8]) {
    let path = FOLDER.path().join("offsets");
    fs::write(&path, content).expect("the file can be written");
    if OffsetFile::open(&path).is_ok() {
        OffsetFile::open(&path).expect("it was opened before");
    }
}

fn secrets(content: &[u8]) {
    let path = FOLDER.path().join("secrets");
    fs::write(&path, content).expect("the file can be written");
    let (file, folder) = (path.to_string_lossy(), FOLDER.path().to_string_lossy());
    for (class, path) in [("File", file), ("Directory", folder)] {
        let provider = create(class, &RawConfig::new(), &BTreeMap::new()).expect("the provider needs no settings");
        let _ = provider.get(&path, Keys::All);
    }
}
