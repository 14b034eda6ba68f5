//! What other workers write: records of the config, status and offset topics, metadata and assignments of the group,
//! signatures of requests.

use bulkhead_herder::api::{Event, GroupEvent, LoggedConfig, Millis, Proof, Secret, SessionKey};
use bulkhead_herder::protocol::{Assignment, ConnectProtocol, MemberMetadata};
use bulkhead_herder::{ClusterSettings, ExactlyOnce, Herder, KeySettings, Mode, config_topic, session, status_topic};
use bulkhead_model::offset::SourcePartition;

use crate::offset_coding;
use crate::rest::herder_settings;

/// A letter for what it is, then its bytes; records are lines of a key, a tabulator and a value.
pub fn cluster(bytes: &[u8]) {
    match bytes {
        [b'l', lines @ ..] => logs(lines),
        [b'o', lines @ ..] => lines.split(|byte| *byte == b'\n').for_each(offset),
        [b'm', metadata @ ..] => member(metadata),
        [b'a', assignment @ ..] => assigned(assignment),
        [b'p', proof @ ..] => signed(proof),
        _ => {}
    }
}

/// Records of both logs, before and after the herder is up.
fn logs(lines: &[u8]) {
    let mut herder = Herder::new(herder_settings(distributed()));
    for (number, line) in (0..).zip(lines.split(|byte| *byte == b'\n').take(64)) {
        if line == b"-" {
            herder.handle(Millis(number), Event::CaughtUp);
            continue;
        }
        let (key, value) = record(line);
        if let Ok(record) = config_topic::decode(key, value) {
            if let Some(record) = &record {
                let (key, value) = config_topic::encode(record);
                assert_eq!(config_topic::decode(&key, value.as_deref()).as_ref(), Ok(&Some(record.clone())));
            }
            let logged = LoggedConfig { next_offset: number as i64 + 1, record };
            herder.handle(Millis(number), Event::ConfigRecord(logged));
        }
        if let Some(record) = status_topic::decode(key, value) {
            let (key, value) = status_topic::encode(&record);
            assert_eq!(status_topic::decode(&key, value.as_deref()).as_ref(), Some(&record));
            herder.handle(Millis(number), Event::StatusRecord(record));
        }
    }
    let _ = herder.view();
}

/// A key, and a value if there is a tabulator.
fn record(line: &[u8]) -> (&[u8], Option<&[u8]>) {
    match line.iter().position(|byte| *byte == b'\t') {
        Some(end) => (&line[..end], Some(&line[end + 1..])),
        None => (line, None),
    }
}

fn offset(line: &[u8]) {
    let (key, value) = record(line);
    if let Some((connector, partition)) = offset_coding::decode_key(key) {
        let written = offset_coding::encode_key(&connector, &partition).expect("it was an object");
        assert_eq!(offset_coding::decode_key(&written), Some((connector, partition)));
    }
    if let Some(Some(offset)) = offset_coding::decode_value(value) {
        let written = offset_coding::encode_value(&offset).expect("it was an object");
        assert_eq!(offset_coding::decode_value(Some(&written)), Some(Some(offset)));
    }
    if let Ok(text) = std::str::from_utf8(line) {
        let canonical = SourcePartition(text.into()).canonical();
        assert_eq!(SourcePartition(canonical.as_str().into()).canonical(), canonical);
    }
}

fn member(metadata: &[u8]) {
    if let Ok(mut read) = MemberMetadata::decode(metadata)
        && let Ok(written) = read.encode()
    {
        // What a member holds is written in the version that it speaks.
        if let Some(held) = &mut read.allocation {
            held.version = read.version;
        }
        let again = MemberMetadata::decode(&written).expect("it was just written");
        // Version 0 has no room for all of it.
        assert!(read.version == 0 || again == read, "{read:?} became {again:?}");
    }
    let own = MemberMetadata { version: 2, url: "http://w:1/".to_owned(), config_offset: 1, allocation: None };
    let own = own.encode().expect("it is short");
    let mut herder = joining();
    let members = vec![("me".to_owned(), own), ("you".to_owned(), metadata.to_vec())];
    let elected =
        GroupEvent::Elected { generation: 1, protocol: "sessioned".to_owned(), member: "me".to_owned(), members };
    herder.handle(Millis(2), Event::Group(elected));
}

fn assigned(assignment: &[u8]) {
    if let Ok(read) = Assignment::decode(assignment)
        && let Ok(written) = read.encode()
    {
        assert_eq!(Assignment::decode(&written), Ok(read));
    }
    let mut herder = joining();
    let synced = GroupEvent::Synced {
        generation: 1,
        protocol: "sessioned".to_owned(),
        member: "me".to_owned(),
        assignment: assignment.to_vec(),
    };
    herder.handle(Millis(2), Event::Group(synced));
}

/// A herder that has read its logs, in which there is a connector with a task.
fn joining() -> Herder {
    let mut herder = Herder::new(herder_settings(distributed()));
    let records = [
        ("connector-c", r#"{"properties":{"connector.class":"x","name":"c"}}"#),
        ("task-c-0", r#"{"properties":{}}"#),
        ("commit-c", r#"{"tasks":1}"#),
    ];
    for (number, (key, value)) in (1..).zip(records) {
        let record = config_topic::decode(key.as_bytes(), Some(value.as_bytes())).expect("the record is right");
        herder.handle(Millis(1), Event::ConfigRecord(LoggedConfig { next_offset: number, record }));
    }
    herder.handle(Millis(1), Event::CaughtUp);
    herder
}

/// Algorithm and signature, a line each, and the body.
fn signed(proof: &[u8]) {
    let mut parts = proof.splitn(3, |byte| *byte == b'\n').map(|part| String::from_utf8_lossy(part).into_owned());
    let (algorithm, mac) = (parts.next(), parts.next());
    let body = parts.next().unwrap_or_default().into_bytes();
    let key = SessionKey { key: Secret(b"secret".to_vec()), algorithm: "HmacSHA256".to_owned(), created: 0 };
    let accepted = ["HmacSHA256".to_owned()];
    if let Some(algorithm) = &algorithm
        && let Ok(signature) = session::sign(&key, algorithm, &body)
        && accepted.contains(algorithm)
    {
        let proof = Proof { algorithm: Some(signature.algorithm), mac: Some(signature.mac), body: body.clone() };
        assert_eq!(session::verify(&proof, Some(&key), &accepted), Ok(()));
    }
    let _ = session::verify(&Proof { algorithm, mac, body }, Some(&key), &accepted);
}

fn distributed() -> Mode {
    let algorithm = || "HmacSHA256".to_owned();
    Mode::Distributed(Box::new(ClusterSettings {
        url: "http://w:1/".to_owned(),
        protocol: ConnectProtocol::Sessioned,
        exactly_once: ExactlyOnce::Disabled,
        sync_timeout: 3_000,
        unsync_backoff: 300_000,
        rebalance_delay: 300_000,
        keys: KeySettings {
            algorithm: algorithm(),
            size: None,
            ttl: 3_600_000,
            signature: algorithm(),
            verification: vec![algorithm()],
        },
    }))
}
