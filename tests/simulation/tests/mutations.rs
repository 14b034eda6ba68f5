//! The simulation finds the mistakes that it must find. A check that never fails shows nothing.

use bulkhead_simulation::{Mutation, Run};

/// Plenty: each of them is found among the first few hundred.
const SEEDS: u64 = 3_000;
const STEPS: u64 = 500;

#[track_caller]
fn must_be_found(mutation: Mutation, by: &[&str]) {
    let run = Run { seeds: 0..SEEDS, steps: STEPS, mutation: Some(mutation) };
    let failure = run.play().failure.unwrap_or_else(|| panic!("{mutation:?} was not found"));
    let found = by.iter().any(|words| failure.problem.contains(words));
    assert!(found, "{mutation:?} was found by something else: {}", failure.problem);
}

#[test]
fn workers_that_do_not_wait_for_lost_ones_are_found() {
    must_be_found(Mutation::NoRebalanceDelay, &["without any delay"]);
}

#[test]
fn leaders_that_leave_duplicates_where_they_are_are_found() {
    must_be_found(Mutation::DuplicatesStay, &["which have both settled", "while it ran on", "runs on workers"]);
}

#[test]
fn workers_that_carry_out_restarts_of_old_are_found() {
    must_be_found(Mutation::OldRestarts, &["asked for"]);
}
