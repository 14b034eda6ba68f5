//! Dead-letter queues and topics that tasks make, on a real broker: the mock makes none on request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_doubles::{QuietObserver, ScriptedSink};
use bulkhead_kafka::{Settings, TopicAdmin};
use bulkhead_model::RawConfig;
use bulkhead_pipeline::control::Wanted;
use bulkhead_pipeline::convert::{self, Converters, Role};
use bulkhead_pipeline::ports::{Clients, Creation, NewTopic, Outgoing, Purpose, TopicError};
use bulkhead_pipeline::sink::{Acks, DeadLetterSettings, DeadLetters, Decoder, SinkLoop, SinkSettings};
use bulkhead_pipeline::tolerance::Tolerance;
use bulkhead_pipeline::transform::Chain;
use tokio::sync::watch;

use crate::support::{Broker, Kept, assigned, fresh, record, records, send, sink, task};

const PATIENCE: Duration = Duration::from_secs(60);

fn admin(broker: &Broker) -> TopicAdmin {
    let properties = RawConfig::from([("bootstrap.servers", broker.servers.as_str())]);
    TopicAdmin::of_worker(&Settings::from_properties(&properties).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_is_made_once_with_its_settings_or_refused_with_the_reason() {
    let Some(broker) = Broker::real() else { return };
    let topics = broker.clients(&[]).topics(&task("a", 0), &RawConfig::new(), Purpose::Records).unwrap();
    let name = fresh("made");
    let wanted = NewTopic {
        name: name.clone(),
        partitions: 3,
        replication_factor: -1,
        settings: BTreeMap::from([("retention.ms".to_owned(), "12345000".to_owned())]),
    };
    assert_eq!(topics.exists(&name).await, Ok(false));
    assert_eq!(topics.create(wanted.clone()).await, Ok(Creation::Created));
    assert_eq!(topics.exists(&name).await, Ok(true));
    assert_eq!(topics.create(wanted.clone()).await, Ok(Creation::Exists));
    let admin = admin(&broker);
    assert_eq!(admin.partition_count(&name).await, Ok(Some(3)));
    let settings = admin.topic_settings(&name).await.unwrap();
    assert_eq!(settings.get("retention.ms").map(String::as_str), Some("12345000"));

    let other = fresh("refused");
    let refused = topics.create(NewTopic { name: other.clone(), replication_factor: 7, ..wanted }).await;
    assert!(matches!(&refused, Err(TopicError::Refused(reason)) if reason.contains(&other)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_is_the_record_byte_for_byte_and_counts_once_it_is_written() {
    let Some(broker) = Broker::real() else { return };
    let clients = broker.clients(&[]);
    let (source, dead, name) = (fresh("letters"), fresh("dead"), fresh("sink"));
    let kept = Arc::new(Kept::default());
    let producer = clients.producer(&task("fill", 0), &RawConfig::new(), kept.clone()).unwrap();
    let bad = Outgoing {
        timestamp: Some(1_700_000_000_123),
        key: Some(b"\xff\x00"),
        headers: &[("h", Some(b"\x00\xfe")), ("h", None)],
        ..record(&source, b"no number")
    };
    send(&producer, &record(&source, &7_i64.to_be_bytes()), 0);
    send(&producer, &bad, 1);
    kept.wait(2);

    let mut config = sink(&source);
    for (key, value) in [
        ("errors.tolerance", "all"),
        ("errors.deadletterqueue.topic.name", dead.as_str()),
        ("errors.deadletterqueue.topic.replication.factor", "1"),
        ("errors.deadletterqueue.context.headers.enable", "true"),
    ] {
        config.set(key, value);
    }
    let id = task(&name, 4);
    let settings = DeadLetterSettings::from_config(&config).unwrap();
    let topics = clients.topics(&id, &config, Purpose::DeadLetters).unwrap();
    settings.create_topic(&*topics).await.unwrap();
    settings.create_topic(&*topics).await.unwrap();
    assert_eq!(admin(&broker).partition_count(&dead).await, Ok(Some(1)));
    let acks = Arc::new(Acks::default());
    let letters = clients.dead_letter_producer(&id, &config, acks.clone()).unwrap();
    let converter = |class, role| convert::create(class, &RawConfig::new(), role).unwrap();
    let converters = Converters {
        key: converter("ByteArrayConverter", Role::Key),
        value: converter("LongConverter", Role::Value),
        header: converter("ByteArrayConverter", Role::Header),
        guests: Vec::new(),
    };
    let (wanted, receiver) = watch::channel(Wanted::Running);
    let run = SinkLoop {
        id: id.clone(),
        task: Arc::new(ScriptedSink::default()),
        consumer: clients.consumer(&id, &config).unwrap(),
        decoder: Decoder::new(converters, Chain::default()),
        observer: QuietObserver,
        tolerance: Tolerance::from_config(&config),
        dead_letters: Some(DeadLetters::new(settings, id.clone(), Box::new(letters), acks)),
        settings: SinkSettings { flush_interval: Duration::from_millis(50), ..SinkSettings::default() },
        wanted: receiver,
    };
    let ended = tokio::spawn(async move { run.run(&RawConfig::new()).await });

    let mut reader = clients.consumer(&task(&fresh("reader"), 0), &sink(&dead)).unwrap();
    assigned(&mut reader).await;
    let letter = tokio::time::timeout(PATIENCE, records(&mut reader)).await.unwrap();
    assert_eq!((letter.offset, letter.timestamp), (vec![0], vec![1_700_000_000_123]));
    assert_eq!((letter.key_len, letter.value_len), (vec![2], vec![9]));
    let context = [
        ("topic", source.as_str()),
        ("partition", "0"),
        ("offset", "1"),
        ("connector.name", name.as_str()),
        ("task.id", "4"),
        ("stage", "VALUE_CONVERTER"),
        ("class.name", "org.apache.kafka.connect.converters.LongConverter"),
        ("exception.class.name", "org.apache.kafka.connect.errors.DataException"),
    ];
    let keys: Vec<_> = letter.header_key.iter().map(|key| &*letter.header_keys[*key as usize]).collect();
    assert_eq!((keys.len(), &keys[..2]), (12, &["h", "h"][..]));
    let mut data = b"\xff\x00no number\x00\xfe".to_vec();
    for (index, (key, text)) in context.iter().enumerate() {
        assert_eq!(keys[index + 2], format!("__connect.errors.{key}"));
        data.extend_from_slice(text.as_bytes());
    }
    assert_eq!(keys[10..], ["__connect.errors.exception.message", "__connect.errors.exception.stacktrace"]);
    assert_eq!(letter.header_len[..2], [2, -1]);
    assert!(letter.data.starts_with(&data), "{}", String::from_utf8_lossy(&letter.data));

    wanted.send_replace(Wanted::Stop);
    ended.await.unwrap().unwrap();
    let offsets = clients.group_offsets(&id.connector, &config).await.unwrap();
    assert_eq!(offsets.iter().map(|at| at.offset).collect::<Vec<_>>(), [2]);
}
