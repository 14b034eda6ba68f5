//! Owns the herder: feeds it events one at a time, performs its effects in order, brings outcomes back.
//!
//! What the effects are performed on is in [`ports`]. The driver is also what shows the group that the
//! herder lives: the sign of life is given from this loop and nowhere else, so that a herder that hangs
//! loses its work to workers that don't.

mod handle;
mod memory;
pub mod ports;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bulkhead_herder::api::{Effect, Event, Millis, Request, RequestId, Secret, Token};
use bulkhead_herder::{ClusterView, Herder};
use bulkhead_model::work;
use bulkhead_rest::{Loggers, apply_level};
use bulkhead_worker::Worker;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use handle::{Answer, Published, stopping};
pub use handle::{Handle, StartSignal};
use ports::{Cluster, Fatal, ForwardedTasks, LeaderLog, News, Outside};

/// Requests that may wait for the herder's attention; REST waits when there are more.
const INBOX: usize = 256;

/// The longest time between two signs of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// The largest session key that is made: that of HMAC-SHA512 has 64 bytes.
const MAX_KEY: usize = 1024;

/// The herder, as the driver sees it: a function of its state and events.
pub trait Decider: Send {
    fn handle(&mut self, now: Millis, event: Event) -> Vec<Effect>;
    fn next_deadline(&self) -> Option<Millis>;
    fn view(&self) -> Arc<ClusterView>;
    fn stage(&self) -> String;
}

/// See the module's documentation.
pub struct Driver<D = Herder> {
    herder: D,
    /// None once the worker was told to end.
    worker: Option<Worker>,
    work: mpsc::UnboundedReceiver<work::Event>,
    inbox: mpsc::Receiver<(Request, Answer)>,
    answers: HashMap<RequestId, Answer>,
    last_request: u64,
    outside: Outside,
    loggers: Arc<dyn Loggers>,
    phase: Phase,
    /// What happens next, before anything from outside.
    queue: VecDeque<Event>,
    published: watch::Sender<Published>,
}

/// How far the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Runs,
    /// The herder was told to stop everything; it is waited for until then.
    Leaves(Instant),
    /// The worker was told to end, which it has when its channel closes.
    Ends,
}

impl<D: Decider> Driver<D> {
    pub fn new(
        herder: D,
        worker: Worker,
        work: mpsc::UnboundedReceiver<work::Event>,
        outside: Outside,
        loggers: Arc<dyn Loggers>,
    ) -> (Self, Handle) {
        let (sender, inbox) = mpsc::channel(INBOX);
        let published = Published { view: herder.view(), stage: herder.stage(), starting: true };
        let (published, seen) = watch::channel(published);
        let driver = Self {
            herder,
            worker: Some(worker),
            work,
            inbox,
            answers: HashMap::new(),
            last_request: 0,
            outside,
            loggers,
            phase: Phase::Runs,
            queue: VecDeque::new(),
            published,
        };
        (driver, Handle { inbox: sender, published: seen })
    }

    /// To say that the worker is up.
    pub fn start_signal(&self) -> StartSignal {
        StartSignal(self.published.clone())
    }

    /// Something that happened before [`Self::run`].
    pub fn push(&mut self, event: Event) {
        self.queue.push_back(event);
    }

    /// Runs until it is told to stop and everything that runs has stopped, or until it can't go on.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), Fatal> {
        loop {
            while let Some(event) = self.queue.pop_front() {
                self.step(event);
            }
            self.show_life();
            let pause = self.pause();
            tokio::select! {
                () = stop.cancelled(), if self.phase == Phase::Runs => self.begin_to_stop(),
                event = self.work.recv() => match event {
                    Some(event) => self.queue.push_back(Event::Work(event)),
                    None => return Ok(()),
                },
                Some((request, answer)) = self.inbox.recv() => self.accept(request, answer),
                Some(news) = self.outside.news.recv() => match news {
                    News::Event(event) => self.queue.push_back(event),
                    News::Fatal(fatal) => return Err(fatal),
                },
                () = tokio::time::sleep(pause) => self.look_at_the_clock(),
            }
        }
    }

    /// A standalone worker has nobody to say farewell to: its instances are stopped by dropping it.
    fn begin_to_stop(&mut self) {
        match &self.outside.cluster {
            Some(cluster) => {
                self.phase = Phase::Leaves(Instant::now() + cluster.farewell);
                self.queue.push_back(Event::Shutdown);
            }
            None => self.end(),
        }
    }

    fn end(&mut self) {
        self.phase = Phase::Ends;
        self.worker = None;
    }

    fn accept(&mut self, request: Request, answer: Answer) {
        if self.phase != Phase::Runs {
            let _ = answer.send(Err(stopping()));
            return;
        }
        self.last_request += 1;
        let id = RequestId(self.last_request);
        self.answers.insert(id, answer);
        self.queue.push_back(Event::Request { id, request });
    }

    /// How long to wait if nothing happens.
    fn pause(&self) -> Duration {
        let deadline = self.herder.next_deadline();
        let tick = deadline.map(|deadline| Duration::from_millis(deadline.0.saturating_sub(now().0)));
        let life = self.outside.cluster.is_some().then_some(SIGN_OF_LIFE);
        let farewell = match self.phase {
            Phase::Leaves(until) => Some(until.saturating_duration_since(Instant::now())),
            Phase::Runs | Phase::Ends => None,
        };
        [tick, life, farewell].into_iter().flatten().min().unwrap_or(Duration::MAX)
    }

    fn look_at_the_clock(&mut self) {
        if self.herder.next_deadline().is_some_and(|deadline| deadline <= now()) {
            self.queue.push_back(Event::Tick);
        }
        if let Phase::Leaves(until) = self.phase
            && Instant::now() >= until
        {
            tracing::warn!(stage = self.herder.stage(), "The herder did not stop in time; the worker ends without it.");
            if let Some(cluster) = &mut self.outside.cluster {
                cluster.group.leave("the worker ends".to_owned());
            }
            self.end();
        }
    }

    fn show_life(&mut self) {
        if let Some(cluster) = &mut self.outside.cluster {
            cluster.group.alive();
        }
    }

    /// What others see is published before replies go out: whoever got a reply sees its effect.
    fn step(&mut self, event: Event) {
        let effects = self.herder.handle(now(), event);
        let (view, stage) = (self.herder.view(), self.herder.stage());
        self.published.send_if_modified(|published| {
            let changed = !Arc::ptr_eq(&published.view, &view) || published.stage != stage;
            (published.view, published.stage) = (view, stage);
            changed
        });
        for effect in effects {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Reply { id, answer } => {
                if let Some(waiting) = self.answers.remove(&id) {
                    // Whoever asked may have gone.
                    let _ = waiting.send(answer);
                }
            }
            Effect::AppendConfig { token, records } => self.queue.extend(self.outside.config.append(token, records)),
            Effect::AppendStatus { token, record } => {
                self.queue.extend(self.outside.status.append(token, vec![record]));
            }
            Effect::ReadToEnd { token } => self.queue.extend(self.outside.config.read_to_end(token)),
            Effect::Work(command) => {
                if let Some(worker) = &self.worker {
                    worker.send(command);
                }
            }
            Effect::NewSessionKey { token, size } => self.make_session_key(token, size),
            Effect::SetLoggerLevel { logger, level } => self.set_level(&logger, level.as_deref()),
            Effect::Finished => self.end(),
            Effect::Join { protocols } => self.in_cluster(|cluster| cluster.group.join(protocols)),
            Effect::Assign { generation, assignments } => {
                self.in_cluster(|cluster| cluster.group.assign(generation, assignments));
            }
            Effect::Leave { reason } => self.in_cluster(|cluster| cluster.group.leave(reason)),
            Effect::ClaimLog { token } => self.as_leader(|log| log.claim(token)),
            Effect::AppendAsLeader { token, records } => self.as_leader(|log| log.append(token, records)),
            Effect::ForgetClaim => self.as_leader(|log| log.forget()),
            Effect::ForwardTasks { token, leader, connector, body, signature } => self.in_cluster(|cluster| {
                cluster.peers.forward_tasks(token, ForwardedTasks { leader, connector, body, signature });
            }),
        }
    }

    fn in_cluster(&mut self, act: impl FnOnce(&mut Cluster)) {
        match &mut self.outside.cluster {
            Some(cluster) => act(cluster),
            None => tracing::error!("A standalone worker has no cluster."),
        }
    }

    fn as_leader(&mut self, act: impl FnOnce(&mut dyn LeaderLog)) {
        self.in_cluster(|cluster| match &mut cluster.leader_log {
            Some(log) => act(&mut **log),
            None => tracing::error!("The config log needs no claim."),
        });
    }

    fn make_session_key(&mut self, token: Token, size: usize) {
        let mut key = vec![0; size.min(MAX_KEY)];
        match getrandom::fill(&mut key) {
            Ok(()) => self.queue.push_back(Event::SessionKey { token, key: Secret(key) }),
            Err(error) => tracing::error!(%error, "The system has no random bytes for a session key."),
        }
    }

    fn set_level(&self, logger: &str, level: Option<&str>) {
        if let Err(error) = apply_level(&*self.loggers, logger, level) {
            tracing::warn!(%error, "A log level could not be set.");
        }
    }
}

impl Decider for Herder {
    fn handle(&mut self, now: Millis, event: Event) -> Vec<Effect> {
        Self::handle(self, now, event)
    }

    fn next_deadline(&self) -> Option<Millis> {
        Self::next_deadline(self)
    }

    fn view(&self) -> Arc<ClusterView> {
        Self::view(self)
    }

    fn stage(&self) -> String {
        Self::stage(self)
    }
}

/// The time, as the herder and REST count it.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
