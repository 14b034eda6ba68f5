//! Keys and values of the offset topic, as bytes of Kafka records.
//!
//! The key is also what Kafka compacts by: a partition must have the same bytes whenever it is written, so
//! the members keep the order that the connector gives them. Reading back goes by
//! [`SourcePartition::canonical`].

use bulkhead_model::ConnectorName;
use bulkhead_model::offset::{SourceOffset, SourcePartition};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A partition or an offset that Connect could not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("the source {what} `{text}` is not a JSON object")]
    NotAnObject { what: &'static str, text: String },
    #[error("`{key}` of the source {what} `{text}` is neither a text nor a number, a truth value or null")]
    NotPrimitive { what: &'static str, text: String, key: String },
}

/// The key of a partition: `["connector",{partition}]`.
pub fn encode_key(connector: &ConnectorName, partition: &SourcePartition) -> Result<Vec<u8>, Unfit> {
    let partition = compact("partition", &partition.0)?;
    Ok(Value::Array(vec![Value::from(connector.as_str()), Value::Object(partition)]).to_string().into_bytes())
}

/// The value of an offset: `{offset}`.
pub fn encode_value(offset: &SourceOffset) -> Result<Vec<u8>, Unfit> {
    Ok(Value::Object(compact("offset", &offset.0)?).to_string().into_bytes())
}

/// Whose partition a record is about; none for a key that is no such pair.
pub fn decode_key(key: &[u8]) -> Option<(ConnectorName, SourcePartition)> {
    let (connector, partition): (String, &RawValue) = serde_json::from_slice(key).ok()?;
    serde_json::from_str::<Map<String, Value>>(partition.get()).ok()?;
    Some((ConnectorName::new(connector), SourcePartition(partition.get().into())))
}

/// The offset, none for one that was taken back or can't be read.
pub fn decode_value(value: Option<&[u8]>) -> Option<SourceOffset> {
    let text = std::str::from_utf8(value?).ok()?;
    serde_json::from_str::<Map<String, Value>>(text).ok()?;
    Some(SourceOffset(text.into()))
}

/// Without white space, in its own order.
fn compact(what: &'static str, text: &str) -> Result<Map<String, Value>, Unfit> {
    let members: Map<String, Value> =
        serde_json::from_str(text).map_err(|_| Unfit::NotAnObject { what, text: text.to_owned() })?;
    match members.iter().find(|(_, value)| value.is_array() || value.is_object()) {
        Some((key, _)) => Err(Unfit::NotPrimitive { what, text: text.to_owned(), key: key.clone() }),
        None => Ok(members),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::load;

    fn partition(text: &str) -> SourcePartition {
        SourcePartition(text.into())
    }

    #[test]
    fn records_of_real_topics_are_read_and_written_byte_for_byte() {
        let vectors = load("offset-topic.json");
        for vector in vectors.as_array().unwrap() {
            let key = vector["key"].as_str().unwrap();
            let (connector, partition) = decode_key(key.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(encode_key(&connector, &partition).unwrap()).unwrap(), key);
            let offset = decode_value(vector["value"].as_str().map(str::as_bytes));
            let value = offset.map(|offset| String::from_utf8(encode_value(&offset).unwrap()).unwrap());
            assert_eq!(value.as_deref(), vector["value"].as_str());
        }
    }

    #[test]
    fn a_key_keeps_the_order_and_drops_the_space() {
        let key = encode_key(&ConnectorName::new("c\""), &partition("{ \"b\" : 1.50,\n\"a\": \"\u{e9}\"}")).unwrap();
        assert_eq!(String::from_utf8(key.clone()).unwrap(), "[\"c\\\"\",{\"b\":1.5,\"a\":\"\u{e9}\"}]");
        let (connector, read) = decode_key(&key).unwrap();
        assert_eq!(connector, ConnectorName::new("c\""));
        assert_eq!(read.canonical(), partition("{\"a\":\"\u{e9}\",\"b\":1.5}").canonical());
    }

    #[test]
    fn only_flat_objects_have_a_place() {
        let connector = ConnectorName::new("c");
        let error = encode_key(&connector, &partition("[1]")).unwrap_err();
        assert_eq!(error.to_string(), "the source partition `[1]` is not a JSON object");
        let error = encode_value(&SourceOffset(r#"{"a":1,"b":[]}"#.into())).unwrap_err();
        let said =
            "`b` of the source offset `{\"a\":1,\"b\":[]}` is neither a text nor a number, a truth value or null";
        assert_eq!(error.to_string(), said);
    }

    #[test]
    fn keys_and_values_of_another_kind_are_ignored() {
        for key in ["", "{}", "[]", "[1,{}]", r#"["c"]"#, r#"["c",[]]"#, r#"["c",null]"#, r#"["c",{},1]"#, "\u{0}"] {
            assert_eq!(decode_key(key.as_bytes()), None, "{key}");
        }
        for value in ["", "null", "[]", "1", "{"] {
            assert_eq!(decode_value(Some(value.as_bytes())), None, "{value}");
        }
        assert_eq!(decode_value(None), None);
        assert_eq!(decode_value(Some(&[0xff])), None);
    }
}
