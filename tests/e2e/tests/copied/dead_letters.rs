//! Sinks that set records aside.

use crate::seen::Seen;
use crate::workers::Workers;

/// Values as they are in a topic: good ones of many types, bad JSON, bad envelopes, and what a transform refuses.
const MIXED: [Option<&str>; 14] = [
    Some(
        r#"{"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"field":"a"},{"type":"string","optional":true,"field":"b"}],"optional":false,"name":"r"},"payload":{"a":1,"b":null}}"#,
    ),
    Some("not json"),
    Some(
        r#"{"schema":{"type":"struct","fields":[{"type":"int64","optional":false,"field":"a"},{"type":"double","optional":false,"field":"c"},{"type":"boolean","optional":false,"field":"d"}],"optional":false},"payload":{"a":-5,"c":0.5,"d":true}}"#,
    ),
    Some(r#"{"a":1}"#),
    None,
    Some(
        r#"{"schema":{"type":"struct","fields":[{"type":"string","optional":false,"field":"a"}],"optional":false},"payload":{"a":"no number"}}"#,
    ),
    Some(
        r#"{"schema":{"type":"struct","fields":[{"type":"array","items":{"type":"int32","optional":false},"optional":false,"field":"list"},{"type":"map","keys":{"type":"string","optional":false},"values":{"type":"int16","optional":false},"optional":false,"field":"map"},{"type":"string","optional":false,"field":"a"}],"optional":false},"payload":{"list":[1,2],"map":{"k":3},"a":"17"}}"#,
    ),
    Some(
        r#"{"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"name":"org.apache.kafka.connect.data.Date","version":1,"field":"date"},{"type":"int64","optional":false,"name":"org.apache.kafka.connect.data.Timestamp","version":1,"field":"ts"},{"type":"bytes","optional":false,"name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2"},"field":"dec"},{"type":"int32","optional":false,"field":"a"}],"optional":false},"payload":{"date":19000,"ts":1700000000123,"dec":"MDk=","a":2}}"#,
    ),
    Some(r#"{"schema":{"type":"int32","optional":false},"payload":7}"#),
    Some(r#"{"schema":{"type":"int32","optional":false},"payload":"seven"}"#),
    Some(
        r#"{"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"field":"a"}],"optional":false},"payload":{}}"#,
    ),
    Some(""),
    Some("null"),
    Some(
        r#"{"schema":{"type":"struct","fields":[{"type":"float","optional":false,"field":"f"},{"type":"int8","optional":false,"default":3,"field":"i"},{"type":"int32","optional":false,"field":"a"}],"optional":false},"payload":{"f":1.5,"a":9}}"#,
    ),
];

/// A copied sink sets the same records aside, and says the same of them.
pub fn are_the_same(workers: &Workers) {
    let (topic, dead) = (workers.name("mixed"), workers.name("mixed-dead"));
    workers.topics().create(&topic, 1, &[]).unwrap();
    let values: Vec<_> = MIXED.iter().map(|value| (Some(b"k".as_slice()), value.map(str::as_bytes))).collect();
    workers.topics().write(&topic, 0, &values).unwrap();
    let more = DEAD_LETTERS.replace("{dead}", &dead);
    let sink = workers.sink("mixed-sink", &topic, &more);
    let written = workers.each_reads(&[sink], &[vec![topic]]);
    let [theirs, ours] = &written[0];
    assert_eq!(ours, theirs);
    let records = workers.topics().read(&dead).unwrap();
    let (theirs, ours) = records.split_at(records.len() / 2);
    assert_eq!((theirs.len(), ours.len()), (DEAD, DEAD));
    for (theirs, ours) in theirs.iter().zip(ours) {
        assert_eq!(Seen::of(ours), Seen::of(theirs).in_our_words());
    }
}

/// How many of [`MIXED`] are refused by converter or transform.
const DEAD: usize = 8;

/// Of a sink that goes on after each mistake.
const DEAD_LETTERS: &str = r#"
key.converter = {STRING}
value.converter = {JSON}
errors.tolerance = all
errors.log.enable = true
errors.log.include.messages = true
errors.deadletterqueue.topic.name = {dead}
errors.deadletterqueue.topic.replication.factor = 1
errors.deadletterqueue.context.headers.enable = true
consumer.override.max.poll.records = ${dir:{secrets}/dir:answer}
consumer.override.auto.offset.reset = earliest
producer.override.acks = all
transforms = number
transforms.number.type = {T}.Cast$Value
transforms.number.spec = a:int32
transforms.number.predicate = nothing
transforms.number.negate = true
predicates = nothing
predicates.nothing.type = {T}.predicates.RecordIsTombstone
"#;
