//! Whatever happens in whatever order, certain things hold.

use bulkhead_simulation::{Run, play, shrink};

/// Without optimisation a seed takes many times as long.
const SEEDS: u64 = if cfg!(debug_assertions) { 100 } else { 10_000 };
const STEPS: u64 = 500;

#[test]
fn whatever_happens_what_should_run_runs_once_and_every_request_is_answered() {
    let run = Run::from_environment(SEEDS, STEPS);
    let summary = run.play();
    println!("{} seeds, {} steps", summary.seeds, summary.steps);
    let Some(failure) = summary.failure else { return };
    if std::env::var_os("SIM_TRACE").is_some() {
        play(&shrink(&failure).schedule, true);
    }
    panic!("{}", failure.describe(run.steps));
}
