//! The driver with a herder that follows a script, and an outside that keeps a journal.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc as blocking};

use bulkhead_doubles::{MemoryClients, MemoryOffsets, ScriptedPlugins};
use bulkhead_herder::api::{ConfigRecord, LoggedConfig, Reply, Signature, Status, StatusRecord};
use bulkhead_model::{ConnectorName, RawConfig, State, WorkerId};
use bulkhead_rest::{HerderHandle, Level, LevelTable, LoggerLevel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ports::{Group, LeaderLog, Log, Peers};
use super::*;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(20);

type Reaction = Box<dyn FnMut(Event) -> Vec<Effect> + Send>;

/// Does as the test says.
struct Script {
    reaction: Reaction,
    told: mpsc::UnboundedSender<Event>,
    view: Arc<ClusterView>,
}

impl Decider for Script {
    fn handle(&mut self, _now: Millis, event: Event) -> Vec<Effect> {
        let _ = self.told.send(event.clone());
        (self.reaction)(event)
    }

    fn next_deadline(&self) -> Option<Millis> {
        None
    }

    fn view(&self) -> Arc<ClusterView> {
        self.view.clone()
    }

    fn stage(&self) -> String {
        "following a script".to_owned()
    }
}

/// What was done to the outside, in order; signs of life are counted apart.
#[derive(Clone, Default)]
struct Journal {
    lines: Arc<Mutex<Vec<String>>>,
    signs: Arc<AtomicUsize>,
}

impl Journal {
    fn note(&self, line: String) {
        self.lines.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

struct JournalLog(&'static str, Journal);

impl<R> Log<R> for JournalLog {
    fn append(&mut self, token: Token, records: Vec<R>) -> Vec<Event> {
        self.1.note(format!("append {} to {}", records.len(), self.0));
        vec![Event::Appended { token, outcome: Ok(()) }]
    }

    fn read_to_end(&mut self, _token: Token) -> Vec<Event> {
        self.1.note(format!("read {} to its end", self.0));
        Vec::new()
    }
}

impl LeaderLog for JournalLog {
    fn claim(&mut self, _token: Token) {
        self.1.note(format!("claim {}", self.0));
    }

    fn append(&mut self, _token: Token, records: Vec<ConfigRecord>) {
        self.1.note(format!("append {} to {} as leader", records.len(), self.0));
    }

    fn forget(&mut self) {
        self.1.note(format!("give {} up", self.0));
    }
}

/// The group, and the way to its other members. Every sign of life is told.
struct JournalGroup(Journal, mpsc::UnboundedSender<usize>);

impl Group for JournalGroup {
    fn join(&mut self, protocols: Vec<(&'static str, Vec<u8>)>) {
        self.0.note(format!("join with {}", protocols.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")));
    }

    fn assign(&mut self, generation: i32, assignments: Vec<(String, Vec<u8>)>) {
        self.0.note(format!("assign to {} in {generation}", assignments.len()));
    }

    fn leave(&mut self, reason: String) {
        self.0.note(format!("leave: {reason}"));
    }

    fn alive(&mut self) {
        let signs = self.0.signs.fetch_add(1, Ordering::SeqCst) + 1;
        let _ = self.1.send(signs);
    }
}

impl Peers for JournalGroup {
    fn forward_tasks(&mut self, _token: Token, tasks: ForwardedTasks) {
        self.0.note(format!("forward tasks of {} to {}", tasks.connector, tasks.leader));
    }
}

#[derive(Default)]
struct Levels(Mutex<Vec<String>>);

impl Loggers for Levels {
    fn list(&self) -> BTreeMap<String, LoggerLevel> {
        LevelTable::new(Level::Info).list()
    }

    fn get(&self, _logger: &str) -> Option<LoggerLevel> {
        None
    }

    fn set(&self, logger: &str, level: Level) -> Vec<String> {
        self.0.lock().unwrap().push(format!("{logger} {}", level.name()));
        Vec::new()
    }
}

struct Case {
    handle: Handle,
    journal: Journal,
    levels: Arc<Levels>,
    told: mpsc::UnboundedReceiver<Event>,
    signs: mpsc::UnboundedReceiver<usize>,
    news: mpsc::Sender<News>,
    stop: CancellationToken,
    driven: JoinHandle<Result<(), Fatal>>,
}

impl Case {
    fn start(reaction: impl FnMut(Event) -> Vec<Effect> + Send + 'static) -> Self {
        Self::start_with(Journal::default(), SOON, reaction)
    }

    fn start_with(
        journal: Journal,
        farewell: Duration,
        reaction: impl FnMut(Event) -> Vec<Effect> + Send + 'static,
    ) -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        let (sign, signs) = mpsc::unbounded_channel();
        let (news, inbox) = mpsc::channel(8);
        let cluster = Cluster {
            group: Box::new(JournalGroup(journal.clone(), sign.clone())),
            peers: Box::new(JournalGroup(journal.clone(), sign)),
            leader_log: Some(Box::new(JournalLog("config", journal.clone()))),
            farewell,
        };
        let outside = Outside {
            config: Box::new(JournalLog("config", journal.clone())),
            status: Box::new(JournalLog("status", journal.clone())),
            cluster: Some(cluster),
            news: inbox,
        };
        let levels = Arc::new(Levels::default());
        let script = Script { reaction: Box::new(reaction), told: tell, view: Arc::default() };
        let (worker, work) = worker();
        let (driver, handle) = Driver::new(script, worker, work, outside, levels.clone());
        let stop = CancellationToken::new();
        let driven = tokio::spawn(driver.run(stop.clone()));
        Self { handle, journal, levels, told, signs, news, stop, driven }
    }

    async fn event(&mut self) -> Event {
        timeout(SOON, self.told.recv()).await.expect("an event").expect("a herder")
    }

    async fn ended(self) -> Result<(), Fatal> {
        timeout(SOON, self.driven).await.expect("an end").expect("no panic")
    }
}

fn worker() -> (Worker, mpsc::UnboundedReceiver<work::Event>) {
    let settings = bulkhead_worker::Settings::from_properties(&RawConfig::new()).unwrap();
    let (plugins, clients, offsets) = (ScriptedPlugins::default(), MemoryClients::default(), MemoryOffsets::default());
    Worker::spawn(Arc::new(plugins), Arc::new(clients), Arc::new(offsets), settings)
}

fn name() -> ConnectorName {
    ConnectorName::new("c")
}

fn commit(tasks: u32) -> ConfigRecord {
    ConfigRecord::Commit { name: name(), tasks }
}

fn status() -> StatusRecord {
    let status = Status { state: State::Running, worker: WorkerId("w:1".into()), generation: 1, version: None };
    StatusRecord::Connector { name: name(), status: Some(status) }
}

/// Answers every request, and does nothing else.
fn obliging(event: Event) -> Vec<Effect> {
    match event {
        Event::Request { id, .. } => vec![Effect::Reply { id, answer: Ok(Reply::Done) }],
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn effects_are_performed_in_their_order_and_before_the_reply_of_the_same_step() {
    let case = Case::start(|event| match event {
        Event::Request { id, .. } => vec![
            Effect::AppendStatus { token: Token(1), record: status() },
            Effect::AppendConfig { token: Token(2), records: vec![commit(1), commit(2)] },
            Effect::ReadToEnd { token: Token(3) },
            Effect::ClaimLog { token: Token(5) },
            Effect::AppendAsLeader { token: Token(6), records: vec![commit(1)] },
            Effect::ForgetClaim,
            Effect::Join { protocols: vec![("sessioned", vec![2]), ("default", vec![0])] },
            Effect::Assign { generation: 7, assignments: vec![("m".to_owned(), vec![])] },
            Effect::ForwardTasks {
                token: Token(4),
                leader: "http://w:1/".to_owned(),
                connector: name(),
                body: b"[]".to_vec(),
                signature: Some(Signature { algorithm: "HmacSHA256".to_owned(), mac: "x".to_owned() }),
            },
            Effect::Leave { reason: "enough".to_owned() },
            Effect::Reply { id, answer: Ok(Reply::Done) },
        ],
        _ => Vec::new(),
    });
    assert_eq!(case.handle.request(Request::Ping).await, Ok(Reply::Done));
    let expected = [
        "append 1 to status",
        "append 2 to config",
        "read config to its end",
        "claim config",
        "append 1 to config as leader",
        "give config up",
        "join with sessioned, default",
        "assign to 1 in 7",
        "forward tasks of c to http://w:1/",
        "leave: enough",
    ];
    assert_eq!(case.journal.lines(), expected);
}

#[tokio::test]
async fn what_happens_outside_comes_to_the_herder_in_its_order() {
    let mut case = Case::start(|_| Vec::new());
    let logged = |next_offset| Event::ConfigRecord(LoggedConfig { next_offset, record: Some(commit(1)) });
    let events = [logged(1), logged(2), Event::ReadToEnd { token: Token(3), outcome: Ok(()) }, Event::CaughtUp];
    for event in &events {
        case.news.send(News::Event(event.clone())).await.unwrap();
    }
    for event in events {
        assert_eq!(case.event().await, event);
    }
}

#[tokio::test]
async fn the_end_of_the_worker_is_the_herders_to_say() {
    let mut case = Case::start(|event| match event {
        Event::Shutdown => vec![Effect::AppendStatus { token: Token(1), record: status() }],
        Event::Appended { .. } => vec![Effect::Leave { reason: "the end".to_owned() }, Effect::Finished],
        event => obliging(event),
    });
    case.stop.cancel();
    assert_eq!(case.event().await, Event::Shutdown);
    let journal = case.journal.clone();
    assert_eq!(case.ended().await, Ok(()));
    assert_eq!(journal.lines(), ["append 1 to status", "leave: the end"]);
}

#[tokio::test]
async fn a_herder_that_does_not_finish_is_not_waited_for_without_end() {
    let case = Case::start_with(Journal::default(), Duration::from_millis(20), |_| Vec::new());
    let journal = case.journal.clone();
    case.stop.cancel();
    assert_eq!(case.ended().await, Ok(()));
    assert_eq!(journal.lines(), ["leave: the worker ends"]);
}

#[tokio::test]
async fn who_asks_while_the_worker_stops_is_told_so() {
    let mut case = Case::start(obliging);
    assert_eq!(case.handle.request(Request::Ping).await, Ok(Reply::Done));
    assert!(matches!(case.event().await, Event::Request { .. }));
    case.stop.cancel();
    assert_eq!(case.event().await, Event::Shutdown);
    assert_eq!(case.handle.request(Request::Ping).await, Err(stopping()));
}

#[tokio::test]
async fn what_the_worker_can_not_go_on_with_ends_it() {
    let case = Case::start(obliging);
    case.news.send(News::Fatal(Fatal("the group is closed".to_owned()))).await.unwrap();
    assert_eq!(case.ended().await, Err(Fatal("the group is closed".to_owned())));
}

#[tokio::test]
async fn session_keys_are_random_and_of_the_wanted_size() {
    let mut case = Case::start(|event| match event {
        Event::CaughtUp => vec![
            Effect::NewSessionKey { token: Token(1), size: 32 },
            Effect::NewSessionKey { token: Token(2), size: 32 },
        ],
        _ => Vec::new(),
    });
    case.news.send(News::Event(Event::CaughtUp)).await.unwrap();
    let mut keys = Vec::new();
    while keys.len() < 2 {
        if let Event::SessionKey { token, key } = case.event().await {
            assert_eq!((token, key.0.len()), (Token(keys.len() as u64 + 1), 32));
            keys.push(key);
        }
    }
    assert_ne!(keys[0], keys[1]);
}

#[tokio::test]
async fn levels_of_the_cluster_are_set_here_and_unknown_ones_are_not() {
    let case = Case::start(|event| match event {
        Event::Request { id, .. } => vec![
            Effect::SetLoggerLevel { logger: "a.b".to_owned(), level: Some("debug".to_owned()) },
            Effect::SetLoggerLevel { logger: "a.b".to_owned(), level: Some("loud".to_owned()) },
            Effect::Reply { id, answer: Ok(Reply::Done) },
        ],
        _ => Vec::new(),
    });
    case.handle.request(Request::Ping).await.unwrap();
    assert_eq!(*case.levels.0.lock().unwrap(), ["a.b DEBUG"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_herder_that_is_idle_gives_signs_of_life_and_one_that_hangs_gives_none() {
    let journal = Journal::default();
    let signs = journal.signs.clone();
    let (let_go, gate) = blocking::channel::<()>();
    let (hangs, hanging) = mpsc::unbounded_channel();
    let hung = Case::start_with(journal, SOON, move |event| match event {
        Event::Request { id, .. } => {
            let before = signs.load(Ordering::SeqCst);
            hangs.send(()).unwrap();
            gate.recv().unwrap();
            assert_eq!(signs.load(Ordering::SeqCst), before);
            vec![Effect::Reply { id, answer: Ok(Reply::Done) }]
        }
        _ => Vec::new(),
    });
    let mut hanging = hanging;
    let asked = tokio::spawn({
        let handle = hung.handle.clone();
        async move { handle.request(Request::Ping).await }
    });
    timeout(SOON, hanging.recv()).await.expect("that the herder hangs").unwrap();

    let mut idle = Case::start(obliging);
    let first = timeout(SOON, idle.signs.recv()).await.expect("a sign of life").unwrap();
    while timeout(SOON, idle.signs.recv()).await.expect("a sign of life").unwrap() < first + 2 {}
    let_go.send(()).unwrap();
    assert_eq!(timeout(SOON, asked).await.unwrap().unwrap(), Ok(Reply::Done));
}

#[tokio::test]
async fn alone_a_worker_reads_its_own_words_and_has_nobody_to_say_farewell_to() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let reaction = |event| match event {
        Event::Request { id, .. } => vec![
            Effect::AppendConfig { token: Token(1), records: vec![commit(1), commit(2)] },
            Effect::AppendStatus { token: Token(2), record: status() },
            Effect::ReadToEnd { token: Token(3) },
            Effect::Reply { id, answer: Ok(Reply::Done) },
        ],
        _ => Vec::new(),
    };
    let script = Script { reaction: Box::new(reaction), told: tell, view: Arc::default() };
    let (worker, work) = worker();
    let outside = Outside::alone(mpsc::channel(1).1);
    let (driver, handle) = Driver::new(script, worker, work, outside, Arc::new(Levels::default()));
    let stop = CancellationToken::new();
    let driven = tokio::spawn(driver.run(stop.clone()));
    handle.request(Request::Ping).await.unwrap();
    let logged = |next_offset, record| Event::ConfigRecord(LoggedConfig { next_offset, record: Some(record) });
    let appended = |token| Event::Appended { token: Token(token), outcome: Ok(()) };
    let expected = [
        logged(1, commit(1)),
        logged(2, commit(2)),
        appended(1),
        Event::StatusRecord(status()),
        appended(2),
        Event::ReadToEnd { token: Token(3), outcome: Ok(()) },
    ];
    assert!(matches!(told.recv().await, Some(Event::Request { .. })));
    for event in expected {
        assert_eq!(timeout(SOON, told.recv()).await.unwrap(), Some(event));
    }
    stop.cancel();
    assert_eq!(timeout(SOON, driven).await.unwrap().unwrap(), Ok(()));
    assert_eq!(told.recv().await, None);
}
