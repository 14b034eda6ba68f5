//! Requests by REST, with a herder behind them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use bulkhead_herder::api::{Effect, Event, LoggedConfig, Millis, Refusal, Reply, RequestId};
use bulkhead_herder::{ClusterView, Herder, Mode, RestartPolicy, Settings, api};
use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance, OverridePolicy, Resolution};
use bulkhead_model::plugin::{PluginCatalog, PluginDesc, PluginKind};
use bulkhead_model::work::{self, Command, OffsetsOutcome, Validation};
use bulkhead_model::{Instance, WorkerId};
use bulkhead_rest::{
    BoxFuture, HerderHandle, Installed, InstanceUsage, Interface, Level, LevelTable, LoggerLevel, Loggers, PartUsage,
    PluginFile, PluginFiles, PluginUpload, Resources, SandboxView, ServerInfo, UploadError,
};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

thread_local! {
    static CLIENT: Client = Client::new();
}

/// Requests, with a line `%%` between them: method and path, headers, an empty line, the body.
pub fn rest(bytes: &[u8]) {
    CLIENT.with(|client| {
        client.forget();
        for request in requests(bytes).take(8) {
            client.runtime.block_on(client.send(request));
        }
    });
}

fn requests(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    const BETWEEN: &[u8] = b"\n%%\n";
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let text = rest?;
        match text.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
            Some(end) => {
                rest = Some(&text[end + BETWEEN.len()..]);
                Some(&text[..end])
            }
            None => rest.take(),
        }
    })
}

/// Routes are made once: that takes longer than to answer.
struct Client {
    runtime: Runtime,
    router: Router,
    herder: Handle,
    levels: Arc<Levels>,
}

impl Client {
    fn new() -> Self {
        let server = ServerInfo { version: "4.4".to_owned(), commit: "c".to_owned(), kafka_cluster_id: "k".to_owned() };
        let (herder, levels) = (Handle(Arc::new(Mutex::new(State::new()))), Arc::new(Levels::new()));
        let settings = bulkhead_rest::Settings::default();
        let interface =
            Interface::new(herder.clone(), levels.clone(), server, settings, Arc::new(Empty), Arc::new(Empty));
        let router = interface.router(Resources::Regular);
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
        Self { runtime, router, herder, levels }
    }

    /// Nothing stays of the requests before.
    fn forget(&self) {
        *self.herder.state() = State::new();
        *self.levels.table() = Levels::at_first();
    }

    /// Whatever is asked, the answer is no mistake of the worker's, and JSON if it is anything.
    async fn send(&self, text: &[u8]) {
        let Some(request) = parse(text) else { return };
        let response = self.router.clone().oneshot(request).await.expect("the router always answers");
        let (head, body) = response.into_parts();
        let body = to_bytes(Body::new(body), usize::MAX).await.expect("the body is in memory");
        let shown = || format!("{} {}", head.status, String::from_utf8_lossy(&body));
        assert!(head.status.as_u16() != 500, "{}", shown());
        if head.headers.get("content-type").is_some_and(|kind| kind == "application/json") {
            assert!(body.is_empty() || serde_json::from_slice::<serde_json::Value>(&body).is_ok(), "{}", shown());
        }
    }
}

/// None if the HTTP library would not have taken it.
fn parse(text: &[u8]) -> Option<Request<Body>> {
    let end = text.windows(2).position(|window| window == b"\n\n").unwrap_or(text.len());
    let mut lines = text[..end].split(|byte| *byte == b'\n');
    let (method, path) = std::str::from_utf8(lines.next()?).ok()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(path).header("host", "here:8083");
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        request = request.header(&line[..colon], line[colon + 1..].trim_ascii());
    }
    let body = text.get(end + 2..).unwrap_or_default();
    if !body.is_empty() && !request.headers_ref()?.contains_key("content-type") {
        request = request.header("content-type", "application/json");
    }
    request.body(Body::from(body.to_vec())).ok()
}

/// A standalone herder, its logs in memory, and a worker that agrees to all.
#[derive(Clone)]
struct Handle(Arc<Mutex<State>>);

struct State {
    herder: Herder,
    requests: u64,
    next_offset: i64,
}

impl Handle {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HerderHandle for Handle {
    async fn request(&self, request: api::Request) -> Result<Reply, Refusal> {
        self.state().request(request)
    }

    fn view(&self) -> Arc<ClusterView> {
        self.state().herder.view()
    }

    fn stage(&self) -> String {
        String::new()
    }
}

impl State {
    fn new() -> Self {
        static CATALOG: LazyLock<Arc<PluginCatalog>> = LazyLock::new(|| Arc::new(catalog()));
        let mut herder = Herder::new(herder_settings(Mode::Standalone));
        herder.handle(Millis(1), Event::Plugins(CATALOG.clone()));
        Self { herder, requests: 0, next_offset: 0 }
    }

    fn request(&mut self, request: api::Request) -> Result<Reply, Refusal> {
        self.requests += 1;
        let id = RequestId(self.requests);
        let mut events = VecDeque::from([Event::Request { id, request }]);
        let mut replies = BTreeMap::new();
        while let Some(event) = events.pop_front() {
            for effect in self.herder.handle(Millis(1), event) {
                match effect {
                    Effect::Reply { id, answer } => assert!(replies.insert(id, answer).is_none(), "answered twice"),
                    effect => self.carry_out(effect, &mut events),
                }
            }
        }
        replies.remove(&id).unwrap_or_else(|| Err(Refusal::Unavailable("no answer yet".to_owned())))
    }

    fn carry_out(&mut self, effect: Effect, events: &mut VecDeque<Event>) {
        match effect {
            Effect::AppendConfig { token, records } => {
                for record in records {
                    self.next_offset += 1;
                    let logged = LoggedConfig { next_offset: self.next_offset, record: Some(record) };
                    events.push_back(Event::ConfigRecord(logged));
                }
                events.push_back(Event::Appended { token, outcome: Ok(()) });
            }
            Effect::AppendStatus { token, record } => {
                events.extend([Event::StatusRecord(record), Event::Appended { token, outcome: Ok(()) }]);
            }
            Effect::Work(command) => events.extend(done(command).map(Event::Work)),
            _ => {}
        }
    }
}

/// What a worker says to whom everything is right.
fn done(command: Command) -> Option<work::Event> {
    Some(match command {
        Command::StartConnector { run, connector, target, .. } => {
            work::Event::Started { run, instance: Instance::Connector(connector), target, version: None }
        }
        Command::StartTask { run, task, target, .. } => {
            work::Event::Started { run, instance: Instance::Task(task), target, version: None }
        }
        Command::Stop { run, instance } => work::Event::Stopped { run, instance },
        Command::SetTarget { run, instance, target } => work::Event::TargetReached { run, instance, target },
        Command::ForgetTopics { .. } => return None,
        Command::TaskConfigs { token, config, .. } => work::Event::TaskConfigs { token, configs: Ok(vec![config]) },
        Command::Validate { token, .. } => work::Event::Validated { token, answer: Ok(validation()) },
        Command::AlterOffsets { token, .. } => {
            work::Event::OffsetsAltered { token, answer: Ok(OffsetsOutcome::Confirmed) }
        }
        Command::ReadOffsets { token, .. } => work::Event::OffsetsRead { token, answer: Ok(Vec::new()) },
    })
}

fn validation() -> Validation {
    Validation {
        kind: PluginKind::Source,
        version: Some("1.0".to_owned()),
        config_def: config_def(),
        values: Vec::new(),
        refused_grants: Vec::new(),
        resolution: Resolution::default(),
    }
}

fn config_def() -> ConfigDef {
    let key = ConfigKey::new("number", ConfigType::Int, DefaultValue::Value("1".to_owned()), Importance::High, "");
    ConfigDef { keys: vec![key] }
}

fn catalog() -> PluginCatalog {
    let plugin = PluginDesc {
        class: "org.example.FileSource".to_owned(),
        aliases: Vec::new(),
        kind: PluginKind::Source,
        version: Some("1.0".to_owned()),
        documentation: String::new(),
        config: config_def(),
    };
    let built_in = bulkhead_pipeline::convert::builtin_plugins().into_iter();
    PluginCatalog::new(built_in.chain(bulkhead_pipeline::transform::builtin_plugins()).chain([plugin]))
}

pub(crate) fn herder_settings(mode: Mode) -> Settings {
    let json = || "org.apache.kafka.connect.json.JsonConverter".to_owned();
    Settings {
        mode,
        worker: WorkerId("w:1".into()),
        key_converter: json(),
        value_converter: json(),
        header_converter: "org.apache.kafka.connect.storage.SimpleHeaderConverter".to_owned(),
        converter_versions: Default::default(),
        topic_tracking: true,
        overrides: OverridePolicy::All,
        restart: RestartPolicy::default(),
    }
}

struct Levels(Mutex<LevelTable>);

impl Levels {
    fn new() -> Self {
        Self(Mutex::new(Self::at_first()))
    }

    fn at_first() -> LevelTable {
        LevelTable::new(Level::Info)
    }

    fn table(&self) -> MutexGuard<'_, LevelTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loggers for Levels {
    fn list(&self) -> BTreeMap<String, LoggerLevel> {
        self.table().list()
    }

    fn get(&self, logger: &str) -> Option<LoggerLevel> {
        self.table().get(logger)
    }

    fn set(&self, logger: &str, level: Level) -> Vec<String> {
        self.table().set(logger, level, Millis(7))
    }
}

/// Neither instances nor files of plugins, and what is handed in is none.
struct Empty;

impl SandboxView for Empty {
    fn usage(&self, _: &Instance) -> Option<InstanceUsage> {
        None
    }

    fn parts(&self, _: &Instance) -> Vec<PartUsage> {
        Vec::new()
    }
}

impl PluginFiles for Empty {
    fn list(&self) -> Vec<PluginFile> {
        Vec::new()
    }

    fn max_bytes(&self) -> Option<u64> {
        Some(64)
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn PluginUpload>, UploadError>> {
        Box::pin(async { Ok(Box::new(Self) as Box<dyn PluginUpload>) })
    }
}

impl PluginUpload for Empty {
    fn write<'a>(&'a mut self, _: &'a [u8]) -> BoxFuture<'a, Result<(), UploadError>> {
        Box::pin(async { Ok(()) })
    }

    fn install(self: Box<Self>) -> BoxFuture<'static, Result<Installed, UploadError>> {
        Box::pin(async { Err(UploadError::Unusable("it is no component".to_owned())) })
    }
}
