//! What goes wrong how often: plays `SIM_SEEDS` seeds to the end, whatever fails, and lists the failures.
//! With `SIM_TRACE`, shows all that happens instead.

use bulkhead_simulation::{Run, Schedule, play};

fn main() {
    let run = Run::from_environment(1_000, 500);
    let trace = std::env::var_os("SIM_TRACE").is_some();
    let (mut failures, mut steps) = (0, 0);
    for seed in run.seeds.clone() {
        let (problem, took) = play(&Schedule::new(seed, run.steps, None), trace);
        steps += took;
        if let Some(problem) = problem {
            failures += 1;
            println!("{seed}: {}", problem.replace('\n', "\n    "));
        }
    }
    let seeds = run.seeds.end - run.seeds.start;
    println!("{failures} of {seeds} seeds fail, {} steps each", steps / seeds.max(1));
}
