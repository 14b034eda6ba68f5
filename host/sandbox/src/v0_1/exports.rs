//! What a component offers, interface by interface: none of them but the manifest must be there.

use bulkhead_model::plugin::PluginKind;
use bulkhead_pipeline::ports::PluginError;
use wasmtime::component::{Accessor, ComponentExportIndex, Instance, InstancePre, TypedFunc};
use wasmtime::{Store, bail, format_err};

use super::bindings::exports::bulkhead::connect::{connector, manifest, predicate, sink_task, source_task, transform};
use super::convert::answer;
use super::lower::Records;
use super::put::{PutAnswer, PutBatch};
use super::wit::types;
use super::{PACKAGE, VERSION};
use crate::tenant::Tenant;

/// What an instance is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Asked for its manifest, and whether its functions have the types they should.
    Manifest,
    Connector,
    Source,
    Sink,
    Transform,
    Predicate,
}

/// Where a component's functions are; looked up once for each component.
pub(crate) struct Indices {
    manifest: manifest::GuestIndices,
    connector: Option<connector::GuestIndices>,
    source: Option<source_task::GuestIndices>,
    sink: Option<SinkIndices>,
    transform: Option<TransformIndices>,
    predicate: Option<PredicateIndices>,
}

struct SinkIndices {
    guest: sink_task::GuestIndices,
    put: ComponentExportIndex,
}

struct TransformIndices {
    guest: transform::GuestIndices,
    apply: ComponentExportIndex,
}

struct PredicateIndices {
    guest: predicate::GuestIndices,
    test: ComponentExportIndex,
}

/// The functions of one instance.
pub(crate) enum Exports {
    Manifest(manifest::Guest),
    Connector(connector::Guest),
    Source(source_task::Guest),
    Sink(Sink),
    Transform(Transform),
    Predicate(Predicate),
}

pub(crate) struct Sink {
    pub(crate) guest: sink_task::Guest,
    /// `put` with a parameter that is lowered from shared buffers; the generated one wants its own.
    pub(crate) put: TypedFunc<(PutBatch,), (PutAnswer,)>,
}

/// As [`Sink`], with functions that are given a batch.
pub(crate) struct Transform {
    pub(crate) guest: transform::Guest,
    pub(crate) apply: TypedFunc<BatchAndOffsets, (Result<transform::Transformed, types::Error>,)>,
}

pub(crate) struct Predicate {
    pub(crate) guest: predicate::Guest,
    pub(crate) test: TypedFunc<BatchAndOffsets, (Result<predicate::Tested, types::Error>,)>,
}

type BatchAndOffsets = (Records, Vec<i64>);

impl Indices {
    pub(crate) fn of(pre: &InstancePre<Tenant>) -> wasmtime::Result<Self> {
        let component = pre.component();
        let has = |interface: &str| {
            let name = format!("{PACKAGE}/{interface}@{VERSION}");
            component.get_export_index(None, &name)
        };
        let function = |interface: ComponentExportIndex, name: &str| {
            let index = component.get_export_index(Some(&interface), name);
            index.ok_or_else(|| format_err!("there is no `{name}`"))
        };
        let sink = has("sink-task").map(|interface| {
            Ok::<_, wasmtime::Error>(SinkIndices {
                guest: sink_task::GuestIndices::new(pre)?,
                put: function(interface, "put")?,
            })
        });
        let transform = has("transform").map(|interface| {
            Ok::<_, wasmtime::Error>(TransformIndices {
                guest: transform::GuestIndices::new(pre)?,
                apply: function(interface, "apply")?,
            })
        });
        let predicate = has("predicate").map(|interface| {
            Ok::<_, wasmtime::Error>(PredicateIndices {
                guest: predicate::GuestIndices::new(pre)?,
                test: function(interface, "test")?,
            })
        });
        Ok(Self {
            manifest: manifest::GuestIndices::new(pre)?,
            connector: has("connector").map(|_| connector::GuestIndices::new(pre)).transpose()?,
            source: has("source-task").map(|_| source_task::GuestIndices::new(pre)).transpose()?,
            sink: sink.transpose()?,
            transform: transform.transpose()?,
            predicate: predicate.transpose()?,
        })
    }

    /// What a plugin of this kind needs and the component doesn't export.
    pub(crate) fn missing(&self, kind: PluginKind) -> Option<&'static str> {
        let (there, interface) = match kind {
            PluginKind::Source | PluginKind::Sink if self.connector.is_none() => (false, "connector"),
            PluginKind::Source => (self.source.is_some(), "source task"),
            PluginKind::Sink => (self.sink.is_some(), "sink task"),
            PluginKind::Transformation => (self.transform.is_some(), "transform"),
            PluginKind::Predicate => (self.predicate.is_some(), "predicate"),
            PluginKind::Converter | PluginKind::HeaderConverter => (false, "converter that this worker could run"),
        };
        (!there).then_some(interface)
    }

    /// The functions of an instance in its role; fails if one has another type than it should.
    pub(crate) fn load(&self, store: &mut Store<Tenant>, instance: &Instance, role: Role) -> wasmtime::Result<Exports> {
        let exports = match role {
            Role::Manifest => {
                self.check_all(store, instance)?;
                Some(Exports::Manifest(self.manifest.load(store, instance)?))
            }
            Role::Connector => load(&self.connector, |found| found.load(store, instance).map(Exports::Connector))?,
            Role::Source => load(&self.source, |found| found.load(store, instance).map(Exports::Source))?,
            Role::Sink => load(&self.sink, |found| found.load(store, instance).map(Exports::Sink))?,
            Role::Transform => load(&self.transform, |found| found.load(store, instance).map(Exports::Transform))?,
            Role::Predicate => load(&self.predicate, |found| found.load(store, instance).map(Exports::Predicate))?,
        };
        exports.ok_or_else(|| format_err!("the component exports nothing for the role {role:?}"))
    }

    fn check_all(&self, store: &mut Store<Tenant>, instance: &Instance) -> wasmtime::Result<()> {
        load(&self.connector, |found| found.load(&mut *store, instance))?;
        load(&self.source, |found| found.load(&mut *store, instance))?;
        load(&self.sink, |found| found.load(&mut *store, instance))?;
        load(&self.transform, |found| found.load(&mut *store, instance))?;
        load(&self.predicate, |found| found.load(&mut *store, instance))?;
        Ok(())
    }
}

fn load<I, E>(indices: &Option<I>, load: impl FnOnce(&I) -> wasmtime::Result<E>) -> wasmtime::Result<Option<E>> {
    indices.as_ref().map(load).transpose()
}

impl SinkIndices {
    fn load(&self, store: &mut Store<Tenant>, instance: &Instance) -> wasmtime::Result<Sink> {
        Ok(Sink { guest: self.guest.load(&mut *store, instance)?, put: instance.get_typed_func(store, self.put)? })
    }
}

impl TransformIndices {
    fn load(&self, store: &mut Store<Tenant>, instance: &Instance) -> wasmtime::Result<Transform> {
        let guest = self.guest.load(&mut *store, instance)?;
        Ok(Transform { guest, apply: instance.get_typed_func(store, self.apply)? })
    }
}

impl PredicateIndices {
    fn load(&self, store: &mut Store<Tenant>, instance: &Instance) -> wasmtime::Result<Predicate> {
        let guest = self.guest.load(&mut *store, instance)?;
        Ok(Predicate { guest, test: instance.get_typed_func(store, self.test)? })
    }
}

impl Exports {
    pub(crate) fn manifest(&self) -> wasmtime::Result<&manifest::Guest> {
        let Self::Manifest(guest) = self else { bail!("the instance is not there for its manifest") };
        Ok(guest)
    }

    pub(crate) fn connector(&self) -> wasmtime::Result<&connector::Guest> {
        let Self::Connector(guest) = self else { bail!("the instance is no connector") };
        Ok(guest)
    }

    pub(crate) fn source(&self) -> wasmtime::Result<&source_task::Guest> {
        let Self::Source(guest) = self else { bail!("the instance is no source task") };
        Ok(guest)
    }

    pub(crate) fn sink(&self) -> wasmtime::Result<&Sink> {
        let Self::Sink(sink) = self else { bail!("the instance is no sink task") };
        Ok(sink)
    }

    pub(crate) fn transform(&self) -> wasmtime::Result<&Transform> {
        let Self::Transform(transform) = self else { bail!("the instance is no transform") };
        Ok(transform)
    }

    pub(crate) fn predicate(&self) -> wasmtime::Result<&Predicate> {
        let Self::Predicate(predicate) = self else { bail!("the instance is no predicate") };
        Ok(predicate)
    }

    /// Calls the guest's `stop`, if it has one in this role.
    pub(crate) async fn stop(&self, accessor: &Accessor<Tenant>) -> wasmtime::Result<Result<(), PluginError>> {
        let said = match self {
            Self::Manifest(_) | Self::Transform(_) | Self::Predicate(_) => Ok(()),
            Self::Connector(guest) => guest.call_stop(accessor).await?,
            Self::Source(guest) => guest.call_stop(accessor).await?,
            Self::Sink(sink) => sink.guest.call_stop(accessor).await?,
        };
        Ok(answer(said))
    }
}
