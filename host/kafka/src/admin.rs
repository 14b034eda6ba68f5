//! Everything that isn't records: the cluster's id, the offsets of a sink's group, and topics
//! ([`TopicAdmin`]).

mod connector;
mod group_api;
mod topics;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_pipeline::ports::{ClientError, ConsumeError};
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::{Offset, TopicPartitionList};

use crate::context;
use crate::properties::Effective;
pub use bulkhead_pipeline::ports::{Creation, NewTopic, TopicError};
pub(crate) use connector::ConnectorTopics;
use group_api::{Operation, Refused, Row};
pub(crate) use topics::Bounds;
pub use topics::TopicAdmin;

/// Longest wait for one answer.
const ANSWER: Duration = Duration::from_secs(20);

/// A client that reads and writes no records. Its calls block.
pub(crate) struct Admin {
    client: BaseConsumer<Reason>,
}

/// Keeps what the client reported last.
#[derive(Default)]
struct Reason(Mutex<Option<String>>);

impl Admin {
    pub(crate) fn new(properties: &Effective) -> Result<Self, ClientError> {
        let client = properties
            .client_config()
            .create_with_context(Reason::default())
            .map_err(|error| ClientError(format!("no admin client could be made: {error}")))?;
        Ok(Self { client })
    }

    /// Asks until a broker answers or the time is up; the error is what kept it from answering.
    pub(crate) fn cluster_id(&self, timeout: Duration) -> Result<String, Option<String>> {
        let id = self.client.client().fetch_cluster_id(timeout);
        id.ok_or_else(|| self.reason())
    }

    /// Committed offsets of a group; none if there is no such group.
    pub(crate) fn group_offsets(&self, group: &str) -> Result<Vec<TopicOffset>, ConsumeError> {
        let rows = match self.ask(group, &Operation::List) {
            Err(refused) if is_missing(&refused) => return Ok(Vec::new()),
            answer => answer.map_err(|refused| failed("reading offsets of", group, &refused))?,
        };
        rows.into_iter()
            .filter(|row| row.offset >= 0 || row.error.is_some())
            .map(|row| match row.error {
                None => Ok(TopicOffset { partition: row.partition, offset: row.offset }),
                Some(code) => Err(failed_row("reading", group, &row.partition, code)),
            })
            .collect()
    }

    /// Sets offsets of a group without members, and removes those that are none.
    pub(crate) fn alter_group_offsets(
        &self,
        group: &str,
        offsets: Vec<(TopicPartition, Option<i64>)>,
    ) -> Result<(), ConsumeError> {
        self.check(&offsets)?;
        let (mut altered, mut forgotten) = (TopicPartitionList::new(), TopicPartitionList::new());
        for (TopicPartition { topic, partition }, offset) in &offsets {
            match offset {
                Some(offset) => altered
                    .add_partition_offset(topic, *partition, Offset::Offset(*offset))
                    .map_err(|error| ConsumeError::Fatal(format!("offset {offset} of {topic}-{partition}: {error}")))?,
                None => {
                    forgotten.add_partition(topic, *partition);
                }
            }
        }
        if altered.count() > 0 {
            self.write(group, &Operation::Alter(&altered), "altering")?;
        }
        if forgotten.count() > 0 {
            self.write(group, &Operation::Forget(&forgotten), "removing")?;
        }
        Ok(())
    }

    /// Fine if there is no such group.
    pub(crate) fn delete_group(&self, group: &str) -> Result<(), ConsumeError> {
        match self.ask(group, &Operation::DeleteGroup) {
            Ok(_) => Ok(()),
            Err(refused) if is_missing(&refused) => Ok(()),
            Err(refused) => Err(failed("deleting", group, &refused)),
        }
    }

    fn ask(&self, group: &str, operation: &Operation<'_>) -> Result<Vec<Row>, Refused> {
        group_api::request(self.client.client(), group, operation, ANSWER)
    }

    fn write(&self, group: &str, operation: &Operation<'_>, doing: &str) -> Result<(), ConsumeError> {
        let removing = matches!(operation, Operation::Forget(_));
        let rows = match self.ask(group, operation) {
            // There is nothing to remove.
            Err(refused) if removing && is_missing(&refused) => return Ok(()),
            answer => answer.map_err(|refused| failed(&format!("{doing} offsets of"), group, &refused))?,
        };
        match rows.iter().find_map(|row| Some((&row.partition, row.error?))) {
            Some((partition, code)) => Err(failed_row(doing, group, partition, code)),
            None => Ok(()),
        }
    }

    /// Offsets may be set only where there is a partition, and only to what an offset can be.
    fn check(&self, offsets: &[(TopicPartition, Option<i64>)]) -> Result<(), ConsumeError> {
        let mut partitions: BTreeMap<&str, i32> = BTreeMap::new();
        for (TopicPartition { topic, partition }, offset) in offsets {
            if let Some(offset) = offset.filter(|offset| *offset < 0) {
                return Err(ConsumeError::Fatal(format!("offset {offset} of {topic}-{partition} is negative")));
            }
            if *partition < 0 {
                return Err(ConsumeError::Fatal(format!("partition {partition} of topic `{topic}` is negative")));
            }
            let count = match partitions.get(&**topic) {
                Some(count) => *count,
                None => self.partition_count(topic)?,
            };
            partitions.insert(topic, count);
            if *partition >= count {
                return Err(ConsumeError::Fatal(format!("topic `{topic}` has no partition {partition}")));
            }
        }
        Ok(())
    }

    fn partition_count(&self, topic: &str) -> Result<i32, ConsumeError> {
        let metadata = self
            .client
            .fetch_metadata(Some(topic), ANSWER)
            .map_err(|error| ConsumeError::Retriable(format!("topic `{topic}` could not be looked up: {error}")))?;
        let found = metadata.topics().iter().find(|found| found.name() == topic);
        let count = found.map_or(0, |found| found.partitions().len());
        if count == 0 {
            return Err(ConsumeError::Fatal(format!("topic `{topic}` doesn't exist")));
        }
        Ok(i32::try_from(count).unwrap_or(i32::MAX))
    }

    fn reason(&self) -> Option<String> {
        // Errors lie on the client's queue until someone polls it.
        for _ in 0..16 {
            self.client.poll(Duration::ZERO);
        }
        let reason = self.client.context().0.lock().unwrap_or_else(PoisonError::into_inner);
        reason.clone()
    }
}

/// Runs what blocks where it may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ConsumeError> + Send + 'static,
) -> Result<T, ConsumeError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ConsumeError::Fatal(format!("a request to Kafka broke off: {error}"))))
}

/// A property is wrong, where the port knows only failed requests.
pub(crate) fn wrong(error: ClientError) -> ConsumeError {
    ConsumeError::Fatal(error.0)
}

fn is_missing(refused: &Refused) -> bool {
    refused.code == Code::GroupIdNotFound
}

fn failed(doing: &str, group: &str, refused: &Refused) -> ConsumeError {
    let Refused { code, reason } = refused;
    if let Some(error) = with_members(doing, group, *code) {
        return error;
    }
    let reason = if reason.is_empty() { code.to_string() } else { reason.clone() };
    let text = format!("{doing} group `{group}` failed: {reason}");
    match code {
        Code::GroupAuthorizationFailed | Code::InvalidArgument | Code::InvalidGroupId => ConsumeError::Fatal(text),
        _ => ConsumeError::Retriable(text),
    }
}

fn failed_row(doing: &str, group: &str, partition: &TopicPartition, code: Code) -> ConsumeError {
    let TopicPartition { topic, partition } = partition;
    let doing = format!("{doing} the offset of {topic}-{partition} of");
    let refused = Refused { code, reason: String::new() };
    failed(&doing, group, &refused)
}

/// A sink's group has members as long as tasks of it run somewhere.
fn with_members(doing: &str, group: &str, code: Code) -> Option<ConsumeError> {
    match code {
        Code::NonEmptyGroup | Code::GroupSubscribedToTopic | Code::UnknownMemberId | Code::RebalanceInProgress => {
            Some(ConsumeError::Retriable(format!(
                "{doing} group `{group}` failed because the group still has members: tasks of the connector \
                 haven't stopped completely; try again in a moment"
            )))
        }
        _ => None,
    }
}

impl ClientContext for Reason {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        context::log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        context::client_error(&error, reason);
        // That all brokers are down says less than why one is.
        if error.rdkafka_error_code() != Some(Code::AllBrokersDown) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
        }
    }
}

impl ConsumerContext for Reason {}
