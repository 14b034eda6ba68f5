//! Source partitions and offsets: where a source's data comes from, and how far it was read.

use std::fmt;
use std::rc::Rc;

use serde_json::{Map, Value as Json};

use crate::{Error, Result, host};

/// A part of the source that is read in order, e.g. a file or a table; offsets are kept for each.
///
/// Cheap to clone. Make it once rather than for each record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition(Rc<str>);

impl Partition {
    /// A partition from names and values: `Partition::new([("filename", path)])`.
    pub fn new(fields: impl Fields) -> Self {
        Self(to_json(&fields).into())
    }

    pub(crate) fn json(&self) -> &str {
        &self.0
    }
}

/// Reads what was committed before: given to a task's `start`.
#[derive(Debug)]
pub struct Offsets(());

impl Offsets {
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// The offset committed last for a partition; an empty one if there is none.
    pub fn read(&self, partition: &Partition) -> Result<JsonMap> {
        let mut offsets = self.read_all(std::slice::from_ref(partition))?;
        offsets.pop().ok_or_else(|| Error::failed("the worker answered with no offset"))
    }

    /// The same for many partitions at once, in their order.
    pub fn read_all(&self, partitions: &[Partition]) -> Result<Vec<JsonMap>> {
        let wanted: Vec<String> = partitions.iter().map(|partition| partition.json().to_owned()).collect();
        host::committed_offsets(&wanted)?.into_iter().map(|offset| JsonMap::parse(offset.as_deref())).collect()
    }
}

/// A source partition or offset as it was stored: names and plain values, or nothing at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonMap(Option<Map<String, Json>>);

impl JsonMap {
    /// Reads a stored map; no text and the text `null` are nothing.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self> {
        let map = text.map(serde_json::from_str::<Option<Map<String, Json>>>).transpose();
        Ok(Self(map.map_err(|error| Error::failed(error).context("a stored offset is no JSON object"))?.flatten()))
    }

    /// True if there is nothing, not even an empty map.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// A text; none if the name is absent or null.
    pub fn get_text(&self, name: &str) -> Result<Option<&str>> {
        self.get(name, "a text", Json::as_str)
    }

    /// A whole number that isn't negative; none if the name is absent or null.
    pub fn get_u64(&self, name: &str) -> Result<Option<u64>> {
        self.get(name, "a whole number from 0", Json::as_u64)
    }

    /// A whole number; none if the name is absent or null.
    pub fn get_i64(&self, name: &str) -> Result<Option<i64>> {
        self.get(name, "a whole number", Json::as_i64)
    }

    /// A truth value; none if the name is absent or null.
    pub fn get_bool(&self, name: &str) -> Result<Option<bool>> {
        self.get(name, "true or false", Json::as_bool)
    }

    fn get<'a, T>(&'a self, name: &str, what: &str, read: impl FnOnce(&'a Json) -> Option<T>) -> Result<Option<T>> {
        match self.0.as_ref().and_then(|map| map.get(name)) {
            None | Some(Json::Null) => Ok(None),
            Some(found) => match read(found) {
                Some(value) => Ok(Some(value)),
                None => Err(Error::data(format!("`{name}` must be {what}, not {found}"))),
            },
        }
    }
}

impl fmt::Display for JsonMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(map) => f.write_str(&serde_json::to_string(map).map_err(|_| fmt::Error)?),
            None => f.write_str("null"),
        }
    }
}

/// Names and values of a partition or an offset: an array `[("line", 3), ("column", 7)]` if the values are of one type,
/// a tuple `(("line", 3), ("file", "a.txt"))` if they are not.
pub trait Fields {
    /// Calls `field` with each name and value in turn.
    fn each(&self, field: &mut dyn FnMut(&str, &dyn Scalar));
}

/// A value of a partition or an offset.
pub trait Scalar {
    /// Appends the value as JSON.
    fn write_json(&self, out: &mut Vec<u8>);
}

impl<K: AsRef<str>, V: Scalar, const N: usize> Fields for [(K, V); N] {
    fn each(&self, field: &mut dyn FnMut(&str, &dyn Scalar)) {
        self.iter().for_each(|(name, value)| field(name.as_ref(), value));
    }
}

macro_rules! tuples {
    ($($($value:ident $place:tt),+;)*) => {$(
        impl<$($value: Scalar),+> Fields for ($((&str, $value),)+) {
            fn each(&self, field: &mut dyn FnMut(&str, &dyn Scalar)) {
                $(field(self.$place.0, &self.$place.1);)+
            }
        }
    )*};
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
}

macro_rules! whole_numbers {
    ($($type:ty)*) => {$(
        impl Scalar for $type {
            fn write_json(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(itoa::Buffer::new().format(*self).as_bytes());
            }
        }
    )*};
}

whole_numbers! { i8 i16 i32 i64 u8 u16 u32 u64 usize }

impl Scalar for bool {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl Scalar for f64 {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(Json::from(*self).to_string().as_bytes());
    }
}

impl Scalar for str {
    fn write_json(&self, out: &mut Vec<u8>) {
        if self.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
            out.extend_from_slice(Json::from(self).to_string().as_bytes());
        } else {
            out.push(b'"');
            out.extend_from_slice(self.as_bytes());
            out.push(b'"');
        }
    }
}

impl Scalar for String {
    fn write_json(&self, out: &mut Vec<u8>) {
        self.as_str().write_json(out);
    }
}

impl<T: Scalar + ?Sized> Scalar for &T {
    fn write_json(&self, out: &mut Vec<u8>) {
        (**self).write_json(out);
    }
}

impl<T: Scalar> Scalar for Option<T> {
    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write_json(out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

/// Appends a JSON object, with no allocation beyond `out`'s own.
pub(crate) fn write_json(fields: &impl Fields, out: &mut Vec<u8>) {
    let mut before = b'{';
    fields.each(&mut |name, value| {
        out.push(before);
        name.write_json(out);
        out.push(b':');
        value.write_json(out);
        before = b',';
    });
    out.extend_from_slice(if before == b'{' { b"{}" } else { b"}" });
}

fn to_json(fields: &impl Fields) -> String {
    let mut out = Vec::new();
    write_json(fields, &mut out);
    String::from_utf8(out).expect("only texts and JSON's own signs were written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_become_a_json_object() {
        assert_eq!(to_json(&[("next", 7_u64)]), r#"{"next":7}"#);
        assert_eq!(
            to_json(&(("file", "a \"b\""), ("line", -3), ("done", true), ("of", None::<u8>))),
            r#"{"file":"a \"b\"","line":-3,"done":true,"of":null}"#
        );
        assert_eq!(to_json(&[("", 0); 0]), "{}");
    }

    #[test]
    fn a_value_of_the_wrong_type_is_named() {
        let offset = JsonMap::parse(Some(r#"{"next":"x","gone":null}"#)).unwrap();
        assert_eq!(offset.get_u64("next").unwrap_err().to_string(), "`next` must be a whole number from 0, not \"x\"");
        assert_eq!(offset.get_u64("gone").unwrap(), None);
        assert_eq!(offset.get_u64("never").unwrap(), None);
    }

    #[test]
    fn null_and_absent_maps_are_none() {
        assert!(JsonMap::parse(None).unwrap().is_none());
        assert!(JsonMap::parse(Some("null")).unwrap().is_none());
        assert!(!JsonMap::parse(Some("{}")).unwrap().is_none());
    }
}
