//! [`Sandbox`] as the pipeline's source of instances.

use std::sync::Arc;

use bulkhead_model::config::ConfigValue;
use bulkhead_model::plugin::{CONNECTOR_VERSION, CONNECTORS, PluginCatalog, PluginDesc, Unresolved};
use bulkhead_model::{ConnectorName, Instance, RawConfig, TaskId};
use bulkhead_pipeline::ports::{PluginError, Plugins};
use bulkhead_pipeline::sink::has_reporter;

use super::{Limits, Sandbox, Start};
use crate::catalog::Class;
use crate::grant::{Grant, Refusal};
use crate::instance::Handle;
use crate::v0_1::{Role, SandboxedConnector, SandboxedSink, SandboxedSource};

const CONNECTOR_CLASS: &str = "connector.class";

impl Plugins for Sandbox {
    type Connector = SandboxedConnector;
    type Source = SandboxedSource;
    type Sink = SandboxedSink;

    fn catalog(&self) -> Arc<PluginCatalog> {
        Arc::clone(&self.installed.catalog().listed)
    }

    fn refused_grants(&self, config: &RawConfig) -> Vec<ConfigValue> {
        // What is wrong with the class is said elsewhere.
        let Ok(class) = self.class(config) else { return Vec::new() };
        match self.grant(&class, config) {
            Ok(_) => Vec::new(),
            Err(refusals) => by_key(refusals),
        }
    }

    async fn connector(&self, name: &ConnectorName, config: &RawConfig) -> Result<SandboxedConnector, PluginError> {
        let instance = Instance::Connector(name.clone());
        let (handle, limits, plugin) = self.start(instance, Role::Connector, config)?;
        Ok(SandboxedConnector::new(handle, limits, plugin))
    }

    async fn source_task(&self, task: &TaskId, connector: &RawConfig) -> Result<SandboxedSource, PluginError> {
        let instance = Instance::Task(task.clone());
        let (handle, limits, plugin) = self.start(instance, Role::Source, connector)?;
        Ok(SandboxedSource::new(handle, limits, plugin))
    }

    async fn sink_task(&self, task: &TaskId, connector: &RawConfig) -> Result<SandboxedSink, PluginError> {
        let instance = Instance::Task(task.clone());
        let (handle, limits, plugin) = self.start(instance, Role::Sink, connector)?;
        handle.shared().sink().has_reporter = has_reporter(connector);
        Ok(SandboxedSink::new(handle, limits, plugin))
    }
}

impl Sandbox {
    fn start(
        &self,
        instance: Instance,
        role: Role,
        config: &RawConfig,
    ) -> Result<(Handle, Limits, Arc<PluginDesc>), PluginError> {
        let class = self.class(config)?;
        let grant = self.grant(&class, config).map_err(first)?;
        let limits = self.host.limits(&grant);
        let start = Start {
            pre: &class.component.pre,
            indices: &class.component.indices,
            role,
            instance,
            class: &class.desc.class,
            budget: limits.call(),
        };
        let handle = self.host.start(start, &grant)?;
        Ok((handle, limits, Arc::clone(&class.desc)))
    }

    fn class(&self, config: &RawConfig) -> Result<Arc<Class>, PluginError> {
        let refused = |message: String| PluginError::Config { key: Some(CONNECTOR_CLASS.to_owned()), message };
        let Some(name) = config.connector_class() else {
            return Err(refused("is required".to_owned()));
        };
        let found = self.installed.catalog().class_of(name, &CONNECTORS, config.get(CONNECTOR_VERSION));
        found.map_err(|unresolved| match unresolved {
            Unresolved::Unknown => refused(format!("no plugin of the class `{name}` is installed")),
            Unresolved::Ambiguous(classes) => refused(format!("`{name}` may be any of {}", classes.join(", "))),
            Unresolved::NoSuchVersion(other) => refused(format!("`{name}`: {other}")),
        })
    }

    fn grant(&self, class: &Class, config: &RawConfig) -> Result<Grant, Vec<Refusal>> {
        self.settings.policy.grant(&class.needs, config)
    }
}

fn first(refusals: Vec<Refusal>) -> PluginError {
    let first = refusals.into_iter().next();
    PluginError::Config {
        key: first.as_ref().map(|refusal| refusal.key.to_owned()),
        message: first.map_or_else(String::new, |refusal| refusal.message),
    }
}

/// Refusals as validation shows them: one entry for each key.
fn by_key(refusals: Vec<Refusal>) -> Vec<ConfigValue> {
    let mut values: Vec<ConfigValue> = Vec::new();
    for Refusal { key, value, message } in refusals {
        match values.iter_mut().find(|known| known.name == key) {
            Some(known) => known.errors.push(message),
            None => values.push(ConfigValue {
                name: key.to_owned(),
                value,
                recommended: Vec::new(),
                errors: vec![message],
                visible: true,
            }),
        }
    }
    values
}
