//! What a follower waits for after the leader has changed a connector: to know of it by itself. So a client reads from
//! a worker what it wrote through it, where Connect may say 404 of the connector that it has just created.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, Uri};
use bulkhead_herder::ClusterView;
use bulkhead_model::{ConnectorName, RawConfig};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use tokio::time::{sleep, timeout};

use super::client::Answer;

/// A worker that is further behind than this answers all the same: the change is made.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(2);

/// What a change has left behind.
#[derive(Debug, PartialEq)]
pub(super) enum Aftermath {
    Configured(Configured),
    Gone(ConnectorName),
}

/// The part of the leader's answer that says how the connector is now.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Configured {
    name: ConnectorName,
    config: RawConfig,
}

impl Aftermath {
    /// None if nothing was changed that the view shows.
    pub(super) fn of(method: &Method, uri: &Uri, answer: &Answer) -> Option<Self> {
        if !answer.status.is_success() {
            return None;
        }
        if method == Method::DELETE {
            let name = uri.path().strip_prefix("/connectors/")?;
            let name = percent_decode_str(name).decode_utf8().ok().filter(|_| !name.contains('/'))?;
            return Some(Self::Gone(ConnectorName::new(&name)));
        }
        serde_json::from_slice(&answer.body).ok().map(Self::Configured)
    }

    /// Waits until the view shows it, for a moment at most.
    pub(super) async fn shown(&self, view: impl Fn() -> Arc<ClusterView>) {
        let shown = async {
            while !self.is_in(&view()) {
                sleep(LOOK).await;
            }
        };
        if timeout(PATIENCE, shown).await.is_err() {
            tracing::debug!(aftermath = ?self, "Answered before this worker knows of the change itself.");
        }
    }

    fn is_in(&self, view: &ClusterView) -> bool {
        match self {
            Self::Configured(new) => {
                view.connectors.get(&new.name).is_some_and(|connector| connector.info.config == new.config)
            }
            Self::Gone(name) => !view.connectors.contains_key(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use tokio::time::Instant;

    use super::*;
    use crate::ports::HerderHandle;
    use crate::testing::MemoryHerder;

    const CREATED: &str =
        r#"{"name": "a/b", "config": {"connector.class": "FileSource"}, "tasks": [], "type": "source"}"#;

    fn aftermath(line: &str, status: StatusCode, body: &'static str) -> Option<Aftermath> {
        let (method, uri) = line.split_once(' ').unwrap();
        let answer = Answer { status, content_type: None, location: None, retry_after: None, body: body.into() };
        Aftermath::of(&method.parse().unwrap(), &uri.parse().unwrap(), &answer)
    }

    #[test]
    fn only_a_change_that_was_made_is_waited_for() {
        let gone = Some(Aftermath::Gone(ConnectorName::new("a/b")));
        assert_eq!(aftermath("DELETE /connectors/a%2Fb?forward=true", StatusCode::NO_CONTENT, ""), gone);
        for (line, status, body) in [
            ("DELETE /connectors/a", StatusCode::NOT_FOUND, ""),
            ("DELETE /connectors/a/offsets", StatusCode::OK, r#"{"message": ""}"#),
            ("PUT /connectors/a/stop", StatusCode::NO_CONTENT, ""),
            ("POST /connectors", StatusCode::CONFLICT, CREATED),
            ("POST /connectors/a/restart", StatusCode::ACCEPTED, r#"{"name": "a", "connector": {}, "tasks": []}"#),
        ] {
            assert_eq!(aftermath(line, status, body), None, "{line} {status}");
        }
    }

    /// How long it is waited for if the view changes after 100 ms.
    async fn waited(
        line: &str,
        status: StatusCode,
        body: &'static str,
        herder: &MemoryHerder,
        then: impl FnOnce(),
    ) -> u128 {
        let started = Instant::now();
        let change = async {
            sleep(Duration::from_millis(100)).await;
            then();
        };
        let aftermath = aftermath(line, status, body).unwrap();
        let shown = async {
            aftermath.shown(|| herder.view()).await;
            started.elapsed().as_millis()
        };
        tokio::join!(shown, change).0
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connector_is_waited_for_and_a_deleted_ones_end() {
        let herder = MemoryHerder::new();
        let took =
            waited("POST /connectors", StatusCode::CREATED, CREATED, &herder, || herder.show_connector("a/b")).await;
        assert!((100..110).contains(&took), "{took}");
        let forget = || herder.edit_view(|view| view.connectors.clear());
        let took = waited("DELETE /connectors/a%2Fb", StatusCode::NO_CONTENT, "", &herder, forget).await;
        assert!((100..110).contains(&took), "{took}");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_ever() {
        let herder = MemoryHerder::new();
        let took = waited("POST /connectors", StatusCode::CREATED, CREATED, &herder, || ()).await;
        assert_eq!(took, PATIENCE.as_millis());
    }
}
