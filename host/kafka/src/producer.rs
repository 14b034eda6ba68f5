//! Producing: clients that tasks with equal properties share, and each task's session on one.
//!
//! A record's delivery report carries one number in which its session and sequence are packed
//! ([`sessions`]), so that nothing is allocated for it. Start at [`SharedProducer`].

pub(crate) mod failure;
mod pool;
mod sessions;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bulkhead_pipeline::ports::{Outgoing, ProduceError, Producer, Sent};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::BaseRecord;

use pool::Client;
pub(crate) use pool::Pool;
use sessions::{Session, Ticket};

/// A task's session on a shared producer.
///
/// It has a quota of records and bytes on their way, so that a task whose topic is stuck doesn't fill
/// the queue for the others. Records still on their way when it is dropped go out, and their deliveries
/// are told to whoever asked for them.
#[derive(Debug)]
pub struct SharedProducer {
    client: Arc<Client>,
    session: Arc<Session>,
}

/// Most records that one session may have on their way: enough to keep a broker busy, a tenth of the
/// client's queue.
const MAX_RECORDS: usize = 100_000;

/// Most bytes of one session, unless `buffer.memory` says otherwise: Java's default for a producer.
pub(crate) const MAX_BYTES: usize = 32 * 1024 * 1024;

impl SharedProducer {
    fn has_room(&self, bytes: usize) -> bool {
        let records = self.session.records.load(Ordering::Relaxed);
        // The first record passes whatever its size.
        records < MAX_RECORDS
            && (records == 0 || self.session.bytes.load(Ordering::Relaxed) + bytes <= self.session.max_bytes)
    }
}

impl Producer for SharedProducer {
    fn send(&self, record: &Outgoing<'_>, sequence: u64) -> Result<Sent, ProduceError> {
        if let Some(reason) = self.client.fatal() {
            return Err(ProduceError::Fatal(reason));
        }
        let bytes = size(record);
        if !self.has_room(bytes) {
            return Ok(Sent::Full);
        }
        let outgoing = base_record(record, Ticket::new(self.session.slot, sequence))?;
        self.session.sent(bytes);
        match self.client.send(outgoing) {
            Ok(()) => Ok(Sent::Queued),
            Err(error) => {
                self.session.settled(bytes);
                match error {
                    KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull) => Ok(Sent::Full),
                    error => Err(failure::of_sending(&error, record.topic, bytes, &self.client.largest_record)),
                }
            }
        }
    }
}

impl Drop for SharedProducer {
    fn drop(&mut self) {
        self.client.sessions().close(&self.session);
    }
}

/// What counts against the quota, of a record or of its delivery report.
fn size(record: &Outgoing<'_>) -> usize {
    record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len)
}

fn base_record<'a>(record: &Outgoing<'a>, ticket: Ticket) -> Result<BaseRecord<'a, [u8], [u8], usize>, ProduceError> {
    if let Some(timestamp) = record.timestamp.filter(|timestamp| *timestamp < 0) {
        return Err(ProduceError::Record(format!(
            "timestamp {timestamp} of a record for topic `{}` is negative",
            record.topic
        )));
    }
    let mut outgoing = BaseRecord::with_opaque_to(record.topic, ticket.packed());
    outgoing.partition = record.partition;
    outgoing.timestamp = record.timestamp;
    outgoing.key = record.key;
    outgoing.payload = record.value;
    outgoing.headers = headers(record)?;
    Ok(outgoing)
}

fn headers(record: &Outgoing<'_>) -> Result<Option<OwnedHeaders>, ProduceError> {
    if record.headers.is_empty() {
        return Ok(None);
    }
    let mut headers = OwnedHeaders::new_with_capacity(record.headers.len());
    for (key, value) in record.headers {
        // librdkafka takes keys as C strings.
        if key.contains('\0') {
            return Err(ProduceError::Record(format!(
                "a header key of a record for topic `{}` has a zero byte in it",
                record.topic
            )));
        }
        headers = headers.insert(Header { key, value: *value });
    }
    Ok(Some(headers))
}
