//! Watches over a guest while it runs: wall-clock deadlines of calls, and CPU time.
//!
//! The deadlines stand *around* `run_concurrent`: a guest that sits in a blocking host call, or that
//! never waits, keeps everything inside from being looked at. CPU time is the thread's own clock while
//! the guest's future is being polled, so a guest is charged for what it computes and not for what it
//! waits, or for what others do on the same core.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use wasmtime::UpdateDeadline;

/// A function of the guest, as the traces name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Instantiate,
    Manifest,
    Validate,
    Start,
    TaskConfigs,
    AlterOffsets,
    Poll,
    Committed,
    OffsetsCommitted,
    Open,
    Close,
    Put,
    PreCommit,
    Configure,
    Apply,
    Test,
    FromConnect,
    ToConnect,
    Stop,
}

/// A call under way, and what it may use.
#[derive(Clone, Copy, Debug)]
struct Running {
    id: u64,
    op: Op,
    limit: Duration,
    until: Instant,
    cpu: Duration,
}

/// Why a guest's run was ended from outside, or by itself.
#[derive(Debug)]
pub(crate) enum End {
    /// The guest trapped, or broke a rule inside.
    Trap(wasmtime::Error),
    /// A call did not return in time.
    Overran { op: Op, limit: Duration },
    /// Nobody holds the instance any more.
    Abandoned,
}

/// The guest used up its CPU time; raised inside it, so that the trace shows where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("used up its CPU budget of {budget:?}")]
pub(crate) struct CpuSpent {
    budget: Duration,
}

/// The calls under way and the time they take.
pub(crate) struct Watch {
    state: Mutex<State>,
    /// Wakes the watcher up: a deadline was added from outside.
    pub(super) stopping: CancellationToken,
    pub(super) abandoned: CancellationToken,
    /// CPU time for whatever a guest does outside of calls.
    idle_cpu: Duration,
}

#[derive(Default)]
struct State {
    running: Vec<Running>,
    next_id: u64,
    /// When the instance has to be gone, and how long it was given.
    stop_by: Option<(Instant, Duration)>,
    /// Calls that came to no end because the instance did.
    unfinished: Vec<Op>,
    /// CPU time up to the end of the last poll.
    spent: Duration,
    /// The thread's clock at the start of the poll under way.
    since: Duration,
    /// Value of `spent` from which the budget counts; right to a tick, as a guest is never polled longer.
    mark: Duration,
    /// The guest was interrupted within the poll under way.
    interrupted: bool,
}

impl Watch {
    pub(crate) fn new(idle_cpu: Duration) -> Self {
        Self {
            state: Mutex::default(),
            stopping: CancellationToken::new(),
            abandoned: CancellationToken::new(),
            idle_cpu,
        }
    }

    /// CPU time used so far.
    pub(crate) fn spent(&self) -> Duration {
        self.lock().spent
    }

    /// Registers a call until the answer is dropped. That it ended well has to be said.
    pub(crate) fn begin(&self, op: Op, limit: Duration, cpu: Duration) -> InCall<'_> {
        let mut state = self.lock();
        if state.running.is_empty() {
            state.mark = state.spent;
        }
        state.next_id += 1;
        let id = state.next_id;
        state.running.push(Running { id, op, limit, until: Instant::now() + limit, cpu });
        InCall { watch: self, id, finished: false }
    }

    /// The instance has to be gone in `grace`, whatever its calls may still use.
    pub(super) fn stop_within(&self, grace: Duration) {
        self.lock().stop_by = Some((Instant::now() + grace, grace));
        self.stopping.cancel();
    }

    /// The calls that came to no end, for a trace.
    pub(crate) fn unfinished(&self) -> Vec<Op> {
        self.lock().unfinished.clone()
    }

    /// Called at every tick while the guest computes: lets others run, or ends it.
    pub(crate) fn tick(&self) -> wasmtime::Result<UpdateDeadline> {
        let mut state = self.lock();
        state.interrupted = true;
        let budget = state.running.iter().map(|call| call.cpu).max().unwrap_or(self.idle_cpu);
        if state.now().saturating_sub(state.mark) > budget {
            return Err(CpuSpent { budget }.into());
        }
        Ok(UpdateDeadline::Yield(1))
    }

    /// Does something for the guest at the guest's expense.
    pub(super) fn charge<R>(&self, work: impl FnOnce() -> R) -> R {
        self.enter();
        let result = work();
        self.leave();
        result
    }

    fn enter(&self) {
        let mut state = self.lock();
        state.since = thread_time();
        state.interrupted = false;
    }

    fn leave(&self) {
        let mut state = self.lock();
        state.spent = state.now();
        state.since = Duration::ZERO;
        if state.running.is_empty() && !state.interrupted {
            state.mark = state.spent;
        }
    }

    /// The earliest deadline there is: when, of what, and how long that was given.
    fn first_deadline(&self) -> Option<(Instant, Op, Duration)> {
        let state = self.lock();
        let calls = state.running.iter().map(|call| (call.until, call.op, call.limit));
        let stop = state.stop_by.map(|(until, grace)| (until, Op::Stop, grace));
        calls.chain(stop).min_by_key(|(until, ..)| *until)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn now(&self) -> Duration {
        if self.since == Duration::ZERO {
            return self.spent;
        }
        self.spent + thread_time().saturating_sub(self.since)
    }
}

/// A call under way.
pub(crate) struct InCall<'a> {
    watch: &'a Watch,
    id: u64,
    finished: bool,
}

impl InCall<'_> {
    pub(super) fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for InCall<'_> {
    fn drop(&mut self) {
        let mut state = self.watch.lock();
        let Some(place) = state.running.iter().position(|call| call.id == self.id) else { return };
        let call = state.running.swap_remove(place);
        state.mark = state.spent;
        if !self.finished {
            state.unfinished.push(call.op);
        }
    }
}

/// Runs a guest under its watch. Ends when `run` does, when a deadline passes, or when nobody wants the
/// instance any more.
pub(crate) async fn watched<R>(watch: &Watch, run: impl Future<Output = wasmtime::Result<R>>) -> Result<R, End> {
    let mut run = pin!(run);
    let mut stopping = pin!(watch.stopping.cancelled());
    let mut abandoned = pin!(watch.abandoned.cancelled());
    let mut told_to_stop = false;
    // Set to the first deadline there is and left alone while later ones come and go.
    let mut alarm = pin!(sleep_until(Instant::now() + Duration::from_secs(3600)));
    poll_fn(|context| {
        watch.enter();
        let polled = run.as_mut().poll(context);
        watch.leave();
        if let Poll::Ready(result) = polled {
            return Poll::Ready(result.map_err(End::Trap));
        }
        if abandoned.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(End::Abandoned));
        }
        if !told_to_stop {
            told_to_stop = stopping.as_mut().poll(context).is_ready();
        }
        while let Some((until, op, limit)) = watch.first_deadline() {
            if until <= Instant::now() {
                return Poll::Ready(Err(End::Overran { op, limit }));
            }
            if alarm.deadline() > until || alarm.is_elapsed() {
                alarm.as_mut().reset(until);
            }
            if alarm.as_mut().poll(context).is_pending() {
                break;
            }
        }
        Poll::Pending
    })
    .await
}

/// CPU time of the thread at hand.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Instantiate => "instantiation",
            Self::Manifest => "manifest",
            Self::Validate => "validate",
            Self::Start => "start",
            Self::TaskConfigs => "task-configs",
            Self::AlterOffsets => "alter-offsets",
            Self::Poll => "poll",
            Self::Committed => "committed",
            Self::OffsetsCommitted => "offsets-committed",
            Self::Open => "open",
            Self::Close => "close",
            Self::Put => "put",
            Self::PreCommit => "pre-commit",
            Self::Configure => "configure",
            Self::Apply => "apply",
            Self::Test => "test",
            Self::FromConnect => "from-connect",
            Self::ToConnect => "to-connect",
            Self::Stop => "stop",
        })
    }
}
