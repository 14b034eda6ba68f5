//! A herder in memory, and a client that speaks to the router without a socket.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request as HttpRequest, StatusCode, header};
use bulkhead_herder::api::{
    ConfigRecord, ConnectorInfo, ConnectorKind, ConnectorStatus, Event, LoggedConfig, Millis, Refusal, Reply,
    ReportedState, Request, StatusRecord, TaskInfo,
};
use bulkhead_herder::validate::ConfigInfos;
use bulkhead_herder::{ClusterView, Herder, Mode};
use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance};
use bulkhead_model::plugin::{PluginCatalog, PluginDesc, PluginKind};
use bulkhead_model::work::OffsetsOutcome;
use bulkhead_model::{ConfigPatch, ConnectorName, Instance, RawConfig, WorkerId};
use tokio::net::TcpListener;
use tower::ServiceExt;

use crate::levels::{Level, LevelTable};
use crate::metrics::Metrics;
use crate::ports::{HerderHandle, InstanceLimits, InstanceUsage, LoggerLevel, Loggers, SandboxView, ServerInfo};
use crate::router::{Interface, Resources};
use crate::server::serve;
use crate::settings::Settings;

/// Keeps what it was asked, and connectors without checking them. Asked for the connector `broken`, it panics.
#[derive(Clone, Default)]
pub(crate) struct MemoryHerder(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    /// Gives no answers any more.
    hangs: bool,
    /// The answer to everything.
    refusal: Option<Refusal>,
    starting: bool,
    connectors: BTreeMap<ConnectorName, ConnectorInfo>,
    view: ClusterView,
}

impl MemoryHerder {
    /// With a source connector and a converter installed, and nothing created.
    pub(crate) fn new() -> Self {
        let herder = Self::default();
        herder.state().view.plugins = Arc::new(PluginCatalog::new([
            plugin("io.example.FileSourceConnector", PluginKind::Source, Some("1.0"), &["file", "topic"]),
            plugin("io.example.JsonConverter", PluginKind::Converter, Some("1.0"), &["schemas"]),
            plugin("io.example.JsonConverter", PluginKind::HeaderConverter, None, &[]),
        ]));
        herder
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// Gives no answers from now on.
    pub(crate) fn hang(&self) {
        self.state().hangs = true;
    }

    /// Refuses everything from now on, and says which worker carries it out, if anybody knows.
    pub(crate) fn refer(&self, to: Option<&str>) {
        self.refuse(Refusal::Elsewhere { to: to.map(str::to_owned) });
    }

    /// Refuses everything from now on.
    pub(crate) fn refuse(&self, refusal: Refusal) {
        self.state().refusal = Some(refusal);
    }

    /// Is from now on in the middle of its start.
    pub(crate) fn start(&self) {
        self.state().starting = true;
    }

    /// Changes what GETs see.
    pub(crate) fn edit_view(&self, edit: impl FnOnce(&mut ClusterView)) {
        edit(&mut self.state().view);
    }

    /// Lets GETs see what a real herder makes of a connector that used the topic `t` and has no status.
    pub(crate) fn show_connector(&self, name: &str) {
        let mut herder = Herder::new(herder_settings());
        herder.handle(Millis(1), Event::Plugins(self.state().view.plugins.clone()));
        let connector = ConnectorName::new(name);
        let config = Some(RawConfig::from([("connector.class", "FileSource")]));
        let used = StatusRecord::Topic {
            connector: connector.clone(),
            topic: "t".to_owned(),
            task: 0,
            used: true,
            discovered: Millis(1),
        };
        let configured = ConfigRecord::Connector { name: connector, config };
        herder.handle(Millis(1), Event::ConfigRecord(LoggedConfig { next_offset: 1, record: Some(configured) }));
        herder.handle(Millis(1), Event::StatusRecord(used));
        self.edit_view(|view| view.connectors.extend(herder.view().connectors.clone()));
    }

    /// The same with so many tasks.
    pub(crate) fn show_connector_with_tasks(&self, name: &str, tasks: u32) {
        self.show_connector(name);
        self.edit_view(|view| {
            let connector = view.connectors.get_mut(name).map(Arc::make_mut).unwrap();
            connector.info.tasks = (0..tasks).map(|number| connector.info.name.task(number)).collect();
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl HerderHandle for MemoryHerder {
    async fn request(&self, request: Request) -> Result<Reply, Refusal> {
        match request {
            _ if self.state().hangs => pending().await,
            Request::ConnectorInfo { name } if name.as_str() == "broken" => panic!("on purpose"),
            request => self.state().answer(request),
        }
    }

    fn view(&self) -> Arc<ClusterView> {
        Arc::new(self.state().view.clone())
    }

    fn stage(&self) -> String {
        "The worker is currently sleeping.".to_owned()
    }

    fn is_starting(&self) -> bool {
        self.state().starting
    }
}

impl State {
    fn answer(&mut self, request: Request) -> Result<Reply, Refusal> {
        self.requests.push(request.clone());
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        match request {
            Request::Ping | Request::ResetTopics { .. } => Ok(Reply::Done),
            Request::CreateConnector { name, .. } if self.connectors.contains_key(&name) => {
                Err(Refusal::Conflict(format!("Connector {name} already exists")))
            }
            Request::PublishTasks { name, .. } | Request::Fence { name, .. } => self.known(&name).map(|_| Reply::Done),
            Request::SetLoggerLevel { .. } => Ok(Reply::Done),
            Request::CreateConnector { name, config, .. } => Ok(Reply::Created(self.put(name, config))),
            Request::PutConfig { name, config } => match self.connectors.contains_key(&name) {
                true => Ok(Reply::Connector(self.put(name, config))),
                false => Ok(Reply::Created(self.put(name, config))),
            },
            Request::PatchConfig { name, patch } => {
                self.known(&name)?;
                Ok(Reply::Connector(self.put(name, patch)))
            }
            Request::DeleteConnector { name } => {
                self.known(&name)?;
                self.connectors.remove(&name);
                Ok(Reply::Done)
            }
            Request::ConnectorInfo { name } => Ok(Reply::Connector(self.known(&name)?)),
            Request::ConnectorConfig { name } => Ok(Reply::Config(self.known(&name)?.config)),
            Request::TaskInfos { name } => {
                let ConnectorInfo { config, tasks, .. } = self.known(&name)?;
                let task = |id| TaskInfo { id, config: config.clone() };
                Ok(Reply::Tasks(tasks.into_iter().map(task).collect()))
            }
            Request::SetTargetState { name, .. } | Request::RestartConnector { name } => {
                self.known(&name).map(|_| Reply::Done)
            }
            Request::Restart(restart) => {
                self.known(&restart.connector)?;
                Ok(Reply::Restarting((*self.view.statuses[&restart.connector]).clone()))
            }
            Request::RestartTask { id } => self.known(&id.connector).map(|_| Reply::Done),
            Request::Offsets { name } => self.known(&name).map(|_| Reply::Offsets(Vec::new())),
            Request::AlterOffsets { name, offsets } => {
                self.known(&name)?;
                Ok(Reply::OffsetsAltered { outcome: OffsetsOutcome::Confirmed, reset: offsets.is_none() })
            }
            Request::ValidateConfig { config } => {
                let name = config.get("connector.class").cloned().flatten();
                let name = name.ok_or_else(|| Refusal::BadRequest("no connector type".to_owned()))?;
                Ok(Reply::Validated(ConfigInfos { name, error_count: 0, groups: Vec::new(), configs: Vec::new() }))
            }
        }
    }

    fn known(&self, name: &ConnectorName) -> Result<ConnectorInfo, Refusal> {
        self.connectors.get(name).cloned().ok_or_else(|| Refusal::NotFound(format!("Connector {name} not found")))
    }

    /// A connector with one task, both running.
    fn put(&mut self, name: ConnectorName, config: ConfigPatch) -> ConnectorInfo {
        let config: RawConfig = config.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        let info = ConnectorInfo { name: name.clone(), config, tasks: vec![name.task(0)], kind: ConnectorKind::Source };
        self.connectors.insert(name.clone(), info.clone());
        let connector = state("RUNNING", Some("1.0"));
        let tasks = vec![(0, connector.clone())];
        let status = ConnectorStatus { name: name.clone(), kind: ConnectorKind::Source, connector, tasks };
        self.view.statuses.insert(name, Arc::new(status));
        info
    }
}

fn herder_settings() -> bulkhead_herder::Settings {
    bulkhead_herder::Settings {
        mode: Mode::Standalone,
        worker: WorkerId("w:1".into()),
        key_converter: "io.example.JsonConverter".to_owned(),
        value_converter: "io.example.JsonConverter".to_owned(),
        header_converter: "io.example.JsonConverter".to_owned(),
        topic_tracking: true,
        restart: bulkhead_herder::RestartPolicy::default(),
    }
}

pub(crate) fn state(state: &'static str, version: Option<&str>) -> ReportedState {
    let worker = WorkerId("w:1".into());
    ReportedState { state, worker, trace: None, version: version.map(str::to_owned) }
}

fn plugin(class: &str, kind: PluginKind, version: Option<&str>, keys: &[&str]) -> PluginDesc {
    let key = |key: &&str| ConfigKey::new(key, ConfigType::String, DefaultValue::Required, Importance::High, "");
    PluginDesc {
        class: class.to_owned(),
        aliases: Vec::new(),
        kind,
        version: version.map(str::to_owned),
        documentation: String::new(),
        config: ConfigDef { keys: keys.iter().map(key).collect() },
    }
}

/// Levels that nothing follows; the clock stands at 7.
pub(crate) struct MemoryLoggers(Mutex<LevelTable>);

impl MemoryLoggers {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LevelTable::new(Level::Info)))
    }
}

impl Loggers for MemoryLoggers {
    fn list(&self) -> BTreeMap<String, LoggerLevel> {
        self.0.lock().unwrap().list()
    }

    fn get(&self, logger: &str) -> Option<LoggerLevel> {
        self.0.lock().unwrap().get(logger)
    }

    fn set(&self, logger: &str, level: Level) -> Vec<String> {
        self.0.lock().unwrap().set(logger, level, Millis(7))
    }
}

/// Says of instances what it was told.
#[derive(Clone, Default)]
pub(crate) struct MemorySandbox(Arc<Mutex<BTreeMap<Instance, InstanceUsage>>>);

impl MemorySandbox {
    pub(crate) fn run(&self, instance: Instance, usage: InstanceUsage) {
        self.0.lock().unwrap().insert(instance, usage);
    }
}

impl SandboxView for MemorySandbox {
    fn usage(&self, instance: &Instance) -> Option<InstanceUsage> {
        self.0.lock().unwrap().get(instance).cloned()
    }
}

/// Of an instance that has used a bit of everything.
pub(crate) fn usage() -> InstanceUsage {
    InstanceUsage {
        memory_bytes: 20,
        peak_memory_bytes: 40,
        cpu: Duration::from_millis(1_500),
        dropped_log_lines: 7,
        limits: InstanceLimits {
            memory_bytes: 64,
            call_timeout: Duration::from_secs(30),
            cpu_burst: Duration::from_secs(10),
        },
    }
}

/// Speaks to a router of its own.
pub(crate) struct Client {
    pub(crate) herder: MemoryHerder,
    pub(crate) sandbox: MemorySandbox,
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
        let interface = Interface::new(herder.clone(), loggers, server, settings.clone());
        let interface = interface.with_sandbox(Arc::new(sandbox.clone())).with_metrics(metrics.clone());
        Self { herder, sandbox, metrics, router: interface.router(resources) }
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
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = HttpRequest::builder().method(method).uri(path).header("host", "here:8083");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
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
