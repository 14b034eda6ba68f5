//! What a task has beside itself, in instances of their own: transforms, predicates and converters.

use std::sync::Arc;

use bulkhead_model::plugin::PluginKind;
use bulkhead_model::{Instance, RawConfig, TaskId};
use bulkhead_pipeline::ports::{Aliased, ConverterTask, PluginError, PredicateTask, TransformTask};
use bulkhead_pipeline::{convert, transform};

use super::Sandbox;
use super::plugins::first;
use crate::catalog::Class;
use crate::grant::{self, Grant, Refusal};
use crate::stats::Part;
use crate::v0_1::{PartInstance, Role, SandboxedConverter, SandboxedPredicate, SandboxedTransform};

/// The version that a part is wanted in.
const VERSION: &str = "plugin.version";

impl Sandbox {
    pub(super) async fn open_transform(
        &self,
        task: &TaskId,
        transform: &Aliased,
        connector: &RawConfig,
    ) -> Result<Arc<dyn TransformTask>, PluginError> {
        let (instance, class) = self.start_part(task, Slot::Transform, transform, connector)?;
        Ok(Arc::new(SandboxedTransform::configure(instance, class, &transform.config).await?))
    }

    pub(super) async fn open_predicate(
        &self,
        task: &TaskId,
        predicate: &Aliased,
        connector: &RawConfig,
    ) -> Result<Arc<dyn PredicateTask>, PluginError> {
        let (instance, class) = self.start_part(task, Slot::Predicate, predicate, connector)?;
        Ok(Arc::new(SandboxedPredicate::configure(instance, class, &predicate.config).await?))
    }

    pub(super) async fn open_converter(
        &self,
        task: &TaskId,
        role: convert::Role,
        converter: &Aliased,
        connector: &RawConfig,
    ) -> Result<Arc<dyn ConverterTask>, PluginError> {
        let (instance, class) = self.start_part(task, Slot::Converter(role), converter, connector)?;
        Ok(Arc::new(SandboxedConverter::configure(instance, class, &converter.config, role).await?))
    }

    /// What the parts of a connector's tasks ask for in vain, with the prefix of their keys.
    pub(super) fn refused_to_parts(&self, connector: &RawConfig) -> Vec<(String, Refusal)> {
        let catalog = self.installed.catalog();
        let transforms = transform::guests(connector, &catalog.listed);
        let transforms = transforms.into_iter().map(|(kind, part)| {
            let slot = if kind == PluginKind::Predicate { Slot::Predicate } else { Slot::Transform };
            (slot, part)
        });
        let converters = convert::guests(connector, &catalog.listed);
        let converters = converters.into_iter().map(|(role, part)| (Slot::Converter(role), part));
        let mut refused = Vec::new();
        for (slot, part) in transforms.chain(converters) {
            let Ok(class) = self.part_class(slot, &part) else { continue };
            if let Err(refusals) = self.part_grant(&class, &part, connector) {
                refused.extend(refusals.into_iter().map(|refusal| (slot.prefix(&part), refusal)));
            }
        }
        refused
    }

    /// An instance and the class that it is to be.
    fn start_part(
        &self,
        task: &TaskId,
        slot: Slot,
        part: &Aliased,
        connector: &RawConfig,
    ) -> Result<(PartInstance, String), PluginError> {
        let class = self.part_class(slot, part)?;
        let grant = self.part_grant(&class, part, connector);
        let grant = grant.map_err(|refusals| first(&slot.prefix(part), refusals))?;
        let (instance, part) = (Instance::Task(task.clone()), Some(slot.part(part)));
        let (handle, limits) = self.launch(&class, &grant, slot.role(), instance, part)?;
        Ok((PartInstance::new(handle, limits), class.desc.class.clone()))
    }

    fn part_class(&self, slot: Slot, part: &Aliased) -> Result<Arc<Class>, PluginError> {
        let (name, kind) = (&part.class, slot.kind());
        let found = self.installed.catalog().class_of(name, &[kind], part.config.get(VERSION));
        found.map_err(|unresolved| PluginError::Config {
            key: Some(slot.class_key(part)),
            message: unresolved.explain(kind, name),
        })
    }

    /// Memory and time are the connector's unless the part has its own; everything else has to be asked for
    /// below the alias, whatever the worker gives to connectors that say nothing.
    fn part_grant(&self, class: &Class, part: &Aliased, connector: &RawConfig) -> Result<Grant, Vec<Refusal>> {
        let mut asked = RawConfig::new();
        for key in [grant::MEMORY, grant::CALL_TIMEOUT] {
            if let Some(value) = part.config.get(key).or_else(|| connector.get(key)) {
                asked.set(key, value);
            }
        }
        for key in [grant::FILES, grant::NETWORK, grant::ENV] {
            asked.set(key, part.config.get(key).unwrap_or_default());
        }
        self.settings.policy.grant(&class.needs, &asked)
    }
}

/// What a part is for.
#[derive(Clone, Copy)]
enum Slot {
    Transform,
    Predicate,
    Converter(convert::Role),
}

impl Slot {
    fn kind(self) -> PluginKind {
        match self {
            Self::Transform => PluginKind::Transformation,
            Self::Predicate => PluginKind::Predicate,
            Self::Converter(role) => role.kind(),
        }
    }

    fn role(self) -> Role {
        match self {
            Self::Transform => Role::Transform,
            Self::Predicate => Role::Predicate,
            Self::Converter(_) => Role::Converter,
        }
    }

    fn part(self, part: &Aliased) -> Part {
        let alias = part.alias.clone();
        match self {
            Self::Transform => Part::Transform(alias),
            Self::Predicate => Part::Predicate(alias),
            Self::Converter(_) => Part::Converter(alias),
        }
    }

    /// What is before the keys of a part.
    fn prefix(self, part: &Aliased) -> String {
        match self {
            Self::Transform => format!("transforms.{}.", part.alias),
            Self::Predicate => format!("predicates.{}.", part.alias),
            Self::Converter(role) => format!("{}.", role.key()),
        }
    }

    /// The key that names the class.
    fn class_key(self, part: &Aliased) -> String {
        match self {
            Self::Transform | Self::Predicate => format!("{}type", self.prefix(part)),
            Self::Converter(role) => role.key().to_owned(),
        }
    }
}
