use std::sync::{Arc, Mutex};

use bulkhead_herder::api::Status;
use bulkhead_model::{ConnectorName, State, WorkerId};
use tokio::time::timeout;

use super::*;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(20);

/// What was appended, and how to acknowledge it.
type Appended = (Vec<LogEntry>, oneshot::Sender<Result<(), AppendError>>);

/// Keeps what is appended until the test acknowledges it, and which ends were asked for.
#[derive(Clone, Default)]
struct MemoryTopic {
    appended: Arc<Mutex<Vec<Appended>>>,
    ends: Arc<Mutex<Vec<u64>>>,
}

impl Topic for MemoryTopic {
    fn append(&self, entries: Vec<LogEntry>) -> BoxFuture<Result<(), AppendError>> {
        let (acknowledge, acknowledged) = oneshot::channel();
        self.appended.lock().unwrap().push((entries, acknowledge));
        Box::pin(async move { acknowledged.await.unwrap() })
    }

    fn read_to_end(&self, token: u64) {
        self.ends.lock().unwrap().push(token);
    }
}

impl Source for mpsc::UnboundedReceiver<LogEvent> {
    async fn next(&mut self) -> Option<LogEvent> {
        self.recv().await
    }
}

fn record(offset: i64, key: Option<&'static str>, value: Option<&'static str>) -> LogEvent {
    LogEvent::Record(LogRecord {
        topic: "configs".into(),
        partition: 0,
        offset,
        timestamp: -1,
        key: key.map(Into::into),
        value: value.map(Into::into),
    })
}

/// What the herder is told of these, one line for each.
async fn told<R: Send + 'static>(codec: Codec<R>, events: Vec<LogEvent>) -> (Vec<String>, Vec<String>) {
    let topic = MemoryTopic::default();
    let refused = Arc::new(Mutex::new(Vec::new()));
    let refuse = {
        let refused = Arc::clone(&refused);
        move |record: &LogRecord, reason: &str| refused.lock().unwrap().push(format!("{} {reason}", record.offset))
    };
    let (feed, source) = mpsc::unbounded_channel();
    let (news, mut inbox) = mpsc::channel(100);
    let (at_end, _) = oneshot::channel();
    events.into_iter().for_each(|event| feed.send(event).unwrap());
    drop(feed);
    timeout(SOON, follow(source, codec, (topic, refuse), news, at_end)).await.unwrap();
    let mut lines = Vec::new();
    while let Some(news) = inbox.recv().await {
        lines.push(match news {
            News::Event(Event::ConfigRecord(LoggedConfig { next_offset, record })) => {
                format!("{next_offset} {}", record.map_or("nothing".to_owned(), |record| format!("{record:?}")))
            }
            News::Event(event) => format!("{event:?}"),
            News::Fatal(fatal) => fatal.to_string(),
        });
    }
    let refused = refused.lock().unwrap().clone();
    (lines, refused)
}

#[tokio::test]
async fn a_record_that_can_not_be_read_is_counted_and_hides_no_other() {
    let commit = r#"{"tasks":2}"#;
    let (lines, refused) = told(
        Codec::CONFIG,
        vec![
            record(0, Some("commit-a"), Some(commit)),
            record(1, Some("commit-a"), Some("no json")),
            record(2, Some("commit-a"), Some("[]")),
            record(3, None, Some(commit)),
            record(4, Some("somebody-elses"), Some("{}")),
            record(5, Some("commit-b"), Some(commit)),
        ],
    )
    .await;
    let commit = |connector: &str| format!("Commit {{ name: ConnectorName({connector:?}), tasks: 2 }}");
    let expected = [
        format!("1 {}", commit("a")),
        "3 nothing".to_owned(),
        "4 nothing".to_owned(),
        "5 nothing".to_owned(),
        format!("6 {}", commit("b")),
    ];
    assert_eq!(lines, expected);
    assert_eq!(refused.len(), 3, "{refused:?}");
    assert_eq!(refused[2], "3 it has no key");
}

#[tokio::test]
async fn statuses_that_say_nothing_are_left_out() {
    let status = r#"{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":3}"#;
    let (lines, refused) = told(
        Codec::STATUS,
        vec![
            record(0, Some("status-connector-a"), Some("{")),
            record(1, Some("status-connector-a"), Some(status)),
            record(2, Some("status-task-a-0"), None),
        ],
    )
    .await;
    let (name, worker) = (ConnectorName::new("a"), WorkerId("w:1".into()));
    let status = Status { state: State::Running, worker, generation: 3, version: None };
    let running = StatusRecord::Connector { name: name.clone(), status: Some(status) };
    let gone = StatusRecord::Task { id: name.task(0), status: None };
    assert_eq!(lines, [running, gone].map(|record| format!("{:?}", Event::StatusRecord(record))));
    assert_eq!(refused, ["0 it is no status"]);
}

#[tokio::test]
async fn the_first_reading_to_the_end_is_the_starts_and_the_others_are_the_herders() {
    let topic = MemoryTopic::default();
    let (feed, source) = mpsc::unbounded_channel();
    let (news, mut inbox) = mpsc::channel(100);
    let (at_end, ended) = oneshot::channel();
    let following =
        tokio::spawn(follow(source, Codec::CONFIG, (topic.clone(), |_: &LogRecord, _: &str| {}), news, at_end));
    feed.send(record(0, Some("commit-a"), Some(r#"{"tasks":2}"#))).unwrap();
    feed.send(LogEvent::ReadToEnd { token: FIRST, outcome: Ok(()) }).unwrap();
    timeout(SOON, ended).await.unwrap().unwrap();
    assert_eq!(*topic.ends.lock().unwrap(), [FIRST]);
    assert!(matches!(inbox.try_recv(), Ok(News::Event(Event::ConfigRecord(_)))), "told before the end was reached");
    feed.send(LogEvent::ReadToEnd { token: 5, outcome: Err("gone".to_owned()) }).unwrap();
    let expected = Event::ReadToEnd { token: Token(5), outcome: Err("gone".to_owned()) };
    assert!(matches!(timeout(SOON, inbox.recv()).await.unwrap(), Some(News::Event(event)) if event == expected));
    drop(feed);
    timeout(SOON, following).await.unwrap().unwrap();
}

#[tokio::test]
async fn appends_are_queued_at_once_and_answered_when_they_are_durable() {
    let topic = MemoryTopic::default();
    let (news, mut inbox) = mpsc::channel(100);
    let mut log = TopicAsLog::new(topic.clone(), Codec::CONFIG, news, TaskTracker::new());
    let commit = |name: &str, tasks| ConfigRecord::Commit { name: ConnectorName::new(name), tasks };
    assert_eq!(log.append(Token(1), vec![commit("a", 1), commit("a", 2)]), []);
    assert_eq!(log.append(Token(2), vec![commit("b", 3)]), []);
    log.read_to_end(Token(3));
    let appended: Vec<_> = topic.appended.lock().unwrap().drain(..).collect();
    let values: Vec<Vec<_>> =
        appended.iter().map(|(entries, _)| entries.iter().map(|(_, value)| value.clone().unwrap()).collect()).collect();
    assert_eq!(values, [vec![r#"{"tasks":1}"#, r#"{"tasks":2}"#], vec![r#"{"tasks":3}"#]]);
    let [(_, first), (_, second)] = appended.try_into().unwrap_or_else(|_| panic!("two appends"));
    second.send(Ok(())).unwrap();
    let outcome = |token, outcome| Event::Appended { token: Token(token), outcome };
    let news = timeout(SOON, inbox.recv()).await.unwrap();
    assert!(matches!(news, Some(News::Event(event)) if event == outcome(2, Ok(()))));
    first.send(Err(AppendError { retriable: true, reason: "no broker".to_owned() })).unwrap();
    let news = timeout(SOON, inbox.recv()).await.unwrap();
    assert!(matches!(news, Some(News::Event(event)) if event == outcome(1, Err("no broker".to_owned()))));
    assert_eq!(*topic.ends.lock().unwrap(), [3]);
}
