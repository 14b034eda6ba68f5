//! The list of classes made of the files.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use bulkhead_model::config::ConfigDef;
use bulkhead_model::plugin::{PluginCatalog, PluginDesc, PluginKind, Unresolved, Version};
use bulkhead_pipeline::{convert, transform};

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

/// Converters, transforms and predicates that the worker brings.
static BUILTIN: LazyLock<HashSet<(PluginKind, String)>> = LazyLock::new(|| {
    let all = convert::builtin_plugins().into_iter().chain(transform::builtin_plugins());
    all.map(|plugin| (plugin.kind, plugin.class)).collect()
});

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
        let is_taken = |name: &&String| BUILTIN.contains(&(desc.kind, (*name).clone()));
        if let Some(name) = desc.aliases.iter().chain([&desc.class]).find(is_taken) {
            return Err(left_out(format!("`{name}` is built in and can't be replaced")));
        }
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use manifest::PluginType;
    use wasmtime::component::{Component, Linker};

    use super::*;
    use crate::catalog::{File, Manifest, scan};
    use crate::engine;
    use crate::v0_1::Indices;

    /// Exports a manifest and a converter, as far as the names go.
    const COMPONENT: &str = r#"
        (component
            (core module $m (func (export "f")))
            (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i "f")))
            (instance $manifest (export "plugins" (func $f)) (export "config-keys" (func $f)))
            (instance $converter
                (export "configure" (func $f)) (export "from-connect" (func $f)) (export "to-connect" (func $f)))
            (export "bulkhead:connect/manifest@0.1.0" (instance $manifest))
            (export "bulkhead:connect/converter@0.1.0" (instance $converter)))"#;

    fn plugin(kind: PluginType, name: &str) -> manifest::Plugin {
        let needs = manifest::Needs { network: Vec::new(), files: manifest::FileAccess::None, env: Vec::new() };
        manifest::Plugin {
            name: name.to_owned(),
            kind,
            version: "1".to_owned(),
            documentation: String::new(),
            aliases: Vec::new(),
            needs,
        }
    }

    fn catalog(plugins: impl IntoIterator<Item = manifest::Plugin>) -> Catalog {
        let engine = engine::open(1).unwrap();
        let component = Component::new(&engine, wat::parse_str(COMPONENT).unwrap()).unwrap();
        let pre = Linker::new(&engine).instantiate_pre(&component).unwrap();
        let plugins = plugins.into_iter().map(|plugin| (plugin, Vec::new()));
        let component = Plugins {
            path: "a.wasm".into(),
            digest: String::new(),
            indices: Arc::new(Indices::of(&pre).unwrap()),
            pre,
            manifest: Manifest { plugins: plugins.collect() },
            initial_memory: 0,
        };
        let found = scan::look(Path::new("/")).unwrap();
        Catalog::new([&File { found, opened: Ok(Arc::new(component)) }])
    }

    #[test]
    fn a_class_is_listed_if_the_component_can_be_what_it_says_and_the_worker_does_not_bring_it() {
        let json = "org.apache.kafka.connect.json.JsonConverter";
        let filter = "org.apache.kafka.connect.transforms.Filter";
        let tombstone = "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone";
        let alias = manifest::Plugin { aliases: vec![json.to_owned()], ..plugin(PluginType::Converter, "b.Converter") };
        let classes = [
            (PluginType::Converter, "a.Converter"),
            (PluginType::HeaderConverter, "a.Converter"),
            (PluginType::Predicate, "a.Predicate"),
            (PluginType::Converter, json),
            (PluginType::HeaderConverter, "io.confluent.connect.avro.AvroConverter"),
            (PluginType::Transformation, filter),
            (PluginType::Predicate, tombstone),
        ];
        let catalog = catalog(classes.map(|(kind, name)| plugin(kind, name)).into_iter().chain([alias]));
        let listed: Vec<_> = catalog.listed.iter().map(|plugin| format!("{} {}", plugin.kind, plugin.class)).collect();
        // Confluent's is a converter of keys and values alone.
        let avro = "header_converter io.confluent.connect.avro.AvroConverter";
        assert_eq!(listed, ["converter a.Converter", "header_converter a.Converter", avro]);
        let broken: Vec<_> = catalog.broken().map(|file| file.reason).collect();
        let built_in = |class: &str, name: &str| {
            format!("class `{class}` is left out: `{name}` is built in and can't be replaced")
        };
        assert_eq!(
            broken,
            [
                "class `a.Predicate` is left out: the component exports no predicate".to_owned(),
                built_in(json, json),
                built_in(filter, filter),
                built_in(tombstone, tombstone),
                built_in("b.Converter", json),
            ]
        );
    }
}
