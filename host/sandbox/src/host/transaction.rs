//! `transaction-context`: boundaries are not the connector's business until exactly-once sources come.

use crate::tenant::Tenant;
use crate::v0_1::wit::transaction_context::Host;

impl Host for Tenant {
    fn enabled(&mut self) -> bool {
        false
    }

    fn commit(&mut self, _after: Option<u32>) {}

    fn abort(&mut self, _up_to: Option<u32>) {}
}
