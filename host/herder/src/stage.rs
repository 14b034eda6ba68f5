//! What the herder is busy with, in words for people.

use bulkhead_model::ConnectorName;

use crate::Herder;
use crate::changes::Step;
use crate::membership::Membership;
use crate::waiting::Wait;

impl Herder {
    /// What the herder is busy with, for answers like "timed out while …": the work of one connector,
    /// and how many more there are.
    pub fn stage(&self) -> String {
        let changes = self.changes.under_way().map(|(name, step)| describe_step(name, step));
        let waits = self.waiting.iter().map(|(_, wait)| describe_wait(wait));
        let group = self.membership.as_ref().and_then(Membership::stage).map(str::to_owned);
        let mut stages = changes.chain(waits).chain(group);
        match (stages.next(), stages.count()) {
            (None, _) => "waiting for something to do".to_owned(),
            (Some(stage), 0) => stage,
            (Some(stage), more) => format!("{stage} (and {more} more)"),
        }
    }
}

fn describe_step(name: &ConnectorName, step: &Step) -> String {
    match step {
        Step::Validating { .. } => format!("validating the configuration of connector {name}"),
        Step::GivingOffsets { .. } => format!("writing the first offsets of connector {name}"),
        Step::Writing(_) => format!("writing a change of connector {name} to the config log"),
        Step::AwaitingEndOfTasks { .. } => format!("waiting for the tasks of connector {name} to stop"),
        Step::AlteringOffsets { .. } => format!("altering the offsets of connector {name}"),
    }
}

fn describe_wait(wait: &Wait) -> String {
    match wait {
        Wait::Settled { name, .. } => format!("waiting for connector {name} and its tasks"),
        Wait::ConnectorRestarted { name, .. } => format!("restarting connector {name}"),
        Wait::TaskRestarted { task, .. } => format!("restarting task {task}"),
    }
}
