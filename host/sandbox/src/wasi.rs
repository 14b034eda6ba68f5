//! WASI as far as an instance's grant goes: folders, peers, environment variables, and where its
//! standard streams lead.

mod egress;
mod lookups;

use std::sync::Arc;

use bulkhead_pipeline::ports::PluginError;
use wasmtime::component::Linker;
use wasmtime_wasi::sockets::SocketAddrUse;
use wasmtime_wasi::{FsPerms, WasiCtx};

use crate::grant::{self, Access, Folder, Grant};
use crate::instance::Shared;
use crate::output::{Stdio, Stream};
use crate::tenant::Tenant;
pub(crate) use egress::Egress;
pub(crate) use lookups::Lookups;

/// Both versions of WASI, with name lookups that obey the grant.
pub(crate) fn add_to_linker(linker: &mut Linker<Tenant>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    wasmtime_wasi::p3::add_to_linker(linker)?;
    lookups::add_to_linker(linker)
}

/// What a store's guest sees of the world.
pub(crate) fn context(grant: &Grant, shared: &Arc<Shared>) -> Result<(WasiCtx, Lookups), PluginError> {
    let egress = Arc::new(Egress::new(grant.network.clone()));
    // Files block on threads of their own, not on the guests' (`allow_blocking_current_thread`): a named
    // pipe or a hanging file server would hold up neighbours, and no deadline could end it.
    let mut wasi = WasiCtx::builder();
    wasi.stdout(Stdio::new(shared, Stream::Stdout))
        .stderr(Stdio::new(shared, Stream::Stderr))
        .allow_udp(false)
        .allow_tcp(!grant.network.is_empty())
        .allow_ip_name_lookup(!grant.network.is_empty());
    for name in &grant.env {
        if let Ok(value) = std::env::var(&name.0) {
            wasi.env(&name.0, value);
        }
    }
    for folder in &grant.files {
        open(&mut wasi, folder)?;
    }
    let checked = Arc::clone(&egress);
    wasi.socket_addr_check(move |address, used_for| {
        let allowed = match used_for {
            SocketAddrUse::TcpConnect => checked.allows(address),
            // What the system does by itself before it connects.
            SocketAddrUse::TcpBind => address.ip().is_unspecified() && address.port() == 0,
            SocketAddrUse::TcpListen
            | SocketAddrUse::TcpAccept
            | SocketAddrUse::UdpBind
            | SocketAddrUse::UdpSend
            | SocketAddrUse::UdpReceive => false,
        };
        Box::pin(std::future::ready(allowed))
    });
    Ok((wasi.build(), Lookups::new(egress)))
}

/// Opens a folder to the guest, under the path it has here.
fn open(wasi: &mut wasmtime_wasi::WasiCtxBuilder, folder: &Folder) -> Result<(), PluginError> {
    let permissions = match folder.access {
        Access::ReadOnly => FsPerms::ReadOnly,
        Access::ReadWrite => FsPerms::ReadWrite,
    };
    let refused = |why: String| PluginError::Config {
        key: Some(grant::FILES.to_owned()),
        message: format!("the folder `{}` cannot be opened: {why}", folder.path.display()),
    };
    let Some(path) = folder.path.to_str() else {
        return Err(refused("its name is not UTF-8".to_owned()));
    };
    match wasi.preopened_dir(&folder.path, path, permissions) {
        Ok(_) => Ok(()),
        Err(error) => Err(refused(error.to_string())),
    }
}
