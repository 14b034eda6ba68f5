//! Which topics connectors use (KIP-558).

use bulkhead_model::work::Run;
use bulkhead_model::{ConnectorName, Instance, TaskId};

use crate::Herder;
use crate::api::StatusRecord;

impl Herder {
    pub(crate) fn topic_used(&mut self, run: Run, task: &TaskId, topic: String) {
        let present = self.instances.running(&Instance::Task(task.clone())) == Some(run);
        let known = self.statuses.uses_topic(&task.connector, &topic);
        if self.settings.topic_tracking && present && !known {
            self.append_topic(&task.connector, topic, task.number, true);
        }
    }

    /// Forgets the topics of a connector, for a reset or because it is deleted.
    pub(crate) fn forget_topics(&mut self, name: &ConnectorName) {
        let topics: Vec<_> = self.statuses.topics(name).cloned().collect();
        for topic in topics {
            self.append_topic(name, topic, 0, false);
        }
    }

    fn append_topic(&mut self, connector: &ConnectorName, topic: String, task: u32, used: bool) {
        let discovered = self.now;
        self.append_status(StatusRecord::Topic { connector: connector.clone(), topic, task, used, discovered });
    }
}

#[cfg(test)]
mod tests;
