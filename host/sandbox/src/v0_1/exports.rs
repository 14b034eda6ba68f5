//! What a component offers, interface by interface: none of them but the manifest must be there.

use bulkhead_model::plugin::PluginKind;
use bulkhead_pipeline::ports::PluginError;
use wasmtime::component::{Accessor, ComponentExportIndex, Instance, InstancePre, TypedFunc};
use wasmtime::{Store, bail, format_err};

use super::bindings::exports::bulkhead::connect::{
    connector, converter, manifest, predicate, sink_task, source_task, transform,
};
use super::convert::answer;
use super::lower::{Records, ValueBatch};
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
    Converter,
}

/// Where a component's functions are; looked up once for each component.
pub(crate) struct Indices {
    manifest: manifest::GuestIndices,
    connector: Option<connector::GuestIndices>,
    source: Option<source_task::GuestIndices>,
    sink: Option<SinkIndices>,
    transform: Option<TransformIndices>,
    predicate: Option<PredicateIndices>,
    converter: Option<ConverterIndices>,
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

struct ConverterIndices {
    guest: converter::GuestIndices,
    from_connect: ComponentExportIndex,
    to_connect: ComponentExportIndex,
}

/// The functions of one instance.
pub(crate) enum Exports {
    Manifest(manifest::Guest),
    Connector(connector::Guest),
    Source(source_task::Guest),
    Sink(Sink),
    Transform(Transform),
    Predicate(Predicate),
    Converter(Converter),
}

pub(crate) struct Sink {
    pub(crate) guest: sink_task::Guest,
    /// `put` with a parameter that is lowered from shared buffers; the generated one wants its own.
    pub(crate) put: TypedFunc<(PutBatch,), (PutAnswer,)>,
}

/// As [`Sink`], with functions that are given a batch.
pub(crate) struct Transform {
    pub(crate) guest: transform::Guest,
    pub(crate) apply: Function<BatchAndOffsets, transform::Transformed>,
}

pub(crate) struct Predicate {
    pub(crate) guest: predicate::Guest,
    pub(crate) test: Function<BatchAndOffsets, predicate::Tested>,
}

pub(crate) struct Converter {
    pub(crate) guest: converter::Guest,
    pub(crate) from_connect: ItemFunction,
    pub(crate) to_connect: ItemFunction,
}

/// Takes `P`, and answers with `A` or an error.
pub(crate) type Function<P, A> = TypedFunc<P, (Result<A, types::Error>,)>;

pub(crate) type BatchAndOffsets = (Records, Vec<i64>);

pub(crate) type ItemFunction = Function<(ValueBatch,), converter::Converted>;

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
        let converter = has("converter").map(|interface| {
            Ok::<_, wasmtime::Error>(ConverterIndices {
                guest: converter::GuestIndices::new(pre)?,
                from_connect: function(interface, "from-connect")?,
                to_connect: function(interface, "to-connect")?,
            })
        });
        Ok(Self {
            manifest: manifest::GuestIndices::new(pre)?,
            connector: has("connector").map(|_| connector::GuestIndices::new(pre)).transpose()?,
            source: has("source-task").map(|_| source_task::GuestIndices::new(pre)).transpose()?,
            sink: sink.transpose()?,
            transform: transform.transpose()?,
            predicate: predicate.transpose()?,
            converter: converter.transpose()?,
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
            PluginKind::Converter | PluginKind::HeaderConverter => (self.converter.is_some(), "converter"),
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
            Role::Converter => load(&self.converter, |found| found.load(store, instance).map(Exports::Converter))?,
        };
        exports.ok_or_else(|| format_err!("the component exports nothing for the role {role:?}"))
    }

    fn check_all(&self, store: &mut Store<Tenant>, instance: &Instance) -> wasmtime::Result<()> {
        load(&self.connector, |found| found.load(&mut *store, instance))?;
        load(&self.source, |found| found.load(&mut *store, instance))?;
        load(&self.sink, |found| found.load(&mut *store, instance))?;
        load(&self.transform, |found| found.load(&mut *store, instance))?;
        load(&self.predicate, |found| found.load(&mut *store, instance))?;
        load(&self.converter, |found| found.load(&mut *store, instance))?;
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

impl ConverterIndices {
    fn load(&self, store: &mut Store<Tenant>, instance: &Instance) -> wasmtime::Result<Converter> {
        Ok(Converter {
            guest: self.guest.load(&mut *store, instance)?,
            from_connect: instance.get_typed_func(&mut *store, self.from_connect)?,
            to_connect: instance.get_typed_func(store, self.to_connect)?,
        })
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

    pub(crate) fn converter(&self) -> wasmtime::Result<&Converter> {
        let Self::Converter(converter) = self else { bail!("the instance is no converter") };
        Ok(converter)
    }

    /// Calls the guest's `stop`, if it has one in this role.
    pub(crate) async fn stop(&self, accessor: &Accessor<Tenant>) -> wasmtime::Result<Result<(), PluginError>> {
        let said = match self {
            Self::Manifest(_) | Self::Transform(_) | Self::Predicate(_) | Self::Converter(_) => Ok(()),
            Self::Connector(guest) => guest.call_stop(accessor).await?,
            Self::Source(guest) => guest.call_stop(accessor).await?,
            Self::Sink(sink) => sink.guest.call_stop(accessor).await?,
        };
        Ok(answer(said))
    }
}
