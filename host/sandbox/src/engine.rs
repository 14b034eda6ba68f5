//! The one wasmtime engine of a worker, and the clock that interrupts guests.

use std::thread;
use std::time::Duration;

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, WasmBacktraceDetails};

use crate::Error;

/// How long a guest runs before it has to let others run.
const TICK: Duration = Duration::from_millis(5);

/// Address space for each memory: with 4 GiB, compiled code needs no bounds checks (which cost 30 %).
/// What an instance may really use is [`crate::limits`]'s business.
const MEMORY_RESERVATION: u64 = 4 << 30;

const WASM_STACK: usize = 512 << 10;
/// Of a call: the guest's stack and, on top, what the host needs while it serves the guest.
const CALL_STACK: usize = 2 << 20;

/// Bytes of a returned memory, and of a table, that stay mapped, so that the next instance meets no page
/// faults there. Kept for as many slots as are warm, a hundred.
const KEEP_RESIDENT: usize = 256 << 10;
const KEEP_TABLE_RESIDENT: usize = 64 << 10;

/// Core instances in one component: its module, adapters and shims.
const CORE_INSTANCES_EACH: u32 = 8;
/// Function tables in one component.
const TABLES_EACH: u32 = 4;
const TABLE_ELEMENTS: usize = 50_000;
const MEMORIES_EACH: u32 = 4;

/// Makes the engine: with a pool of memories if there is address space for it, else without.
pub(crate) fn open(max_instances: u32) -> Result<Engine, Error> {
    let pooled = InstanceAllocationStrategy::Pooling(pool(max_instances));
    let engine = Engine::new(&config(pooled)).or_else(|cause| {
        tracing::warn!(cause = %cause, "No address space for a pool of instances; they will be allocated one by one.");
        Engine::new(&config(InstanceAllocationStrategy::OnDemand))
    });
    let engine = engine.map_err(Error::engine)?;
    start_ticker(&engine)?;
    Ok(engine)
}

fn config(allocation: InstanceAllocationStrategy) -> Config {
    let mut config = Config::new();
    config
        .allocation_strategy(allocation)
        .memory_init_cow(true)
        .memory_reservation(MEMORY_RESERVATION)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(CALL_STACK)
        .epoch_interruption(true)
        .consume_fuel(false)
        .concurrency_support(true)
        .wasm_component_model_async(true)
        .wasm_backtrace_details(WasmBacktraceDetails::Enable);
    config
}

fn pool(max_instances: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(max_instances)
        .total_core_instances(max_instances.saturating_mul(CORE_INSTANCES_EACH / 2))
        .total_memories(max_instances)
        .total_tables(max_instances.saturating_mul(TABLES_EACH / 2))
        .total_stacks(max_instances)
        .max_core_instances_per_component(CORE_INSTANCES_EACH)
        .max_memories_per_component(MEMORIES_EACH)
        .max_tables_per_component(TABLES_EACH)
        .table_elements(TABLE_ELEMENTS)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(KEEP_TABLE_RESIDENT)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// Advances the engine's epoch for as long as the engine lives. A plain thread: no runtime that guests
/// could keep busy has a part in it.
fn start_ticker(engine: &Engine) -> Result<(), Error> {
    let engine = engine.weak();
    thread::Builder::new()
        .name("guest-ticker".to_owned())
        .spawn(move || {
            while let Some(engine) = engine.upgrade() {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(TICK);
            }
        })
        .map(drop)
        .map_err(|source| Error::Threads { source })
}
