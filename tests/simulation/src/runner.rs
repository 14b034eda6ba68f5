//! Plays many seeds, and makes the schedule of one that fails as short as it gets.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::conditions::Mutation;
use crate::schedule::Schedule;

/// What is to be played.
#[derive(Clone, Debug)]
pub struct Run {
    pub seeds: std::ops::Range<u64>,
    pub steps: u64,
    pub mutation: Option<Mutation>,
}

/// A seed that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub problem: String,
    pub schedule: Schedule,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Summary {
    pub seeds: u64,
    pub steps: u64,
    pub failure: Option<Failure>,
}

impl Run {
    /// What the environment asks for: `SIM_SEED` plays one seed, `SIM_SEEDS` as many as it says, each with
    /// about `SIM_STEPS` events.
    pub fn from_environment(seeds: u64, steps: u64) -> Self {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let seeds = match number("SIM_SEED") {
            Some(seed) => seed..seed + 1,
            None => 0..number("SIM_SEEDS").unwrap_or(seeds),
        };
        Self { seeds, steps: number("SIM_STEPS").unwrap_or(steps), mutation: None }
    }

    /// Plays the seeds on all processors, up to the first failure.
    pub fn play(&self) -> Summary {
        let _quiet = Quiet::new();
        let next = AtomicU64::new(self.seeds.start);
        let stop = AtomicBool::new(false);
        let summary = Mutex::new(Summary::default());
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| self.work(&next, &stop, &summary));
            }
        });
        summary.into_inner().expect("no thread panics while it holds the summary")
    }

    fn work(&self, next: &AtomicU64, stop: &AtomicBool, summary: &Mutex<Summary>) {
        while !stop.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.seeds.end {
                return;
            }
            let schedule = Schedule::new(seed, self.steps, self.mutation);
            let (problem, steps) = play(&schedule, false);
            let mut summary = summary.lock().expect("no thread panics while it holds the summary");
            summary.seeds += 1;
            summary.steps += steps;
            if let Some(problem) = problem {
                stop.store(true, Ordering::Relaxed);
                let earlier = summary.failure.as_ref().is_some_and(|failure| failure.seed < seed);
                if !earlier {
                    summary.failure = Some(Failure { seed, problem, schedule });
                }
            }
        }
    }
}

/// Plays a schedule; a panic is a problem as well.
pub fn play(schedule: &Schedule, trace: bool) -> (Option<String>, u64) {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| schedule.play(trace)));
    outcome.unwrap_or_else(|_| (Some(LAST_PANIC.take()), 0))
}

/// Leaves out whatever can be left out without the failure becoming one of another kind.
pub fn shrink(failure: &Failure) -> Failure {
    let _quiet = Quiet::new();
    let wanted = kind(&failure.problem);
    let mut best = failure.clone();
    let mut size = best.schedule.items.len();
    while size > 0 {
        let mut from = 0;
        while from < best.schedule.items.len() {
            let mut schedule = best.schedule.clone();
            schedule.items.drain(from..(from + size).min(schedule.items.len()));
            match play(&schedule, false).0 {
                Some(problem) if kind(&problem) == wanted => best = Failure { schedule, problem, ..best },
                Some(_) | None => from += size,
            }
        }
        size /= 2;
    }
    best
}

/// The first problem without the numbers and names in it.
fn kind(problem: &str) -> String {
    let first = problem.lines().next().unwrap_or_default();
    let words = first.split(' ').filter(|word| word.len() > 3 && word.chars().all(char::is_alphabetic));
    words.take(4).collect::<Vec<_>>().join(" ")
}

impl Failure {
    /// How to see it again, and what happened.
    pub fn describe(&self, steps: u64) -> String {
        let shrunk = shrink(self);
        let mut text = format!(
            "seed {} fails: {}\n\nreplay: SIM_SEED={} SIM_STEPS={steps} cargo test --release -p bulkhead-simulation \
             --test seeds -- --nocapture (SIM_TRACE=1 shows all that happens in the short form)\n\nthe same in short: {}\n{:?}\n",
            self.seed, self.problem, self.seed, shrunk.problem, shrunk.schedule.conditions,
        );
        for item in &shrunk.schedule.items {
            text.push_str(&format!("  {:>7} ms {:?}\n", item.at, item.what));
        }
        text
    }
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// While it lives, panics are kept instead of printed.
struct Quiet;

impl Quiet {
    fn new() -> Self {
        panic::set_hook(Box::new(|info| {
            LAST_PANIC.set(info.to_string());
        }));
        Self
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = panic::take_hook();
        }
    }
}
