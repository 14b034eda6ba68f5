//! What a herder wants done.

use bulkhead_herder::api::{ConfigRecord, Effect, Event, Request, Secret, StatusRecord};
use bulkhead_model::work::{self, Command, Event as WorkEvent};
use bulkhead_model::{Instance, State};

use super::{Happening, ProcessId, World};
use crate::diary;

impl World {
    pub(super) fn perform(&mut self, id: ProcessId, effect: Effect) {
        if self.trace {
            println!("{:>9} w{} ->  {}", self.now, id.worker, diary::of_effect(&effect));
        }
        match effect {
            Effect::Reply { id: request, answer } => self.reply(id, request, answer),
            Effect::AppendConfig { token, records } => {
                self.check_privilege(id, &records);
                self.append_config(id, token, records);
            }
            Effect::ClaimLog { token } => self.claim_log(id, token),
            Effect::AppendAsLeader { token, records } => self.append_as_leader(id, token, records),
            Effect::ForgetClaim => self.forget_claim(id),
            Effect::AppendStatus { token, record } => {
                self.note_restarting(id, &record);
                self.append_status(id, token, record);
            }
            Effect::Work(command) => self.command(id, command),
            Effect::ReadToEnd { token } => self.read_to_end(id, token),
            Effect::Join { protocols } => {
                self.write_down(Some(id.worker), || "join".to_owned());
                self.with_client(id, |client| client.join(protocols));
            }
            Effect::Assign { generation, assignments } => self.assign(id, generation, assignments),
            Effect::Leave { reason } => self.leave(id, reason),
            Effect::ForwardTasks { token, leader, connector, body, signature } => {
                self.forward_tasks(id, token, &leader, connector, body, signature);
            }
            Effect::NewSessionKey { token, size } => {
                if let Some(process) = self.process(id) {
                    let key = Secret(process.dice.bytes(size));
                    self.after(1, Happening::Event(id, Event::SessionKey { token, key }));
                }
            }
            Effect::SetLoggerLevel { .. } => {
                self.write_down(Some(id.worker), || "set logger".to_owned());
                self.logger_set(id);
            }
            Effect::Finished => self.finished(id),
        }
    }

    fn command(&mut self, id: ProcessId, command: Command) {
        let (now, pace) = (self.now, self.conditions.pace);
        let Some(process) = self.process(id) else { return };
        let takes = process.dice.between(match &command {
            Command::StartConnector { .. } | Command::StartTask { .. } => pace.start,
            Command::Stop { .. } | Command::SetTarget { .. } => pace.stop,
            Command::TaskConfigs { .. }
            | Command::Validate { .. }
            | Command::AlterOffsets { .. }
            | Command::ForgetTopics { .. }
            | Command::ReadOffsets { .. } => pace.answer,
        });
        let at = process.worker.due(now, &command, takes);
        self.agenda.put(at, Happening::CarryOut(id, command, now));
    }

    pub(super) fn carry_out(&mut self, id: ProcessId, command: Command, given: u64) {
        let demand = match &command {
            Command::TaskConfigs { connector, .. } => self.demand.get(connector).copied(),
            _ => None,
        };
        let Some(process) = self.process(id) else { return };
        let event = process.worker.carry_out(given, command, demand);
        let complaint = process.worker.complaints.pop();
        if let Some(complaint) = complaint {
            self.problem(format!("w{}: {complaint}", id.worker));
        }
        if let Some(event) = event {
            self.note(|| format!("w{} carried out: {event:?}", id.worker));
            if let Some(text) = diary::of_worker(&event) {
                self.write_down(Some(id.worker), || text);
            }
            if let WorkEvent::Started { instance, .. } = &event {
                self.broken.remove(&(id, instance.clone()));
                self.check_start(id, instance);
            }
            self.report(id, event);
        }
    }

    /// News of the worker comes to the herder, in order.
    pub(super) fn report(&mut self, id: ProcessId, event: work::Event) {
        self.after(1, Happening::Event(id, Event::Work(event)));
    }

    /// A logger's level was set, which only news may do.
    fn logger_set(&mut self, id: ProcessId) {
        if self.process(id).is_some_and(|process| !process.reading.caught_up) {
            self.problem(format!("w{}: a logger was set by a record of old", id.worker));
        }
    }

    /// A restart request comes to a herder as news.
    pub(super) fn note_restart(&mut self, id: ProcessId, record: Option<&ConfigRecord>) {
        let Some(ConfigRecord::Restart(request)) = record else { return };
        let Some(process) = self.process(id) else { return };
        *process.restarts.asked.entry(request.connector.clone()).or_default() += 1;
        if request.only_failed || process.ending {
            return;
        }
        let view = process.herder.view();
        let Some(status) = view.statuses.get(&request.connector) else { return };
        let known = |instance: &Instance| match instance.task_number() {
            None => true,
            Some(number) => request.include_tasks && status.tasks.iter().any(|(task, _)| *task == number),
        };
        for (instance, life) in &process.worker.running {
            if *instance.connector() == request.connector && known(instance) {
                process.restarts.doomed.push((instance.clone(), life.run));
            }
        }
    }

    /// A plain restart is carried out where it is asked for.
    pub(super) fn note_request(&mut self, id: ProcessId, request: &Request) {
        let name = match request {
            Request::RestartConnector { name } => name,
            Request::RestartTask { id: task } => &task.connector,
            _ => return,
        };
        if let Some(process) = self.process(id) {
            *process.restarts.asked.entry(name.clone()).or_default() += 1;
        }
    }

    /// No instance is restarted more often than it was asked for.
    fn note_restarting(&mut self, id: ProcessId, record: &StatusRecord) {
        let (instance, status) = match record {
            StatusRecord::Connector { name, status } => (Instance::Connector(name.clone()), status),
            StatusRecord::Task { id, status } => (Instance::Task(id.clone()), status),
            StatusRecord::Topic { .. } => return,
        };
        if status.as_ref().is_none_or(|status| status.state != State::Restarting) {
            return;
        }
        let Some(process) = self.process(id) else { return };
        if let Some(again) = process.restarts.unwritten.iter().position(|unwritten| unwritten == record) {
            process.restarts.unwritten.swap_remove(again);
            return;
        }
        let asked = process.restarts.asked.get(instance.connector()).copied().unwrap_or_default();
        let begun = process.restarts.begun.entry(instance.clone()).or_default();
        *begun += 1;
        if *begun > asked {
            let begun = *begun;
            self.problem(format!("w{}: {instance} was restarted {begun} times, asked for {asked}", id.worker));
        }
    }

    fn finished(&mut self, id: ProcessId) {
        let Some(process) = self.process(id) else { return };
        let left: Vec<_> = process.worker.running.keys().cloned().collect();
        if !process.ending {
            self.problem(format!("w{} has finished without being told to", id.worker));
        }
        if !left.is_empty() {
            self.problem(format!("w{} has finished though {left:?} run", id.worker));
        }
        self.check_all_answered(id);
        self.note(|| format!("worker {} has ended", id.worker));
        self.vanish(id);
    }
}
