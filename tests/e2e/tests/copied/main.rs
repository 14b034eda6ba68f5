//! A configuration that is read from a running worker of Apache's, as it is, and posted to ours: does it do the same?
//!
//! Apache's worker runs a connector to the end of its input; then the connector is deleted, and ours runs it, into the
//! same topics and files. So each topic has what Apache's wrote and then what ours wrote, byte for byte the same, and
//! each sink reads both.

#![allow(clippy::unwrap_used)]

mod dead_letters;
mod nulls;
mod records;
mod seen;
mod workers;

use workers::Workers;

/// One start of Apache's worker for all of it.
#[test]
fn copies_of_connectors_do_what_they_did_at_apaches_worker() {
    let Some(workers) = Workers::start("copied") else { return };
    records::are_the_same_and_read_by_both(&workers);
    dead_letters::are_the_same(&workers);
    nulls::have_the_same_outcome_in_all_transforms(&workers);
}
