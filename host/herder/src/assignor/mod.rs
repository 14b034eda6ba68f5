//! Who runs what: the decisions of the group's leader, as functions of plain data.

pub mod eager;
pub mod incremental;

mod balance;
mod keys;

use std::collections::BTreeMap;

use bulkhead_model::ConnectorName;

/// How many tasks each connector has; none for one whose set of tasks is inconsistent.
pub type Configured = BTreeMap<ConnectorName, u32>;
