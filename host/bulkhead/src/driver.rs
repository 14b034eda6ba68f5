//! Owns the herder: feeds it events one at a time, performs its effects in order, brings outcomes back.
//!
//! The logs of a standalone worker are nothing but this queue: a record that the herder appends comes
//! back to it as the next event.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bulkhead_herder::api::{Effect, Event, LoggedConfig, Millis, Refusal, Reply, Request, RequestId};
use bulkhead_herder::{ClusterView, Herder};
use bulkhead_model::work;
use bulkhead_rest::HerderHandle;
use bulkhead_worker::Worker;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Requests that may wait for the herder's attention; REST waits when there are more.
const INBOX: usize = 256;

type Answer = oneshot::Sender<Result<Reply, Refusal>>;

/// The way to the herder.
#[derive(Clone, Debug)]
pub struct Handle {
    inbox: mpsc::Sender<(Request, Answer)>,
    published: watch::Receiver<Published>,
}

/// What others may see of the herder between two steps.
#[derive(Clone, Debug)]
struct Published {
    view: Arc<ClusterView>,
    stage: String,
    starting: bool,
}

/// See the module's documentation.
pub struct Driver {
    herder: Herder,
    /// None once the worker was told to end.
    worker: Option<Worker>,
    work: mpsc::UnboundedReceiver<work::Event>,
    inbox: mpsc::Receiver<(Request, Answer)>,
    answers: HashMap<RequestId, Answer>,
    last_request: u64,
    /// Where the config log ends.
    next_offset: i64,
    /// What happens next, before anything from outside.
    queue: VecDeque<Event>,
    published: watch::Sender<Published>,
}

impl Driver {
    pub fn new(herder: Herder, worker: Worker, work: mpsc::UnboundedReceiver<work::Event>) -> (Self, Handle) {
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
            next_offset: 0,
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

    /// Runs until it is told to stop and everything that runs has stopped.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            while let Some(event) = self.queue.pop_front() {
                self.step(event);
            }
            let deadline = self.herder.next_deadline();
            tokio::select! {
                () = stop.cancelled(), if self.worker.is_some() => self.worker = None,
                event = self.work.recv() => match event {
                    Some(event) => self.queue.push_back(Event::Work(event)),
                    None => return,
                },
                Some((request, answer)) = self.inbox.recv(), if self.worker.is_some() => self.accept(request, answer),
                () = sleep_until(deadline) => self.queue.push_back(Event::Tick),
            }
        }
    }

    fn accept(&mut self, request: Request, answer: Answer) {
        self.last_request += 1;
        let id = RequestId(self.last_request);
        self.answers.insert(id, answer);
        self.queue.push_back(Event::Request { id, request });
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
            Effect::AppendConfig { token, records } => {
                for record in records {
                    self.next_offset += 1;
                    let logged = LoggedConfig { next_offset: self.next_offset, record: Some(record) };
                    self.queue.push_back(Event::ConfigRecord(logged));
                }
                self.queue.push_back(Event::Appended { token, outcome: Ok(()) });
            }
            Effect::AppendStatus { token, record } => {
                self.queue.push_back(Event::StatusRecord(record));
                self.queue.push_back(Event::Appended { token, outcome: Ok(()) });
            }
            Effect::Work(command) => {
                if let Some(worker) = &self.worker {
                    worker.send(command);
                }
            }
            effect @ (Effect::ReadToEnd { .. }
            | Effect::Join { .. }
            | Effect::Assign { .. }
            | Effect::Leave { .. }
            | Effect::ForwardTasks { .. }
            | Effect::NewSessionKey { .. }
            | Effect::SetLoggerLevel { .. }
            | Effect::Finished) => tracing::error!(?effect, "A standalone worker has no cluster."),
        }
    }
}

/// See [`Driver::start_signal`].
#[derive(Debug)]
pub struct StartSignal(watch::Sender<Published>);

impl StartSignal {
    /// From now on `/health` takes the worker for started.
    pub fn up(self) {
        self.0.send_modify(|published| published.starting = false);
    }
}

impl HerderHandle for Handle {
    async fn request(&self, request: Request) -> Result<Reply, Refusal> {
        let (answer, reply) = oneshot::channel();
        let stopping = || Refusal::Failed("the worker is stopping".to_owned());
        self.inbox.send((request, answer)).await.map_err(|_| stopping())?;
        reply.await.unwrap_or_else(|_| Err(stopping()))
    }

    fn view(&self) -> Arc<ClusterView> {
        self.published.borrow().view.clone()
    }

    fn stage(&self) -> String {
        self.published.borrow().stage.clone()
    }

    fn is_starting(&self) -> bool {
        self.published.borrow().starting
    }
}

/// The time, as the herder and REST count it.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

async fn sleep_until(deadline: Option<Millis>) {
    match deadline {
        Some(deadline) => tokio::time::sleep(Duration::from_millis(deadline.0.saturating_sub(now().0))).await,
        None => std::future::pending().await,
    }
}
