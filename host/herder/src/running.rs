//! Starting and stopping what is to run here, and what the worker says of it.

use std::collections::BTreeSet;

use bulkhead_model::work::{self, Command, Run};
use bulkhead_model::{ConnectorName, Instance, TargetState};

use crate::Herder;
use crate::api::Effect;
use crate::instances::{Action, Farewell, Spec};

impl Herder {
    /// Brings the instances of a connector in line with its configuration.
    pub(crate) fn reconcile(&mut self, name: &ConnectorName) {
        for instance in self.concerned(name) {
            let wanted = self.wanted(&instance);
            let farewell = if self.cluster.has(&instance) { Farewell::Unassigned } else { Farewell::Removed };
            if wanted.is_none() {
                self.auto_restarts.forget(&instance);
            }
            let actions = self.instances.want(&instance, wanted, farewell);
            self.perform(&instance, actions);
        }
    }

    /// What is configured and what is known to run, each once.
    fn concerned(&self, name: &ConnectorName) -> BTreeSet<Instance> {
        let mut concerned: BTreeSet<_> = self.instances.of_connector(name).into_iter().collect();
        if let Some(connector) = self.cluster.get(name) {
            concerned.insert(Instance::Connector(name.clone()));
            concerned.extend(connector.task_numbers().map(|number| Instance::Task(name.task(number))));
        }
        concerned
    }

    fn wanted(&self, instance: &Instance) -> Option<Spec> {
        if !self.assignment.includes(instance) || !self.cluster.has(instance) {
            return None;
        }
        let connector = self.cluster.get(instance.connector())?;
        let target = self.cluster.target(instance.connector());
        match instance {
            Instance::Connector(_) => Some(Spec { revision: connector.revision, target }),
            // A stopped connector has no tasks, whatever the log says.
            Instance::Task(_) if target == TargetState::Stopped => None,
            Instance::Task(_) => Some(Spec { revision: connector.tasks.revision, target }),
        }
    }

    pub(crate) fn perform(&mut self, instance: &Instance, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Start { run, target } => self.start(instance, run, target),
                Action::Stop { run } => {
                    self.connector_leaves(instance);
                    self.command(Command::Stop { run, instance: instance.clone() });
                }
                Action::SetTarget { run, target } => {
                    self.command(Command::SetTarget { run, instance: instance.clone(), target });
                }
                Action::Report { state, version } => self.report(instance, state, version),
                // What was configured anew meanwhile has another status by now, or will have.
                Action::Forget if self.cluster.has(instance) => {}
                Action::Forget => self.forget_status(instance),
            }
        }
    }

    fn start(&mut self, instance: &Instance, run: Run, target: TargetState) {
        let Some(connector) = self.cluster.get(instance.connector()) else {
            return;
        };
        let command = match instance {
            Instance::Connector(name) => {
                Command::StartConnector { run, connector: name.clone(), config: connector.config.clone(), target }
            }
            Instance::Task(task) => {
                let Some(config) = connector.task(task.number).cloned() else {
                    return;
                };
                Command::StartTask {
                    run,
                    task: task.clone(),
                    connector: connector.tasks.applied.clone(),
                    config,
                    target,
                }
            }
        };
        self.command(command);
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.effects.push(Effect::Work(command));
    }

    pub(crate) fn work(&mut self, event: work::Event) {
        match event {
            work::Event::Started { run, instance, target, version } => {
                let actions = self.instances.started(&instance, run, target, version);
                self.reached(&instance, target, actions);
            }
            work::Event::TargetReached { run, instance, target } => {
                let actions = self.instances.target_reached(&instance, run, target);
                self.reached(&instance, target, actions);
            }
            work::Event::Failed { run, instance, trace } => self.failed(&instance, run, trace),
            work::Event::Stopped { run, instance } => {
                let actions = self.instances.stopped(&instance, run);
                self.perform(&instance, actions);
                self.instance_ended(&instance);
            }
            work::Event::ReconfigurationWanted { run, connector } => {
                if self.instances.running(&Instance::Connector(connector.clone())) == Some(run) {
                    self.reconfigure(&connector);
                }
            }
            work::Event::ValuesChanged { run, instance } => self.values_changed(&instance, run),
            work::Event::TopicUsed { run, task, topic } => self.topic_used(run, &task, topic),
            work::Event::TaskConfigs { token, .. }
            | work::Event::Validated { token, .. }
            | work::Event::OffsetsAltered { token, .. }
            | work::Event::OffsetsRead { token, .. } => self.worker_answered(token, event),
        }
    }

    /// Beside a rebalance nothing is done: the worker will say so again.
    fn values_changed(&mut self, instance: &Instance, run: Run) {
        if self.instances.running(instance) == Some(run) && self.is_settled() {
            tracing::info!(%instance, "Restarting with the values that its references have now.");
            self.restart_instance(instance);
        }
    }

    /// A connector that has come to run is asked for its tasks.
    fn reached(&mut self, instance: &Instance, target: TargetState, actions: Vec<Action>) {
        // News of an older run leads to nothing.
        let is_news = !actions.is_empty();
        self.perform(instance, actions);
        if let Instance::Connector(name) = instance
            && is_news
            && target == TargetState::Started
        {
            self.reconfigure(name);
        }
    }

    fn failed(&mut self, instance: &Instance, run: Run, trace: String) {
        let actions = self.instances.failed(instance, run, trace);
        if !actions.is_empty() {
            self.connector_leaves(instance);
        }
        let is_news = !actions.is_empty();
        self.perform(instance, actions);
        if is_news {
            self.note_failure(instance);
        }
        self.instance_ended(instance);
    }

    /// A connector that ends answers no more questions about its tasks.
    fn connector_leaves(&mut self, instance: &Instance) {
        if let Instance::Connector(name) = instance {
            self.drop_reconfiguration(name);
        }
    }

    fn instance_ended(&mut self, instance: &Instance) {
        if instance.task_number().is_some() {
            self.go_on_altering_offsets(instance.connector());
        }
    }
}
