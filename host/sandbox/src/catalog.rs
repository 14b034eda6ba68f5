//! The plugins on `plugin.path`: found, compiled, asked for their manifest, listed; and found again when they change.
//!
//! A file that cannot be used is listed with its reason; the others are as usable as without it.

mod file;
mod installed;
mod list;
mod pace;
mod scan;
mod shelf;
mod upload;
mod version;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bulkhead_model::plugin::PluginDesc;
use serde::{Deserialize, Serialize};
use wasmtime::component::InstancePre;

use crate::grant::Needs;
use crate::tenant::Tenant;
use crate::v0_1::{Indices, manifest, wit};

pub(crate) use file::Opener;
pub use installed::Changes;
pub(crate) use installed::Installed;
pub(crate) use list::Catalog;
pub use upload::{InstallError, Upload, Uploaded};

/// A file on `plugin.path`.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginFile {
    pub path: PathBuf,
    /// SHA-256 of its content in hexadecimal; none if it is no component.
    pub digest: Option<String>,
    /// What it provides.
    pub plugins: Vec<Arc<PluginDesc>>,
    /// Why it is of no use, or not in full.
    pub faults: Vec<Fault>,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// All of it.
    Unusable(String),
    /// One class.
    LeftOut { class: String, reason: String },
    /// Another file with other content provides one class in the same version.
    Taken { class: String, version: String, by: PathBuf },
}

/// A component file that is of no use, or not in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenFile {
    pub path: PathBuf,
    pub reason: String,
}

/// A file as it was when it was last opened.
pub(crate) struct File {
    found: scan::Found,
    opened: Result<Arc<Plugins>, String>,
}

/// What a component says of itself, as the cache keeps it.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) plugins: Vec<(manifest::Plugin, Vec<wit::config_def::ConfigKey>)>,
}

/// A component file that is ready to be instantiated.
pub(crate) struct Plugins {
    pub(crate) path: PathBuf,
    /// SHA-256 of the file in hexadecimal.
    pub(crate) digest: String,
    pub(crate) pre: InstancePre<Tenant>,
    pub(crate) indices: Arc<Indices>,
    pub(crate) manifest: Manifest,
    /// Bytes of memory that an instance has from its first moment.
    pub(crate) initial_memory: u64,
}

/// One class in one version.
pub(crate) struct Class {
    pub(crate) desc: Arc<PluginDesc>,
    pub(crate) needs: Needs,
    pub(crate) component: Arc<Plugins>,
}

impl File {
    fn digest(&self) -> Option<&String> {
        self.opened.as_ref().ok().map(|component| &component.digest)
    }
}

impl PluginFile {
    pub(crate) fn broken(&self) -> impl Iterator<Item = BrokenFile> {
        self.faults.iter().map(|fault| BrokenFile { path: self.path.clone(), reason: fault.to_string() })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(reason) => f.write_str(reason),
            Self::LeftOut { class, reason } => write!(f, "class `{class}` is left out: {reason}"),
            Self::Taken { class, version, by } => {
                let by = by.file_name().unwrap_or(by.as_os_str()).display();
                write!(f, "class `{class}` is left out: `{by}` provides version {version} of it with other content")
            }
        }
    }
}
