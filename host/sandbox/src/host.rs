//! What a guest may call besides WASI: one file for each interface of `host.wit`.
//!
//! The functions take what the guest says as it is and keep it within named limits; none of them waits
//! but for offsets and for the stop signal.

mod connector;
mod context;
mod logging;
mod metrics;
mod offsets;
mod schemas;
mod sink;
mod transaction;

pub(crate) use metrics::Metrics;
pub(crate) use schemas::Schemas;

use crate::tenant::Tenant;
use crate::v0_1::wit::types::{self, Error, ErrorInfo};

impl types::Host for Tenant {}
impl crate::v0_1::wit::config_def::Host for Tenant {}

/// `failed` of the WIT package.
fn failed(message: impl Into<String>) -> Error {
    Error::Failed(info(message))
}

/// `data` of the WIT package.
fn bad_data(message: impl Into<String>) -> Error {
    Error::Data(info(message))
}

fn info(message: impl Into<String>) -> ErrorInfo {
    ErrorInfo { message: message.into(), causes: Vec::new() }
}
