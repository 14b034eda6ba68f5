//! First and last offsets of partitions. The isolation level is the caller's: a reader of committed records that waits
//! for the high watermark would wait for as long as a transaction is open.

use std::collections::BTreeMap;
use std::time::Duration;

use bulkhead_model::offset::TopicPartition;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{BrokerId, ListOffsetsRequest, MetadataRequest, MetadataResponse, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::{Admin, RETRY, pause};
use crate::Error;
use crate::connection::{Address, Connection, Dialer};

/// Where in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    Earliest,
    /// Behind the last record that the isolation level shows.
    Latest,
}

/// Which records count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
}

/// ListOffsets with an isolation level (KIP-98).
const WITH_ISOLATION: i16 = 2;
/// ListOffsets with a time limit.
const WITH_TIMEOUT: i16 = 10;

impl Admin {
    /// The offset of each partition, of all of them or an error. Topics that don't exist (yet) are waited for.
    pub async fn offsets(
        &self,
        partitions: &[TopicPartition],
        position: Position,
        isolation: Isolation,
    ) -> Result<BTreeMap<TopicPartition, i64>, Error> {
        let deadline = self.deadline();
        let mut found = BTreeMap::new();
        loop {
            let open: Vec<_> = partitions.iter().filter(|partition| !found.contains_key(*partition)).cloned().collect();
            if open.is_empty() {
                return Ok(found);
            }
            match ask(&self.dialer, &open, position, isolation, &mut found).await {
                Ok(()) => {}
                Err(error) if error.is_refusal() => return Err(error),
                Err(error) => pause(deadline, RETRY, error).await?,
            }
        }
    }
}

/// Asks each leader once; what is known afterwards is in `found`, the error is about something else.
async fn ask(
    dialer: &Dialer,
    open: &[TopicPartition],
    position: Position,
    isolation: Isolation,
    found: &mut BTreeMap<TopicPartition, i64>,
) -> Result<(), Error> {
    let limit = dialer.request_timeout();
    let mut any = dialer.bootstrap().await?;
    let mut outcome = Ok(());
    for (leader, partitions) in leaders(&mut any, open, limit).await? {
        let mut connection = dialer.dial(&leader).await?;
        let version = connection.version::<ListOffsetsRequest>()?;
        let request = request(version, &partitions, position, isolation, limit);
        let answer = connection.call(&request, limit).await?;
        for topic in answer.topics {
            for partition in topic.partitions {
                let name = TopicPartition { topic: topic.name.as_str().into(), partition: partition.partition_index };
                match ResponseError::try_from_code(partition.error_code) {
                    None => {
                        found.insert(name, partition.offset);
                    }
                    Some(code) => outcome = Err(refused(&name, code)),
                }
            }
        }
    }
    let missing = open.iter().find(|partition| !found.contains_key(partition));
    match (outcome, missing) {
        (Ok(()), Some(name)) => Err(refused(name, ResponseError::UnknownTopicOrPartition)),
        (outcome, _) => outcome,
    }
}

/// The partitions by the address of their leader.
async fn leaders(
    connection: &mut Connection,
    partitions: &[TopicPartition],
    limit: Duration,
) -> Result<BTreeMap<Address, Vec<TopicPartition>>, Error> {
    let mut topics: Vec<_> = partitions.iter().map(|partition| partition.topic.clone()).collect();
    topics.sort();
    topics.dedup();
    let topic = |name: std::sync::Arc<str>| MetadataRequestTopic::default().with_name(Some(topic_name(&name)));
    let request = MetadataRequest::default()
        .with_topics(Some(topics.into_iter().map(topic).collect()))
        .with_allow_auto_topic_creation(false);
    let answer = connection.call(&request, limit).await?;
    let mut leaders: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for partition in partitions {
        let address = leader(&answer, partition).map_err(|code| refused(partition, code))?;
        leaders.entry(address).or_default().push(partition.clone());
    }
    Ok(leaders)
}

fn leader(answer: &MetadataResponse, wanted: &TopicPartition) -> Result<Address, ResponseError> {
    let is_wanted = |name: &Option<TopicName>| name.as_ref().is_some_and(|name| name.as_str() == &*wanted.topic);
    let topic = answer.topics.iter().find(|topic| is_wanted(&topic.name));
    let topic = topic.ok_or(ResponseError::UnknownTopicOrPartition)?;
    ResponseError::try_from_code(topic.error_code).map_or(Ok(()), Err)?;
    let partition = topic.partitions.iter().find(|partition| partition.partition_index == wanted.partition);
    let partition = partition.ok_or(ResponseError::UnknownTopicOrPartition)?;
    ResponseError::try_from_code(partition.error_code).map_or(Ok(()), Err)?;
    let broker = answer.brokers.iter().find(|broker| broker.node_id == partition.leader_id);
    let broker = broker.ok_or(ResponseError::LeaderNotAvailable)?;
    let port = u16::try_from(broker.port).map_err(|_| ResponseError::LeaderNotAvailable)?;
    Ok(Address { host: broker.host.to_string(), port })
}

fn request(
    version: i16,
    partitions: &[TopicPartition],
    position: Position,
    isolation: Isolation,
    limit: Duration,
) -> ListOffsetsRequest {
    let timestamp = match position {
        Position::Latest => -1,
        Position::Earliest => -2,
    };
    let mut topics: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for TopicPartition { topic, partition } in partitions {
        let partition = ListOffsetsPartition::default().with_partition_index(*partition).with_timestamp(timestamp);
        topics.entry(topic).or_default().push(partition);
    }
    let topic = |(name, partitions): (&std::sync::Arc<str>, _)| {
        ListOffsetsTopic::default().with_name(topic_name(name)).with_partitions(partitions)
    };
    let mut request = ListOffsetsRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_topics(topics.into_iter().map(topic).collect());
    if version >= WITH_ISOLATION {
        request.isolation_level = match isolation {
            Isolation::ReadUncommitted => 0,
            Isolation::ReadCommitted => 1,
        };
    }
    if version >= WITH_TIMEOUT {
        request.timeout_ms = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    }
    request
}

fn refused(partition: &TopicPartition, code: ResponseError) -> Error {
    Error::refused(format!("reading the offsets of {}-{}", partition.topic, partition.partition), code, None)
}

fn topic_name(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}
