//! Before a topic is followed: it is made if there is none, and has to be of the right kind.

use bulkhead_pipeline::ports::ClientError;

use super::settings::{CREATE, LogSettings, Purpose};
use crate::admin::{Bounds, Creation, NewTopic, TopicAdmin, TopicError};
use crate::clients::Unreachable;

/// A topic can't be used as a log. `setting` is the one that names the topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("configuration `{key}`: {problem}")]
    Setting { key: String, problem: String },
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    #[error("topic `{topic}` (`{setting}`) doesn't exist, and `{CREATE}` is false")]
    Missing { topic: String, setting: &'static str },
    #[error(
        "topic `{topic}` (`{setting}`) has `cleanup.policy` = `{found}`, but it has to be `compact`: with another \
         policy the broker deletes what the worker needs"
    )]
    Policy { topic: String, setting: &'static str, found: String },
    #[error("topic `{topic}` (`{setting}`) has {found} partitions, but it has to have 1")]
    Partitions { topic: String, setting: &'static str, found: i32 },
    #[error("topic `{topic}` (`{setting}`) can't be used")]
    Topic { topic: String, setting: &'static str, source: TopicError },
    #[error("topic `{topic}` can't be followed: {reason}")]
    Client { topic: String, reason: String },
}

impl OpenError {
    pub(super) fn setting(key: &str, problem: &str) -> Self {
        Self::Setting { key: key.to_owned(), problem: problem.to_owned() }
    }

    pub(super) fn client(topic: &str, reason: impl std::fmt::Display) -> Self {
        Self::Client { topic: topic.to_owned(), reason: reason.to_string() }
    }

    pub(super) fn properties(topic: &str, error: &ClientError) -> Self {
        Self::client(topic, error)
    }
}

/// The topic's partitions, once it is there and fine.
pub(super) async fn prepare(admin: &TopicAdmin, settings: &LogSettings) -> Result<Vec<Bounds>, OpenError> {
    let LogSettings { topic, purpose, .. } = settings;
    let setting = purpose.topic_key();
    let unusable = |source| OpenError::Topic { topic: topic.clone(), setting, source };
    admin.reachable(settings.connect_timeout).await?;
    let mut partitions = admin.partition_count(topic).await.map_err(unusable)?;
    if partitions.is_none() {
        let creation = create(admin, settings).await?;
        partitions = admin.partition_count(topic).await.map_err(unusable)?;
        tracing::info!(topic, ?creation, "The topic for `{setting}` was missing.");
    }
    check_policy(admin, settings).await?;
    match partitions {
        None => Err(OpenError::Missing { topic: topic.clone(), setting }),
        Some(found) if *purpose == Purpose::Config && found != 1 => {
            Err(OpenError::Partitions { topic: topic.clone(), setting, found })
        }
        Some(_) => admin.bounds(topic).await.map_err(unusable),
    }
}

async fn create(admin: &TopicAdmin, settings: &LogSettings) -> Result<Creation, OpenError> {
    let LogSettings { topic, purpose, .. } = settings;
    let setting = purpose.topic_key();
    if !settings.create {
        return Err(OpenError::Missing { topic: topic.clone(), setting });
    }
    let mut topic_settings = settings.topic_settings.clone();
    topic_settings.insert("cleanup.policy".to_owned(), "compact".to_owned());
    let wanted = NewTopic {
        name: topic.clone(),
        partitions: settings.partitions,
        replication_factor: settings.replication_factor,
        settings: topic_settings,
    };
    let created = admin.create_topic(wanted).await;
    created.map_err(|source| OpenError::Topic { topic: topic.clone(), setting, source })
}

/// Who may not look is not kept from starting.
async fn check_policy(admin: &TopicAdmin, settings: &LogSettings) -> Result<(), OpenError> {
    let LogSettings { topic, purpose, .. } = settings;
    let setting = purpose.topic_key();
    let policy = match admin.topic_settings(topic).await {
        Ok(mut found) => found.remove("cleanup.policy"),
        Err(TopicError::Denied(reason)) => {
            tracing::info!(topic, reason, "Whether the topic is compacted could not be seen.");
            return Ok(());
        }
        Err(source) => return Err(OpenError::Topic { topic: topic.clone(), setting, source }),
    };
    match policy {
        Some(found) if found.trim() != "compact" => Err(OpenError::Policy { topic: topic.clone(), setting, found }),
        Some(_) | None => Ok(()),
    }
}
