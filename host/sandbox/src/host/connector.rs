//! `connector-context`.

use crate::tenant::Tenant;
use crate::v0_1::wit::connector_context::Host;
use crate::v0_1::wit::types::ErrorInfo;
use crate::v0_1::{plugin_error, wit};

impl Host for Tenant {
    fn request_task_reconfiguration(&mut self) {
        // One permit at most is kept, which merges requests.
        self.shared.reconfigure.notify_one();
    }

    fn raise_error(&mut self, error: ErrorInfo) {
        // The first error counts: later ones follow from it.
        let _already_raised = self.shared.raised.set(plugin_error(wit::types::Error::Failed(error)));
        self.shared.reconfigure.notify_one();
    }
}
