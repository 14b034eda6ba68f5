//! Limits. The vectors that all SDKs share are in `tests/vectors`.

use super::{MAX_DEPTH, Reader, Writer, read, write};
use bulkhead_model::value::Value;

fn nested(levels: usize) -> Vec<u8> {
    let mut bytes = vec![0x81; levels];
    bytes.push(0x01);
    bytes
}

#[test]
fn nesting_is_bounded() {
    assert!(read(&nested(MAX_DEPTH), None).is_ok());
    assert!(read(&nested(MAX_DEPTH + 1), None).is_err());
    assert!(read(&nested(100_000), None).is_err());
    assert!(Reader::new(&nested(100_000)).skip().is_err());
    let maps: Vec<u8> = [0xa1, 0x01].repeat(100_000);
    assert!(read(&maps, None).is_err());
    let tags: Vec<u8> = [0xd9, 0xb7, 0xa0].repeat(100_000);
    assert!(read(&tags, None).is_err());
}

#[test]
fn writing_is_bounded_too() {
    let value = |levels| (0..levels).fold(Value::Null, |value, _| Value::Array(vec![value]));
    assert!(write(&value(MAX_DEPTH), None, &mut Vec::new()).is_ok());
    assert!(write(&value(MAX_DEPTH + 1), None, &mut Vec::new()).is_err());
}

#[test]
fn no_length_is_believed_before_the_bytes_are_there() {
    for head in [
        &[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff][..],
        &[0xbb, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0x9a, 0x00, 0xff, 0xff, 0xff, 0x01],
    ] {
        assert!(read(head, None).is_err(), "{head:x?}");
    }
}

#[test]
fn containers_may_be_counted_while_they_are_written() {
    for length in [0, 1, 23, 24, 255, 256, 70_000] {
        let mut counted = Vec::new();
        let mut writer = Writer::new(&mut counted);
        let start = writer.begin();
        (0..length).for_each(|number| writer.integer(number));
        writer.end_array(start, length as usize);
        let value = Value::Array((0..length).map(Value::Int64).collect());
        let mut known = Vec::new();
        write(&value, None, &mut known).unwrap();
        assert_eq!(counted, known);
    }
}

/// Damages of every sort: each byte of a value replaced by each of many others.
#[test]
fn damaged_bytes_never_panic() {
    let value = Value::Map(vec![
        (Value::string("a"), Value::Array(vec![Value::Int8(1), Value::Float64(2.0)])),
        (Value::Int32(70_000), Value::Bytes(vec![1, 2, 3].into())),
    ]);
    let mut bytes = Vec::new();
    write(&value, None, &mut bytes).unwrap();
    for at in 0..bytes.len() {
        for byte in 0..=255 {
            let mut damaged = bytes.clone();
            damaged[at] = byte;
            let _ = read(&damaged, None);
            let _ = read(&damaged[..at], None);
        }
    }
}
