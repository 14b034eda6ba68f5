//! Fencing of producers (KIP-618, KIP-360): whoever asks for a producer id under a transactional id ends the
//! transaction of the one before, which can write nothing more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{InitProducerIdRequest, ProducerId, TransactionalId};
use kafka_protocol::protocol::StrBytes;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{Admin, RETRY, pause};
use crate::Error;
use crate::connection::{Address, Connection, Dialer};
use crate::coordinator::{KeyKind, find_coordinators};

/// Pause while a coordinator ends the transaction that was open.
const WHILE_ENDING: Duration = Duration::from_millis(20);

impl Admin {
    /// Fences whoever produces under these transactional ids. When it returns well, all of them are fenced; after an
    /// error some may be, and it may be done again.
    pub async fn fence(&self, transactional_ids: impl IntoIterator<Item = String>) -> Result<(), Error> {
        let deadline = self.deadline();
        let mut open: Vec<_> = transactional_ids.into_iter().map(StrBytes::from_string).collect();
        while !open.is_empty() {
            match fence_once(&self.dialer, &open, deadline).await {
                Ok(Round { left, problem: None }) => open = left,
                Ok(Round { left, problem: Some(error) }) => {
                    open = left;
                    pause(deadline, RETRY, error).await?;
                }
                Err(error) if error.is_refusal() => return Err(error),
                Err(error) => pause(deadline, RETRY, error).await?,
            }
        }
        Ok(())
    }
}

/// What is left after all coordinators were asked once.
#[derive(Default)]
struct Round {
    left: Vec<StrBytes>,
    /// Why something is left.
    problem: Option<Error>,
}

async fn fence_once(dialer: &Arc<Dialer>, ids: &[StrBytes], deadline: Instant) -> Result<Round, Error> {
    let mut any = dialer.bootstrap().await?;
    let mut round = Round::default();
    let mut coordinators: BTreeMap<Address, Vec<StrBytes>> = BTreeMap::new();
    for (id, found) in find_coordinators(&mut any, KeyKind::Transaction, ids, dialer.request_timeout()).await? {
        match found {
            Ok(address) => coordinators.entry(address).or_default().push(id),
            Err(error) => round.keep(id, error)?,
        }
    }
    let answered: BTreeSet<_> = coordinators.values().flatten().chain(&round.left).cloned().collect();
    for id in ids.iter().filter(|id| !answered.contains(*id)) {
        round.keep(id.clone(), Error::refused("FindCoordinator", ResponseError::CoordinatorNotAvailable, None))?;
    }
    let mut tasks = JoinSet::new();
    for (address, ids) in coordinators {
        let dialer = dialer.clone();
        tasks.spawn(async move { fence_at(&dialer, &address, ids, deadline).await });
    }
    while let Some(done) = tasks.join_next().await {
        let done = done.expect("a task of ours neither panics nor is aborted")?;
        round.left.extend(done.left);
        round.problem = round.problem.or(done.problem);
    }
    Ok(round)
}

/// All ids of one coordinator; those that are still being ended are asked again, the others don't wait for them.
async fn fence_at(dialer: &Dialer, address: &Address, ids: Vec<StrBytes>, deadline: Instant) -> Result<Round, Error> {
    let mut round = Round::default();
    let mut connection = match dialer.dial(address).await {
        Ok(connection) => connection,
        Err(error) if error.is_refusal() => return Err(error),
        Err(error) => return Ok(Round { left: ids, problem: Some(error) }),
    };
    let mut open = ids;
    while !open.is_empty() {
        let mut ending = Vec::new();
        for id in open {
            match fence_one(&mut connection, &id, dialer.request_timeout()).await {
                Ok(()) => {}
                Err(Error::Refused { code: ResponseError::ConcurrentTransactions, .. })
                    if Instant::now() < deadline =>
                {
                    ending.push(id);
                }
                Err(error) => round.keep(id, error)?,
            }
        }
        open = ending;
        if !open.is_empty() {
            sleep(WHILE_ENDING).await;
        }
    }
    Ok(round)
}

async fn fence_one(connection: &mut Connection, id: &StrBytes, limit: Duration) -> Result<(), Error> {
    let request = InitProducerIdRequest::default()
        .with_transactional_id(Some(TransactionalId(id.clone())))
        // Also how long the coordinator may take to write it down.
        .with_transaction_timeout_ms(i32::try_from(limit.as_millis()).unwrap_or(i32::MAX))
        .with_producer_id(ProducerId(-1))
        .with_producer_epoch(-1);
    let answer = connection.call(&request, limit).await?;
    match ResponseError::try_from_code(answer.error_code) {
        None => Ok(()),
        Some(code) => Err(Error::refused(format!("fencing of `{id}`"), code, None)),
    }
}

impl Round {
    /// For another round, unless that can't help.
    fn keep(&mut self, id: StrBytes, error: Error) -> Result<(), Error> {
        if error.is_refusal() {
            return Err(error);
        }
        self.left.push(id);
        self.problem = Some(error);
        Ok(())
    }
}
