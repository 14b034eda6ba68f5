//! The end of the process: everything stops, says farewell, and the worker leaves its group.

use crate::Herder;
use crate::api::Effect;
use crate::membership::Phase;
use crate::protocol::Work;
use crate::requests::shutting_down;

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Stopping,
    Ended,
}

impl Herder {
    pub(crate) fn shut_down(&mut self) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some(Ending::Stopping);
        if let Some(membership) = &mut self.membership {
            membership.phase = Phase::Leaving;
            membership.leads = false;
        }
        self.run_only(Work::default());
    }

    /// Leaves once nothing runs any more and the cluster has been told. A status that can't be written
    /// holds nobody up.
    pub(crate) fn go_on_ending(&mut self) {
        if self.ending != Some(Ending::Stopping) || self.instances.any_live() || self.is_reporting() {
            return;
        }
        self.ending = Some(Ending::Ended);
        for id in std::mem::take(&mut self.open) {
            self.reply(id, Err(shutting_down()));
        }
        if let Some(membership) = &mut self.membership {
            membership.phase = Phase::Left;
            self.effects.push(Effect::Leave { reason: "the worker is shutting down".to_owned() });
        }
        self.effects.push(Effect::Finished);
    }
}
