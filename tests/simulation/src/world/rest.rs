//! Clients' requests, and how they find the worker that can answer them.

use std::collections::BTreeMap;

use bulkhead_herder::api::{Event, ForwardError, Proof, Refusal, Reply, Request, RequestId, Signature, Token};
use bulkhead_model::{ConnectorName, RawConfig};

use super::{Happening, ProcessId, World};
use crate::conditions::url;

/// What has been asked and answered.
#[derive(Debug, Default)]
pub struct Rest {
    last: u64,
    /// What herders haven't answered yet.
    open: BTreeMap<(ProcessId, RequestId), Call>,
    /// By the number that [`World::ask`] gave.
    pub outcomes: BTreeMap<u64, Outcome>,
    pub asked: u64,
    /// The last task configurations that a worker forwarded to its leader.
    pub forwarded: Option<Request>,
}

/// What a client gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Answer(Result<Reply, Refusal>),
    /// The worker ended before it answered.
    HungUp,
}

/// A request on its way.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) at: ProcessId,
    request: Request,
    from: Caller,
    hops: u8,
}

#[derive(Clone, Copy, Debug)]
enum Caller {
    Client(u64),
    /// A worker that forwards task configurations.
    Worker(ProcessId, Token),
}

/// A request is passed on so often, and no further.
const MAX_HOPS: u8 = 2;

impl World {
    /// Sends a request to a worker; none if it doesn't run.
    pub fn ask(&mut self, worker: usize, request: Request) -> Option<u64> {
        let at = self.processes[worker].as_ref()?.id;
        self.rest.asked += 1;
        let number = self.rest.asked;
        self.note(|| format!("request {number} to w{worker}: {request:?}"));
        self.after(0, Happening::Arrive(Call { at, request, from: Caller::Client(number), hops: 0 }));
        Some(number)
    }

    pub(super) fn arrive(&mut self, call: Call) {
        self.rest.last += 1;
        let what = match call.from {
            Caller::Client(_) => "asked",
            Caller::Worker(..) => "tasks come",
        };
        self.write_down(Some(call.at.worker), || format!("{what}, hop {}", call.hops));
        let (at, id, request) = (call.at, RequestId(self.rest.last), call.request.clone());
        self.note_request(at, &request);
        self.rest.open.insert((at, id), call);
        self.deliver(at, Event::Request { id, request });
    }

    pub(super) fn reply(&mut self, at: ProcessId, id: RequestId, answer: Result<Reply, Refusal>) {
        let Some(call) = self.rest.open.remove(&(at, id)) else {
            return self.problem(format!("w{} answered a request that wasn't open: {answer:?}", at.worker));
        };
        match answer {
            Err(Refusal::Elsewhere { to: Some(to) }) if call.hops < MAX_HOPS => self.pass_on(call, &to),
            answer => self.end_call(call.from, Outcome::Answer(answer)),
        }
    }

    fn pass_on(&mut self, call: Call, to: &str) {
        let call = Call { hops: call.hops + 1, ..call };
        match self.by_url(to) {
            Some(at) => {
                let latency = self.dice.between(self.conditions.pace.network);
                self.after(latency, Happening::Arrive(Call { at, ..call }));
            }
            None => self.unreachable(call),
        }
    }

    fn by_url(&self, to: &str) -> Option<ProcessId> {
        self.living().map(|process| process.id).find(|id| url(id.worker) == to)
    }

    /// Nobody is there to take the request.
    pub(super) fn unreachable(&mut self, call: Call) {
        self.end_call(call.from, Outcome::HungUp);
    }

    fn end_call(&mut self, from: Caller, outcome: Outcome) {
        match from {
            Caller::Client(number) => {
                self.note(|| format!("answer to request {number}: {outcome:?}"));
                if let Some(first) = self.rest.outcomes.insert(number, outcome) {
                    self.problem(format!("request {number} was answered twice, first with {first:?}"));
                }
            }
            Caller::Worker(id, token) => self.answer_worker(id, token, outcome),
        }
    }

    fn answer_worker(&mut self, id: ProcessId, token: Token, outcome: Outcome) {
        let Some(process) = self.process(id) else { return };
        let lost = process.lost_answers > 0;
        process.lost_answers = process.lost_answers.saturating_sub(1);
        let outcome = match outcome {
            Outcome::HungUp => Err(ForwardError { status: None, message: "connection refused".to_owned() }),
            Outcome::Answer(_) if lost => Err(ForwardError { status: None, message: "timed out".to_owned() }),
            Outcome::Answer(Ok(_)) => Ok(()),
            Outcome::Answer(Err(refusal)) => {
                Err(ForwardError { status: Some(refusal.status()), message: refusal.to_string() })
            }
        };
        let latency = self.dice.between(self.conditions.pace.network);
        self.after(latency, Happening::Event(id, Event::Forwarded { token, outcome }));
    }

    pub(super) fn forward_tasks(
        &mut self,
        id: ProcessId,
        token: Token,
        leader: &str,
        name: ConnectorName,
        body: Vec<u8>,
        signature: Option<Signature>,
    ) {
        let configs: Vec<RawConfig> = match serde_json::from_slice(&body) {
            Ok(configs) => configs,
            Err(error) => return self.problem(format!("w{} sends tasks that can't be read: {error}", id.worker)),
        };
        let (algorithm, mac) = signature.map(|signature| (signature.algorithm, signature.mac)).unzip();
        let request = Request::PublishTasks { name, configs, proof: Proof { algorithm, mac, body } };
        self.write_down(Some(id.worker), || "forward tasks".to_owned());
        self.rest.forwarded = Some(request.clone());
        self.pass_on(Call { at: id, request, from: Caller::Worker(id, token), hops: 0 }, leader);
    }

    /// A process is gone: whoever waits for its answers hears that.
    pub(super) fn hang_up(&mut self, id: ProcessId) {
        let lost: Vec<_> = self.rest.open.extract_if(.., |(at, _), _| *at == id).collect();
        for (_, call) in lost {
            self.unreachable(call);
        }
    }

    /// Whether a herder owes somebody an answer.
    pub(crate) fn owes(&self, id: ProcessId) -> Vec<&Request> {
        self.rest.open.iter().filter(|((at, _), _)| *at == id).map(|(_, call)| &call.request).collect()
    }

    pub(super) fn check_all_answered(&mut self, id: ProcessId) {
        let open: Vec<_> = self.owes(id).into_iter().cloned().collect();
        if !open.is_empty() {
            self.problem(format!("w{} has ended without an answer to {open:?}", id.worker));
        }
    }
}
