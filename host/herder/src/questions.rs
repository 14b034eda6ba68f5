//! What was asked of the logs and the worker, and what the answers are for.

use std::collections::BTreeMap;

use bulkhead_model::ConnectorName;

use crate::api::{RequestId, StatusRecord, Token};
use crate::validate::Submission;

/// Why an answer is awaited.
#[derive(Debug)]
pub(crate) enum Question {
    /// The worker's verdict for the change that is being made to a connector.
    Validation(ConnectorName, Submission),
    /// The same for a request that only asks.
    Judgement(RequestId, Submission),
    ConfigAppend(ConnectorName),
    StatusAppend(StatusRecord),
    TaskConfigs(ConnectorName),
    OffsetsRead(RequestId),
    OffsetsAltered(ConnectorName),
    /// Offsets for a connector that is to be created.
    OffsetsGiven(ConnectorName),
    ConfigRead,
    /// Task configurations on their way to the leader.
    TasksForwarded(ConnectorName),
    SessionKey,
    KeyAppend,
    /// The leader's claim on the config log.
    Claim,
    LevelAppend(RequestId),
}

/// The open questions. Each is answered once: a second answer finds nothing.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    open: BTreeMap<Token, Question>,
    last: u64,
}

impl Questions {
    pub(crate) fn ask(&mut self, question: Question) -> Token {
        self.last += 1;
        self.open.insert(Token(self.last), question);
        Token(self.last)
    }

    pub(crate) fn answered(&mut self, token: Token) -> Option<Question> {
        self.open.remove(&token)
    }

    /// Questions whose answers matter no more.
    pub(crate) fn withdraw(&mut self, token: Token) {
        self.open.remove(&token);
    }
}
