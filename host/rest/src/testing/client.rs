//! A client of a router of its own, without a socket.

use std::future::pending;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use bulkhead_model::{ConfigPatch, ConnectorName};
use futures::stream;
use tokio::net::TcpListener;
use tower::ServiceExt;

use super::{MemoryHerder, MemoryLoggers, MemoryPluginFiles, MemorySandbox};
use crate::metrics::Metrics;
use crate::ports::ServerInfo;
use crate::router::{Interface, Resources};
use crate::server::serve;
use crate::settings::Settings;

/// Speaks to a router of its own.
pub(crate) struct Client {
    pub(crate) herder: MemoryHerder,
    pub(crate) sandbox: MemorySandbox,
    pub(crate) plugin_files: MemoryPluginFiles,
    pub(crate) metrics: Metrics,
    router: Router,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Client {
    pub(crate) fn new() -> Self {
        Self::with(&Settings::default(), Resources::Regular)
    }

    pub(crate) fn with(settings: &Settings, resources: Resources) -> Self {
        let herder = MemoryHerder::new();
        let (sandbox, metrics) = (MemorySandbox::default(), Metrics::default());
        let loggers = Arc::new(MemoryLoggers::new());
        let text = str::to_owned;
        let server = ServerInfo { version: text("4.4"), commit: text("c"), kafka_cluster_id: text("k") };
        let plugin_files = MemoryPluginFiles::default();
        let (usage, files) = (Arc::new(sandbox.clone()), Arc::new(plugin_files.clone()));
        let interface = Interface::new(herder.clone(), loggers, server, settings.clone(), usage, files);
        let interface = interface.with_metrics(metrics.clone());
        Self { herder, sandbox, plugin_files, metrics, router: interface.router(resources) }
    }

    pub(crate) fn router(&self) -> Router {
        self.router.clone()
    }

    /// Lets others reach the router too; returns its URL, which ends in a slash.
    pub(crate) async fn listen(&self) -> String {
        listen(self.router.clone()).await
    }

    /// With a connector, which the herder's list of requests doesn't show.
    pub(crate) async fn with_connector(name: &str) -> Self {
        let client = Self::new();
        client
            .herder
            .state()
            .put(ConnectorName::new(name), ConfigPatch::from([("k".to_owned(), Some("v".to_owned()))]));
        client
    }

    /// `METHOD /path`, and a body declared as JSON unless it is empty.
    pub(crate) async fn send(&self, line: &str, body: &str) -> Answer {
        let declared: &[_] = if body.is_empty() { &[] } else { &[("content-type", "application/json")] };
        self.send_with(line, declared, body).await
    }

    /// With headers as given and no others but `Host`.
    pub(crate) async fn send_with(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.exchange(line, headers, Body::from(body.to_owned())).await
    }

    /// With a body that comes in pieces and may break off.
    pub(crate) async fn send_pieces<const N: usize>(
        &self,
        line: &str,
        headers: &[(&str, &str)],
        pieces: [io::Result<&'static str>; N],
    ) -> Answer {
        self.exchange(line, headers, Body::from_stream(stream::iter(pieces))).await
    }

    async fn exchange(&self, line: &str, headers: &[(&str, &str)], body: Body) -> Answer {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path).header("host", "here:8083");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body).unwrap();
        let (head, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let body = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
        Answer { status: head.status, headers: head.headers, body }
    }

    /// Status and body as one text. Every body but the one of OPTIONS must be JSON.
    pub(crate) async fn ask(&self, line: &str, body: &str) -> String {
        let answer = self.send(line, body).await;
        assert!(answer.body.is_empty() || answer.header("content-type") == "application/json", "{}", answer.body);
        format!("{} {}", answer.status.as_u16(), answer.body).trim_end().to_owned()
    }
}

/// Serves on a port of this machine for as long as the test runs.
pub(crate) async fn listen(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(serve(listener, router, pending()));
    url
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// The message of an error, whose code must be the status.
    pub(crate) fn message(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(body["error_code"], self.status.as_u16());
        assert_eq!(self.header(header::CONTENT_TYPE.as_str()), "application/json");
        body["message"].as_str().unwrap().to_owned()
    }
}
