//! What one instance's store holds on the host side.

use std::sync::Arc;

use bulkhead_pipeline::ports::OffsetStore;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::host::Schemas;
use crate::instance::Shared;
use crate::limits::Limiter;
use crate::wasi::Lookups;

/// Handles (files, sockets, streams, pollables) that a guest may have open.
const MAX_RESOURCES: usize = 10_000;

pub(crate) struct Tenant {
    pub(crate) shared: Arc<Shared>,
    pub(crate) limiter: Limiter,
    pub(crate) schemas: Schemas,
    pub(crate) offsets: Arc<dyn OffsetStore>,
    /// It was said that there are some.
    pub(crate) told_of_offsets: bool,
    pub(crate) lookups: Lookups,
    wasi: WasiCtx,
    resources: ResourceTable,
}

impl Tenant {
    pub(crate) fn new(
        shared: Arc<Shared>,
        limiter: Limiter,
        offsets: Arc<dyn OffsetStore>,
        wasi: WasiCtx,
        lookups: Lookups,
    ) -> Self {
        let mut resources = ResourceTable::new();
        resources.set_max_capacity(MAX_RESOURCES);
        let schemas = Schemas::default();
        Self { shared, limiter, schemas, offsets, told_of_offsets: false, lookups, wasi, resources }
    }
}

impl WasiView for Tenant {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.resources }
    }
}
