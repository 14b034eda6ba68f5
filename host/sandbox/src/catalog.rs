//! The plugins on `plugin.path`: found, compiled, asked for their manifest, listed.
//!
//! A file that cannot be used is listed with its reason; the others are as usable as without it.

mod file;
mod list;
mod scan;
mod version;

use std::path::PathBuf;
use std::sync::Arc;

use bulkhead_model::plugin::PluginDesc;
use serde::{Deserialize, Serialize};
use wasmtime::component::InstancePre;

use crate::grant::Needs;
use crate::tenant::Tenant;
use crate::v0_1::{Indices, manifest, wit};

pub(crate) use file::Opener;
pub(crate) use list::Catalog;
pub(crate) use scan::files as scan;

/// A component file that is of no use, or not in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenFile {
    pub path: PathBuf,
    pub reason: String,
}

/// What a component says of itself, as the cache keeps it.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) plugins: Vec<(manifest::Plugin, Vec<wit::config_def::ConfigKey>)>,
}

/// A component file that is ready to be instantiated.
pub(crate) struct Plugins {
    pub(crate) path: PathBuf,
    pub(crate) pre: InstancePre<Tenant>,
    pub(crate) indices: Arc<Indices>,
    pub(crate) manifest: Manifest,
    /// Bytes of memory that an instance has from its first moment.
    pub(crate) initial_memory: u64,
}

/// One connector class.
pub(crate) struct Class {
    pub(crate) desc: Arc<PluginDesc>,
    pub(crate) needs: Needs,
    pub(crate) component: Arc<Plugins>,
}
