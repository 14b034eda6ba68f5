//! The list of classes made of the files.

use std::collections::HashMap;
use std::sync::Arc;

use bulkhead_model::config::ConfigDef;
use bulkhead_model::plugin::{PluginCatalog, PluginDesc, PluginKind, Unresolved, Version};

use super::{BrokenFile, Class, Fault, PluginFile, Plugins};
use crate::v0_1::{self, manifest};

/// Everything installed.
#[derive(Default)]
pub(crate) struct Catalog {
    pub(crate) listed: Arc<PluginCatalog>,
    classes: HashMap<Key, Arc<Class>>,
    /// Every file, in order.
    pub(crate) files: Vec<PluginFile>,
}

/// Kind, name and version.
type Key = (PluginKind, String, Option<String>);

fn key(desc: &PluginDesc) -> Key {
    (desc.kind, desc.class.clone(), desc.version.clone())
}

impl Catalog {
    /// Lists the classes of all files. Of files that provide the same class in the same version the first counts.
    pub(crate) fn new<'a>(files: impl IntoIterator<Item = &'a super::File>) -> Self {
        let mut catalog = Self::default();
        for file in files {
            let report =
                PluginFile { path: file.found.path.clone(), digest: None, plugins: Vec::new(), faults: Vec::new() };
            let report = match &file.opened {
                Ok(component) => catalog.add(component, report),
                Err(reason) => PluginFile { faults: vec![Fault::Unusable(reason.clone())], ..report },
            };
            catalog.files.push(report);
        }
        let listed = catalog.classes.values().map(|class| PluginDesc::clone(&class.desc));
        catalog.listed = Arc::new(PluginCatalog::new(listed));
        catalog
    }

    /// The class of this name, alias or short name among those of some kinds, in the latest of the wanted versions.
    pub(crate) fn class_of(
        &self,
        name: &str,
        kinds: &[PluginKind],
        wanted: Option<&str>,
    ) -> Result<Arc<Class>, Unresolved> {
        let desc = self.listed.resolve_version(name, kinds, wanted)?;
        self.classes.get(&key(desc)).cloned().ok_or(Unresolved::Unknown)
    }

    pub(crate) fn broken(&self) -> impl Iterator<Item = BrokenFile> {
        self.files.iter().flat_map(PluginFile::broken)
    }

    fn add(&mut self, component: &Arc<Plugins>, mut report: PluginFile) -> PluginFile {
        report.digest = Some(component.digest.clone());
        for (plugin, keys) in &component.manifest.plugins {
            match self.add_class(component, plugin, v0_1::config_def(keys)) {
                Ok(desc) => report.plugins.push(desc),
                Err(fault) => report.faults.push(fault),
            }
        }
        report
    }

    fn add_class(
        &mut self,
        component: &Arc<Plugins>,
        plugin: &manifest::Plugin,
        config: ConfigDef,
    ) -> Result<Arc<PluginDesc>, Fault> {
        let left_out = |reason| Fault::LeftOut { class: plugin.name.clone(), reason };
        let needs = v0_1::needs(&plugin.needs, component.initial_memory).map_err(left_out)?;
        let desc = Arc::new(desc(plugin, config));
        if let Some(missing) = component.indices.missing(desc.kind) {
            return Err(left_out(format!("the component exports no {missing}")));
        }
        if plugin.version.len() > Version::MAX_LENGTH {
            return Err(left_out(format!("its version is longer than {} bytes", Version::MAX_LENGTH)));
        }
        match self.classes.get(&key(&desc)) {
            Some(first) if Arc::ptr_eq(&first.component, component) => Err(left_out("it is listed twice".to_owned())),
            Some(first) if first.component.digest == component.digest => Ok(Arc::clone(&first.desc)),
            Some(first) => Err(Fault::Taken {
                class: plugin.name.clone(),
                version: plugin.version.clone(),
                by: first.component.path.clone(),
            }),
            None => {
                let class = Class { desc: Arc::clone(&desc), needs, component: Arc::clone(component) };
                self.classes.insert(key(&desc), Arc::new(class));
                Ok(desc)
            }
        }
    }
}

fn desc(plugin: &manifest::Plugin, config: ConfigDef) -> PluginDesc {
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
