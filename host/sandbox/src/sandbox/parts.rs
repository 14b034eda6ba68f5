//! What a task has beside itself, in instances of their own: transforms and predicates.

use std::sync::Arc;

use bulkhead_model::plugin::{PluginKind, Unresolved};
use bulkhead_model::{Instance, RawConfig, TaskId};
use bulkhead_pipeline::ports::{Aliased, PluginError, PredicateTask, TransformTask};
use bulkhead_pipeline::transform;

use super::plugins::first;
use super::{Limits, Sandbox, Start};
use crate::catalog::Class;
use crate::grant::{self, Grant, Refusal};
use crate::instance::Handle;
use crate::stats::Part;
use crate::v0_1::{Role, SandboxedPredicate, SandboxedTransform};

/// The version that a part is wanted in.
const VERSION: &str = "plugin.version";

impl Sandbox {
    pub(super) async fn open_transform(
        &self,
        task: &TaskId,
        transform: &Aliased,
        connector: &RawConfig,
    ) -> Result<Arc<dyn TransformTask>, PluginError> {
        let (handle, limits, class) = self.start_part(task, PluginKind::Transformation, transform, connector)?;
        let config = &transform.config;
        Ok(Arc::new(SandboxedTransform::configure(handle, limits, class, config).await?))
    }

    pub(super) async fn open_predicate(
        &self,
        task: &TaskId,
        predicate: &Aliased,
        connector: &RawConfig,
    ) -> Result<Arc<dyn PredicateTask>, PluginError> {
        let (handle, limits, class) = self.start_part(task, PluginKind::Predicate, predicate, connector)?;
        let config = &predicate.config;
        Ok(Arc::new(SandboxedPredicate::configure(handle, limits, class, config).await?))
    }

    /// What the parts of a connector's tasks ask for in vain, with the prefix of their keys.
    pub(super) fn refused_to_parts(&self, connector: &RawConfig) -> Vec<(String, Refusal)> {
        let mut refused = Vec::new();
        for (kind, part) in transform::guests(connector, &self.installed.catalog().listed) {
            let Ok(class) = self.part_class(kind, &part) else { continue };
            if let Err(refusals) = self.part_grant(&class, &part, connector) {
                refused.extend(refusals.into_iter().map(|refusal| (prefix(kind, &part), refusal)));
            }
        }
        refused
    }

    fn start_part(
        &self,
        task: &TaskId,
        kind: PluginKind,
        part: &Aliased,
        connector: &RawConfig,
    ) -> Result<(Handle, Limits, String), PluginError> {
        let class = self.part_class(kind, part)?;
        let grant = self.part_grant(&class, part, connector);
        let grant = grant.map_err(|refusals| first(&prefix(kind, part), refusals))?;
        let limits = self.host.limits(&grant);
        let alias = part.alias.clone();
        let (role, part) = if kind == PluginKind::Predicate {
            (Role::Predicate, Part::Predicate(alias))
        } else {
            (Role::Transform, Part::Transform(alias))
        };
        let start = Start {
            pre: &class.component.pre,
            indices: &class.component.indices,
            role,
            instance: Instance::Task(task.clone()),
            part: Some(part),
            class: &class.desc.class,
            budget: limits.call(),
        };
        Ok((self.host.start(start, &grant)?, limits, class.desc.class.clone()))
    }

    fn part_class(&self, kind: PluginKind, part: &Aliased) -> Result<Arc<Class>, PluginError> {
        let name = &part.class;
        let found = self.installed.catalog().class_of(name, &[kind], part.config.get(VERSION));
        found.map_err(|unresolved| PluginError::Config {
            key: Some(format!("{}type", prefix(kind, part))),
            message: match unresolved {
                Unresolved::Unknown => format!("no {kind} of the class `{name}` is installed"),
                Unresolved::Ambiguous(classes) => format!("`{name}` may be any of {}", classes.join(", ")),
                Unresolved::NoSuchVersion(other) => format!("`{name}`: {other}"),
            },
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

/// What is before the keys of a part.
fn prefix(kind: PluginKind, part: &Aliased) -> String {
    let list = if kind == PluginKind::Predicate { "predicates" } else { "transforms" };
    format!("{list}.{}.", part.alias)
}
