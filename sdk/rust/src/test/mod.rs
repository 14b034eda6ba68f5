//! Runs tasks in plain `cargo test`, with neither Kafka nor a worker.
//!
//! [`SourceRun`], [`SinkRun`], [`TransformRun`], [`PredicateRun`] and [`ConverterRun`] do what the worker does, on a stand-in
//! whose clock moves only when the task waits: tests of paced sources take no time. Each thread, and so each test, has a
//! stand-in of its own.

mod converter;
mod seen;
mod sink;
mod source;
mod transform;

pub use converter::{ConverterRun, SchemaAndValue};
pub use seen::{Seen, Taken};
pub use sink::SinkRun;
pub use source::SourceRun;
pub use transform::{Fate, PredicateRun, TransformRun};

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::Thread;
use std::time::Duration;

use crate::config::RawConfig;
use crate::connector::{AnyConnector, SourceType, Verdict};
use crate::source::SourceConnector;
use crate::{JsonMap, Result, host};

/// Waits for a future on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let mut future = pin!(future);
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// The configurations of a source connector's tasks, as the worker would see them.
pub fn task_configs<C: SourceConnector>(config: impl Into<RawConfig>, max_tasks: u32) -> Result<Vec<RawConfig>> {
    block_on(async {
        let mut running = SourceType::<C>(std::marker::PhantomData).start(config.into()).await?;
        running.task_configs(max_tasks).await
    })
}

/// What a source connector says about a configuration.
pub fn validate<C: SourceConnector>(config: impl Into<RawConfig>) -> Result<Verdict> {
    block_on(SourceType::<C>(std::marker::PhantomData).validate(config.into()))
}

/// Whether a source connector lets these offsets (each a partition and an offset as JSON, none to delete) be set.
pub fn alter_offsets<C: SourceConnector>(
    config: impl Into<RawConfig>,
    offsets: &[(&str, Option<&str>)],
) -> Result<bool> {
    let read = |&(partition, offset)| Ok((JsonMap::parse(Some(partition))?, JsonMap::parse(offset)?));
    let offsets = offsets.iter().map(read).collect::<Result<_>>()?;
    block_on(SourceType::<C>(std::marker::PhantomData).alter_source_offsets(config.into(), offsets))
}

/// What was logged so far in this test.
pub fn logged() -> Vec<String> {
    host::native::with(|host| host.logged.clone())
}

/// How far the stand-in's clock has come.
pub fn elapsed() -> Duration {
    host::now()
}
