//! The bytes of offset records, as Connect writes them: JSON without schemas or white space.

use bulkhead_model::ConnectorName;
use bulkhead_model::offset::{SourceOffset, SourcePartition};
use bytes::Bytes;
use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// Text of a plugin that has no place in a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the source {what} `{text}` is not a JSON object")]
pub struct Malformed {
    what: &'static str,
    text: String,
}

/// `["connector",{partition}]`, the members in the order in which the connector has them: the topic is
/// compacted by these bytes.
pub fn encode_key(connector: &ConnectorName, partition: &SourcePartition) -> Result<Bytes, Malformed> {
    let key = [Value::from(connector.as_str()), Value::Object(object("partition", &partition.0)?)];
    Ok(Bytes::from(Value::from(key.to_vec()).to_string()))
}

/// `{offset}`.
pub fn encode_value(offset: &SourceOffset) -> Result<Bytes, Malformed> {
    Ok(Bytes::from(Value::Object(object("offset", &offset.0)?).to_string()))
}

/// Whose offset it is and of which partition; nothing for keys of another form.
pub fn decode_key(key: &[u8]) -> Option<(ConnectorName, SourcePartition)> {
    let (connector, partition): (String, Object) = serde_json::from_slice(key).ok()?;
    Some((ConnectorName::new(connector), SourcePartition(Value::Object(partition).to_string().into())))
}

/// Nothing for values of another form; `Some(None)` where the partition has been forgotten.
pub fn decode_value(value: Option<&[u8]>) -> Option<Option<SourceOffset>> {
    let Some(bytes) = value else { return Some(None) };
    let offset: Option<Object> = serde_json::from_slice(bytes).ok()?;
    Some(offset.map(|offset| SourceOffset(Value::Object(offset).to_string().into())))
}

fn object(what: &'static str, text: &str) -> Result<Object, Malformed> {
    serde_json::from_str(text).map_err(|_| Malformed { what, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_real_connect_are_read_and_written_byte_for_byte() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/offset-topic.json");
        let vectors: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert!(!vectors.is_empty());
        for vector in vectors {
            let (key, value) = (vector["key"].as_str().unwrap(), vector["value"].as_str());
            let (connector, partition) = decode_key(key.as_bytes()).unwrap();
            assert_eq!(encode_key(&connector, &partition).unwrap(), key);
            let offset = decode_value(value.map(str::as_bytes)).unwrap();
            let written = offset.map(|offset| encode_value(&offset).unwrap());
            assert_eq!(written.as_deref(), value.map(str::as_bytes));
        }
    }

    #[test]
    fn members_stay_in_their_order_and_space_goes() {
        let partition = SourcePartition(" { \"z\" : 1,\n \"a\" : \"\u{e9}/\\n\" } ".into());
        let key = encode_key(&ConnectorName::new("my \"c\""), &partition).unwrap();
        assert_eq!(key, "[\"my \\\"c\\\"\",{\"z\":1,\"a\":\"\u{e9}/\\n\"}]");
        let (connector, read) = decode_key(&key).unwrap();
        assert_eq!((connector.as_str(), read.canonical()), ("my \"c\"", partition.canonical()));
    }

    #[test]
    fn other_forms_are_told_apart() {
        for key in
            ["", "null", "{}", "[]", "[\"c\"]", "[\"c\",null]", "[\"c\",[]]", "[1,{}]", "[\"c\",{},1]", "[\"c\",{}"]
        {
            assert_eq!(decode_key(key.as_bytes()), None, "{key}");
        }
        assert_eq!(decode_key(&[0xff, 0xfe]), None);
        assert_eq!(decode_key("[".repeat(1_000_000).as_bytes()), None);
        for value in ["", "1", "[]", "{", "\"x\""] {
            assert_eq!(decode_value(Some(value.as_bytes())), None, "{value}");
        }
        assert_eq!(decode_value(Some(b"null")), Some(None));
        let error = encode_value(&SourceOffset("[1]".into())).unwrap_err();
        assert_eq!(error.to_string(), "the source offset `[1]` is not a JSON object");
    }
}
