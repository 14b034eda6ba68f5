//! Requests to the leader.

use std::time::Duration;

use bulkhead_herder::api::{Event, Token};
use bulkhead_rest::Client;
use tokio::sync::mpsc;

use crate::driver::ports::{ForwardedTasks, News, Peers};

/// How long the leader may take: as long as any request may.
const LIMIT: Duration = Duration::from_secs(90);

/// Other workers, over HTTP.
#[derive(Debug)]
pub struct HttpPeers {
    pub client: Client,
    pub news: mpsc::Sender<News>,
}

impl Peers for HttpPeers {
    fn forward_tasks(&mut self, token: Token, tasks: ForwardedTasks) {
        let (client, news) = (self.client.clone(), self.news.clone());
        tokio::spawn(async move {
            let ForwardedTasks { leader, connector, body, signature } = tasks;
            let outcome = client.publish_tasks(&leader, &connector, body, signature.as_ref(), LIMIT).await;
            let _ = news.send(News::Event(Event::Forwarded { token, outcome })).await;
        });
    }
}
