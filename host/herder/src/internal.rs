//! Requests between workers (KIP-507), and logger levels for all of them (KIP-976).

use bulkhead_model::ConnectorName;

use crate::Herder;
use crate::api::{ConfigRecord, Effect, NotWritten, Proof, Refusal, Reply, RequestId};
use crate::lifecycle::not_found;
use crate::questions::Question;
use crate::session;

impl Herder {
    /// Whether an internal request comes from a worker of the cluster. Not asked while a member of the
    /// group can't sign.
    pub(crate) fn check_proof(&self, proof: &Proof) -> Result<(), Refusal> {
        let Some(membership) = &self.membership else {
            return Err(Refusal::NotFound("A standalone worker takes no requests of other workers".to_owned()));
        };
        if !membership.signs() {
            return Ok(());
        }
        let accepted = &membership.settings.keys.verification;
        Ok(session::verify(proof, self.cluster.session_key(), accepted)?)
    }

    /// A follower's connector wants other tasks: the leader publishes them.
    pub(crate) fn forward_tasks(&mut self, name: &ConnectorName, body: Vec<u8>) -> Result<(), String> {
        let Some(membership) = &self.membership else {
            return Ok(());
        };
        let leader = membership.leader_url.clone().ok_or("nobody leads the group of workers at present")?;
        let signature = match (membership.signs(), self.cluster.session_key()) {
            (false, _) => None,
            (true, Some(key)) => {
                let algorithm = &membership.settings.keys.signature;
                Some(session::sign(key, algorithm, &body).map_err(|error| error.to_string())?)
            }
            (true, None) => return Err("there is no session key yet to sign it with".to_owned()),
        };
        let token = self.questions.ask(Question::TasksForwarded(name.clone()));
        self.effects.push(Effect::ForwardTasks { token, leader, connector: name.clone(), body, signature });
        Ok(())
    }

    /// Zombies can exist only where tasks write in transactions.
    pub(crate) fn fence(&mut self, id: RequestId, name: &ConnectorName) {
        let answer = match self.cluster.contains(name) {
            true => Err(Refusal::BadRequest(format!(
                "Connector {name} needs no fencing: exactly-once support is not enabled on this worker"
            ))),
            false => Err(not_found(name)),
        };
        self.reply(id, answer);
    }

    pub(crate) fn set_level(&mut self, id: RequestId, logger: String, level: Option<String>) {
        if self.membership.is_none() {
            self.effects.push(Effect::SetLoggerLevel { logger, level });
            return self.reply(id, Ok(Reply::Done));
        }
        let token = self.questions.ask(Question::LevelAppend(id));
        self.append(token, vec![ConfigRecord::LoggerLevel { logger, level }]);
    }

    pub(crate) fn level_appended(&mut self, id: RequestId, outcome: Result<(), NotWritten>) {
        let unwritten = |error| Refusal::Failed(format!("The level could not be written to the config log: {error}"));
        self.reply(id, outcome.map(|()| Reply::Done).map_err(unwritten));
    }

    /// A level was read from the log. Those from before this worker came up are history.
    pub(crate) fn level_set(&mut self, logger: String, level: Option<String>) {
        if self.is_up() {
            self.effects.push(Effect::SetLoggerLevel { logger, level });
        }
    }
}
