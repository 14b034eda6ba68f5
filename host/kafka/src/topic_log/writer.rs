//! Appending: a producer of one topic, with one request on its way at a time so that order is kept.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bulkhead_pipeline::ports::ProduceError;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, ProducerContext};
use tokio::sync::oneshot;

use super::{LogEntry, LogSettings, OpenError, Purpose};
use crate::context;
use crate::producer::failure;
use crate::properties::Role;

/// A record was not written, or it isn't known whether it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct AppendError {
    /// Whether it is worth trying again.
    pub retriable: bool,
    pub reason: String,
}

/// How often the thread looks whether it is still needed; acknowledgements are served at once.
const LOOK: Duration = Duration::from_millis(100);

/// Ends the thread, and the producer with it, when dropped.
pub(super) struct Writer {
    client: Arc<Client>,
}

struct Client {
    producer: BaseProducer<Acks>,
    closed: AtomicBool,
}

struct Acks;

/// The records of one call.
struct Batch {
    left: AtomicUsize,
    ending: Mutex<Ending>,
}

#[derive(Default)]
struct Ending {
    failure: Option<AppendError>,
    answer: Option<oneshot::Sender<Result<(), AppendError>>>,
}

impl Writer {
    pub(super) fn start(settings: &LogSettings) -> Result<Self, OpenError> {
        let failed = |reason: &dyn std::fmt::Display| OpenError::client(&settings.topic, reason);
        let producer = producer(settings)?;
        let client = Arc::new(Client { producer, closed: AtomicBool::new(false) });
        let served = Arc::clone(&client);
        let serve = move || {
            while !served.closed.load(Ordering::Acquire) {
                served.producer.poll(LOOK);
            }
        };
        let thread = std::thread::Builder::new().name("kafka-log-acks".to_owned());
        thread.spawn(serve).map_err(|error| failed(&error))?;
        Ok(Self { client })
    }

    /// Queues the records.
    pub(super) fn append(
        &self,
        topic: &str,
        entries: &[LogEntry],
    ) -> impl Future<Output = Result<(), AppendError>> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        // One more than there are records, so that none ends it before all are queued.
        let batch = Arc::new(Batch {
            left: AtomicUsize::new(entries.len() + 1),
            ending: Mutex::new(Ending { failure: None, answer: Some(answer) }),
        });
        for (key, value) in entries {
            let mut record = BaseRecord::<[u8], [u8], _>::with_opaque_to(topic, Arc::clone(&batch)).key(key.as_ref());
            record.payload = value.as_deref();
            if let Err((error, _)) = self.client.producer.send(record) {
                batch.settle(Err(judge(&error, topic)));
            }
        }
        batch.settle(Ok(()));
        async move { answered.await.unwrap_or_else(|_| Err(closed())) }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.client.closed.store(true, Ordering::Release);
    }
}

fn producer(settings: &LogSettings) -> Result<BaseProducer<Acks>, OpenError> {
    let wrong = |error| OpenError::properties(&settings.topic, &error);
    let mut properties = settings.clients.internal(Role::Producer).map_err(wrong)?;
    properties.force("client.id", &settings.client_id);
    properties.force("enable.idempotence", "false");
    properties.force("max.in.flight.requests.per.connection", "1");
    // Somebody waits for each append.
    properties.force("linger.ms", "0");
    match settings.purpose {
        Purpose::Config | Purpose::Offset => {}
        // The writer of statuses tries again by itself, unless the status is outdated by then.
        Purpose::Status => {
            properties.force("retries", "0");
            properties.force("delivery.timeout.ms", STATUS_TIMEOUT_MS);
        }
    }
    let made = properties.client_config().create_with_context(Acks);
    made.map_err(|error| OpenError::client(&settings.topic, error))
}

/// Java's default.
const STATUS_TIMEOUT_MS: &str = "120000";

impl Batch {
    fn settle(&self, outcome: Result<(), AppendError>) {
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = outcome {
            ending.failure.get_or_insert(error);
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let outcome = ending.failure.take().map_or(Ok(()), Err);
        if let Some(answer) = ending.answer.take() {
            // Whoever asked may have lost interest.
            let _ = answer.send(outcome);
        }
    }
}

impl ClientContext for Acks {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        context::log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        context::client_error(&error, reason);
    }
}

impl ProducerContext for Acks {
    type DeliveryOpaque = Arc<Batch>;

    fn delivery(&self, report: &DeliveryResult<'_>, batch: Arc<Batch>) {
        batch.settle(match report {
            Ok(_) => Ok(()),
            Err((error, message)) => Err(judge(error, rdkafka::Message::topic(message))),
        });
    }
}

fn judge(error: &KafkaError, topic: &str) -> AppendError {
    if matches!(error.rdkafka_error_code(), Some(Code::PurgeQueue | Code::PurgeInflight)) {
        return closed();
    }
    match failure::of(error, topic) {
        ProduceError::Retriable(reason) => AppendError { retriable: true, reason },
        ProduceError::Record(reason) | ProduceError::Fatal(reason) => AppendError { retriable: false, reason },
    }
}

fn closed() -> AppendError {
    AppendError { retriable: false, reason: "the log was closed before its records were acknowledged".to_owned() }
}
