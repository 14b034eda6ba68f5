//! `context` and `stop-signal`.

use std::time::Duration;

use bulkhead_model::Instance;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use wasmtime::component::{Accessor, HasSelf};

use crate::tenant::Tenant;
use crate::v0_1::wit::context::{Host, Identity};
use crate::v0_1::wit::stop_signal;

impl Host for Tenant {
    fn who_am_i(&mut self) -> Identity {
        let instance: &Instance = &self.shared.instance;
        Identity {
            connector: instance.connector().to_string(),
            task: instance.task_number(),
            generation: self.shared.life,
            tenant: String::new(),
            worker: self.shared.worker.to_string(),
        }
    }

    fn should_stop(&mut self) -> bool {
        self.shared.stop.is_cancelled()
    }
}

impl stop_signal::Host for Tenant {}

impl stop_signal::HostWithStore<Tenant> for HasSelf<Tenant> {
    async fn stop_requested(accessor: &Accessor<Tenant, Self>) {
        stop(accessor).cancelled().await;
    }

    async fn wait(accessor: &Accessor<Tenant, Self>, duration: u32) -> bool {
        let stop = stop(accessor);
        let time = Duration::from_millis(duration.into());
        timeout(time, stop.cancelled()).await.is_ok()
    }
}

fn stop(accessor: &Accessor<Tenant, HasSelf<Tenant>>) -> CancellationToken {
    accessor.with(|mut store| store.get().shared.stop.clone())
}
