//! What instances have in common: threads, memory budget, offsets; and who is there now.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bulkhead_model::Instance;
use bulkhead_pipeline::ports::{ErrorInfo, OffsetStore, PluginError, PollLimits};
use wasmtime::component::InstancePre;

use crate::grant::Grant;
use crate::instance::{Budget, Handle, Launch, Origin, Shared, launch};
use crate::limits::{Limiter, MemoryBudget};
use crate::runtime::GuestRuntime;
use crate::stats::{Gauge, InstanceStats, Part};
use crate::tenant::Tenant;
use crate::v0_1::{Indices, Role};
use crate::{Error, Settings, wasi};

/// Bytes that a guest may hand over in one call that isn't a `poll`: configurations, offsets, logs.
const HANDOVER: usize = 32 << 20;

/// `put` and `poll` have one CPU budget for so many records.
const RECORDS_PER_BURST: u32 = 10_000;

pub(crate) struct Host {
    runtime: GuestRuntime,
    offsets: Arc<dyn OffsetStore>,
    memory: Arc<MemoryBudget>,
    instances: Arc<Instances>,
    worker: Arc<str>,
    max_instances: usize,
    log_bytes_per_second: u32,
    cpu_burst: Duration,
    put_timeout: Duration,
    stop_grace: Duration,
}

/// What is to be started.
pub(crate) struct Start<'a> {
    pub(crate) pre: &'a InstancePre<Tenant>,
    pub(crate) indices: &'a Arc<Indices>,
    pub(crate) role: Role,
    pub(crate) instance: Instance,
    pub(crate) part: Option<Part>,
    /// The plugin's class.
    pub(crate) class: &'a str,
    /// For the instantiation.
    pub(crate) budget: Budget,
}

/// How long calls into one instance may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    call_timeout: Duration,
    put_timeout: Duration,
    cpu_burst: Duration,
}

impl Limits {
    pub(crate) fn call(&self) -> Budget {
        Budget { wall: self.call_timeout, cpu: self.cpu_burst }
    }

    pub(crate) fn poll(&self, limits: &PollLimits) -> Budget {
        let wait = Duration::from_millis(limits.max_wait_ms.into());
        Budget { wall: self.call_timeout.saturating_add(wait), cpu: self.burst(limits.max_records) }
    }

    pub(crate) fn put(&self, records: usize) -> Budget {
        Budget {
            wall: self.put_timeout.max(self.call_timeout),
            cpu: self.burst(u32::try_from(records).unwrap_or(u32::MAX)),
        }
    }

    /// For a call that is given records and waits for nobody.
    pub(crate) fn batch(&self, records: usize) -> Budget {
        Budget { wall: self.call_timeout, cpu: self.put(records).cpu }
    }

    fn burst(&self, records: u32) -> Duration {
        self.cpu_burst.saturating_mul(records.div_ceil(RECORDS_PER_BURST).max(1))
    }
}

impl Host {
    pub(crate) fn new(settings: &Settings, offsets: Arc<dyn OffsetStore>) -> Result<Self, Error> {
        Ok(Self {
            runtime: GuestRuntime::start(settings.threads)?,
            offsets,
            memory: Arc::new(MemoryBudget::new(settings.memory_budget)),
            instances: Arc::default(),
            worker: Arc::from(settings.worker.as_str()),
            max_instances: settings.max_instances as usize,
            log_bytes_per_second: settings.log_bytes_per_second,
            cpu_burst: settings.cpu_burst,
            put_timeout: settings.put_timeout,
            stop_grace: settings.stop_grace,
        })
    }

    pub(crate) fn threads(&self) -> &tokio::runtime::Handle {
        self.runtime.handle()
    }

    /// Brings an instance to life; see [`launch`].
    pub(crate) fn start(&self, start: Start<'_>, grant: &Grant) -> Result<Handle, PluginError> {
        let shared = Arc::new(Shared::new(Origin {
            name: name(&start),
            instance: start.instance,
            part: start.part,
            plugin: start.class.to_owned(),
            life: self.instances.next_life(),
            worker: Arc::clone(&self.worker),
            memory_limit: grant.memory,
            call_timeout: grant.call_timeout,
            log_bytes_per_second: self.log_bytes_per_second,
            idle_cpu: self.cpu_burst,
        }));
        let alive = self.instances.register(&shared, self.max_instances)?;
        let (wasi, lookups) = wasi::context(grant, &shared)?;
        let limiter = Limiter::new(grant.memory, Arc::clone(&shared.memory), Arc::clone(&self.memory));
        let tenant = Tenant::new(shared, limiter, Arc::clone(&self.offsets), wasi, lookups);
        let born = Launch {
            pre: start.pre.clone(),
            indices: Arc::clone(start.indices),
            role: start.role,
            tenant,
            budget: start.budget,
            stop_grace: self.stop_grace,
            handover: HANDOVER,
            alive,
        };
        Ok(launch(self.runtime.handle(), born))
    }

    pub(crate) fn limits(&self, grant: &Grant) -> Limits {
        Limits { call_timeout: grant.call_timeout, put_timeout: self.put_timeout, cpu_burst: self.cpu_burst }
    }

    pub(crate) fn gauge(&self) -> Gauge {
        Gauge { instances: self.instances.lock().len(), memory: self.memory.used() }
    }

    pub(crate) fn cpu_time(&self) -> Duration {
        let alive: Duration = self.instances.lock().values().map(|shared| shared.watch.spent()).sum();
        alive + Duration::from_nanos(self.instances.cpu_of_the_dead.load(Ordering::Relaxed))
    }

    pub(crate) fn instances(&self) -> Vec<InstanceStats> {
        self.instances.lock().values().map(|shared| shared.stats()).collect()
    }

    /// The one that was born last, if there are several; not its parts.
    pub(crate) fn instance(&self, instance: &Instance) -> Option<InstanceStats> {
        let instances = self.instances.lock();
        let same = instances.values().filter(|shared| shared.instance == *instance && shared.part.is_none());
        same.max_by_key(|shared| shared.life).map(|shared| shared.stats())
    }

    /// What a task has beside itself, by alias; of several under one alias the one that was born last.
    pub(crate) fn parts(&self, instance: &Instance) -> Vec<InstanceStats> {
        let instances = self.instances.lock();
        let mut newest = BTreeMap::new();
        for shared in instances.values().filter(|shared| shared.instance == *instance) {
            let Some(part) = &shared.part else { continue };
            let known = newest.entry(part).or_insert(shared);
            if known.life < shared.life {
                *known = shared;
            }
        }
        newest.values().map(|shared| shared.stats()).collect()
    }
}

/// An instance as texts name it.
fn name(start: &Start<'_>) -> String {
    let instance = match (start.role, &start.instance) {
        (Role::Manifest, Instance::Connector(file)) => format!("plugin file {file}"),
        (_, Instance::Connector(name)) => format!("connector {name}"),
        (_, Instance::Task(task)) => format!("task {task}"),
    };
    match &start.part {
        Some(part) => format!("{part} ({}) of {instance}", start.class),
        None => instance,
    }
}

/// The instances that have a store now.
#[derive(Default)]
struct Instances {
    lives: AtomicU64,
    /// Nanoseconds used by those that are no more.
    cpu_of_the_dead: AtomicU64,
    alive: Mutex<HashMap<u64, Arc<Shared>>>,
}

impl Instances {
    fn next_life(&self) -> u64 {
        self.lives.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts an instance in until the answer is dropped, if there is room for one more.
    fn register(self: &Arc<Self>, shared: &Arc<Shared>, most: usize) -> Result<Box<dyn Any + Send>, PluginError> {
        let mut alive = self.lock();
        if alive.len() >= most {
            let message = format!(
                "the worker has {most} instances already, which is all it has room for \
                 (`sandbox.max.instances`; the system's `vm.max_map_count` bounds it too)"
            );
            return Err(PluginError::Failed(ErrorInfo { message, causes: Vec::new() }));
        }
        alive.insert(shared.life, Arc::clone(shared));
        Ok(Box::new(Alive { instances: Arc::clone(self), life: shared.life }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Shared>>> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One instance's place among those alive.
struct Alive {
    instances: Arc<Instances>,
    life: u64,
}

impl Drop for Alive {
    fn drop(&mut self) {
        if let Some(shared) = self.instances.lock().remove(&self.life) {
            let nanoseconds = shared.watch.spent().as_nanos() as u64;
            self.instances.cpu_of_the_dead.fetch_add(nanoseconds, Ordering::Relaxed);
        }
    }
}
