//! The config topic as the leader of the group writes to it.

use std::future::Future;

use bulkhead_herder::ExactlyOnce;
use bulkhead_herder::api::{ConfigRecord, Event, NotWritten, Token};
use bulkhead_kafka::FencableLog;
use bulkhead_kafka::topic_log::{OpenError, Unwritten};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::logs::Codec;
use crate::driver::ports::{LeaderLog, News};
use crate::settings::ClusterSettings;

/// See the module's documentation.
#[derive(Debug)]
pub struct LeaderTopic {
    topic: FencableLog,
    news: mpsc::Sender<News>,
    /// Claims and appends without an outcome.
    appends: TaskTracker,
}

impl LeaderTopic {
    /// None if leaders need no claim.
    pub fn new(
        cluster: &ClusterSettings,
        news: &mpsc::Sender<News>,
        appends: &TaskTracker,
    ) -> Result<Option<Self>, OpenError> {
        match cluster.exactly_once {
            ExactlyOnce::Disabled => Ok(None),
            ExactlyOnce::Preparing => {
                let topic = FencableLog::of_leader(&cluster.logs.config)?;
                Ok(Some(Self { topic, news: news.clone(), appends: appends.clone() }))
            }
        }
    }

    fn tell(&self, event: impl Future<Output = Event> + Send + 'static) {
        let news = self.news.clone();
        self.appends.spawn(async move {
            // Whoever waits for it may have ended.
            let _ = news.send(News::Event(event.await)).await;
        });
    }
}

impl LeaderLog for LeaderTopic {
    fn claim(&mut self, token: Token) {
        let claimed = self.topic.claim();
        self.tell(async move { Event::LogClaimed { token, outcome: claimed.await } });
    }

    fn append(&mut self, token: Token, records: Vec<ConfigRecord>) {
        let appended = self.topic.append(Codec::CONFIG.entries(&records));
        self.tell(async move {
            let outcome = appended.await.map_err(|error| match error {
                Unwritten::Fenced(reason) => NotWritten::Fenced(reason),
                Unwritten::Unclaimed => NotWritten::Fenced(error.to_string()),
                Unwritten::Failed(reason) => NotWritten::Failed(reason),
            });
            Event::AppendedAsLeader { token, outcome }
        });
    }

    fn forget(&mut self) {
        self.topic.forget();
    }
}
