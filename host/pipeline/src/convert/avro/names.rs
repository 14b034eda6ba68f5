//! Names of Connect as Avro takes them, and the names that Confluent's converter gives to what has none.

use std::borrow::Cow;
use std::fmt::Write;

/// The namespace of everything that Confluent's converter names.
pub(super) const NAMESPACE: &str = "io.confluent.connect.avro";
/// A struct without name, possibly with a number behind it.
pub(super) const DEFAULT: &str = "ConnectDefault";
/// An entry of a map whose keys aren't texts.
pub(super) const MAP_ENTRY: &str = "MapEntry";
/// A value without schema.
pub(super) const ANYTHING: &str = "io.confluent.connect.avro.Anything";
/// The struct that stands for a union: of its fields one is set.
pub(super) const UNION: &str = "io.confluent.connect.avro.Union";

/// Parameters of Connect schemas in which parts of an Avro schema are kept, or the beginnings of their names.
pub(super) mod parameter {
    pub(in super::super) const ENUM: &str = "io.confluent.connect.avro.Enum";
    pub(in super::super) const ENUM_DOC: &str = "io.confluent.connect.avro.enum.doc.";
    pub(in super::super) const ENUM_DEFAULT: &str = "io.confluent.connect.avro.enum.default.";
    pub(in super::super) const RECORD_DOC: &str = "io.confluent.connect.avro.record.doc";
    pub(in super::super) const FIELD_DOC: &str = "io.confluent.connect.avro.field.doc.";
    /// That the default is the one of the Avro field.
    pub(in super::super) const FIELD_DEFAULT: &str = "io.confluent.connect.avro.field.default";
    pub(in super::super) const FIXED_SIZE: &str = "connect.fixed.size";
    pub(in super::super) const PRECISION: &str = "connect.decimal.precision";
    /// Parameters that begin so are properties of the Avro type, and the other way round.
    pub(in super::super) const AVRO: &str = "avro";
}

/// Properties of Avro types and fields in which parts of a Connect schema are kept.
pub(super) mod property {
    pub(in super::super) const NAME: &str = "connect.name";
    pub(in super::super) const DOC: &str = "connect.doc";
    pub(in super::super) const VERSION: &str = "connect.version";
    pub(in super::super) const DEFAULT: &str = "connect.default";
    pub(in super::super) const PARAMETERS: &str = "connect.parameters";
    pub(in super::super) const TYPE: &str = "connect.type";
    pub(in super::super) const INTERNAL_TYPE: &str = "connect.internal.type";
    pub(in super::super) const LOGICAL: &str = "logicalType";
    pub(in super::super) const SCALE: &str = "scale";
    pub(in super::super) const PRECISION: &str = "precision";
}

/// What `connect.decimal.precision` is if nothing is said.
pub(super) const DEFAULT_PRECISION: i64 = 64;

/// A name in the parts that Avro has words for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) namespace: Option<String>,
    pub(super) simple: String,
}

impl Name {
    pub(super) fn of(full: &str, scrub: bool) -> Self {
        let mut parts: Vec<_> = full.split('.').map(|part| scrubbed(part, scrub)).collect();
        let simple = parts.pop().unwrap_or_default().into_owned();
        Self { namespace: (!parts.is_empty()).then(|| parts.join(".")), simple }
    }

    pub(super) fn full(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}.{}", self.simple),
            None => self.simple.clone(),
        }
    }

    /// The name of the `number`th thing that has none, counted from 1.
    pub(super) fn default(number: usize) -> Self {
        let number = if number > 1 { number.to_string() } else { String::new() };
        Self { namespace: Some(NAMESPACE.to_owned()), simple: format!("{DEFAULT}{number}") }
    }
}

/// Whether this is one of the names that stand for none.
pub(super) fn is_default(full: &str) -> bool {
    full.strip_prefix(NAMESPACE)
        .is_some_and(|rest| rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(DEFAULT)))
}

/// A name with `_` in place of what isn't allowed, or as it is.
pub(super) fn scrubbed(name: &str, scrub: bool) -> Cow<'_, str> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let starts_with_digit = name.starts_with(|first: char| first.is_ascii_digit());
    if !scrub || (name.bytes().all(is_fine) && !starts_with_digit) {
        return Cow::Borrowed(name);
    }
    let mut clean = String::from(if starts_with_digit { "x" } else { "" });
    for byte in name.bytes() {
        match byte {
            byte if is_fine(byte) => clean.push(char::from(byte)),
            b'.' | b'-' | b'*' | b' ' => clean.push('_'),
            byte => {
                let _ = write!(clean, "_{byte:02X}");
            }
        }
    }
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cleaned_part_by_part_only_if_that_is_wanted() {
        for (name, scrub, expected) in [
            ("a.b.C", false, "a.b/C"),
            ("C", true, "/C"),
            ("my-db.1.Übe r", true, "my_db.x1/_C3_9Cbe_r"),
            ("my-db.Value", false, "my-db/Value"),
        ] {
            let Name { namespace, simple } = Name::of(name, scrub);
            assert_eq!(format!("{}/{simple}", namespace.unwrap_or_default()), expected);
        }
        assert_eq!(scrubbed("a.b", true), "a_b");
    }

    #[test]
    fn names_that_stand_for_none_are_numbered_from_the_second_on() {
        assert_eq!(Name::default(1).full(), "io.confluent.connect.avro.ConnectDefault");
        assert_eq!(Name::default(2).full(), "io.confluent.connect.avro.ConnectDefault2");
        assert!(is_default(&Name::default(12).full()) && !is_default(UNION) && !is_default("ConnectDefault"));
    }
}
