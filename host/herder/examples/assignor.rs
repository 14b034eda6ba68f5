//! How long the leader of a large group thinks, and how much it then sends.
//!
//! With `--check` it fails where a round takes longer than it may. Build with `--release`, of course.

use std::process::ExitCode;
use std::time::Instant;

use bulkhead_herder::api::Millis;
use bulkhead_herder::assignor::Configured;
use bulkhead_herder::assignor::incremental::{Assignor, Outcome, Round, Share};
use bulkhead_herder::protocol::{Assignment, MemberMetadata, Work};
use bulkhead_model::ConnectorName;
use indexmap::IndexMap;

const WORKERS: usize = 1_000;
const TASKS_PER_CONNECTOR: u32 = 100;
const LIMIT_MS: f64 = 1_000.0;

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let mut slowest: f64 = 0.0;
    for tasks in [10_000, 100_000] {
        let mut group = Group::new(tasks);
        println!("{WORKERS} workers, {} connectors, {tasks} tasks", group.configured.len());
        let first = group.round("everything is new");
        group.print_sizes(&first);
        group.obey(first);
        let idle = group.round("nothing is new");
        group.obey(idle);
        group.join(WORKERS);
        let revoking = group.round("a worker joins: what others have too much");
        group.obey(revoking);
        let giving = group.round("a worker joins: what it gets");
        group.obey(giving);
        group.members.shift_remove_index(0);
        let waiting = group.round("a worker is lost: the wait begins");
        group.now = Millis(group.now.0 + u64::from(waiting.delay_ms));
        group.obey(waiting);
        group.round("a worker is lost: the wait is over");
        slowest = slowest.max(group.slowest);
    }
    if check && slowest > LIMIT_MS {
        eprintln!("the slowest round took {slowest:.1} ms, more than {LIMIT_MS} ms");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

struct Group {
    assignor: Assignor,
    configured: Configured,
    members: IndexMap<String, Work>,
    generation: i32,
    now: Millis,
    slowest: f64,
}

impl Group {
    fn new(tasks: u32) -> Self {
        let name = |number| ConnectorName::new(format!("warehouse-orders-{number:05}"));
        let connectors = (0..tasks / TASKS_PER_CONNECTOR).map(|number| (name(number), TASKS_PER_CONNECTOR));
        let mut group = Self {
            assignor: Assignor::default(),
            configured: connectors.collect(),
            members: IndexMap::new(),
            generation: 0,
            now: Millis(0),
            slowest: 0.0,
        };
        (0..WORKERS).for_each(|worker| group.join(worker));
        group
    }

    /// As long as real member ids are.
    fn join(&mut self, worker: usize) {
        let id = format!("connect-worker-{worker:04}.example.com:8083-5b1d3a6c-0000-4000-8000-{worker:012}");
        self.members.insert(id, Work::default());
    }

    fn round(&mut self, what: &str) -> Outcome {
        self.generation += 1;
        let started = Instant::now();
        let outcome = self.assignor.assign(&Round {
            configured: &self.configured,
            members: &self.members,
            last_completed_generation: self.generation - 1,
            generation: self.generation,
            now: self.now,
            max_delay_ms: 300_000,
        });
        let took = started.elapsed().as_secs_f64() * 1_000.0;
        println!("  {what:<44} {took:>8.1} ms");
        self.slowest = self.slowest.max(took);
        outcome
    }

    fn obey(&mut self, outcome: Outcome) {
        for (id, share) in outcome.members {
            let held = self.members.entry(id).or_default();
            held.subtract(&share.revoked);
            held.add(&share.assigned);
        }
    }

    /// What the leader sends in SyncGroup, and what a member joins with when it holds its share.
    fn print_sizes(&self, outcome: &Outcome) {
        let started = Instant::now();
        let encoded = outcome.members.iter().map(|(id, share)| (id.len(), encode(share)));
        let sizes: Vec<(usize, usize)> = encoded.map(|(id, bytes)| (id, bytes.len())).collect();
        let took = started.elapsed().as_secs_f64() * 1_000.0;
        let largest = sizes.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        let request: usize = sizes.iter().map(|(id, bytes)| 2 + id + 4 + bytes).sum();
        println!("  {:<44} {took:>8.1} ms", "all assignments to bytes");
        println!("  {:<44} {:>8.1} KiB", "largest assignment", kib(largest));
        println!("  {:<44} {:>8.1} KiB", "SyncGroup with all of them", kib(request));
        let joined = outcome.members.values().map(|share| metadata(share).len()).sum::<usize>();
        println!("  {:<44} {:>8.1} KiB", "JoinGroup answer when all hold theirs", kib(joined));
    }
}

fn assignment(share: &Share) -> Assignment {
    Assignment {
        version: 2,
        leader: "connect-worker-0000.example.com:8083-5b1d3a6c-0000-4000-8000-000000000000".to_owned(),
        leader_url: "http://worker-0000.example.com:8083/".to_owned(),
        assigned: share.assigned.clone(),
        revoked: share.revoked.clone(),
        ..Assignment::default()
    }
}

fn encode(share: &Share) -> Vec<u8> {
    assignment(share).encode().expect("names are short")
}

fn metadata(share: &Share) -> Vec<u8> {
    let url = "http://worker-0000.example.com:8083/".to_owned();
    let held = MemberMetadata { version: 2, url, config_offset: 0, allocation: Some(assignment(share)) };
    held.encode().expect("names are short")
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn kib(bytes: usize) -> f64 {
    bytes as f64 / 1024.0
}
