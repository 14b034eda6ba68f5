//! The producers of a worker: for each set of properties as many as its sessions need, as long as somebody uses
//! them.
//!
//! Each client has a thread of its own, which serves delivery reports and ends, with the client, when
//! no session was open for [`KEPT_IDLE`]. So a task that is restarted finds its connections still open.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use bulkhead_pipeline::ports::{ClientError, Delivery, ProduceError, Written};
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, Producer, ProducerContext};

use super::sessions::{Sessions, Ticket};
use super::{MAX_BYTES, SharedProducer, failure};
use crate::context;
use crate::properties::Effective;

/// How many sessions share a producer. Each of its requests carries the records of one partition, and one is under
/// way at a time: with many more, the partitions would wait for each other.
const SESSIONS: usize = 8;

/// How long a producer without a session is kept.
const KEPT_IDLE: Duration = Duration::from_secs(10);

/// How often a client's thread looks whether it is still needed; reports are served at once.
const LOOK: Duration = Duration::from_millis(100);

type Clients = HashMap<BTreeMap<String, String>, Vec<Arc<Client>>>;

/// The shared producers by their properties.
#[derive(Clone, Default)]
pub(crate) struct Pool {
    clients: Arc<Mutex<Clients>>,
}

/// A producer and the sessions on it.
pub(super) struct Client {
    producer: BaseProducer<Reports>,
    /// `message.max.bytes`
    pub(super) largest_record: String,
}

/// Takes delivery reports and passes each to its session.
#[derive(Default)]
struct Reports {
    sessions: Sessions,
    /// Why the client is of no more use; its tasks need another.
    fatal: OnceLock<String>,
    topics: Topics,
}

/// Topic names that deliveries were asked for, each kept once.
struct Topics {
    none: Arc<str>,
    known: Mutex<Vec<Arc<str>>>,
}

impl Pool {
    /// Opens a session on a producer with these properties, which is made if none has room.
    pub(crate) fn session(
        &self,
        properties: &Effective,
        delivery: Arc<dyn Delivery>,
    ) -> Result<SharedProducer, ClientError> {
        let max_bytes = properties.our_number("buffer.memory", MAX_BYTES)?;
        let mut clients = lock(&self.clients);
        let identity = properties.identity();
        let has_room = |client: &&Arc<Client>| client.fatal().is_none() && client.sessions().count() < SESSIONS;
        let client = match clients.get(&identity).into_iter().flatten().find(has_room) {
            Some(client) => Arc::clone(client),
            None => {
                let client = self.start(properties, identity.clone())?;
                clients.entry(identity).or_default().push(Arc::clone(&client));
                client
            }
        };
        let session = client.sessions().open(delivery, max_bytes)?;
        Ok(SharedProducer { client, session })
    }

    fn start(&self, properties: &Effective, identity: BTreeMap<String, String>) -> Result<Arc<Client>, ClientError> {
        let producer = properties
            .client_config()
            .create_with_context(Reports::default())
            .map_err(|error| ClientError(format!("no producer could be made: {error}")))?;
        let largest_record = properties.get("message.max.bytes").unwrap_or_default().to_owned();
        let client = Arc::new(Client { producer, largest_record });
        let served = Arc::clone(&client);
        let pool = Arc::downgrade(&self.clients);
        std::thread::Builder::new()
            .name("kafka-producer".to_owned())
            .spawn(move || serve(served, &pool, &identity))
            .map_err(|error| ClientError(format!("no thread could be started for a producer: {error}")))?;
        Ok(client)
    }
}

/// The life of a client's thread. A client that has failed ends with its last session.
fn serve(client: Arc<Client>, pool: &Weak<Mutex<Clients>>, identity: &BTreeMap<String, String>) {
    let mut idle_since: Option<Instant> = None;
    loop {
        client.producer.poll(LOOK);
        if client.sessions().count() > 0 {
            idle_since = None;
            continue;
        }
        let idle = idle_since.get_or_insert_with(Instant::now).elapsed();
        let Some(clients) = pool.upgrade() else { return };
        if (idle >= KEPT_IDLE || client.fatal().is_some()) && forget(&client, &mut lock(&clients), identity) {
            return;
        }
    }
}

/// Takes an unused client out of the pool, unless a session was opened at the last moment.
fn forget(client: &Arc<Client>, clients: &mut Clients, identity: &BTreeMap<String, String>) -> bool {
    if client.sessions().count() > 0 {
        return false;
    }
    if let Some(alike) = clients.get_mut(identity) {
        alike.retain(|known| !Arc::ptr_eq(known, client));
        if alike.is_empty() {
            clients.remove(identity);
        }
    }
    true
}

impl Client {
    pub(super) fn send(&self, record: BaseRecord<'_, [u8], [u8], usize>) -> Result<(), KafkaError> {
        self.producer.send(record).map_err(|(error, _)| error)
    }

    pub(super) fn sessions(&self) -> &Sessions {
        &self.producer.context().sessions
    }

    pub(super) fn fatal(&self) -> Option<String> {
        self.producer.context().fatal.get().cloned()
    }
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        context::log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::Fatal) {
            tracing::error!(target: "kafka", "A producer is of no more use: {reason}");
            // Only the first reason counts.
            let _ = self.fatal.set(format!("the producer is of no more use: {reason}"));
        } else {
            context::client_error(&error, reason);
        }
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = usize;

    fn delivery(&self, report: &DeliveryResult<'_>, ticket: usize) {
        let ticket = Ticket::unpacked(ticket);
        let message = match report {
            Ok(message) | Err((_, message)) => message,
        };
        let bytes = message.key_len() + message.payload_len();
        self.sessions.settle(ticket, bytes, |delivery| {
            let outcome = match report {
                Ok(message) => Ok(self.written(message, delivery)),
                Err((error, message)) => Err(self.failed(error, message.topic())),
            };
            delivery.delivered(ticket.sequence, outcome);
        });
    }
}

impl Reports {
    fn written(&self, message: &impl Message, delivery: &dyn Delivery) -> Written {
        let topic =
            if delivery.wants_written() { self.topics.get(message.topic()) } else { Arc::clone(&self.topics.none) };
        Written {
            topic,
            partition: message.partition(),
            offset: message.offset(),
            timestamp: message.timestamp().to_millis().unwrap_or(-1),
        }
    }

    fn failed(&self, error: &KafkaError, topic: &str) -> ProduceError {
        match self.fatal.get() {
            Some(reason) => ProduceError::Fatal(reason.clone()),
            None => failure::of(error, topic),
        }
    }
}

impl Topics {
    fn get(&self, name: &str) -> Arc<str> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(topic) = known.iter().find(|topic| &***topic == name) {
            return Arc::clone(topic);
        }
        known.push(Arc::from(name));
        Arc::from(name)
    }
}

impl Default for Topics {
    fn default() -> Self {
        Self { none: Arc::from(""), known: Mutex::default() }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("fatal", &self.fatal()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} producers)", lock(&self.clients).values().map(Vec::len).sum::<usize>())
    }
}

fn lock(clients: &Mutex<Clients>) -> MutexGuard<'_, Clients> {
    clients.lock().unwrap_or_else(PoisonError::into_inner)
}
