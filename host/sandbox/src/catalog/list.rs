//! The list of classes made of the files.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bulkhead_model::plugin::{PluginCatalog, PluginDesc, PluginKind, Unresolved};

use super::{BrokenFile, Class, Plugins};
use crate::v0_1::{self, manifest};

/// Everything installed.
#[derive(Default)]
pub(crate) struct Catalog {
    pub(crate) listed: Arc<PluginCatalog>,
    classes: HashMap<(PluginKind, String), Class>,
    pub(crate) broken: Vec<BrokenFile>,
}

impl Catalog {
    /// Lists the classes of all files, which come in the order in which they were found.
    pub(crate) fn new(files: impl IntoIterator<Item = Result<Plugins, BrokenFile>>) -> Self {
        let mut catalog = Self::default();
        for file in files {
            match file {
                Ok(component) => catalog.add(Arc::new(component)),
                Err(broken) => catalog.broken.push(broken),
            }
        }
        let listed = catalog.classes.values().map(|class| PluginDesc::clone(&class.desc));
        catalog.listed = Arc::new(PluginCatalog::new(listed));
        catalog
    }

    /// The connector class of this name, alias or short name.
    pub(crate) fn class(&self, name: &str) -> Result<&Class, Unresolved> {
        self.class_of(name, &[PluginKind::Source, PluginKind::Sink])
    }

    /// The class of this name, alias or short name among those of some kinds.
    pub(crate) fn class_of(&self, name: &str, kinds: &[PluginKind]) -> Result<&Class, Unresolved> {
        let desc = self.listed.resolve(name, kinds)?;
        self.classes.get(&(desc.kind, desc.class.clone())).ok_or(Unresolved::Unknown)
    }

    fn add(&mut self, component: Arc<Plugins>) {
        for (plugin, keys) in &component.manifest.plugins {
            let needs = v0_1::needs(&plugin.needs, component.initial_memory);
            let class = needs.and_then(|needs| {
                let desc = Arc::new(desc(plugin, v0_1::config_def(keys)));
                self.check(&desc, &component)?;
                Ok(Class { desc, needs, component: Arc::clone(&component) })
            });
            match class {
                Ok(class) => {
                    self.classes.insert((class.desc.kind, class.desc.class.clone()), class);
                }
                Err(reason) => self.broken.push(BrokenFile {
                    path: component.path.clone(),
                    reason: format!("class `{}` is left out: {reason}", plugin.name),
                }),
            }
        }
    }

    fn check(&self, desc: &PluginDesc, component: &Plugins) -> Result<(), String> {
        if let Some(missing) = component.indices.missing(desc.kind) {
            return Err(format!("the component exports no {missing}"));
        }
        match self.classes.get(&(desc.kind, desc.class.clone())) {
            Some(first) => Err(format!("{} provides it already", shown(&first.component.path))),
            None => Ok(()),
        }
    }
}

fn shown(path: &Path) -> String {
    format!("`{}`", path.display())
}

fn desc(plugin: &manifest::Plugin, config: bulkhead_model::config::ConfigDef) -> PluginDesc {
    PluginDesc {
        class: plugin.name.clone(),
        aliases: plugin.aliases.clone(),
        kind: match plugin.kind {
            manifest::PluginType::Source => PluginKind::Source,
            manifest::PluginType::Sink => PluginKind::Sink,
            manifest::PluginType::Transformation => PluginKind::Transformation,
            manifest::PluginType::Predicate => PluginKind::Predicate,
            manifest::PluginType::Converter => PluginKind::Converter,
            manifest::PluginType::HeaderConverter => PluginKind::HeaderConverter,
        },
        version: Some(plugin.version.clone()),
        documentation: plugin.documentation.clone(),
        config,
    }
}
