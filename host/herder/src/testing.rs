//! A driver and a worker in memory, for tests.
//!
//! [`Sim`] carries out the herder's effects: its logs echo what is appended, its [`worker`](FakeWorker)
//! does as it is told and as the configuration of a connector says (`test.…` keys).

mod worker;

use std::collections::VecDeque;
use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance, OverridePolicy};
use bulkhead_model::plugin::{PluginCatalog, PluginDesc, PluginKind};
use bulkhead_model::work::{Command, Event as WorkEvent, Token};
use bulkhead_model::{ConfigPatch, ConnectorName, Instance, RawConfig, TargetState, WorkerId};

use crate::api::{ConfigRecord, Effect, Event, LoggedConfig, Millis, Refusal, Reply, Request, RequestId, StatusRecord};
use crate::{Herder, Mode, RestartPolicy, Settings};
pub(crate) use worker::FakeWorker;

pub(crate) const SOURCE: &str = "io.example.NumbersSourceConnector";
pub(crate) const SINK: &str = "io.example.FileSinkConnector";

/// See the module's documentation.
pub(crate) struct Sim {
    pub(crate) herder: Herder,
    pub(crate) worker: FakeWorker,
    pub(crate) now: Millis,
    /// Whatever has been appended to the config log.
    pub(crate) log: Vec<ConfigRecord>,
    /// Replies in the order in which they went out.
    pub(crate) replies: Vec<(RequestId, Result<Reply, Refusal>)>,
    /// What the worker was told, as text.
    pub(crate) told: Vec<String>,
    pub(crate) pending: Pending,
    /// How the next appends to the config log end, instead of well.
    pub(crate) append_errors: VecDeque<AppendError>,
    /// So many of the next appends to the status log fail.
    pub(crate) status_errors: usize,
    /// The worker answers questions, but doesn't get to start or stop anything.
    pub(crate) slow: bool,
    last_request: u64,
    next_offset: i64,
}

/// An append that is answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppendError {
    /// Nothing was written.
    Lost,
    /// All was written: only the acknowledgement got lost.
    Unacknowledged,
}

/// What is on its way. Each queue is in order; between them there is none.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) config: VecDeque<ConfigRecord>,
    pub(crate) status: VecDeque<StatusRecord>,
    pub(crate) acks: VecDeque<(Token, Result<(), String>)>,
    pub(crate) commands: VecDeque<Command>,
    pub(crate) news: VecDeque<WorkEvent>,
}

/// One of the things that may happen next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    Config,
    Status,
    Ack,
    Command,
    News,
}

impl Sim {
    pub(crate) fn new() -> Self {
        let settings = Settings {
            mode: Mode::Standalone,
            worker: WorkerId("worker:8083".into()),
            key_converter: "org.apache.kafka.connect.json.JsonConverter".to_owned(),
            value_converter: "org.apache.kafka.connect.json.JsonConverter".to_owned(),
            header_converter: "org.apache.kafka.connect.storage.SimpleHeaderConverter".to_owned(),
            converter_versions: Default::default(),
            topic_tracking: true,
            overrides: OverridePolicy::All,
            restart: RestartPolicy::default(),
        };
        let mut sim = Self {
            herder: Herder::new(settings),
            worker: FakeWorker::default(),
            now: Millis(0),
            log: Vec::new(),
            replies: Vec::new(),
            told: Vec::new(),
            pending: Pending::default(),
            append_errors: VecDeque::new(),
            status_errors: 0,
            slow: false,
            last_request: 0,
            next_offset: 0,
        };
        sim.deliver(Event::Plugins(Arc::new(catalog())));
        sim
    }

    pub(crate) fn deliver(&mut self, event: Event) {
        for effect in self.herder.handle(self.now, event) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Reply { id, answer } => self.replies.push((id, answer)),
            Effect::AppendConfig { token, records } => self.append_config(token, records),
            Effect::AppendStatus { token, .. } if self.status_errors > 0 => {
                self.status_errors -= 1;
                self.pending.acks.push_back((token, Err("no broker".to_owned())));
            }
            Effect::AppendStatus { token, record } => {
                self.pending.status.push_back(record);
                self.pending.acks.push_back((token, Ok(())));
            }
            Effect::Work(command) => {
                self.told.extend(worker::describe(&command));
                self.pending.commands.push_back(command);
            }
            effect @ (Effect::ReadToEnd { .. }
            | Effect::ClaimLog { .. }
            | Effect::AppendAsLeader { .. }
            | Effect::ForgetClaim
            | Effect::Join { .. }
            | Effect::Assign { .. }
            | Effect::Leave { .. }
            | Effect::ForwardTasks { .. }
            | Effect::NewSessionKey { .. }
            | Effect::SetLoggerLevel { .. }
            | Effect::Finished) => panic!("a standalone worker does {effect:?}"),
        }
    }

    /// A record is read from the config log.
    pub(crate) fn log(&mut self, record: ConfigRecord) {
        self.next_offset += 1;
        self.deliver(Event::ConfigRecord(LoggedConfig { next_offset: self.next_offset, record: Some(record) }));
    }

    fn append_config(&mut self, token: Token, records: Vec<ConfigRecord>) {
        let error = self.append_errors.pop_front();
        if error != Some(AppendError::Lost) {
            self.log.extend(records.iter().cloned());
            self.pending.config.extend(records);
        }
        let outcome = if error.is_some() { Err("no broker".to_owned()) } else { Ok(()) };
        self.pending.acks.push_back((token, outcome));
    }

    /// What could happen next.
    pub(crate) fn choices(&self) -> Vec<Next> {
        let Pending { config, status, acks, news, .. } = &self.pending;
        let choices = [
            (Next::Config, config.is_empty()),
            (Next::Ack, acks.is_empty()),
            (Next::Status, status.is_empty()),
            (Next::News, news.is_empty()),
            (Next::Command, self.next_command().is_none()),
        ];
        choices.into_iter().filter(|(_, empty)| !empty).map(|(next, _)| next).collect()
    }

    pub(crate) fn happen(&mut self, next: Next) {
        match next {
            Next::Config => {
                let record = self.pending.config.pop_front().unwrap();
                self.log(record);
            }
            Next::Status => {
                let record = self.pending.status.pop_front().unwrap();
                self.deliver(Event::StatusRecord(record));
            }
            Next::Ack => {
                let (token, outcome) = self.pending.acks.pop_front().unwrap();
                self.deliver(Event::Appended { token, outcome });
            }
            Next::Command => {
                let position = self.next_command().unwrap();
                self.carry_out(position);
            }
            Next::News => {
                let event = self.pending.news.pop_front().unwrap();
                self.deliver(Event::Work(event));
            }
        }
    }

    fn next_command(&self) -> Option<usize> {
        self.pending.commands.iter().position(|command| !self.slow || command.instance().is_none())
    }

    /// The worker carries out a command, not necessarily the first: only those for one instance keep
    /// their order.
    pub(crate) fn carry_out(&mut self, position: usize) {
        let commands = &self.pending.commands;
        let instance = commands.get(position).and_then(Command::instance);
        let first = commands.iter().position(|command| command.instance() == instance).unwrap_or_default();
        let command = self.pending.commands.remove(first).unwrap();
        let news = self.worker.carry_out(command);
        self.pending.news.extend(news);
    }

    /// Lets happen whatever happens, until nothing does any more. Time stands still.
    pub(crate) fn settle(&mut self) {
        loop {
            match self.choices().first().copied() {
                Some(next) => self.happen(next),
                None if self.herder.next_deadline().is_some_and(|due| due <= self.now) => self.deliver(Event::Tick),
                None => return,
            }
        }
    }

    pub(crate) fn send(&mut self, request: Request) -> RequestId {
        self.last_request += 1;
        let id = RequestId(self.last_request);
        self.deliver(Event::Request { id, request });
        id
    }

    /// Sends a request, lets everything settle, and takes the answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, request: Request) -> Result<Reply, Refusal> {
        let id = self.send(request);
        self.settle();
        self.answer(id).expect("a request is answered once things are quiet")
    }

    pub(crate) fn answer(&self, id: RequestId) -> Option<Result<Reply, Refusal>> {
        let answers: Vec<_> = self.replies.iter().filter(|(other, _)| *other == id).collect();
        assert!(answers.len() <= 1, "a request was answered twice: {answers:?}");
        answers.first().map(|(_, answer)| answer.clone())
    }

    /// The states of a connector and its tasks as `GET …/status` shows them.
    pub(crate) fn status(&self, name: &str) -> String {
        let view = self.herder.view();
        let Some(status) = view.statuses.get(name) else { return "none".to_owned() };
        let tasks: Vec<_> = status.tasks.iter().map(|(number, task)| format!("{number} {}", task.state)).collect();
        format!("{} [{}]", status.connector.state, tasks.join(", "))
    }

    /// What the worker has been told since the last look.
    pub(crate) fn take_told(&mut self) -> String {
        std::mem::take(&mut self.told).join(", ")
    }

    pub(crate) fn create(&mut self, config: &[(&str, &str)]) -> String {
        text(self.ask(create("orders", config)))
    }

    pub(crate) fn put(&mut self, config: &[(&str, &str)]) -> String {
        text(self.ask(Request::PutConfig { name: orders(), config: source(config) }))
    }

    pub(crate) fn set_target(&mut self, state: TargetState) -> String {
        text(self.ask(Request::SetTargetState { name: orders(), state }))
    }

    /// The connector or one of its tasks fails by itself.
    pub(crate) fn break_down(&mut self, instance: &Instance) {
        self.pending.news.extend(self.worker.break_down(instance));
        self.settle();
    }
}

pub(crate) fn orders() -> ConnectorName {
    ConnectorName::new("orders")
}

pub(crate) fn create(name: &str, config: &[(&str, &str)]) -> Request {
    Request::CreateConnector {
        name: ConnectorName::new(name),
        config: source(config),
        initial_state: None,
        offsets: None,
    }
}

/// A configuration of the example source.
pub(crate) fn source(config: &[(&str, &str)]) -> ConfigPatch {
    let fixed = [("connector.class", SOURCE), ("topic", "numbers")];
    patch(fixed.iter().chain(config))
}

pub(crate) fn patch<'a>(config: impl IntoIterator<Item = &'a (&'a str, &'a str)>) -> ConfigPatch {
    config.into_iter().map(|(key, value)| ((*key).to_owned(), Some((*value).to_owned()))).collect()
}

/// An answer in short.
pub(crate) fn text(answer: Result<Reply, Refusal>) -> String {
    let tasks = |tasks: Vec<u32>| format!("{tasks:?}");
    match answer {
        Ok(Reply::Done) => "done".to_owned(),
        Ok(Reply::Created(info)) => {
            format!("created {} {}", info.name, tasks(info.tasks.iter().map(|task| task.number).collect()))
        }
        Ok(Reply::Connector(info)) => {
            format!("connector {} {}", info.name, tasks(info.tasks.iter().map(|task| task.number).collect()))
        }
        Ok(Reply::Config(config)) => lines(&config),
        Ok(Reply::Tasks(infos)) => {
            let infos: Vec<_> = infos.iter().map(|info| format!("{}: {}", info.id, lines(&info.config))).collect();
            infos.join("; ")
        }
        Ok(Reply::Restarting(status)) => {
            let tasks: Vec<_> = status.tasks.iter().map(|(number, task)| format!("{number} {}", task.state)).collect();
            format!("restarting {} [{}]", status.connector.state, tasks.join(", "))
        }
        Ok(Reply::Offsets(offsets)) => format!("{} offsets", offsets.len()),
        Ok(Reply::OffsetsAltered { outcome, reset }) => format!("altered {outcome:?} reset={reset}"),
        Ok(Reply::Validated(infos)) => format!("{} errors", infos.error_count),
        Err(refusal) => format!("{} {refusal}", refusal.status()),
    }
}

fn lines(config: &RawConfig) -> String {
    config.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

pub(crate) fn catalog() -> PluginCatalog {
    let plugin = |class: &str, kind| PluginDesc {
        class: class.to_owned(),
        aliases: Vec::new(),
        kind,
        version: Some("1.0".to_owned()),
        documentation: String::new(),
        config: ConfigDef::default(),
    };
    let mut source = plugin(SOURCE, PluginKind::Source);
    source.config = source_def();
    PluginCatalog::new([
        source,
        plugin(SINK, PluginKind::Sink),
        plugin("org.apache.kafka.connect.json.JsonConverter", PluginKind::Converter),
        plugin("org.apache.kafka.connect.storage.SimpleHeaderConverter", PluginKind::HeaderConverter),
    ])
}

pub(crate) fn source_def() -> ConfigDef {
    let topic =
        ConfigKey::new("topic", ConfigType::String, DefaultValue::Required, Importance::High, "Topic to write.");
    ConfigDef { keys: vec![topic] }
}

/// A small generator whose numbers follow from the seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap();
        usize::try_from(self.next() % end).unwrap()
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}
