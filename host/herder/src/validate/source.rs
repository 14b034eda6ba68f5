//! What a cluster checks of a source beyond the definitions of its keys (KIP-618). A standalone worker doesn't.

use bulkhead_model::ConfigPatch;

use super::infos::Entry;
use super::sink::{error, text};

const SUPPORT: &str = "exactly.once.support";
const BOUNDARY: &str = "transaction.boundary";

/// No worker writes exactly once yet, so nothing may depend on it.
pub(super) fn check_exactly_once(entries: &mut [Entry], config: &ConfigPatch) {
    if is(config, SUPPORT, "required") {
        error(entries, SUPPORT, "This worker has no exactly-once support for sources");
    }
    if is(config, BOUNDARY, "connector") {
        error(entries, BOUNDARY, "The connector doesn't set the bounds of its transactions by itself");
    }
}

fn is(config: &ConfigPatch, key: &str, value: &str) -> bool {
    text(config, key).is_some_and(|text| text.eq_ignore_ascii_case(value))
}
