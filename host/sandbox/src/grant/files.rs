//! Folders of the worker's machine.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use super::Rule;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    ReadOnly,
    ReadWrite,
}

/// A folder with all that is below it, written `path:ro` or `path:rw`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    pub path: PathBuf,
    pub access: Access,
}

/// What is left of the folders asked for, for a plugin that needs no more than this access.
pub(super) fn within(needed: Option<Access>, asked: Vec<Folder>) -> Vec<Folder> {
    let Some(needed) = needed else { return Vec::new() };
    let narrowed = asked.into_iter().map(|folder| Folder { access: folder.access.min(needed), ..folder });
    narrowed.collect()
}

impl Rule for Folder {
    fn covers(&self, other: &Self) -> bool {
        other.path.starts_with(&self.path) && other.access <= self.access
    }

    fn common(&self, other: &Self) -> Option<Self> {
        let path = if other.path.starts_with(&self.path) {
            &other.path
        } else if self.path.starts_with(&other.path) {
            &self.path
        } else {
            return None;
        };
        Some(Self { path: path.clone(), access: self.access.min(other.access) })
    }
}

impl FromStr for Folder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |why| Err(format!("`{text}` is no folder rule: {why}"));
        let (path, access) = match text.rsplit_once(':') {
            Some((path, "ro")) => (path, Access::ReadOnly),
            Some((path, "rw")) => (path, Access::ReadWrite),
            Some(_) | None => return refused("`path:ro` or `path:rw` expected"),
        };
        let path = Path::new(path);
        if !path.is_absolute() {
            return refused("the path must be absolute");
        }
        // `/data/../etc` must not pass for something below `/data`.
        if path.components().any(|part| part == Component::ParentDir) {
            return refused("the path must not contain `..`");
        }
        Ok(Self { path: path.components().collect(), access })
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            Access::ReadOnly => "ro",
            Access::ReadWrite => "rw",
        };
        write!(f, "{}:{access}", self.path.display())
    }
}
