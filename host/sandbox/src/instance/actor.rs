//! The owner of a store: a task on the guests' threads that carries out the calls of its mailbox.
//!
//! All calls run inside one `run_concurrent`, so that `stop` and `committed` reach the guest while its
//! `poll` waits. After a trap, an overrun or a stop the store is dropped, never used again.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_pipeline::ports::PluginError;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use wasmtime::Store;
use wasmtime::component::{Accessor, InstancePre};

use super::handle::{Budget, Call, Handle, Message};
use super::shared::{Ending, Shared};
use super::watch::{Op, Watch, watched};
use crate::crash;
use crate::tenant::Tenant;
use crate::v0_1::{Exports, Indices, Role};

/// Calls waiting in a mailbox: more than a task has under way at a time.
const MAILBOX: usize = 16;

/// Component-model handles that a guest may have at a time, its calls of async functions among them.
const MAX_HANDLES: usize = 10_000;

/// Everything that it takes to bring an instance to life.
pub(crate) struct Launch {
    pub(crate) pre: InstancePre<Tenant>,
    pub(crate) indices: Arc<Indices>,
    pub(crate) role: Role,
    pub(crate) tenant: Tenant,
    pub(crate) budget: Budget,
    pub(crate) stop_grace: Duration,
    /// Bytes that the guest may hand over in one call, by the engine's own count.
    pub(crate) handover: usize,
    /// Held for as long as the store exists.
    pub(crate) alive: Box<dyn Any + Send>,
}

/// Brings an instance to life on the guests' threads, without waiting for it: what is called first is in
/// the mailbox by the time that the instance is there, so a start costs one way there and back in all.
/// If the instantiation fails, the first call hears of it.
pub(crate) fn launch(runtime: &runtime::Handle, launch: Launch) -> Handle {
    let (inbox, mailbox) = mpsc::channel(MAILBOX);
    let shared = Arc::clone(&launch.tenant.shared);
    let handle = Handle::new(inbox, Arc::clone(&shared), launch.stop_grace);
    runtime.spawn(live(launch, shared, mailbox));
    handle
}

/// An instance's life, from its birth to the drop of its store.
async fn live(launch: Launch, shared: Arc<Shared>, mut mailbox: mpsc::Receiver<Message>) {
    // Whatever happens below, a panic included: those who wait will hear of an end.
    let _in_any_case = EndGuard(Arc::clone(&shared));
    let mut store = shared.watch.charge(|| open_store(launch.pre.engine(), launch.tenant, launch.handover));
    let instance = Instance { shared: &shared, patience: launch.stop_grace / 2 };
    let run = async {
        let begin = instantiate(&mut store, &launch.pre, &launch.indices, launch.role);
        let exports = instance.begin(begin, launch.budget).await?;
        let serve = async |accessor: &Accessor<Tenant>| instance.serve(accessor, &exports, &mut mailbox).await;
        store.run_concurrent(serve).await?
    };
    let ended = watched(&shared.watch, run).await;
    // The frames of a trap are in its error; of the store nothing is needed any more.
    shared.watch.charge(|| drop(store));
    drop(launch.alive);
    shared.output.flush();
    match ended {
        Ok(stopper) => {
            shared.end(Ending::Stopped);
            if let Some(stopper) = stopper {
                let _caller_gone = stopper.answer.send(stopper.said);
            }
        }
        Err(end) => shared.end(Ending::Crashed(crash::explain(end, &shared))),
    }
}

fn open_store(engine: &wasmtime::Engine, tenant: Tenant, handover: usize) -> Store<Tenant> {
    let shared = Arc::clone(&tenant.shared);
    let mut store = Store::new(engine, tenant);
    store.limiter(|tenant| &mut tenant.limiter);
    store.set_hostcall_fuel(handover);
    store.set_max_component_handles(MAX_HANDLES);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| shared.watch.tick());
    store
}

async fn instantiate(
    store: &mut Store<Tenant>,
    pre: &InstancePre<Tenant>,
    indices: &Indices,
    role: Role,
) -> wasmtime::Result<Exports> {
    let instance = pre.instantiate_async(&mut *store).await?;
    indices.load(store, &instance, role)
}

/// Who asked for the end, and what the guest's `stop` said.
struct Stopper {
    answer: oneshot::Sender<Result<(), PluginError>>,
    said: Result<(), PluginError>,
}

struct Instance<'a> {
    shared: &'a Shared,
    /// How long a stop waits for the calls under way before it is told to the guest all the same.
    patience: Duration,
}

impl Instance<'_> {
    async fn begin(
        &self,
        instantiate: impl Future<Output = wasmtime::Result<Exports>>,
        budget: Budget,
    ) -> wasmtime::Result<Exports> {
        let in_call = self.shared.watch.begin(Op::Instantiate, budget.wall, budget.cpu);
        let exports = instantiate.await?;
        in_call.finish();
        Ok(exports)
    }

    /// Carries out calls until the instance is to stop; answers with who waits for that.
    async fn serve(
        &self,
        accessor: &Accessor<Tenant>,
        exports: &Exports,
        mailbox: &mut mpsc::Receiver<Message>,
    ) -> wasmtime::Result<Option<Stopper>> {
        let mut calls = FuturesUnordered::new();
        let answer = loop {
            tokio::select! {
                biased;
                Some(done) = calls.next(), if !calls.is_empty() => done?,
                message = mailbox.recv() => match message {
                    Some(Message::Call(call)) => {
                        calls.push(carry_out(&self.shared.watch, accessor, exports, call));
                    }
                    Some(Message::Stop(answer)) => break answer,
                    None => return Ok(None),
                },
            }
        };
        // A poll that has heard of the stop returns. One that has not must not keep `stop` from the guest.
        if let Ok(drained) = timeout(self.patience, drain(&mut calls)).await {
            drained?;
        }
        // The grace time bounds what it computes, too: a guest that spins here overran it, whichever is seen first.
        let in_call = self.shared.watch.begin(Op::Stop, self.patience * 2, Duration::MAX);
        let said = exports.stop(accessor).await?;
        in_call.finish();
        Ok(Some(Stopper { answer, said }))
    }
}

async fn drain(calls: &mut FuturesUnordered<impl Future<Output = wasmtime::Result<()>>>) -> wasmtime::Result<()> {
    while let Some(done) = calls.next().await {
        done?;
    }
    Ok(())
}

async fn carry_out(watch: &Watch, accessor: &Accessor<Tenant>, exports: &Exports, call: Call) -> wasmtime::Result<()> {
    let in_call = watch.begin(call.op, call.budget.wall, call.budget.cpu);
    (call.job)(accessor, exports).await?;
    in_call.finish();
    Ok(())
}

/// Says of an instance whose actor panicked that it is over.
struct EndGuard(Arc<Shared>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.end(Ending::Crashed(crash::of_the_host(&self.0)));
    }
}
