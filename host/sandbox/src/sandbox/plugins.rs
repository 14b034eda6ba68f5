//! [`Sandbox`] as the pipeline's source of instances.

use std::sync::Arc;

use bulkhead_model::config::ConfigValue;
use bulkhead_model::plugin::{CONNECTOR_VERSION, CONNECTORS, PluginCatalog, PluginDesc};
use bulkhead_model::{ConnectorName, Instance, RawConfig, TaskId};
use bulkhead_pipeline::convert;
use bulkhead_pipeline::ports::{Aliased, ConverterTask, PluginError, Plugins, PredicateTask, TransformTask};
use bulkhead_pipeline::sink::has_reporter;

use super::{Limits, Sandbox, Start};
use crate::catalog::Class;
use crate::grant::{Grant, Refusal};
use crate::instance::Handle;
use crate::stats::Part;
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
        let own = self.class(config).ok().map(|class| self.grant(&class, config));
        let own = own.and_then(Result::err).into_iter().flatten().map(|refusal| (String::new(), refusal));
        by_key(own.chain(self.refused_to_parts(config)))
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

    async fn transform(
        &self,
        task: &TaskId,
        transform: &Aliased,
        connector: &RawConfig,
    ) -> Result<Arc<dyn TransformTask>, PluginError> {
        self.open_transform(task, transform, connector).await
    }

    async fn predicate(
        &self,
        task: &TaskId,
        predicate: &Aliased,
        connector: &RawConfig,
    ) -> Result<Arc<dyn PredicateTask>, PluginError> {
        self.open_predicate(task, predicate, connector).await
    }

    async fn converter(
        &self,
        task: &TaskId,
        role: convert::Role,
        converter: &Aliased,
        connector: &RawConfig,
    ) -> Result<Arc<dyn ConverterTask>, PluginError> {
        self.open_converter(task, role, converter, connector).await
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
        let grant = self.grant(&class, config).map_err(|refusals| first("", refusals))?;
        let (handle, limits) = self.launch(&class, &grant, role, instance, None)?;
        Ok((handle, limits, Arc::clone(&class.desc)))
    }

    /// Brings an instance of a class to life, as a task's part if it is to be one.
    pub(super) fn launch(
        &self,
        class: &Class,
        grant: &Grant,
        role: Role,
        instance: Instance,
        part: Option<Part>,
    ) -> Result<(Handle, Limits), PluginError> {
        let limits = self.host.limits(grant);
        let start = Start {
            pre: &class.component.pre,
            indices: &class.component.indices,
            role,
            instance,
            part,
            class: &class.desc.class,
            budget: limits.call(),
        };
        Ok((self.host.start(start, grant)?, limits))
    }

    fn class(&self, config: &RawConfig) -> Result<Arc<Class>, PluginError> {
        let refused = |message: String| PluginError::Config { key: Some(CONNECTOR_CLASS.to_owned()), message };
        let Some(name) = config.connector_class() else {
            return Err(refused("is required".to_owned()));
        };
        let found = self.installed.catalog().class_of(name, &CONNECTORS, config.get(CONNECTOR_VERSION));
        found.map_err(|unresolved| refused(unresolved.explain("plugin", name)))
    }

    fn grant(&self, class: &Class, config: &RawConfig) -> Result<Grant, Vec<Refusal>> {
        self.settings.policy.grant(&class.needs, config)
    }
}

/// Keys are below the prefix.
pub(super) fn first(prefix: &str, refusals: Vec<Refusal>) -> PluginError {
    let first = refusals.into_iter().next();
    PluginError::Config {
        key: first.as_ref().map(|refusal| format!("{prefix}{}", refusal.key)),
        message: first.map_or_else(String::new, |refusal| refusal.message),
    }
}

/// Refusals as validation shows them: one entry for each key, which is below its prefix.
fn by_key(refusals: impl IntoIterator<Item = (String, Refusal)>) -> Vec<ConfigValue> {
    let mut values: Vec<ConfigValue> = Vec::new();
    for (prefix, Refusal { key, value, message }) in refusals {
        let key = format!("{prefix}{key}");
        match values.iter_mut().find(|known| known.name == key) {
            Some(known) => known.errors.push(message),
            None => values.push(ConfigValue {
                name: key,
                value,
                recommended: Vec::new(),
                errors: vec![message],
                visible: true,
            }),
        }
    }
    values
}
