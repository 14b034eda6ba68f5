//! Name lookups that obey the grant: WASI's own switch knows only on and off.
//!
//! Only names that a rule allows are resolved, and what they resolve to is remembered in [`Egress`].

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use wasmtime::component::{Accessor, HasData, HasSelf, Linker, Resource};
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup as p2;
use wasmtime_wasi::p2::bindings::sockets::network::{self, ErrorCode, IpAddress, Network};
use wasmtime_wasi::p2::{DynPollable, SocketError};
use wasmtime_wasi::p3::bindings::sockets::ip_name_lookup as p3;
use wasmtime_wasi::p3::bindings::sockets::types as p3_types;
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView};

use super::Egress;
use crate::tenant::Tenant;

/// One instance's lookups.
pub(crate) struct Lookups {
    egress: Arc<Egress>,
    /// The name behind each stream of addresses; as many as the guest has streams.
    names: HashMap<u32, String>,
}

impl Lookups {
    pub(crate) fn new(egress: Arc<Egress>) -> Self {
        Self { egress, names: HashMap::new() }
    }
}

/// Puts these lookups in the place of WASI's.
pub(super) fn add_to_linker(linker: &mut Linker<Tenant>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    p2::add_to_linker::<Tenant, HasSelf<Tenant>>(linker, |tenant| tenant)?;
    p3::add_to_linker::<Tenant, Guarded>(linker, |tenant| tenant)?;
    linker.allow_shadowing(false);
    Ok(())
}

impl p2::Host for Tenant {
    fn resolve_addresses(
        &mut self,
        network: Resource<Network>,
        name: String,
    ) -> Result<Resource<p2::ResolveAddressStream>, SocketError> {
        if !self.lookups.egress.allows_name(&name) {
            return Err(ErrorCode::AccessDenied.into());
        }
        let stream = p2::Host::resolve_addresses(&mut self.sockets(), network, name.clone())?;
        self.lookups.names.insert(stream.rep(), name);
        Ok(stream)
    }
}

impl p2::HostResolveAddressStream for Tenant {
    fn resolve_next_address(
        &mut self,
        stream: Resource<p2::ResolveAddressStream>,
    ) -> Result<Option<IpAddress>, SocketError> {
        let number = stream.rep();
        let address = p2::HostResolveAddressStream::resolve_next_address(&mut self.sockets(), stream)?;
        if let (Some(address), Some(name)) = (&address, self.lookups.names.get(&number)) {
            self.lookups.egress.resolved_to(name, p2_address(*address));
        }
        Ok(address)
    }

    fn subscribe(&mut self, stream: Resource<p2::ResolveAddressStream>) -> wasmtime::Result<Resource<DynPollable>> {
        p2::HostResolveAddressStream::subscribe(&mut self.sockets(), stream)
    }

    fn drop(&mut self, stream: Resource<p2::ResolveAddressStream>) -> wasmtime::Result<()> {
        self.lookups.names.remove(&stream.rep());
        p2::HostResolveAddressStream::drop(&mut self.sockets(), stream)
    }
}

/// Lookups share their error codes with the rest of the network, which stays WASI's.
impl network::Host for Tenant {
    fn convert_error_code(&mut self, error: SocketError) -> wasmtime::Result<ErrorCode> {
        network::Host::convert_error_code(&mut self.sockets(), error)
    }

    fn network_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        network::Host::network_error_code(&mut self.sockets(), error)
    }
}

impl network::HostNetwork for Tenant {
    fn drop(&mut self, network: Resource<Network>) -> wasmtime::Result<()> {
        network::HostNetwork::drop(&mut self.sockets(), network)
    }
}

/// The same for WASI 0.3, whose lookups are async functions.
struct Guarded;

impl HasData for Guarded {
    type Data<'a> = &'a mut Tenant;
}

impl p3::Host for Tenant {}

impl p3::HostWithStore<Tenant> for Guarded {
    async fn resolve_addresses(
        accessor: &Accessor<Tenant, Self>,
        name: String,
    ) -> wasmtime::Result<Result<Vec<p3_types::IpAddress>, p3::ErrorCode>> {
        let egress = accessor.with(|mut store| Arc::clone(&store.get().lookups.egress));
        if !egress.allows_name(&name) {
            return Ok(Err(p3::ErrorCode::AccessDenied));
        }
        let sockets = accessor.with_getter::<WasiSockets>(Tenant::sockets);
        let found = <WasiSockets as p3::HostWithStore<Tenant>>::resolve_addresses(&sockets, name.clone()).await?;
        for address in found.iter().flatten() {
            egress.resolved_to(&name, p3_address(*address));
        }
        Ok(found)
    }
}

fn p2_address(address: IpAddress) -> IpAddr {
    match address {
        IpAddress::Ipv4((a, b, c, d)) => Ipv4Addr::new(a, b, c, d).into(),
        IpAddress::Ipv6((a, b, c, d, e, f, g, h)) => Ipv6Addr::new(a, b, c, d, e, f, g, h).into(),
    }
}

fn p3_address(address: p3_types::IpAddress) -> IpAddr {
    match address {
        p3_types::IpAddress::Ipv4((a, b, c, d)) => Ipv4Addr::new(a, b, c, d).into(),
        p3_types::IpAddress::Ipv6((a, b, c, d, e, f, g, h)) => Ipv6Addr::new(a, b, c, d, e, f, g, h).into(),
    }
}
