//! Kafka itself, as a test sees it: what is in the topics, what the coordinator says of a group. For one broker,
//! uncompressed records, and little of everything.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    BrokerId, CreateTopicsRequest, DeleteGroupsRequest, DescribeGroupsRequest, FetchRequest, GroupId,
    IncrementalAlterConfigsRequest, InitProducerIdRequest, ListOffsetsRequest, MetadataRequest, ProduceRequest,
    ProducerId, RequestHeader, ResponseHeader, TopicName, TransactionalId,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use kafka_protocol::records::{self, Compression, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions};

use crate::eventually;

/// How long the broker may take for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The kind of resource in requests about configurations.
const TOPIC: i8 = 2;

/// What a broker answers that has not yet heard of a new topic.
const UNKNOWN_TOPIC: i16 = 3;
const NOT_LEADER: i16 = 6;

/// What a coordinator answers that is not ready yet.
const COORDINATOR_LOADING: i16 = 14;
const COORDINATOR_UNAVAILABLE: i16 = 15;
const CONCURRENT_TRANSACTIONS: i16 = 51;

const EARLIEST: i64 = -2;
const LATEST: i64 = -1;

/// Topics and groups of one broker.
#[derive(Clone, Debug)]
pub struct Topics {
    address: String,
}

/// A record to write.
pub type KeyAndValue<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub partition: i32,
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    /// Id and epoch of a transactional producer.
    pub producer: Option<(i64, i16)>,
    headers: Vec<(String, Option<Bytes>)>,
}

/// A group of workers, as the coordinator knows it.
#[derive(Clone, Debug)]
pub struct Described {
    /// E.g. `Stable`, `Empty`.
    pub state: String,
    /// The protocol that was chosen, e.g. `sessioned`.
    pub protocol: String,
    pub members: usize,
    /// The leader's URL, which every assignment names.
    pub leader: Option<String>,
}

impl Record {
    pub fn key_text(&self) -> String {
        String::from_utf8_lossy(self.key.as_deref().unwrap_or_default()).into_owned()
    }

    pub fn value_text(&self) -> String {
        String::from_utf8_lossy(self.value.as_deref().unwrap_or_default()).into_owned()
    }

    /// The text of a header, if it is there and has one.
    pub fn header(&self, key: &str) -> Option<String> {
        let (_, value) = self.headers.iter().find(|(name, _)| name == key)?;
        Some(String::from_utf8_lossy(value.as_deref()?).into_owned())
    }

    /// All headers, in their order.
    pub fn headers(&self) -> &[(String, Option<Bytes>)] {
        &self.headers
    }

    /// The value as JSON; null for a tombstone and for what isn't JSON.
    pub fn json(&self) -> serde_json::Value {
        self.value.as_deref().and_then(|value| serde_json::from_slice(value).ok()).unwrap_or_default()
    }
}

impl Topics {
    /// By the broker's address.
    pub fn at(address: &str) -> Self {
        Self { address: address.to_owned() }
    }

    /// Everything that is in a topic now; partition by partition.
    pub fn read(&self, topic: &str) -> anyhow::Result<Vec<Record>> {
        let mut read = Vec::new();
        for partition in 0..self.partitions(topic)? {
            let (mut at, end) = (self.offset(topic, partition, EARLIEST)?, self.offset(topic, partition, LATEST)?);
            while at < end {
                let (records, next) = self.fetch(topic, partition, at)?;
                read.extend(records.into_iter().filter(|record| record.offset < end));
                at = next;
            }
        }
        Ok(read)
    }

    /// The offset that the next record of the first partition will have.
    pub fn end(&self, topic: &str) -> anyhow::Result<i64> {
        self.offset(topic, 0, LATEST)
    }

    /// Writes records of key and value, in one batch.
    pub fn write(&self, topic: &str, partition: i32, records: &[KeyAndValue<'_>]) -> anyhow::Result<()> {
        let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
        let records: Vec<_> = records.iter().zip(0_i32..).map(|(record, at)| outgoing(*record, at, now)).collect();
        let mut batch = BytesMut::new();
        let options = RecordEncodeOptions { version: 2, compression: Compression::None };
        RecordBatchEncoder::encode(&mut batch, &records, &options)?;
        let data = PartitionProduceData::default().with_index(partition).with_records(Some(batch.freeze()));
        let data = TopicProduceData::default().with_name(name(topic)).with_partition_data(vec![data]);
        let request = ProduceRequest::default().with_acks(-1).with_timeout_ms(10_000).with_topic_data(vec![data]);
        let written = || match self.produce(&request) {
            Ok(NOT_LEADER | UNKNOWN_TOPIC) => None,
            outcome => Some(outcome),
        };
        let error = eventually(&format!("{topic} has a leader"), PATIENCE, written)??;
        ensure!(error == 0, "writing to {topic}: error {error}");
        Ok(())
    }

    /// The error code for the one partition that is written to.
    fn produce(&self, request: &ProduceRequest) -> anyhow::Result<i16> {
        let answer = self.ask(request, 8)?;
        let written = answer.responses.first().and_then(|topic| topic.partition_responses.first());
        Ok(written.context("no answer for the partition")?.error_code)
    }

    /// Makes a topic with settings of its own.
    pub fn create(&self, topic: &str, partitions: i32, configs: &[(&str, &str)]) -> anyhow::Result<()> {
        let config = |(key, value): &(&str, &str)| {
            CreatableTopicConfig::default().with_name(text(key)).with_value(Some(text(value)))
        };
        let wanted = CreatableTopic::default()
            .with_name(name(topic))
            .with_num_partitions(partitions)
            .with_replication_factor(1)
            .with_configs(configs.iter().map(config).collect());
        let request = CreateTopicsRequest::default().with_timeout_ms(10_000).with_topics(vec![wanted]);
        let answer = self.ask(&request, 4)?;
        let error = answer.topics.first().context("no answer for the topic")?.error_code;
        ensure!(error == 0, "creating {topic}: error {error}");
        Ok(())
    }

    /// Changes one setting of a topic.
    pub fn configure(&self, topic: &str, key: &str, value: &str) -> anyhow::Result<()> {
        let config = AlterableConfig::default().with_name(text(key)).with_value(Some(text(value)));
        let resource = AlterConfigsResource::default()
            .with_resource_type(TOPIC)
            .with_resource_name(text(topic))
            .with_configs(vec![config]);
        let answer = self.ask(&IncrementalAlterConfigsRequest::default().with_resources(vec![resource]), 1)?;
        let error = answer.responses.first().context("no answer for the topic")?.error_code;
        ensure!(error == 0, "changing {topic}: error {error}");
        Ok(())
    }

    pub fn group(&self, group: &str) -> anyhow::Result<Described> {
        let request = DescribeGroupsRequest::default().with_groups(vec![GroupId(text(group))]);
        let answer = self.ask(&request, 4)?;
        let found = answer.groups.into_iter().next().context("no answer for the group")?;
        ensure!(found.error_code == 0, "group {group}: error {}", found.error_code);
        Ok(Described {
            state: found.group_state.to_string(),
            protocol: found.protocol_data.to_string(),
            members: found.members.len(),
            leader: found.members.iter().find_map(|member| leader_url(member.member_assignment.clone())),
        })
    }

    /// The coordinator refuses while there are members.
    pub fn delete_group(&self, group: &str) -> anyhow::Result<()> {
        let request = DeleteGroupsRequest::default().with_groups_names(vec![GroupId(text(group))]);
        let answer = self.ask(&request, 1)?;
        let error = answer.results.first().context("no answer for the group")?.error_code;
        ensure!(error == 0, "deleting group {group}: error {error}");
        Ok(())
    }

    /// Takes the place of whoever produces under this transactional id, and writes nothing.
    pub fn claim(&self, transactional_id: &str) -> anyhow::Result<()> {
        let request = InitProducerIdRequest::default()
            .with_transactional_id(Some(TransactionalId(text(transactional_id))))
            .with_transaction_timeout_ms(10_000)
            .with_producer_id(ProducerId(-1))
            .with_producer_epoch(-1);
        let claimed = || match self.ask(&request, 3).map(|answer| answer.error_code) {
            Ok(COORDINATOR_LOADING | COORDINATOR_UNAVAILABLE | CONCURRENT_TRANSACTIONS) => None,
            outcome => Some(outcome),
        };
        let error = eventually(&format!("{transactional_id} is claimed"), PATIENCE, claimed)??;
        ensure!(error == 0, "claiming {transactional_id}: error {error}");
        Ok(())
    }

    fn partitions(&self, topic: &str) -> anyhow::Result<i32> {
        let asked = MetadataRequestTopic::default().with_name(Some(name(topic)));
        let request = MetadataRequest::default().with_topics(Some(vec![asked])).with_allow_auto_topic_creation(false);
        let answer = self.ask(&request, 5)?;
        let found = answer.topics.first().context("no answer for the topic")?;
        ensure!(found.error_code == 0, "topic {topic}: error {}", found.error_code);
        Ok(i32::try_from(found.partitions.len())?)
    }

    fn offset(&self, topic: &str, partition: i32, timestamp: i64) -> anyhow::Result<i64> {
        let asked = ListOffsetsPartition::default().with_partition_index(partition).with_timestamp(timestamp);
        let asked = ListOffsetsTopic::default().with_name(name(topic)).with_partitions(vec![asked]);
        let request = ListOffsetsRequest::default().with_replica_id(BrokerId(-1)).with_topics(vec![asked]);
        let answer = self.ask(&request, 4)?;
        let found = answer.topics.first().and_then(|topic| topic.partitions.first());
        let found = found.context("no answer for the partition")?;
        ensure!(found.error_code == 0, "{topic}-{partition}: error {}", found.error_code);
        Ok(found.offset)
    }

    /// Records from an offset on, and where to go on.
    fn fetch(&self, topic: &str, partition: i32, from: i64) -> anyhow::Result<(Vec<Record>, i64)> {
        let asked = FetchPartition::default()
            .with_partition(partition)
            .with_current_leader_epoch(-1)
            .with_fetch_offset(from)
            .with_partition_max_bytes(16 << 20);
        let asked = FetchTopic::default().with_topic(name(topic)).with_partitions(vec![asked]);
        let request = FetchRequest::default()
            .with_replica_id(BrokerId(-1))
            .with_max_wait_ms(100)
            .with_min_bytes(1)
            .with_max_bytes(32 << 20)
            .with_session_epoch(-1)
            .with_topics(vec![asked]);
        let answer = self.ask(&request, 11)?;
        let found = answer.responses.into_iter().next().and_then(|topic| topic.partitions.into_iter().next());
        let found = found.context("no answer for the partition")?;
        ensure!(found.error_code == 0, "{topic}-{partition}: error {}", found.error_code);
        let mut bytes = found.records.unwrap_or_default();
        let sets = RecordBatchDecoder::decode_all(&mut bytes)?;
        let all: Vec<_> = sets.into_iter().flat_map(|set| set.records).filter(|record| record.offset >= from).collect();
        let next = all.last().map_or(from + 1, |last| last.offset + 1);
        let seen = all.into_iter().filter(|record| !record.control).map(|record| Record {
            partition,
            offset: record.offset,
            timestamp: record.timestamp,
            key: record.key,
            value: record.value,
            producer: record.transactional.then_some((record.producer_id, record.producer_epoch)),
            headers: record.headers.into_iter().map(|(key, value)| (key.to_string(), value)).collect(),
        });
        Ok((seen.collect(), next))
    }

    /// One request on a connection of its own.
    fn ask<R: Request>(&self, request: &R, version: i16) -> anyhow::Result<R::Response> {
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_client_id(Some(StrBytes::from_static_str("bulkhead-tests")));
        let mut frame = BytesMut::new();
        header.encode(&mut frame, R::header_version(version))?;
        request.encode(&mut frame, version)?;
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(&u32::try_from(frame.len())?.to_be_bytes())?;
        stream.write_all(&frame)?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut answer = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut answer)?;
        let mut answer = Bytes::from(answer);
        ResponseHeader::decode(&mut answer, R::Response::header_version(version))?;
        R::Response::decode(&mut answer, version)
    }
}

fn outgoing((key, value): KeyAndValue<'_>, number: i32, now: i64) -> records::Record {
    records::Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: records::NO_PARTITION_LEADER_EPOCH,
        producer_id: records::NO_PRODUCER_ID,
        producer_epoch: records::NO_PRODUCER_EPOCH,
        timestamp_type: records::TimestampType::Creation,
        offset: number.into(),
        // Counted up from none, so that all of them are in one batch.
        sequence: records::NO_SEQUENCE + number,
        timestamp: now,
        key: key.map(Bytes::copy_from_slice),
        value: value.map(Bytes::copy_from_slice),
        headers: IndexMap::new(),
    }
}

/// The leader's URL in the bytes of an assignment: version, error, leader's id, leader's URL.
fn leader_url(mut assignment: Bytes) -> Option<String> {
    assignment.try_get_i32().ok()?;
    string(&mut assignment).ok()?;
    string(&mut assignment).ok()
}

fn string(bytes: &mut Bytes) -> anyhow::Result<String> {
    let length = bytes.try_get_u16()?.into();
    if bytes.len() < length {
        bail!("a string is cut short");
    }
    Ok(String::from_utf8(bytes.split_to(length).to_vec())?)
}

fn name(topic: &str) -> TopicName {
    TopicName(text(topic))
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}
