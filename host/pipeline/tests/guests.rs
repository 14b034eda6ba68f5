//! Transforms, predicates and converters of plugins, in both loops, on in-memory doubles.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use bulkhead_doubles::{
    MemoryConsumer, MemoryConsumerHandle, MemoryOffsets, MemoryProducer, QuietObserver, ScriptedPlugins, ScriptedSink,
    ScriptedSource, eventually, texts,
};
use bulkhead_model::{ConnectorName, RawConfig, TaskId};
use bulkhead_pipeline::control::{TaskFailure, Wanted};
use bulkhead_pipeline::convert::{Converters, Role};
use bulkhead_pipeline::ports::{Aliased, Consumed, Rejection};
use bulkhead_pipeline::sink::{DeadLetterSettings, DeadLetters, Decoder, SinkLoop, SinkSettings};
use bulkhead_pipeline::source::{Acks, Encoder, SourceLoop, SourceSettings};
use bulkhead_pipeline::tolerance::Tolerance;
use bulkhead_pipeline::transform::Transforms;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const SOON: Duration = Duration::from_secs(30);

fn task() -> TaskId {
    ConnectorName::new("c").task(0)
}

/// Those of the configuration; texts if it names none.
async fn converters(config: &RawConfig) -> Converters {
    let texts = RawConfig::from(Role::ALL.map(|role| (role.key(), "StringConverter")));
    let plan = |role| Aliased::converter(role, config).or_else(|| Aliased::converter(role, &texts)).unwrap();
    Converters::open(plan, &task(), config, &ScriptedPlugins::default(), None).await.unwrap()
}

/// `one=test.Marked mark=1 predicate=p` as `transforms.one.type` and so on; `p?=…` is a predicate. `value.converter=…` and its
/// like are as they stand there.
fn config(lines: &[&str]) -> RawConfig {
    let mut config = RawConfig::new();
    for line in lines {
        let (head, rest) = line.split_once('=').unwrap();
        let mut words = rest.split(' ');
        if head.ends_with(".converter") {
            config.set(head, words.next().unwrap());
            for word in words {
                let (key, value) = word.split_once('=').unwrap();
                config.set(format!("{head}.{key}"), value);
            }
            continue;
        }
        let (list, alias) = match head.strip_suffix('?') {
            Some(alias) => ("predicates", alias),
            None => ("transforms", head),
        };
        let listed = config.get(list).map_or_else(|| alias.to_owned(), |listed| format!("{listed},{alias}"));
        config.set(list, &listed);
        config.set(format!("{list}.{alias}.type"), words.next().unwrap());
        for word in words {
            let (key, value) = word.split_once('=').unwrap();
            config.set(format!("{list}.{alias}.{key}"), value);
        }
    }
    config
}

struct Source {
    producer: MemoryProducer,
    offsets: MemoryOffsets,
    _wanted: watch::Sender<Wanted>,
    ended: JoinHandle<Result<(), TaskFailure>>,
}

async fn source(values: &[&str], tolerance: &str, lines: &[&str]) -> Source {
    let config = config(lines);
    let transforms = Transforms::open(&config, &task(), &ScriptedPlugins::default()).await.unwrap();
    let acks = Arc::new(Acks::default());
    let producer = MemoryProducer::new(acks.clone());
    let offsets = MemoryOffsets::default();
    let (wanted, receiver) = watch::channel(Wanted::Running);
    let source = SourceLoop {
        id: task(),
        task: Arc::new(ScriptedSource::new([Ok(texts(1, values))])),
        producer: producer.handle(),
        acks,
        encoder: Encoder::new(transforms, converters(&config).await),
        topics: None,
        offsets: Arc::new(offsets.clone()),
        observer: QuietObserver,
        tolerance: Tolerance::from_config(&RawConfig::from([("errors.tolerance", tolerance)])),
        settings: SourceSettings { flush_interval: Duration::from_millis(20), ..SourceSettings::default() },
        wanted: receiver,
    };
    let ended = tokio::spawn(async move { source.run(&RawConfig::new()).await });
    Source { producer, offsets, _wanted: wanted, ended }
}

/// What arrives in Kafka, as `topic:value`, once the last offset is committed.
async fn produced(values: &[&str], tolerance: &str, lines: &[&str]) -> String {
    let source = source(values, tolerance, lines).await;
    let last = format!(r#"{{"at":{}}}"#, values.len());
    eventually("the last offset is committed", SOON, || source.offsets.get("c", r#"{"p":1}"#).as_ref() == Some(&last))
        .await;
    let sent = source.producer.topics().into_iter().zip(source.producer.values());
    sent.map(|(topic, value)| format!("{topic}:{value}")).collect::<Vec<_>>().join(" ")
}

const ROUTER: &str = "route=RegexRouter regex=.* replacement=u";
const MARKED: &str = "value.converter=test.MarkedConverter mark=>";
const FILTER: &str = "out=org.apache.kafka.connect.transforms.Filter";

#[tokio::test(start_paused = true)]
async fn every_mixture_of_transforms_and_guards_works_on_the_records_it_should() {
    let guarded = |transform: &str, more: &str| format!("{transform} predicate=p{more}");
    let guest = "m=test.Marked mark=>";
    let (native_yes, native_no) = ("p?=TopicNameMatches pattern=t", "p?=TopicNameMatches pattern=v");
    let asks_guest = "p?=test.Mentions word=a";
    for (lines, expected) in [
        (vec![guest.to_owned()], "t:>a t:>b t:>ab"),
        (vec![guest.to_owned(), "n=test.Marked mark=-".to_owned()], "t:->a t:->b t:->ab"),
        (vec![ROUTER.to_owned(), guest.to_owned()], "u:>a u:>b u:>ab"),
        (vec![guest.to_owned(), ROUTER.to_owned()], "u:>a u:>b u:>ab"),
        (vec![guest.to_owned(), ROUTER.to_owned(), "n=test.Marked mark=- topic=w".to_owned(), FILTER.to_owned()], ""),
        // A built-in predicate before a guest.
        (vec![guarded(guest, ""), native_yes.to_owned()], "t:>a t:>b t:>ab"),
        (vec![guarded(guest, ""), native_no.to_owned()], "t:a t:b t:ab"),
        (vec![guarded(guest, " negate=true"), native_no.to_owned()], "t:>a t:>b t:>ab"),
        // A guest as the predicate of a built-in transform.
        (vec![guarded(ROUTER, ""), asks_guest.to_owned()], "u:a t:b u:ab"),
        (vec![guarded(ROUTER, " negate=true"), asks_guest.to_owned()], "t:a u:b t:ab"),
        (vec![guarded(FILTER, ""), asks_guest.to_owned()], "t:b"),
        // A guest before a guest.
        (vec![guarded(guest, ""), asks_guest.to_owned()], "t:>a t:b t:>ab"),
        (vec![guarded(guest, " negate=true"), asks_guest.to_owned()], "t:a t:>b t:ab"),
        // What some transforms leave out goes through others; the predicate sees what is there by then.
        (
            vec![
                guarded(guest, ""),
                guarded(ROUTER, " negate=true"),
                asks_guest.to_owned(),
                "n=test.Marked mark=-".to_owned(),
            ],
            "t:->a u:-b t:->ab",
        ),
        (
            vec![
                "m=test.Marked mark=a predicate=q".to_owned(),
                "q?=test.Mentions word=b".to_owned(),
                guarded(ROUTER, ""),
                asks_guest.to_owned(),
            ],
            "u:a u:ab u:aab",
        ),
    ] {
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        assert_eq!(produced(&["a", "b", "ab"], "none", &lines).await, expected, "{lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_and_failed_records_are_settled_like_those_of_built_in_transforms() {
    let values = ["a", "drop", "bad", "b", "drop"];
    assert_eq!(produced(&values, "all", &["m=test.Marked mark=>"]).await, "t:>a t:>b");
    let guarded = ["m=test.Marked mark=> predicate=p", "p?=test.Mentions word=b", ROUTER];
    assert_eq!(produced(&["a", "unclear", "b", "bad"], "all", &guarded).await, "u:a u:>b");
}

#[tokio::test(start_paused = true)]
async fn without_tolerance_a_bad_record_fails_the_task_after_those_before_it() {
    for (values, lines, message) in [
        (["a", "bad", "b"], vec!["m=test.Marked mark=>"], "a bad value"),
        (["a", "unclear", "b"], vec!["m=test.Marked mark=> predicate=p", "p?=test.Mentions word=a"], "no way to tell"),
    ] {
        let source = source(&values, "none", &lines).await;
        let failure = source.ended.await.unwrap().unwrap_err().to_string();
        let expected = format!(
            "record 1 of this run, for topic `t`, failed at stage TRANSFORMATION: transform `m`: {message} \
             (with errors.tolerance=all it would be skipped)"
        );
        assert_eq!(failure, expected);
        assert_eq!(source.producer.values(), [">a"]);
        assert_eq!(source.offsets.get("c", r#"{"p":1}"#).as_deref(), Some(r#"{"at":1}"#));
    }
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_crashes_takes_the_task_with_it_whatever_is_tolerated() {
    let source = source(&["a", "crash"], "all", &["m=test.Marked mark=>"]).await;
    let failure = source.ended.await.unwrap().unwrap_err();
    assert_eq!(failure.trace(), "transform `m` (test.Marked): it trapped\nat some place");
    assert!(source.producer.values().is_empty() && source.offsets.get("c", r#"{"p":1}"#).is_none());
}

#[tokio::test]
async fn what_cannot_be_made_says_where_it_stands() {
    for (lines, expected) in [
        (vec!["m=test.Marked refuse=no-room"], "transform `m` (test.Marked): no-room"),
        (
            vec!["m=test.Marked predicate=p", "p?=test.Mentions refuse=no-room"],
            "predicate `p` (test.Mentions): no-room",
        ),
        (vec!["m=test.Unheard"], "transform `m`: there is no transform of class test.Unheard"),
        (
            vec!["m=test.Marked predicate=p", "p?=test.Unheard"],
            "transform `m`: predicate `p`: there is no predicate of class test.Unheard",
        ),
        (vec!["m=test.Marked predicate=p"], "transform `m`: the predicate `p` is not listed in `predicates`"),
    ] {
        let opened = Transforms::open(&config(&lines), &task(), &ScriptedPlugins::default()).await;
        assert_eq!(opened.err().unwrap().to_string(), expected);
    }
    let native = Transforms::open(&config(&[ROUTER]), &task(), &ScriptedPlugins::default()).await;
    assert!(matches!(native, Ok(Transforms::Native(_))));
}

struct Sink {
    task: ScriptedSink,
    kafka: MemoryConsumerHandle,
    dead: MemoryProducer,
    _wanted: watch::Sender<Wanted>,
    ended: JoinHandle<Result<(), TaskFailure>>,
}

async fn sink(task_double: ScriptedSink, tolerance: &str, lines: &[&str]) -> Sink {
    let config = config(lines);
    let transforms = Transforms::open(&config, &task(), &ScriptedPlugins::default()).await.unwrap();
    let (consumer, kafka) = MemoryConsumer::new();
    let (wanted, receiver) = watch::channel(Wanted::Running);
    let acks = Arc::new(Acks::default());
    let dead = MemoryProducer::new(acks.clone());
    let errors = RawConfig::from([
        ("errors.tolerance", tolerance),
        ("errors.deadletterqueue.topic.name", "dead"),
        ("errors.deadletterqueue.context.headers.enable", "true"),
    ]);
    let settings = DeadLetterSettings::from_config(&errors).unwrap();
    let sink = SinkLoop {
        id: task(),
        task: Arc::new(task_double.clone()),
        consumer,
        decoder: Decoder::new(converters(&config).await, transforms),
        observer: QuietObserver,
        tolerance: Tolerance::from_config(&errors),
        dead_letters: Some(DeadLetters::new(settings, task(), Box::new(dead.handle()), acks)),
        settings: SinkSettings { flush_interval: Duration::from_millis(20), ..SinkSettings::default() },
        wanted: receiver,
    };
    kafka.assign("t", 0);
    let ended = tokio::spawn(async move { sink.run(&RawConfig::new()).await });
    Sink { task: task_double, kafka, dead, _wanted: wanted, ended }
}

impl Sink {
    async fn committed(&self, line: &str) {
        eventually(line, SOON, || self.kafka.log().iter().any(|entry| entry == line)).await;
    }

    /// Value, stage and class of each dead letter.
    fn dead_letters(&self) -> Vec<String> {
        let text = |bytes: &Option<Vec<u8>>| String::from_utf8(bytes.clone().unwrap()).unwrap();
        let header = |sent: &bulkhead_doubles::Sent, name: &str| {
            let name = format!("__connect.errors.{name}");
            text(&sent.headers.iter().find(|(key, _)| *key == name).unwrap().1)
        };
        let line = |sent: &bulkhead_doubles::Sent| {
            format!("{} {} {}", text(&sent.value), header(sent, "stage"), header(sent, "class.name"))
        };
        self.dead.sent().iter().map(line).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_sink_gets_what_is_left_and_commits_past_the_rest() {
    let sink = sink(ScriptedSink::default(), "all", &["m=test.Marked mark=>"]).await;
    sink.kafka.records("t", 5, &["a", "drop", "bad", "b", "drop"]);
    sink.committed("commit t-0@10").await;
    assert!(sink.task.log().contains(&"put >a >b".to_owned()), "{:?}", sink.task.log());
    assert_eq!(sink.dead_letters(), ["bad TRANSFORMATION test.Marked"]);
}

#[tokio::test(start_paused = true)]
async fn a_sink_keeps_the_order_of_records_that_took_different_ways() {
    let lines = ["m=test.Marked mark=> predicate=p", "p?=test.Mentions word=b", ROUTER];
    let sink = sink(ScriptedSink::default(), "all", &lines).await;
    sink.kafka.records("t", 0, &["a", "b", "unclear", "c", "bb"]);
    sink.committed("commit t-0@5").await;
    assert!(sink.task.log().contains(&"put a >b c >bb".to_owned()), "{:?}", sink.task.log());
    assert_eq!(sink.dead_letters(), ["unclear TRANSFORMATION test.Marked"]);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_the_sink_refuses_is_found_again_behind_dropped_ones() {
    let refuses_second = ScriptedSink::new([Ok(vec![Rejection { index: 1, message: "too odd".to_owned() }])]);
    let sink = sink(refuses_second, "all", &["m=test.Marked mark=>"]).await;
    sink.kafka.records("t", 0, &["a", "drop", "b", "c"]);
    sink.committed("commit t-0@4").await;
    assert_eq!(sink.dead_letters(), ["b TASK_PUT org.apache.kafka.connect.sink.SinkTask"]);
}

#[tokio::test(start_paused = true)]
async fn without_tolerance_the_dead_letter_is_written_and_the_task_fails() {
    let sink = sink(ScriptedSink::default(), "none", &["m=test.Marked mark=>"]).await;
    sink.kafka.records("t", 5, &["a", "bad"]);
    let dead = sink.dead.handle();
    let failure = sink.ended.await.unwrap().unwrap_err().to_string();
    assert!(
        failure.starts_with("record t-0@6 failed at stage TRANSFORMATION: transform `m`: a bad value"),
        "{failure}"
    );
    assert_eq!(dead.values(), ["bad"]);
}

#[tokio::test(start_paused = true)]
async fn a_converter_of_a_plugin_gets_what_transforms_have_left() {
    for (lines, expected) in [
        (vec![MARKED], "t:t>a t:t>b"),
        (vec![MARKED, ROUTER], "u:u>a u:u>b"),
        (vec![MARKED, "m=test.Marked mark=- topic=w"], "w:w>-a w:w>-b"),
        (vec![MARKED, "p?=test.Mentions word=b", "out=Filter predicate=p", ROUTER], "u:u>a"),
        // Nulls stay nulls, and there are no headers to be converted.
        (vec!["key.converter=test.MarkedConverter", "header.converter=test.MarkedConverter"], "t:a t:b"),
        (
            vec![
                MARKED,
                "key.converter=test.MarkedConverter",
                "k=org.apache.kafka.connect.transforms.HoistField$Key field=f",
                "x=org.apache.kafka.connect.transforms.ExtractField$Key field=f",
            ],
            "t:t>a t:t>b",
        ),
    ] {
        assert_eq!(produced(&["a", "b"], "none", &lines).await, expected, "{lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn headers_are_converted_for_the_records_that_have_them() {
    let lines = [
        "header.converter=test.MarkedConverter mark=>",
        "h=InsertHeader header=k value.literal=v predicate=p",
        "p?=test.Mentions word=b",
    ];
    let source = source(&["a", "b", "ab"], "none", &lines).await;
    eventually("all are sent", SOON, || source.producer.sent().len() == 3).await;
    let headers = source.producer.sent().into_iter().map(|sent| sent.headers);
    let marked = vec![("k".to_owned(), Some(b"k>v".to_vec()))];
    assert_eq!(headers.collect::<Vec<_>>(), [vec![], marked.clone(), marked]);
}

#[tokio::test(start_paused = true)]
async fn what_a_converter_of_a_plugin_refuses_is_one_record() {
    assert_eq!(produced(&["a", "bad", "b"], "all", &[MARKED]).await, "t:t>a t:t>b");
    let source = source(&["a", "bad", "b"], "none", &[MARKED]).await;
    let failure = source.ended.await.unwrap().unwrap_err().to_string();
    let expected = "record 1 of this run, for topic `t`, failed at stage VALUE_CONVERTER: a bad item (with \
                    errors.tolerance=all it would be skipped)";
    assert_eq!(failure, expected);
    assert_eq!(source.producer.values(), ["t>a"]);
}

#[tokio::test(start_paused = true)]
async fn a_converter_that_crashes_takes_the_task_with_it() {
    let source = source(&["a", "crash"], "all", &[MARKED]).await;
    let failure = source.ended.await.unwrap().unwrap_err();
    assert_eq!(failure.trace(), "converter `value.converter` (test.MarkedConverter): it trapped\nat some place");
    let sink = sink(ScriptedSink::default(), "all", &[MARKED]).await;
    sink.kafka.records("t", 0, &["crash"]);
    let failure = sink.ended.await.unwrap().unwrap_err();
    assert_eq!(failure.trace(), "converter `value.converter` (test.MarkedConverter): it trapped\nat some place");
}

#[tokio::test(start_paused = true)]
async fn a_sink_gets_what_a_converter_of_a_plugin_makes_of_the_bytes() {
    for (lines, put) in [
        (vec![MARKED], "put a  b"),
        (vec![MARKED, "m=test.Marked mark=-"], "put -a - -b"),
        (vec![MARKED, ROUTER], "put a  b"),
    ] {
        let sink = sink(ScriptedSink::default(), "all", &lines).await;
        sink.kafka.records_or_null("t", 5, &[Some("t>a"), Some("odd"), None, Some("bad"), Some("t>b")]);
        sink.committed("commit t-0@10").await;
        assert!(sink.task.log().contains(&put.to_owned()), "{lines:?}: {:?}", sink.task.log());
        let class = "VALUE_CONVERTER test.MarkedConverter";
        assert_eq!(sink.dead_letters(), [format!("odd {class}"), format!("bad {class}")]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_that_cannot_be_converted_is_its_records_end() {
    let sink = sink(ScriptedSink::default(), "all", &["header.converter=test.MarkedConverter mark=>", MARKED]).await;
    sink.kafka.fetched(Consumed {
        topics: vec!["t".into()],
        topic: vec![0; 3],
        partition: vec![0; 3],
        offset: vec![0, 1, 2],
        timestamp: vec![0; 3],
        timestamp_type: vec![1; 3],
        key_len: vec![-1; 3],
        value_len: vec![3; 3],
        header_count: vec![1, 2, 1],
        header_keys: vec!["k".into(), "l".into()],
        header_key: vec![0, 0, 1, 1],
        header_len: vec![3; 4],
        data: "t>ak>xt>bk>xk>xt>cl>x".into(),
    });
    sink.committed("commit t-0@3").await;
    assert!(sink.task.log().contains(&"put a c".to_owned()), "{:?}", sink.task.log());
    assert_eq!(sink.dead_letters(), ["t>b HEADER_CONVERTER test.MarkedConverter"]);
}

#[tokio::test]
async fn a_converter_that_cannot_be_made_says_where_it_stands() {
    for (line, expected) in [
        (
            "key.converter=test.MarkedConverter refuse=no-room",
            "converter `key.converter` (test.MarkedConverter): no-room",
        ),
        ("key.converter=Marked refuse=no-room", "converter `key.converter` (test.MarkedConverter): no-room"),
        ("key.converter=test.Unheard", "there is no converter of class test.Unheard"),
    ] {
        let config = config(&[line, "value.converter=StringConverter", "header.converter=StringConverter"]);
        let plan = |role| Aliased::converter(role, &config).unwrap();
        let opened = Converters::open(plan, &task(), &config, &ScriptedPlugins::default(), None).await;
        assert_eq!(opened.err().unwrap().to_string(), expected);
    }
}
