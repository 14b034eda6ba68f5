//! What happened, in short lines, for tests that tell a story.

use bulkhead_herder::api::{ConfigRecord, Effect, Event as HerderEvent, GroupEvent, StatusRecord};
use bulkhead_herder::protocol::{Assignment, MemberMetadata, Work};
use bulkhead_model::work::Event;

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub at: u64,
    /// None if it isn't the doing of a worker.
    pub worker: Option<usize>,
    pub text: String,
}

pub(crate) fn of_worker(event: &Event) -> Option<String> {
    match event {
        Event::Started { instance, target, .. } => Some(format!("start {instance} {target:?}")),
        Event::TargetReached { instance, target, .. } => Some(format!("reach {instance} {target:?}")),
        Event::Failed { instance, .. } => Some(format!("fail {instance}")),
        Event::Stopped { instance, .. } => Some(format!("stop {instance}")),
        Event::OffsetsAltered { .. } => Some("alter offsets".to_owned()),
        Event::TaskConfigs { .. } => Some("task configs".to_owned()),
        Event::ReconfigurationWanted { .. }
        | Event::ValuesChanged { .. }
        | Event::Validated { .. }
        | Event::OffsetsRead { .. }
        | Event::TopicUsed { .. } => None,
    }
}

pub(crate) fn of_config(record: &ConfigRecord) -> String {
    match record {
        ConfigRecord::Connector { name, config: Some(_) } => format!("log connector-{name}"),
        ConfigRecord::Connector { name, config: None } => format!("log connector-{name} removed"),
        ConfigRecord::TargetState { name, state: Some(state) } => format!("log target-state-{name} {state:?}"),
        ConfigRecord::TargetState { name, state: None } => format!("log target-state-{name} removed"),
        ConfigRecord::Task { id, .. } => format!("log task-{id}"),
        ConfigRecord::Commit { name, tasks } => format!("log commit-{name} {tasks}"),
        ConfigRecord::Restart(request) => format!("log restart-connector-{}", request.connector),
        ConfigRecord::TaskCount { name, tasks } => format!("log tasks-fencing-{name} {tasks}"),
        ConfigRecord::SessionKey(_) => "log session-key".to_owned(),
        ConfigRecord::LoggerLevel { logger, .. } => format!("log logger-cluster-{logger}"),
    }
}

pub(crate) fn of_status(record: &StatusRecord) -> String {
    let state = |status: &Option<bulkhead_herder::api::Status>| match status {
        Some(status) => format!("{} on {}", status.state.name(), status.worker),
        None => "removed".to_owned(),
    };
    match record {
        StatusRecord::Connector { name, status } => format!("status {name} {}", state(status)),
        StatusRecord::Task { id, status } => format!("status {id} {}", state(status)),
        StatusRecord::Topic { connector, topic, used, .. } => format!("topic {topic} of {connector} used: {used}"),
    }
}

pub(crate) fn of_assignment(generation: i32, bytes: &[u8]) -> String {
    match Assignment::decode(bytes) {
        Ok(Assignment { error, assigned, revoked, delay_ms, .. }) => format!(
            "synced {generation} {error:?} assigned [{}] revoked [{}] delay {delay_ms}",
            list(&assigned),
            list(&revoked)
        ),
        Err(error) => format!("synced {generation} {error}"),
    }
}

/// An event as a trace shows it: with the group's bytes made readable.
pub(crate) fn of_event(event: &HerderEvent) -> String {
    match event {
        HerderEvent::Group(GroupEvent::Synced { generation, assignment, .. }) => of_assignment(*generation, assignment),
        HerderEvent::Group(GroupEvent::Elected { generation, protocol, members, .. }) => {
            let members: Vec<_> = members.iter().map(|(id, bytes)| format!("{id} {}", of_metadata(bytes))).collect();
            format!("elected {generation} {protocol}: {}", members.join("; "))
        }
        HerderEvent::Plugins(_) => "plugins".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The same for effects.
pub(crate) fn of_effect(effect: &Effect) -> String {
    match effect {
        Effect::Join { protocols } => {
            format!("join {}", protocols.first().map_or_else(String::new, |(_, bytes)| of_metadata(bytes)))
        }
        Effect::Assign { generation, assignments } => {
            let one = |(id, bytes): &(String, Vec<u8>)| format!("{id} {}", of_assignment(*generation, bytes));
            format!("assign {}", assignments.iter().map(one).collect::<Vec<_>>().join("; "))
        }
        other => format!("{other:?}"),
    }
}

fn of_metadata(bytes: &[u8]) -> String {
    match MemberMetadata::decode(bytes) {
        Ok(MemberMetadata { config_offset, allocation, .. }) => {
            let held = allocation.map_or_else(|| "nothing".to_owned(), |held| format!("[{}]", list(&held.assigned)));
            format!("at {config_offset} holds {held}")
        }
        Err(error) => error.to_string(),
    }
}

fn list(work: &Work) -> String {
    let mut names: Vec<_> = work.instances().map(|instance| instance.to_string()).collect();
    names.sort();
    names.join(" ")
}
