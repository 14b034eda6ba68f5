//! The worker on scripted plugins and clients in memory.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bulkhead_doubles::{
    MemoryClients, MemoryOffsets, ScriptedConnector, ScriptedPlugins, ScriptedSource, eventually, texts,
};
use bulkhead_model::offset::OffsetEntry;
use bulkhead_model::plugin::PluginKind;
use bulkhead_model::work::{Command, Event, OffsetsError, OffsetsOutcome, Run, Token, ValidationError};
use bulkhead_model::{ConnectorName, Instance, RawConfig, TargetState};
use bulkhead_pipeline::ports::{ErrorInfo, PluginError};
use bulkhead_worker::{Settings, Worker};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(5);
const GRACE: Duration = Duration::from_millis(100);

struct Case {
    plugins: ScriptedPlugins,
    clients: MemoryClients,
    offsets: MemoryOffsets,
    worker: Worker,
    events: mpsc::UnboundedReceiver<Event>,
}

impl Case {
    fn new() -> Self {
        let (plugins, clients, offsets) =
            (ScriptedPlugins::default(), MemoryClients::default(), MemoryOffsets::default());
        let properties = RawConfig::from([
            ("task.shutdown.graceful.timeout.ms", "100"),
            ("offset.flush.interval.ms", "20"),
            ("value.converter", "StringConverter"),
            ("key.converter", "StringConverter"),
            ("header.converter", "StringConverter"),
        ]);
        let settings = Settings::from_properties(&properties).unwrap();
        let (worker, events) =
            Worker::spawn(Arc::new(plugins.clone()), Arc::new(clients.clone()), Arc::new(offsets.clone()), settings);
        Self { plugins, clients, offsets, worker, events }
    }

    async fn event(&mut self) -> Event {
        timeout(SOON, self.events.recv()).await.expect("an event").expect("a worker")
    }

    async fn start_connector(&mut self, target: TargetState) -> Event {
        self.worker.send(Command::StartConnector { run: Run(1), connector: name(), config: source(), target });
        self.event().await
    }

    async fn start_task(&mut self, target: TargetState) -> Event {
        let (task, config) = (name().task(0), RawConfig::new());
        self.worker.send(Command::StartTask { run: Run(2), task, connector: source(), config, target });
        self.event().await
    }
}

fn name() -> ConnectorName {
    ConnectorName::new("c")
}

fn connector() -> Instance {
    Instance::Connector(name())
}

fn task() -> Instance {
    Instance::Task(name().task(0))
}

fn source() -> RawConfig {
    RawConfig::from([("connector.class", "test.SourceConnector"), ("tasks.max", "2")])
}

fn sink() -> RawConfig {
    RawConfig::from([("connector.class", "test.SinkConnector"), ("topics", "t"), ("tasks.max", "1")])
}

fn started(run: u64, instance: Instance, target: TargetState) -> Event {
    Event::Started { run: Run(run), instance, target, version: Some("1.2.3".to_owned()) }
}

#[tokio::test]
async fn a_connector_is_started_asked_for_tasks_and_stopped() {
    let mut case = Case::new();
    let scripted = ScriptedConnector::default();
    case.plugins.put_connector("c", scripted.clone());
    assert_eq!(case.start_connector(TargetState::Started).await, started(1, connector(), TargetState::Started));
    case.worker.send(Command::TaskConfigs { token: Token(5), run: Run(1), connector: name(), config: source() });
    let Event::TaskConfigs { token: Token(5), configs: Ok(configs) } = case.event().await else { panic!("no configs") };
    assert_eq!(configs.len(), 2);
    assert_eq!(configs[1], RawConfig::from([("number", "1")]));
    case.worker.send(Command::Stop { run: Run(1), instance: connector() });
    assert_eq!(case.event().await, Event::Stopped { run: Run(1), instance: connector() });
    assert_eq!(scripted.log(), ["start", "stop"]);
}

#[tokio::test]
async fn a_paused_connector_has_no_instance_until_it_is_resumed() {
    let mut case = Case::new();
    let scripted = ScriptedConnector::default();
    case.plugins.put_connector("c", scripted.clone());
    assert_eq!(case.start_connector(TargetState::Paused).await, started(1, connector(), TargetState::Paused));
    assert!(scripted.log().is_empty());
    for (target, log) in [(TargetState::Started, 1), (TargetState::Paused, 2), (TargetState::Stopped, 2)] {
        case.worker.send(Command::SetTarget { run: Run(1), instance: connector(), target });
        assert_eq!(case.event().await, Event::TargetReached { run: Run(1), instance: connector(), target });
        assert_eq!(scripted.log().len(), log);
    }
}

#[tokio::test]
async fn a_connector_that_does_not_stop_is_gone_all_the_same() {
    let mut case = Case::new();
    case.plugins.put_connector("c", ScriptedConnector::stuck());
    case.start_connector(TargetState::Started).await;
    let asked = Instant::now();
    case.worker.send(Command::Stop { run: Run(1), instance: connector() });
    assert_eq!(case.event().await, Event::Stopped { run: Run(1), instance: connector() });
    assert!(asked.elapsed() < GRACE + Duration::from_secs(2));
}

#[tokio::test]
async fn a_connector_says_that_it_wants_other_tasks() {
    let mut case = Case::new();
    let scripted = ScriptedConnector::default();
    case.plugins.put_connector("c", scripted.clone());
    case.start_connector(TargetState::Started).await;
    scripted.ask_for_reconfiguration();
    assert_eq!(case.event().await, Event::ReconfigurationWanted { run: Run(1), connector: name() });
}

#[tokio::test]
async fn a_task_moves_records_and_says_which_topic_it_uses() {
    let mut case = Case::new();
    case.plugins.put_source("c", 0, ScriptedSource::new([Ok(texts(1, &["a", "b"]))]));
    assert_eq!(case.start_task(TargetState::Started).await, started(2, task(), TargetState::Started));
    let used = Event::TopicUsed { run: Run(2), task: name().task(0), topic: "t".to_owned() };
    assert_eq!(case.event().await, used);
    eventually("records arrive", SOON, || case.clients.values() == ["a", "b"]).await;
    case.worker.send(Command::Stop { run: Run(2), instance: task() });
    assert_eq!(case.event().await, Event::Stopped { run: Run(2), instance: task() });
    assert_eq!(case.offsets.get("c", r#"{"p":1}"#).as_deref(), Some(r#"{"at":2}"#));
}

#[tokio::test]
async fn a_task_that_fails_says_why_and_stopping_it_is_answered() {
    let mut case = Case::new();
    let error =
        PluginError::Failed(ErrorInfo { message: "no database".to_owned(), causes: vec!["refused".to_owned()] });
    case.plugins.put_source("c", 0, ScriptedSource::new([Err(error)]));
    case.start_task(TargetState::Started).await;
    let trace = "poll: no database\ncaused by: refused".to_owned();
    assert_eq!(case.event().await, Event::Failed { run: Run(2), instance: task(), trace });
    case.worker.send(Command::Stop { run: Run(2), instance: task() });
    assert_eq!(case.event().await, Event::Stopped { run: Run(2), instance: task() });
}

#[tokio::test]
async fn a_task_without_its_plugin_fails_by_name() {
    let mut case = Case::new();
    let connector = RawConfig::from([("connector.class", "gone.Connector")]);
    let (task, config, target) = (name().task(0), RawConfig::new(), TargetState::Started);
    case.worker.send(Command::StartTask { run: Run(2), task, connector, config, target });
    let Event::Failed { trace, .. } = case.event().await else { panic!("it runs") };
    assert!(trace.contains("gone.Connector"), "{trace}");
}

#[tokio::test]
async fn a_sink_has_the_dead_letter_queue_that_its_configuration_asks_for() {
    let mut case = Case::new();
    let mut connector = sink();
    for (key, value) in [
        ("errors.tolerance", "all"),
        ("errors.deadletterqueue.topic.name", "dead"),
        ("value.converter", "LongConverter"),
    ] {
        connector.set(key, value);
    }
    let (task, config, target) = (name().task(0), RawConfig::new(), TargetState::Started);
    case.worker.send(Command::StartTask { run: Run(2), task, connector, config, target });
    assert_eq!(case.event().await, started(2, self::task(), target));
    let [made] = &case.clients.topics().created()[..] else { panic!("one topic") };
    assert_eq!((made.name.as_str(), made.partitions, made.replication_factor), ("dead", 1, 3));
    case.clients.consumers()[0].assign("t", 0);
    case.clients.consumers()[0].records("t", 0, &["no number"]);
    eventually("the record is in the queue", SOON, || case.clients.dead_letters() == ["no number"]).await;
}

#[tokio::test]
async fn a_source_makes_topics_as_its_configuration_says_or_fails_by_the_key() {
    let mut case = Case::new();
    let mut connector = source();
    connector.set("topic.creation.default.partitions", "2");
    let start = |connector: &RawConfig| {
        let (task, config, target) = (name().task(0), RawConfig::new(), TargetState::Started);
        Command::StartTask { run: Run(2), task, connector: connector.clone(), config, target }
    };
    case.worker.send(start(&connector));
    let Event::Failed { trace, .. } = case.event().await else { panic!("it runs") };
    assert!(trace.contains("topic.creation.default.replication.factor"), "{trace}");

    let case = Case::new();
    connector.set("topic.creation.default.replication.factor", "1");
    case.plugins.put_source("c", 0, ScriptedSource::new([Ok(texts(1, &["a"]))]));
    case.worker.send(start(&connector));
    eventually("the record arrives", SOON, || case.clients.values() == ["a"]).await;
    assert_eq!(case.clients.topics().created()[0].partitions, 2);
}

#[tokio::test]
async fn a_task_is_paused_and_resumed() {
    let mut case = Case::new();
    case.plugins.put_source("c", 0, ScriptedSource::default());
    assert_eq!(case.start_task(TargetState::Paused).await, started(2, task(), TargetState::Paused));
    case.worker.send(Command::SetTarget { run: Run(2), instance: task(), target: TargetState::Started });
    assert_eq!(case.event().await, started(2, task(), TargetState::Started));
    let target = TargetState::Paused;
    case.worker.send(Command::SetTarget { run: Run(2), instance: task(), target });
    assert_eq!(case.event().await, Event::TargetReached { run: Run(2), instance: task(), target });
}

#[tokio::test]
async fn commands_for_a_run_that_is_over_change_nothing() {
    let mut case = Case::new();
    case.plugins.put_source("c", 0, ScriptedSource::default());
    case.start_task(TargetState::Started).await;
    case.worker.send(Command::Stop { run: Run(1), instance: task() });
    assert_eq!(case.event().await, Event::Stopped { run: Run(1), instance: task() });
    case.worker.send(Command::SetTarget { run: Run(2), instance: task(), target: TargetState::Paused });
    let paused = Event::TargetReached { run: Run(2), instance: task(), target: TargetState::Paused };
    assert_eq!(case.event().await, paused);
}

#[tokio::test]
async fn validation_asks_the_plugin_unless_a_grant_is_refused() {
    let mut case = Case::new();
    case.worker.send(Command::Validate { token: Token(1), config: source() });
    let Event::Validated { answer: Ok(validation), .. } = case.event().await else { panic!("refused") };
    assert_eq!((validation.kind, validation.values.len()), (PluginKind::Source, 1));

    let mut greedy = source();
    greedy.set("sandbox.memory", "9999999999");
    case.worker.send(Command::Validate { token: Token(2), config: greedy });
    let Event::Validated { answer: Ok(validation), .. } = case.event().await else { panic!("refused") };
    assert_eq!((validation.refused_grants.len(), validation.values.len()), (1, 0));

    let unknown = RawConfig::from([("connector.class", "no.Such")]);
    case.worker.send(Command::Validate { token: Token(3), config: unknown });
    let Event::Validated { answer: Err(ValidationError::UnknownClass(message)), .. } = case.event().await else {
        panic!("known")
    };
    assert!(message.contains("no.Such") && message.contains("test.SourceConnector"), "{message}");

    let mut failing = source();
    failing.set("refuse", "not today");
    case.worker.send(Command::Validate { token: Token(4), config: failing });
    let answer = Err(ValidationError::Failed("not today".to_owned()));
    assert_eq!(case.event().await, Event::Validated { token: Token(4), answer });
}

fn entry(partition: Value, offset: Value) -> OffsetEntry {
    let members = |value: Value| value.as_object().cloned();
    OffsetEntry { partition: members(partition), offset: members(offset) }
}

#[tokio::test]
async fn source_offsets_are_altered_read_and_reset() {
    let mut case = Case::new();
    let alter = |offsets| Command::AlterOffsets { token: Token(1), connector: name(), config: source(), offsets };
    let read = Command::ReadOffsets { token: Token(2), connector: name(), config: source() };
    let confirmed = Event::OffsetsAltered { token: Token(1), answer: Ok(OffsetsOutcome::Confirmed) };
    let wanted = entry(json!({"p": 1}), json!({"at": 7}));
    case.worker.send(alter(Some(vec![wanted.clone()])));
    assert_eq!(case.event().await, confirmed);
    case.worker.send(read.clone());
    assert_eq!(case.event().await, Event::OffsetsRead { token: Token(2), answer: Ok(vec![wanted]) });
    case.worker.send(alter(None));
    assert_eq!(case.event().await, confirmed);
    case.worker.send(read);
    assert_eq!(case.event().await, Event::OffsetsRead { token: Token(2), answer: Ok(vec![]) });
}

#[tokio::test]
async fn sink_offsets_are_those_of_the_group() {
    let mut case = Case::new();
    let alter = |offsets| Command::AlterOffsets { token: Token(1), connector: name(), config: sink(), offsets };
    let partition = json!({"kafka_topic": "t", "kafka_partition": 0});
    case.worker.send(alter(Some(vec![entry(partition.clone(), json!({"kafka_offset": 3}))])));
    let answer = Ok(OffsetsOutcome::FrameworkOnly);
    assert_eq!(case.event().await, Event::OffsetsAltered { token: Token(1), answer });
    assert_eq!(case.clients.group().len(), 1);
    case.worker.send(alter(Some(vec![entry(partition, json!({"kafka_offset": "three"}))])));
    let refused = case.event().await;
    assert!(matches!(refused, Event::OffsetsAltered { answer: Err(OffsetsError::Refused(_)), .. }), "{refused:?}");
    case.worker.send(alter(None));
    case.event().await;
    assert!(case.clients.group().is_empty());
}

#[tokio::test]
async fn when_the_worker_ends_everything_that_runs_is_stopped_first() {
    let mut case = Case::new();
    let scripted = ScriptedConnector::default();
    case.plugins.put_connector("c", scripted.clone());
    case.start_connector(TargetState::Started).await;
    drop(case.worker);
    let last = timeout(SOON, case.events.recv()).await.unwrap();
    assert_eq!(last, Some(Event::Stopped { run: Run(1), instance: connector() }));
    assert_eq!(timeout(SOON, case.events.recv()).await.unwrap(), None);
    assert_eq!(scripted.log(), ["start", "stop"]);
}
