//! What a component offers, interface by interface: none of them but the manifest must be there.

use bulkhead_pipeline::ports::PluginError;
use wasmtime::component::{Accessor, ComponentExportIndex, Instance, InstancePre, TypedFunc};
use wasmtime::{Store, bail, format_err};

use super::bindings::exports::bulkhead::connect::{connector, manifest, sink_task, source_task};
use super::convert::answer;
use super::put::{PutAnswer, PutBatch};
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
}

/// Where a component's functions are; looked up once for each component.
pub(crate) struct Indices {
    manifest: manifest::GuestIndices,
    connector: connector::GuestIndices,
    source: Option<source_task::GuestIndices>,
    sink: Option<SinkIndices>,
}

struct SinkIndices {
    guest: sink_task::GuestIndices,
    put: ComponentExportIndex,
}

/// The functions of one instance.
pub(crate) enum Exports {
    Manifest(manifest::Guest),
    Connector(connector::Guest),
    Source(source_task::Guest),
    Sink(Sink),
}

pub(crate) struct Sink {
    pub(crate) guest: sink_task::Guest,
    /// `put` with a parameter that is lowered from shared buffers; the generated one wants its own.
    pub(crate) put: TypedFunc<(PutBatch,), (PutAnswer,)>,
}

impl Indices {
    pub(crate) fn of(pre: &InstancePre<Tenant>) -> wasmtime::Result<Self> {
        let has = |interface: &str| {
            let name = format!("{PACKAGE}/{interface}@{VERSION}");
            pre.component().get_export_index(None, &name)
        };
        let source = match has("source-task") {
            Some(_) => Some(source_task::GuestIndices::new(pre)?),
            None => None,
        };
        let sink = match has("sink-task") {
            Some(interface) => Some(SinkIndices {
                guest: sink_task::GuestIndices::new(pre)?,
                put: pre
                    .component()
                    .get_export_index(Some(&interface), "put")
                    .ok_or_else(|| format_err!("`sink-task` has no `put`"))?,
            }),
            None => None,
        };
        Ok(Self {
            manifest: manifest::GuestIndices::new(pre)?,
            connector: connector::GuestIndices::new(pre)?,
            source,
            sink,
        })
    }

    pub(crate) fn has_source(&self) -> bool {
        self.source.is_some()
    }

    pub(crate) fn has_sink(&self) -> bool {
        self.sink.is_some()
    }

    /// The functions of an instance in its role; fails if one has another type than it should.
    pub(crate) fn load(&self, store: &mut Store<Tenant>, instance: &Instance, role: Role) -> wasmtime::Result<Exports> {
        Ok(match role {
            Role::Manifest => {
                self.connector.load(&mut *store, instance)?;
                if let Some(source) = &self.source {
                    source.load(&mut *store, instance)?;
                }
                if let Some(sink) = &self.sink {
                    sink.load(store, instance)?;
                }
                Exports::Manifest(self.manifest.load(store, instance)?)
            }
            Role::Connector => Exports::Connector(self.connector.load(store, instance)?),
            Role::Source => match &self.source {
                Some(source) => Exports::Source(source.load(store, instance)?),
                None => bail!("the component has no source task"),
            },
            Role::Sink => match &self.sink {
                Some(sink) => Exports::Sink(sink.load(store, instance)?),
                None => bail!("the component has no sink task"),
            },
        })
    }
}

impl SinkIndices {
    fn load(&self, store: &mut Store<Tenant>, instance: &Instance) -> wasmtime::Result<Sink> {
        Ok(Sink { guest: self.guest.load(&mut *store, instance)?, put: instance.get_typed_func(store, self.put)? })
    }
}

impl Exports {
    pub(crate) fn manifest(&self) -> wasmtime::Result<&manifest::Guest> {
        match self {
            Self::Manifest(guest) => Ok(guest),
            Self::Connector(_) | Self::Source(_) | Self::Sink(_) => bail!("the instance is not there for its manifest"),
        }
    }

    pub(crate) fn connector(&self) -> wasmtime::Result<&connector::Guest> {
        match self {
            Self::Connector(guest) => Ok(guest),
            Self::Manifest(_) | Self::Source(_) | Self::Sink(_) => bail!("the instance is no connector"),
        }
    }

    pub(crate) fn source(&self) -> wasmtime::Result<&source_task::Guest> {
        match self {
            Self::Source(guest) => Ok(guest),
            Self::Manifest(_) | Self::Connector(_) | Self::Sink(_) => bail!("the instance is no source task"),
        }
    }

    pub(crate) fn sink(&self) -> wasmtime::Result<&Sink> {
        match self {
            Self::Sink(sink) => Ok(sink),
            Self::Manifest(_) | Self::Connector(_) | Self::Source(_) => bail!("the instance is no sink task"),
        }
    }

    /// Calls the guest's `stop`, if it has one in this role.
    pub(crate) async fn stop(&self, accessor: &Accessor<Tenant>) -> wasmtime::Result<Result<(), PluginError>> {
        let said = match self {
            Self::Manifest(_) => Ok(()),
            Self::Connector(guest) => guest.call_stop(accessor).await?,
            Self::Source(guest) => guest.call_stop(accessor).await?,
            Self::Sink(sink) => sink.guest.call_stop(accessor).await?,
        };
        Ok(answer(said))
    }
}
