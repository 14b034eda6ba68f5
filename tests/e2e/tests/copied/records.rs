//! Sources with transforms, and sinks that read what they and their copies wrote.

use crate::workers::Workers;

/// Transforms that make a struct with fields of many types out of a line, with a key, headers, and another topic. The
/// record's time is another each time, that of a mask isn't.
const CHAIN: &str = r#"
key.converter = {STRING}
value.converter = {JSON}
value.converter.schemas.enable = true
header.converter = org.apache.kafka.connect.storage.SimpleHeaderConverter
producer.override.acks = all
producer.override.linger.ms = ${file:{secrets}/all.properties:linger}
producer.override.client.id = copied
transforms = hoist,fixed,answer,when,mask,day,cast,rename,key,plain,mark,marked,unmarked,move,route,else
transforms.hoist.type = {T}.HoistField$Value
transforms.hoist.field = line
transforms.fixed.type = {T}.InsertField$Value
transforms.fixed.static.field = origin
transforms.fixed.static.value = ${file:{secrets}/all.properties:origin} at ${env:BULKHEAD_KAFKA}
transforms.fixed.topic.field = topic!
transforms.answer.type = {T}.InsertField$Value
transforms.answer.static.field = answer
transforms.answer.static.value = ${dir:{secrets}/dir:answer}
transforms.when.type = {T}.InsertField$Value
transforms.when.timestamp.field = at
transforms.mask.type = {T}.MaskField$Value
transforms.mask.fields = at
transforms.day.type = {T}.TimestampConverter$Value
transforms.day.field = at
transforms.day.target.type = string
transforms.day.format = yyyy-MM-dd'T'HH:mm:ss.SSSXXX
transforms.cast.type = {T}.Cast$Value
transforms.cast.spec = answer:float64
transforms.rename.type = {T}.ReplaceField$Value
transforms.rename.renames = line:text,at:day
transforms.rename.exclude = nothing
transforms.key.type = {T}.ValueToKey
transforms.key.fields = text
transforms.plain.type = {T}.ExtractField$Key
transforms.plain.field = text
transforms.mark.type = {T}.InsertHeader
transforms.mark.header = mark
transforms.mark.value.literal = 7.5
transforms.mark.predicate = elsewhere
transforms.mark.negate = true
transforms.marked.type = {T}.InsertHeader
transforms.marked.header = also
transforms.marked.value.literal = [1, 2]
transforms.marked.predicate = is-marked
transforms.unmarked.type = {T}.InsertHeader
transforms.unmarked.header = never
transforms.unmarked.value.literal = x
transforms.unmarked.predicate = is-marked
transforms.unmarked.negate = true
transforms.move.type = {T}.HeaderFrom$Value
transforms.move.fields = topic,answer
transforms.move.headers = topic,answer
transforms.move.operation = copy
transforms.route.type = {T}.RegexRouter
transforms.route.regex = (.*)
transforms.route.replacement = $1-out
transforms.else.type = {T}.RegexRouter
transforms.else.regex = .*
transforms.else.replacement = nowhere
transforms.else.predicate = elsewhere
predicates = elsewhere,is-marked
predicates.elsewhere.type = {T}.predicates.TopicNameMatches
predicates.elsewhere.pattern = (?!{group}-chain).*
predicates.is-marked.type = {T}.predicates.HasHeaderKey
predicates.is-marked.name = mark
"#;

const LINES: &str = "one\n\n \"two\" \\ \u{e4}\u{1f980}\t\n17\n";

/// A copied source writes the same records, and a copied sink reads those of both.
pub fn are_the_same_and_read_by_both(workers: &Workers) {
    let mut sources = vec![workers.source("chain", LINES, CHAIN)];
    let mut topics = vec![(workers.name("chain-out"), LINES.lines().count())];
    let mut converters = vec!["key.converter = {STRING}\nvalue.converter = {JSON}\n".to_owned()];
    for (name, cast, converter, lines) in PLAIN {
        let converter = format!("key.converter = {{STRING}}\nvalue.converter = {converter}\n");
        let cast =
            format!("transforms = cast\ntransforms.cast.type = {{T}}.Cast$Value\ntransforms.cast.spec = {cast}\n");
        sources.push(workers.source(name, lines, &(cast + &converter)));
        topics.push((workers.name(name), lines.lines().count()));
        converters.push(converter);
    }
    workers.each_writes(&sources, &topics);

    let names: Vec<_> = topics.iter().map(|(topic, _)| vec![topic.clone()]).collect();
    let of_sink = |((topic, _), converter): (&(String, usize), String)| {
        let consumer = "consumer.override.max.poll.records = 3\nconsumer.override.isolation.level = read_committed\n";
        workers.sink(&format!("of-{topic}"), topic, &(converter + consumer))
    };
    let sinks: Vec<_> = topics.iter().zip(converters).map(of_sink).collect();
    for ([theirs, ours], (topic, count)) in workers.each_reads(&sinks, &names).iter().zip(&topics) {
        assert_eq!(ours, theirs, "{topic}");
        let lines: Vec<_> = theirs.lines().collect();
        let (first, second) = lines.split_at(lines.len() / 2);
        assert!(first == second && lines.len() == count * 2, "both read of both the same: {topic}: {lines:?}");
    }
}

/// Names, what a line is cast to, the converter of that, lines.
const PLAIN: [(&str, &str, &str, &str); 9] = [
    ("string", "string", "{STRING}", "x\n\u{e4}\n"),
    ("int8", "int8", "{JSON}", "-128\n127\n"),
    ("int16", "int16", "{C}.ShortConverter", "-32768\n0\n32767\n"),
    ("int32", "int32", "{C}.IntegerConverter", "-2147483648\n5\n2147483647\n"),
    ("int64", "int64", "{C}.LongConverter", "-9223372036854775808\n9223372036854775807\n"),
    ("float32", "float32", "{C}.FloatConverter", "0.1\n-1e30\n3\n1e-10\n16777217\n"),
    ("float64", "float64", "{C}.DoubleConverter", "0.1\n-1e300\n3\n1e-5\nNaN\n123456789.125\n"),
    ("double-json", "float64", "{JSON}", "0.1\n1e21\n1e-7\n100\n12345678\n-0.0\n"),
    ("boolean", "boolean", "{C}.BooleanConverter", "true\nFALSE\n"),
];
