//! FC-11: what each transform makes of records without value, without key, or without both.

use crate::seen::Seen;
use crate::workers::Workers;

/// All transforms, with properties for a map or struct that has the fields `a` and `b`.
const TRANSFORMS: [(&str, &str); 26] = [
    ("Cast$Key", "spec = a:string"),
    ("Cast$Value", "spec = a:string"),
    ("DropHeaders", "headers = h"),
    ("ExtractField$Key", "field = a"),
    ("ExtractField$Value", "field = a"),
    ("Filter", ""),
    ("Flatten$Key", ""),
    ("Flatten$Value", ""),
    ("HeaderFrom$Key", "fields = a\nheaders = h\noperation = copy"),
    ("HeaderFrom$Value", "fields = a\nheaders = h\noperation = move"),
    ("HoistField$Key", "field = c"),
    ("HoistField$Value", "field = c"),
    ("InsertField$Key", "static.field = c\nstatic.value = x"),
    ("InsertField$Value", "static.field = c\nstatic.value = x"),
    ("InsertHeader", "header = h\nvalue.literal = 1"),
    ("MaskField$Key", "fields = a"),
    ("MaskField$Value", "fields = a"),
    ("RegexRouter", "regex = (.*)\nreplacement = $1-routed"),
    ("ReplaceField$Key", "renames = a:c"),
    ("ReplaceField$Value", "exclude = b"),
    ("SetSchemaMetadata$Key", "schema.name = s"),
    ("SetSchemaMetadata$Value", "schema.name = s\nschema.version = 2"),
    ("TimestampConverter$Key", "field = a\ntarget.type = string\nformat = yyyy"),
    ("TimestampConverter$Value", "field = a\ntarget.type = string\nformat = yyyy"),
    ("TimestampRouter", "topic.format = ${topic}-${timestamp}\ntimestamp.format = yyyy"),
    ("ValueToKey", "fields = a"),
];

const MAP: &str = r#"{"a":1,"b":"x"}"#;
const STRUCT: &str = r#"{"schema":{"type":"struct","optional":true,"fields":[{"type":"int64","optional":true,"field":"a"},{"type":"string","optional":true,"field":"b"}]},"payload":{"a":1,"b":"x"}}"#;
const NO_STRUCT: &str = r#"{"schema":{"type":"struct","optional":true,"fields":[{"type":"int64","optional":true,"field":"a"}]},"payload":null}"#;

/// Two sinks, with and without schemas, each with a topic for each transform, which is used for that topic alone.
pub fn have_the_same_outcome_in_all_transforms(workers: &Workers) {
    check(workers, "plain", "false", &[Some(MAP), None]);
    check(workers, "schemas", "true", &[Some(STRUCT), Some(NO_STRUCT), None]);
}

fn check(workers: &Workers, name: &str, schemas: &str, payloads: &[Option<&str>]) {
    let payloads = || payloads.iter().map(|payload| payload.map(str::as_bytes));
    let records: Vec<_> = payloads().flat_map(|key| payloads().map(move |value| (key, value))).collect();
    let topics: Vec<_> = (0..TRANSFORMS.len()).map(|number| workers.name(&format!("{name}-n{number:02}"))).collect();
    for topic in &topics {
        workers.topics().create(topic, 1, &[]).unwrap();
        workers.topics().write(topic, 0, &records).unwrap();
    }
    let dead = workers.name(&format!("{name}-dead"));
    let sink = workers.sink(&format!("{name}-sink"), &topics.join(","), &config(schemas, &dead));
    let [theirs, ours] =
        workers.each_reads(&[sink], &[topics]).remove(0).map(|text| sorted(text.lines().map(str::to_owned)));
    assert_eq!(ours, theirs, "{name}");
    let dead = workers.topics().read(&dead).unwrap();
    let (theirs, ours) = dead.split_at(dead.len() / 2);
    let [theirs, ours] =
        [theirs, ours].map(|records| sorted(records.iter().map(|one| Seen::of(one).without_message())));
    assert_eq!(ours, theirs, "{name}");
    assert!(!ours.is_empty(), "{name}: some transforms need a value");
}

/// Each value that passes is marked with the number of its transform.
fn config(schemas: &str, dead: &str) -> String {
    let numbered = || TRANSFORMS.iter().enumerate().map(|(number, transform)| (format!("n{number:02}"), transform));
    let names = |make: fn(&str) -> String| numbered().map(|(n, _)| make(&n)).collect::<Vec<_>>().join(",");
    let mut text = format!(
        "key.converter = {{JSON}}\nkey.converter.schemas.enable = {schemas}\n\
         value.converter = {{JSON}}\nvalue.converter.schemas.enable = {schemas}\n\
         errors.tolerance = all\nerrors.deadletterqueue.topic.name = {dead}\n\
         errors.deadletterqueue.topic.replication.factor = 1\n\
         errors.deadletterqueue.context.headers.enable = true\n\
         transforms = {}\npredicates = {}\n",
        names(|n| format!("{n},{n}h,{n}m")),
        names(str::to_owned),
    );
    for (n, (class, properties)) in numbered() {
        let steps = [
            (n.clone(), *class, (*properties).to_owned()),
            (format!("{n}h"), "HoistField$Value", "field = value".to_owned()),
            (format!("{n}m"), "InsertField$Value", format!("static.field = by\nstatic.value = {n}")),
        ];
        for (step, class, properties) in steps {
            text += &format!("transforms.{step}.type = {{T}}.{class}\ntransforms.{step}.predicate = {n}\n");
            text.extend(properties.lines().map(|line| format!("transforms.{step}.{line}\n")));
        }
        text +=
            &format!("predicates.{n}.type = {{T}}.predicates.TopicNameMatches\npredicates.{n}.pattern = .*-{n}.*\n");
    }
    text
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<_> = items.collect();
    items.sort();
    items
}
