//! Bytes and schemas of strangers.

use super::*;

const RECORD: &str = r#"{"type":"record","name":"R","fields":[
    {"name":"a","type":{"type":"array","items":["null","string",{"type":"map","values":"double"}]}},
    {"name":"b","type":{"type":"array","items":{"type":"record","name":"io.confluent.connect.avro.MapEntry","fields":[
        {"name":"value","type":"bytes"},{"name":"key","type":"int"}]}}},
    {"name":"c","type":{"type":"enum","name":"E","symbols":["X","Y"]}},
    {"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
    {"name":"e","type":["null",{"type":"int","logicalType":"time-millis"}]},
    {"name":"f","type":"boolean"}]}"#;

/// A value of the record.
const GOOD: &[u8] = &[
    6, 0, 2, 2, b'x', 4, 2, 2, b'k', 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, // a
    1, 8, 4, 1, 2, 8, 0, // b, in a block that says its length
    2, 2, 0x9c, 2, 10, 1,
];

fn refused(avro: &str, bytes: &[u8]) -> String {
    decode_as(avro, bytes, &MAPPING).unwrap_err().to_string()
}

#[test]
fn entries_may_have_their_value_first_and_blocks_their_length() {
    let Value::Struct(read) = decode_as(RECORD, GOOD, &MAPPING).unwrap().value else { panic!() };
    assert_eq!(read.get("b"), Some(&Value::Map(vec![(Value::Int32(4), Value::Bytes(vec![1, 2].into()))])));
}

#[test]
fn bytes_that_were_cut_or_changed_never_do_harm() {
    for end in 0..GOOD.len() {
        assert_eq!(refused(RECORD, &GOOD[..end]), "the bytes end early", "{end}");
    }
    let readable = read_schema(&parse(RECORD).unwrap(), None, &MAPPING).unwrap();
    for place in 0..GOOD.len() {
        for byte in 0..=u8::MAX {
            let mut changed = GOOD.to_vec();
            changed[place] = byte;
            // Whatever becomes of it: it is over soon.
            let _ = decode_with(&readable, &changed);
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (avro, bytes, expected) in [
        (r#"["null","int"]"#, &[4][..], "the bytes say which type of a union it is: number 2, which it doesn't have"),
        (r#"["null","int"]"#, &[1], "the bytes say which type of a union it is: number -1, which it doesn't have"),
        (
            r#"{"type":"enum","name":"E","symbols":["X"]}"#,
            &[2],
            "the bytes say which symbol of enum `E` it is: number 1, which it doesn't have",
        ),
        (r#""boolean""#, &[2], "at byte 0 there is neither true nor false"),
        (r#""string""#, &[2, 0xff], "a text at byte 0 is not UTF-8"),
        (r#"{"type":"map","values":"int"}"#, &[4, 2, b'a', 2, 2, b'a', 4, 0], "a map has the key `a` twice"),
        (r#"{"type":"bytes","logicalType":"decimal","precision":4}"#, &[], "a Decimal has no bytes"),
        (r#"{"type":"int","logicalType":"time-millis"}"#, &[1], "-1 is no time of a day in milliseconds"),
    ] {
        assert_eq!(refused(avro, bytes), expected);
    }
}

#[test]
fn items_of_no_bytes_do_not_fill_the_memory() {
    let many = &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let empty = r#"{"type":"array","items":{"type":"record","name":"R","fields":[]}}"#;
    assert_eq!(refused(empty, many), "the value is much larger than its bytes");
    assert_eq!(refused(r#"{"type":"array","items":"long"}"#, many), "the value is much larger than its bytes");
    let fields: Vec<_> = (0..1000).map(|number| format!(r#"{{"name":"f{number}","type":"E"}}"#)).collect();
    let wide = format!(
        r#"{{"type":"array","items":{{"type":"record","name":"R","fields":[
            {{"name":"e","type":{{"type":"record","name":"E","fields":[]}}}},{}]}}}}"#,
        fields.join(",")
    );
    assert_eq!(refused(&wide, &[0x80, 0x80, 1, 0]), "the value is much larger than its bytes");
}

#[test]
fn nesting_has_an_end() {
    let mut bytes = Vec::new();
    for _ in 0..100_000 {
        bytes.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 2, 2]);
    }
    let anything = write_schema(None, &MAPPING).unwrap();
    assert_eq!(refused(&anything, &bytes), "the value is nested in more than 128 levels");
}

#[test]
fn a_schema_of_few_lines_that_never_ends_is_refused() {
    let mut avro = r#"{"type":"record","name":"R0","fields":[]}"#.to_owned();
    for number in 1..20 {
        let before = number - 1;
        avro = format!(
            r#"{{"type":"record","name":"R{number}","fields":[{{"name":"a","type":{avro}}},{{"name":"b","type":"R{before}"}},{{"name":"c","type":"R{before}"}}]}}"#
        );
    }
    let error = read_schema(&parse(&avro).unwrap(), None, &MAPPING).unwrap_err();
    assert_eq!(error.to_string(), "The Avro schema has too many parts, or too many levels");
    let deep = format!("{}\"int\"{}", r#"{"type":"array","items":"#.repeat(5_000), "}".repeat(5_000));
    assert!(parse(&deep).is_err());
}
