//! Configurations with references, on scripted plugins.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_doubles::{MemoryClients, MemoryOffsets, ScriptedPlugins};
use bulkhead_model::work::{Command, Event, OffsetsError, Run, Token, ValidationError};
use bulkhead_model::{ConnectorName, Instance, RawConfig, TargetState};
use bulkhead_worker::{Providers, Secrets, Settings, Worker};
use tokio::sync::mpsc;
use tokio::time::timeout;

const SECRET: &str = "S3CRET-VALUE-42";

struct Case {
    worker: Worker,
    events: mpsc::UnboundedReceiver<Event>,
}

impl Case {
    fn new() -> Self {
        let class = "org.apache.kafka.common.config.provider.EnvVarConfigProvider";
        Self::with_providers(&[("config.providers", "env"), ("config.providers.env.class", class)])
    }

    fn with_providers(providers: &[(&str, &str)]) -> Self {
        let converter = "org.apache.kafka.connect.storage.StringConverter";
        let converters = [("key.converter", converter), ("value.converter", converter)];
        let properties = converters.iter().chain(providers).copied().collect();
        let variables =
            BTreeMap::from([("SECRET".to_owned(), SECRET.to_owned()), ("TASKS".to_owned(), "3".to_owned())]);
        let providers = Providers::from_properties(&properties, &variables, Secrets::default()).unwrap();
        let settings = Settings { providers, ..Settings::from_properties(&properties).unwrap() };
        let (plugins, clients) = (Arc::new(ScriptedPlugins::default()), Arc::new(MemoryClients::default()));
        let (worker, events) = Worker::spawn(plugins, clients, Arc::new(MemoryOffsets::default()), settings);
        Self { worker, events }
    }

    async fn answer(&mut self, command: Command) -> Event {
        self.worker.send(command);
        self.next().await
    }

    async fn next(&mut self) -> Event {
        timeout(Duration::from_secs(60), self.events.recv()).await.expect("an event").expect("a worker")
    }

    async fn start_connector(&mut self, config: RawConfig) -> Event {
        self.answer(Command::StartConnector { run: Run(1), connector: name(), config, target: TargetState::Started })
            .await
    }
}

fn name() -> ConnectorName {
    ConnectorName::new("c")
}

fn config(key: &str, value: &str) -> RawConfig {
    RawConfig::from([("connector.class", "test.SourceConnector"), (key, value)])
}

/// The scripted plugin refuses with this text, in which it has the secret.
fn refused() -> RawConfig {
    config("refuse", "not with ${env:SECRET}")
}

#[tokio::test]
async fn a_trace_shows_references() {
    let mut case = Case::new();
    let Event::Failed { trace, .. } = case.start_connector(refused()).await else { panic!("it was started") };
    assert_eq!(trace, "not with ${env:SECRET}");
    let (task, config) = (name().task(0), RawConfig::new());
    let target = TargetState::Started;
    let start = Command::StartTask { run: Run(2), task, connector: refused(), config, target };
    let Event::Failed { trace, .. } = case.answer(start).await else { panic!("it was started") };
    assert_eq!(trace, "not with ${env:SECRET}");
}

#[tokio::test]
async fn nothing_is_started_without_a_value() {
    let mut case = Case::new();
    let event = case.start_connector(config("password", "${env:NONE}")).await;
    let Event::Failed { trace, .. } = event else { panic!("{event:?}") };
    assert!(trace.starts_with("Reference ${env:NONE} in configuration password can't be resolved"), "{trace}");
}

#[tokio::test]
async fn the_connector_counts_with_values() {
    let mut case = Case::new();
    let config = config("tasks.max", "${env:TASKS}");
    assert!(matches!(case.start_connector(config.clone()).await, Event::Started { .. }));
    let question = Command::TaskConfigs { token: Token(1), run: Run(1), connector: name(), config };
    let Event::TaskConfigs { configs, .. } = case.answer(question).await else { panic!("no configurations") };
    assert_eq!(configs.unwrap().len(), 3);
}

#[tokio::test]
async fn validation_tells_what_references_stand_for_and_which_stand_for_nothing() {
    let mut case = Case::new();
    let config = RawConfig::from([
        ("connector.class", "test.SourceConnector"),
        ("password", "${env:SECRET}"),
        ("other", "${env:NONE}"),
    ]);
    let event = case.answer(Command::Validate { token: Token(1), config: config.clone() }).await;
    assert!(!format!("{event:?}").contains(SECRET), "{event:?}");
    let Event::Validated { answer: Ok(validation), .. } = event else { panic!("{event:?}") };
    assert_eq!(validation.values, []);
    assert_eq!(validation.resolution.apply(&config).get("password"), Some(SECRET));
    let keys: Vec<_> = validation.resolution.problems(config.iter()).map(|(key, _)| key).collect();
    assert_eq!(keys, ["other"]);
}

#[tokio::test]
async fn answers_to_requests_show_references() {
    let mut case = Case::new();
    let event = case.answer(Command::Validate { token: Token(1), config: refused() }).await;
    let answer = Err(ValidationError::Failed("not with ${env:SECRET}".to_owned()));
    assert_eq!(event, Event::Validated { token: Token(1), answer });
    let alter = Command::AlterOffsets { token: Token(2), connector: name(), config: refused(), offsets: None };
    let answer = Err(OffsetsError::Refused("not with ${env:SECRET}".to_owned()));
    assert_eq!(case.answer(alter).await, Event::OffsetsAltered { token: Token(2), answer });
}

/// A worker that reads files anew after 10 ms, and a configuration that refers to one.
fn rotating(folder: &Path, reload: &str) -> (Case, RawConfig) {
    let file = folder.join("secrets.properties");
    let case = Case::with_providers(&[
        ("config.providers", "file"),
        ("config.providers.file.class", "org.apache.kafka.common.config.provider.FileConfigProvider"),
        ("config.providers.file.param.ttl.ms", "10"),
    ]);
    std::fs::write(&file, "password=first-secret").unwrap();
    let mut config = config("password", &format!("${{file:{}:password}}", file.display()));
    config.set("config.action.reload", reload);
    (case, config)
}

#[tokio::test]
async fn an_instance_whose_values_have_changed_is_reported_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (mut case, config) = rotating(folder.path(), "restart");
    let Event::Started { .. } = case.start_connector(config.clone()).await else { panic!("it was not started") };
    std::fs::write(folder.path().join("secrets.properties"), "password=second-secret").unwrap();
    let changed = Event::ValuesChanged { run: Run(1), instance: Instance::Connector(name()) };
    for _ in 0..2 {
        assert_eq!(case.next().await, changed);
    }
    let stop = Command::Stop { run: Run(1), instance: Instance::Connector(name()) };
    case.worker.send(stop);
    while case.next().await == changed {}
    // The next life is told the new value, and so there is no news.
    let Event::Started { .. } = case.start_connector(config).await else { panic!("it was not started") };
    assert!(timeout(Duration::from_millis(100), case.events.recv()).await.is_err());
}

#[tokio::test]
async fn a_file_that_is_gone_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (mut case, config) = rotating(folder.path(), "restart");
    let Event::Started { .. } = case.start_connector(config).await else { panic!("it was not started") };
    std::fs::remove_file(folder.path().join("secrets.properties")).unwrap();
    assert!(timeout(Duration::from_millis(100), case.events.recv()).await.is_err());
}

#[tokio::test]
async fn who_wants_no_restart_is_not_looked_after() {
    let folder = tempfile::tempdir().unwrap();
    let (mut case, config) = rotating(folder.path(), "none");
    let Event::Started { .. } = case.start_connector(config).await else { panic!("it was not started") };
    std::fs::write(folder.path().join("secrets.properties"), "password=second-secret").unwrap();
    assert!(timeout(Duration::from_millis(100), case.events.recv()).await.is_err());
}
