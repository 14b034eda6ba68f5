//! Appending as the one who claimed the topic last (KIP-618): whoever claims it fences all who did so before, and can
//! tell that nothing of theirs comes later.
//!
//! librdkafka's transactional calls block, so a thread of its own makes them, one after the other.

use std::future::Future;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, Producer, ProducerContext};
use tokio::sync::oneshot;

use super::{LogEntry, LogSettings, OpenError};
use crate::context;
use crate::properties::{Effective, Role};

/// How long a claim may take: the coordinator ends the transaction of the one before.
const CLAIM: Duration = Duration::from_secs(30);

/// How long records may take to be written, and then their transaction to be committed.
const WRITE: Duration = Duration::from_secs(15);

/// Records were not written, or it isn't known whether they were. Either way the claim is gone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwritten {
    #[error("somebody else has claimed the topic: {0}")]
    Fenced(String),
    #[error("{0}")]
    Failed(String),
    /// Nothing was tried.
    #[error("the topic is not claimed")]
    Unclaimed,
}

/// A topic that is written to under a claim. The client is closed with the claim: when it is given up, when a write
/// fails, and when this is dropped.
#[derive(Debug)]
pub struct FencableLog {
    orders: Sender<Order>,
}

#[derive(Debug)]
enum Order {
    Claim(oneshot::Sender<Result<(), String>>),
    Append(Vec<LogEntry>, oneshot::Sender<Result<(), Unwritten>>),
    Forget,
}

/// The thread's own.
struct Claimant {
    topic: Arc<str>,
    properties: Effective,
    claimed: Option<BaseProducer<Context>>,
}

/// Keeps why the first record failed.
#[derive(Default)]
struct Context {
    failure: Mutex<Option<KafkaError>>,
}

impl FencableLog {
    /// For the worker of the group that leads it. Connects to nobody yet.
    pub fn of_leader(settings: &LogSettings) -> Result<Self, OpenError> {
        let topic: Arc<str> = Arc::from(settings.topic.as_str());
        let properties = properties(settings)?;
        let (orders, inbox) = mpsc::channel();
        let claimant = Claimant { topic, properties, claimed: None };
        let thread = std::thread::Builder::new().name("kafka-log-leader".to_owned());
        let started = thread.spawn(move || claimant.run(&inbox));
        started.map_err(|error| OpenError::client(&settings.topic, error))?;
        Ok(Self { orders })
    }

    /// From its success on, nobody who claimed the topic before can write to it.
    pub fn claim(&self) -> impl Future<Output = Result<(), String>> + Send + 'static {
        let answered = self.order(Order::Claim);
        async move { answered.await.unwrap_or_else(|_| Err("the topic was closed".to_owned())) }
    }

    /// Writes all of these or, as far as committed records go, none.
    pub fn append(&self, entries: Vec<LogEntry>) -> impl Future<Output = Result<(), Unwritten>> + Send + 'static {
        let answered = self.order(|answer| Order::Append(entries, answer));
        async move { answered.await.unwrap_or(Err(Unwritten::Unclaimed)) }
    }

    /// Gives the claim up.
    pub fn forget(&self) {
        // The thread lives as long as this.
        let _ = self.orders.send(Order::Forget);
    }

    fn order<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> oneshot::Receiver<T> {
        let (answer, answered) = oneshot::channel();
        let _ = self.orders.send(order(answer));
        answered
    }
}

fn properties(settings: &LogSettings) -> Result<Effective, OpenError> {
    let wrong = |error| OpenError::properties(&settings.topic, &error);
    let mut properties = settings.clients.internal(Role::Producer).map_err(wrong)?;
    let group = settings.clients.worker().get("group.id").unwrap_or_default().trim();
    // Workers of Apache in the same group claim by the same name.
    properties.force("transactional.id", format!("connect-cluster-{group}"));
    properties.force("client.id", format!("{}-leader", settings.client_id));
    properties.force("enable.idempotence", "true");
    properties.force("acks", "all");
    // Java has five; for what one spares see the defaults of producers.
    properties.force("max.in.flight.requests.per.connection", "1");
    properties.force("delivery.timeout.ms", WRITE.as_millis().to_string());
    properties.force("linger.ms", "0");
    Ok(properties)
}

impl Claimant {
    fn run(mut self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            // Whoever asked may have lost interest.
            match order {
                Order::Claim(answer) => drop(answer.send(self.claim())),
                Order::Append(entries, answer) => drop(answer.send(self.append(&entries))),
                Order::Forget => self.claimed = None,
            }
        }
    }

    fn claim(&mut self) -> Result<(), String> {
        self.claimed = None;
        let producer: BaseProducer<Context> = self
            .properties
            .client_config()
            .create_with_context(Context::default())
            .map_err(|error| error.to_string())?;
        producer.init_transactions(CLAIM).map_err(|error| error.to_string())?;
        self.claimed = Some(producer);
        Ok(())
    }

    fn append(&mut self, entries: &[LogEntry]) -> Result<(), Unwritten> {
        let producer = self.claimed.take().ok_or(Unwritten::Unclaimed)?;
        // A transaction that fails is not aborted here: the next claim does that, of whomever.
        write(&producer, &self.topic, entries).map_err(|error| judge(&producer, &error))?;
        self.claimed = Some(producer);
        Ok(())
    }
}

fn write(producer: &BaseProducer<Context>, topic: &str, entries: &[LogEntry]) -> Result<(), KafkaError> {
    producer.begin_transaction()?;
    for (key, value) in entries {
        let mut record = BaseRecord::<[u8], [u8]>::to(topic).key(key.as_ref());
        record.payload = value.as_deref();
        producer.send(record).map_err(|(error, _)| error)?;
    }
    producer.commit_transaction(WRITE)
}

fn judge(producer: &BaseProducer<Context>, error: &KafkaError) -> Unwritten {
    let fatal = producer.client().fatal_error();
    let failure = producer.context().failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    let codes = [code(error), failure.as_ref().and_then(code), fatal.as_ref().map(|(code, _)| *code)];
    let fenced = codes
        .into_iter()
        .flatten()
        .any(|code| matches!(code, Code::Fenced | Code::ProducerFenced | Code::InvalidProducerEpoch));
    let reason = fatal.map_or_else(|| failure.as_ref().unwrap_or(error).to_string(), |(_, reason)| reason);
    if fenced { Unwritten::Fenced(reason) } else { Unwritten::Failed(reason) }
}

fn code(error: &KafkaError) -> Option<Code> {
    match error {
        KafkaError::Transaction(error) => Some(error.code()),
        error => error.rdkafka_error_code(),
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        context::log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        context::client_error(&error, reason);
    }
}

impl ProducerContext for Context {
    type DeliveryOpaque = ();

    fn delivery(&self, report: &DeliveryResult<'_>, (): ()) {
        if let Err((error, _)) = report {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.clone());
        }
    }
}
