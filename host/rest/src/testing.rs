//! A herder in memory, doubles of the other ports, and a client that speaks to the router without a socket.

mod client;
mod ports;

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard};

use bulkhead_herder::api::{
    ConfigRecord, ConnectorInfo, ConnectorKind, ConnectorStatus, Event, LoggedConfig, Millis, Refusal, Reply,
    ReportedState, Request, StatusRecord, TaskInfo,
};
use bulkhead_herder::validate::ConfigInfos;
use bulkhead_herder::{ClusterView, Herder, Mode};
use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance};
use bulkhead_model::plugin::{PluginCatalog, PluginDesc, PluginKind};
use bulkhead_model::work::OffsetsOutcome;
use bulkhead_model::{ConfigPatch, ConnectorName, RawConfig, WorkerId};

use crate::ports::HerderHandle;

pub(crate) use client::{Client, listen};
pub(crate) use ports::{MemoryLoggers, MemoryPluginFiles, MemorySandbox, usage};

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
            plugin("io.example.FileSourceConnector", PluginKind::Source, Some("0.9"), &["old"]),
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
                Err(Refusal::Exists(format!("Connector {name} already exists")))
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
        converter_versions: Default::default(),
        topic_tracking: true,
        overrides: bulkhead_model::config::OverridePolicy::All,
        restart: bulkhead_herder::RestartPolicy::default(),
    }
}

pub(crate) fn state(state: &'static str, version: Option<&str>) -> ReportedState {
    let worker = WorkerId("w:1".into());
    ReportedState { state, worker, trace: None, version: version.map(str::to_owned) }
}

pub(crate) fn plugin(class: &str, kind: PluginKind, version: Option<&str>, keys: &[&str]) -> PluginDesc {
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
