//! Topics: made, described, and asked for their ends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bulkhead_model::RawConfig;
use bulkhead_pipeline::ports::{ClientError, Creation, NewTopic, TopicError};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic as Wanted, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tokio::runtime::Handle;

use super::{ANSWER, Admin};
use crate::clients::Unreachable;
use crate::properties::{Effective, Role, Settings};

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Asks about topics and makes them. Clones share the client.
#[derive(Clone)]
pub struct TopicAdmin {
    inner: Arc<Inner>,
}

struct Inner {
    servers: String,
    admin: Admin,
    /// For the clients of [`Inner::requests`].
    config: ClientConfig,
}

impl TopicAdmin {
    /// The worker's own, `<client.id or group.id>-shared-admin`; connects in the background.
    pub fn of_worker(settings: &Settings) -> Result<Self, ClientError> {
        let mut properties = settings.internal(Role::Admin)?;
        properties.set_default("client.id", format!("{}-shared-admin", settings.client_prefix()));
        Self::new(settings, properties)
    }

    /// A connector's, with its `admin.override.*`.
    pub fn of_connector(settings: &Settings, client_id: &str, connector: &RawConfig) -> Result<Self, ClientError> {
        let mut properties = settings.effective(Role::Admin, connector)?;
        properties.set_default("client.id", client_id);
        Self::new(settings, properties)
    }

    fn new(settings: &Settings, mut properties: Effective) -> Result<Self, ClientError> {
        let config = properties.client_config();
        // Ends are asked for with the client's own isolation.
        properties.force("isolation.level", "read_uncommitted");
        let admin = Admin::new(&properties)?;
        let servers = settings.bootstrap_servers().to_owned();
        Ok(Self { inner: Arc::new(Inner { servers, admin, config }) })
    }

    /// Waits until a broker has answered.
    pub async fn reachable(&self, timeout: Duration) -> Result<(), Unreachable> {
        let admin = self.clone();
        let asked = tokio::task::spawn_blocking(move || admin.inner.admin.cluster_id(timeout)).await;
        let asked = asked.unwrap_or_else(|error| Err(Some(error.to_string())));
        let servers = self.inner.servers.clone();
        asked.map(|_| ()).map_err(|reason| Unreachable { servers, waited: timeout, reason })
    }

    /// Makes a topic, and waits until it can be used.
    pub async fn create_topic(&self, topic: NewTopic) -> Result<Creation, TopicError> {
        self.blocking(move |inner| inner.create(&topic)).await
    }

    /// How many partitions a topic has; none if there is no such topic.
    pub async fn partition_count(&self, topic: &str) -> Result<Option<i32>, TopicError> {
        let topic = topic.to_owned();
        self.blocking(move |inner| inner.partition_count(&topic)).await
    }

    /// The settings of a topic, defaults of the broker included.
    pub async fn topic_settings(&self, topic: &str) -> Result<BTreeMap<String, String>, TopicError> {
        let topic = topic.to_owned();
        self.blocking(move |inner| inner.settings(&topic)).await
    }

    /// For each partition of a topic the offset after its last record (the high watermark, so records of
    /// open transactions are included).
    pub async fn end_offsets(&self, topic: &str) -> Result<Vec<(i32, i64)>, TopicError> {
        let topic = topic.to_owned();
        self.blocking(move |inner| {
            let count = inner.partition_count(&topic)?.ok_or_else(|| missing(&topic))?;
            inner.offsets(&topic, 0..count, Offset::End)
        })
        .await
    }

    /// First offset and end of each partition.
    pub(crate) async fn bounds(&self, topic: &str) -> Result<Vec<Bounds>, TopicError> {
        let (admin, topic) = (self.clone(), topic.to_owned());
        self.blocking(move |_| admin.bounds_blocking(&topic)).await
    }

    pub(crate) fn bounds_blocking(&self, topic: &str) -> Result<Vec<Bounds>, TopicError> {
        let count = self.inner.partition_count(topic)?.ok_or_else(|| missing(topic))?;
        let ends = self.inner.offsets(topic, 0..count, Offset::End)?;
        // Asked for later than the ends: what is deleted in between won't come any more.
        let filled: Vec<_> = ends.iter().filter(|(_, end)| *end > 0).map(|(partition, _)| *partition).collect();
        let begins: BTreeMap<_, _> = self.inner.offsets(topic, filled, Offset::Beginning)?.into_iter().collect();
        let bounds = |(partition, end)| Bounds { partition, begin: begins.get(&partition).copied().unwrap_or(0), end };
        Ok(ends.into_iter().map(bounds).collect())
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, TopicError> + Send + 'static,
    ) -> Result<T, TopicError> {
        let inner = Arc::clone(&self.inner);
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        done.unwrap_or_else(|error| Err(TopicError::Refused(format!("a request to Kafka broke off: {error}"))))
    }
}

/// Where a partition begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) partition: i32,
    pub(crate) begin: i64,
    pub(crate) end: i64,
}

impl Inner {
    fn create(&self, topic: &NewTopic) -> Result<Creation, TopicError> {
        let NewTopic { name, partitions, replication_factor, settings } = topic;
        let mut wanted = Wanted::new(name, *partitions, TopicReplication::Fixed(*replication_factor));
        for (key, value) in settings {
            wanted = wanted.set(key, value);
        }
        let doing = format!("creating topic `{name}`");
        let client = self.requests()?;
        let answer = Handle::current().block_on(client.create_topics([&wanted], &options()));
        let answers = answer.map_err(|error| judge(&doing, &error))?;
        match answers.into_iter().next() {
            Some(Ok(_)) => self.settle(name).map(|()| Creation::Created),
            Some(Err((_, Code::TopicAlreadyExists))) => self.settle(name).map(|()| Creation::Exists),
            Some(Err((_, code))) => Err(judge_code(&doing, code)),
            None => Err(TopicError::Retriable(format!("{doing} was not answered"))),
        }
    }

    /// A new topic is not known to every broker at once.
    fn settle(&self, name: &str) -> Result<(), TopicError> {
        let deadline = Instant::now() + ANSWER;
        while self.partition_count(name)?.is_none() {
            if Instant::now() > deadline {
                return Err(TopicError::Retriable(format!("topic `{name}` was created, but doesn't appear")));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn partition_count(&self, topic: &str) -> Result<Option<i32>, TopicError> {
        let doing = format!("looking topic `{topic}` up");
        let metadata = self.admin.client.fetch_metadata(Some(topic), ANSWER).map_err(|error| judge(&doing, &error))?;
        let Some(found) = metadata.topics().iter().find(|found| found.name() == topic) else {
            return Ok(None);
        };
        match found.error().map(Code::from) {
            Some(Code::UnknownTopicOrPartition | Code::UnknownTopic) => Ok(None),
            // Made a moment ago: its partitions have no leader yet.
            Some(Code::LeaderNotAvailable) => Ok(None),
            Some(code) => Err(judge_code(&doing, code)),
            None => Ok(i32::try_from(found.partitions().len()).ok().filter(|count| *count > 0)),
        }
    }

    fn settings(&self, topic: &str) -> Result<BTreeMap<String, String>, TopicError> {
        let doing = format!("describing topic `{topic}`");
        let client = self.requests()?;
        let resources = [ResourceSpecifier::Topic(topic)];
        let answer = Handle::current().block_on(client.describe_configs(&resources, &options()));
        let answers = answer.map_err(|error| judge(&doing, &error))?;
        match answers.into_iter().next() {
            Some(Ok(resource)) => {
                let entries = resource.entries.into_iter();
                Ok(entries.filter_map(|entry| Some((entry.name, entry.value?))).collect())
            }
            Some(Err(code)) => Err(judge_code(&doing, code)),
            None => Err(TopicError::Retriable(format!("{doing} was not answered"))),
        }
    }

    /// The first or the last offset of partitions, in one request for each broker.
    fn offsets(
        &self,
        topic: &str,
        partitions: impl IntoIterator<Item = i32>,
        which: Offset,
    ) -> Result<Vec<(i32, i64)>, TopicError> {
        let partitions: Vec<_> = partitions.into_iter().collect();
        let deadline = Instant::now() + ANSWER;
        loop {
            match self.ask_offsets(topic, &partitions, which) {
                // A new topic's leaders, and those after an election, need a moment to know that they are.
                Err(TopicError::Retriable(_)) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                outcome => return outcome,
            }
        }
    }

    fn ask_offsets(&self, topic: &str, partitions: &[i32], which: Offset) -> Result<Vec<(i32, i64)>, TopicError> {
        let doing = format!("asking for the offsets of topic `{topic}`");
        let mut list = TopicPartitionList::new();
        for partition in partitions {
            list.add_partition_offset(topic, *partition, which).map_err(|error| judge(&doing, &error))?;
        }
        if list.count() == 0 {
            return Ok(Vec::new());
        }
        // Begin and end are numbers below zero, where a time would stand.
        let found = self.admin.client.offsets_for_times(list, ANSWER).map_err(|error| judge(&doing, &error))?;
        let elements = found.elements();
        let offset = |element: &rdkafka::topic_partition_list::TopicPartitionListElem<'_>| {
            element.error().map_err(|error| judge(&doing, &error))?;
            match element.offset() {
                Offset::Offset(offset) => Ok((element.partition(), offset)),
                other => Err(TopicError::Retriable(format!("{doing} was answered with {other:?}"))),
            }
        };
        elements.iter().map(offset).collect()
    }

    /// rdkafka has these requests only on a client of another kind, which nobody needs for long.
    fn requests(&self) -> Result<AdminClient<DefaultClientContext>, TopicError> {
        let client = self.config.create();
        client.map_err(|error| TopicError::Refused(format!("no admin client could be made: {error}")))
    }
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(ANSWER)).operation_timeout(Some(ANSWER))
}

fn missing(topic: &str) -> TopicError {
    TopicError::Refused(format!("topic `{topic}` doesn't exist"))
}

fn judge(doing: &str, error: &KafkaError) -> TopicError {
    match error.rdkafka_error_code() {
        Some(code) => judge_code(doing, code),
        None => TopicError::Refused(format!("{doing} failed: {error}")),
    }
}

fn judge_code(doing: &str, code: Code) -> TopicError {
    let text = format!("{doing} failed: {code}");
    match code {
        Code::ClusterAuthorizationFailed
        | Code::TopicAuthorizationFailed
        | Code::UnsupportedFeature
        | Code::UnsupportedVersion => TopicError::Denied(text),
        Code::InvalidArgument
        | Code::InvalidConfig
        | Code::InvalidPartitions
        | Code::InvalidReplicaAssignment
        | Code::InvalidReplicationFactor
        | Code::InvalidTopic
        | Code::PolicyViolation
        | Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::UnknownTopic
        | Code::UnknownTopicOrPartition => TopicError::Refused(text),
        _ => TopicError::Retriable(text),
    }
}

impl fmt::Debug for TopicAdmin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TopicAdmin({})", self.inner.servers)
    }
}
