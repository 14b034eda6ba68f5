//! REST's sockets: opened early, so that a port in use is known before anything runs, served later.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bulkhead_pipeline::convert::CONNECT_VERSION;
use bulkhead_rest::{AdminListeners, Interface, Listener, Resources, ServerInfo};
use bulkhead_sandbox::Sandbox;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::driver::Handle;
use crate::plugins::PluginFolder;
use crate::telemetry::TracingLoggers;
use crate::usage::SandboxUsage;

/// How long requests that are being answered may hold up the end.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Sockets that are open, but not yet served.
#[derive(Debug)]
pub struct Listeners {
    regular: Vec<TcpListener>,
    admin: Vec<TcpListener>,
}

impl Listeners {
    pub async fn bind(settings: &bulkhead_rest::Settings) -> anyhow::Result<Self> {
        let regular = bind_all("listeners", &settings.listeners).await?;
        let admin = match &settings.admin_listeners {
            AdminListeners::Own(listeners) => bind_all("admin.listeners", listeners).await?,
            AdminListeners::Same | AdminListeners::Nowhere => Vec::new(),
        };
        Ok(Self { regular, admin })
    }

    /// Where the first of `listeners` is.
    pub fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.regular.first().context("`listeners` is empty")?.local_addr()?)
    }

    /// Answers until `serving` is told to stop, and then what has been asked by then.
    pub fn serve(self, interface: &Interface, serving: &Serving) {
        let regular = self.regular.into_iter().map(|socket| (socket, Resources::Regular));
        let admin = self.admin.into_iter().map(|socket| (socket, Resources::Admin));
        for (socket, resources) in regular.chain(admin) {
            let router = interface.router(resources);
            let stop = serving.stop.clone().cancelled_owned();
            serving.served.spawn(async move {
                if let Err(error) = bulkhead_rest::serve(socket, router, stop).await {
                    tracing::error!(%error, "A listener failed.");
                }
            });
        }
    }
}

/// Listeners that answer.
#[derive(Clone, Debug, Default)]
pub struct Serving {
    served: TaskTracker,
    stop: CancellationToken,
}

impl Serving {
    /// Takes no more requests.
    pub fn stop(&self) {
        self.stop.cancel();
        self.served.close();
    }

    /// What is still being answered is answered; what hangs isn't waited for.
    pub async fn end(&self) {
        self.stop();
        let _ = timeout(LAST_ANSWERS, self.served.wait()).await;
    }
}

/// What this worker answers, for the Kafka cluster with this id.
pub fn interface(
    herder: &Handle,
    loggers: &Arc<TracingLoggers>,
    settings: &bulkhead_rest::Settings,
    kafka_cluster_id: String,
    sandbox: Arc<Sandbox>,
) -> Interface {
    let info = ServerInfo {
        version: CONNECT_VERSION.to_owned(),
        commit: concat!("bulkhead-", env!("CARGO_PKG_VERSION")).to_owned(),
        kafka_cluster_id,
    };
    let (files, usage) = (Arc::new(PluginFolder(Arc::clone(&sandbox))), Arc::new(SandboxUsage(sandbox)));
    Interface::new(herder.clone(), loggers.clone(), info, settings.clone(), usage, files)
}

async fn bind_all(key: &'static str, listeners: &[Listener]) -> anyhow::Result<Vec<TcpListener>> {
    let mut sockets = Vec::with_capacity(listeners.len());
    for listener in listeners {
        let socket = bulkhead_rest::bind(key, listener).await?;
        tracing::info!(address = %socket.local_addr()?, "REST is at");
        sockets.push(socket);
    }
    Ok(sockets)
}
