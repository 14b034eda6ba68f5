//! The end of an instance that nobody asked for, as a text for people.

mod trace;

use bulkhead_pipeline::ports::Crash;
use wasmtime::Trap;
use wasmtime_wasi::I32Exit;

use crate::instance::{CpuSpent, End, Op, Shared};
use crate::limits::{MemoryRefused, TableRefused, mebibytes};
use trace::Frames;

/// Says in one line why an instance ended, and below it where, and what it said last.
pub(crate) fn explain(end: End, shared: &Shared) -> Crash {
    let name = &shared.name;
    let ops = where_(shared);
    match end {
        End::Overran { op: Op::Stop, limit } => {
            crash(format!("{name} did not stop within {limit:?} and was dropped"), None, shared)
        }
        End::Overran { op, limit } => {
            crash(format!("{name} did not return from {op} within {limit:?} and was dropped"), None, shared)
        }
        End::Abandoned => crash(format!("{name} was dropped"), None, shared),
        End::Trap(error) => {
            let frames = Frames::of(&error);
            let cause = of_trap(&error, &frames, shared);
            crash(format!("{name} {cause}{ops}"), Some((frames, &error)), shared)
        }
    }
}

/// The instance's actor panicked: our fault, and the instance's end all the same.
pub(crate) fn of_the_host(shared: &Shared) -> Crash {
    let cause = format!("{} ended by an error of the sandbox itself; the worker's log has it", shared.name);
    crash(cause, None, shared)
}

/// ` in poll`, or nothing between calls.
fn where_(shared: &Shared) -> String {
    let ops: Vec<_> = shared.watch.unfinished().iter().map(Op::to_string).collect();
    if ops.is_empty() {
        return String::new();
    }
    format!(" in {}", ops.join(" or "))
}

/// What a trap means, to be read after the instance's name.
fn of_trap(error: &wasmtime::Error, frames: &Frames, shared: &Shared) -> String {
    if let Some(spent) = error.downcast_ref::<CpuSpent>() {
        return spent.to_string();
    }
    if let Some(refused) = error.downcast_ref::<MemoryRefused>() {
        return refused.to_string();
    }
    if let Some(refused) = error.downcast_ref::<TableRefused>() {
        return refused.to_string();
    }
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return exit(*code);
    }
    let Some(trap) = error.downcast_ref::<Trap>() else {
        return of_other(error);
    };
    if let Some(message) = trace::panic_message(&shared.output.errors()) {
        return format!("panicked ({message})");
    }
    match trap {
        Trap::StackOverflow => "overflowed its stack".to_owned(),
        Trap::MemoryOutOfBounds if frames.recursive() => {
            "ran out of stack, most likely by endless recursion (out of bounds memory access)".to_owned()
        }
        Trap::UnreachableCodeReached if frames.aborted() => "called abort".to_owned(),
        trap => format!("trapped ({trap})"),
    }
}

/// WASI 0.2 makes 1 of every code but 0.
fn exit(code: i32) -> String {
    match code {
        1 => "called exit(1), or with another code of failure,".to_owned(),
        code => format!("called exit({code})"),
    }
}

/// What ends an instance without being a trap: a call that the engine refused to complete.
fn of_other(error: &wasmtime::Error) -> String {
    let cause = error.root_cause().to_string();
    // The engine has no type of its own for this.
    if cause.contains("fuel allocated for hostcalls") {
        return "handed over more data in one call than is allowed".to_owned();
    }
    format!("failed ({cause})")
}

fn crash(cause: String, trap: Option<(Frames, &wasmtime::Error)>, shared: &Shared) -> Crash {
    let trace = trace::Trace {
        cause: &cause,
        frames: trap.as_ref().map(|(frames, _)| frames),
        errors: shared.output.errors(),
        recent: shared.output.recent(),
        dropped: shared.output.dropped(),
        memory: mebibytes(shared.memory_limit),
    };
    Crash { trace: trace.to_string(), cause }
}
