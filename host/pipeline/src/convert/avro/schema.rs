//! Avro schemas as the rest of this converter needs them: names resolved, and with the properties in which Connect
//! keeps what Avro has no word for.
//!
//! The library reads the schema: it knows names, namespaces and what is allowed where. Of a type without a name it drops
//! the properties, though, so that these are looked up in the JSON, at the place where the library found the type.

use std::collections::HashMap;
use std::sync::Arc;

use apache_avro::Schema as Parsed;
use apache_avro::schema::{InnerDecimalSchema, Name, UuidSchema};
use serde_json::{Map, Value as Json};

use crate::convert::{CAUSED_BY, ConvertError};
use crate::ports::SchemaText;

/// Properties of a type, as in the JSON.
pub(super) type Properties = Arc<Map<String, Json>>;

#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) kind: Kind,
    pub(super) properties: Properties,
}

/// The types of the wire; what a logical type is stored as.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Array(Arc<Type>),
    Map(Arc<Type>),
    Union(Arc<[Type]>),
    Record(Arc<Record>),
    Enum(Arc<Enum>),
    Fixed(Arc<Fixed>),
    /// The named type that this one is inside of.
    Recursive(Arc<str>),
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) name: Arc<str>,
    pub(super) fields: Vec<Field>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Arc<str>,
    pub(super) of: Type,
    pub(super) properties: Properties,
}

#[derive(Debug)]
pub(super) struct Enum {
    pub(super) name: Arc<str>,
    pub(super) symbols: Vec<Arc<str>>,
}

#[derive(Debug)]
pub(super) struct Fixed {
    pub(super) name: Arc<str>,
    pub(super) size: usize,
}

impl Type {
    /// Reads a schema and those it refers to.
    pub(super) fn parse(text: &SchemaText) -> Result<Self, ConvertError> {
        let main = json(&text.schema)?;
        let others = text.references.iter().map(|text| json(text)).collect::<Result<Vec<_>, _>>()?;
        let bare = |json: &Json| without_defaults(json).to_string();
        let (main_schema, other_schemas) =
            Parsed::parse_str_with_list(&bare(&main), others.iter().map(bare)).map_err(|error| unreadable(&error))?;
        let mut reader = Reader::default();
        for (schema, json) in other_schemas.iter().zip(&others) {
            reader.read(schema, json)?;
        }
        reader.read(&main_schema, &main)
    }

    /// A property that is a text.
    pub(super) fn text(&self, property: &str) -> Option<&str> {
        self.properties.get(property)?.as_str()
    }

    /// Name of a record, enum or fixed.
    pub(super) fn full_name(&self) -> Option<&Arc<str>> {
        match &self.kind {
            Kind::Record(record) => Some(&record.name),
            Kind::Enum(symbols) => Some(&symbols.name),
            Kind::Fixed(fixed) => Some(&fixed.name),
            Kind::Recursive(name) => Some(name),
            Kind::Null
            | Kind::Boolean
            | Kind::Int
            | Kind::Long
            | Kind::Float
            | Kind::Double
            | Kind::Bytes
            | Kind::String
            | Kind::Array(_)
            | Kind::Map(_)
            | Kind::Union(_) => None,
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }
}

impl Kind {
    /// What the specification calls the type.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::String => "string",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Union(_) => "union",
            Self::Record(_) | Self::Recursive(_) => "record",
            Self::Enum(_) => "enum",
            Self::Fixed(_) => "fixed",
        }
    }
}

/// Goes through a schema and its JSON at once.
#[derive(Default)]
struct Reader {
    /// Types that have been read, and none for those that are being read.
    named: HashMap<Arc<str>, Option<Type>>,
}

impl Reader {
    fn read(&mut self, schema: &Parsed, json: &Json) -> Result<Type, ConvertError> {
        let json = innermost(json);
        let kind = match schema {
            Parsed::Null => Kind::Null,
            Parsed::Boolean => Kind::Boolean,
            Parsed::Int | Parsed::Date | Parsed::TimeMillis => Kind::Int,
            Parsed::Long
            | Parsed::TimeMicros
            | Parsed::TimestampMillis
            | Parsed::TimestampMicros
            | Parsed::TimestampNanos
            | Parsed::LocalTimestampMillis
            | Parsed::LocalTimestampMicros
            | Parsed::LocalTimestampNanos => Kind::Long,
            Parsed::Float => Kind::Float,
            Parsed::Double => Kind::Double,
            Parsed::Bytes | Parsed::BigDecimal | Parsed::Uuid(UuidSchema::Bytes) => Kind::Bytes,
            Parsed::String | Parsed::Uuid(UuidSchema::String) => Kind::String,
            Parsed::Array(array) => Kind::Array(Arc::new(self.read(&array.items, &json["items"])?)),
            Parsed::Map(map) => Kind::Map(Arc::new(self.read(&map.types, &json["values"])?)),
            Parsed::Union(union) => {
                let members = union.variants().iter().enumerate();
                Kind::Union(members.map(|(index, member)| self.read(member, &json[index])).collect::<Result<_, _>>()?)
            }
            Parsed::Decimal(decimal) => match &decimal.inner {
                InnerDecimalSchema::Bytes => Kind::Bytes,
                InnerDecimalSchema::Fixed(fixed) => return Ok(self.fixed(&fixed.name, fixed.size, json)),
            },
            Parsed::Fixed(fixed) | Parsed::Duration(fixed) | Parsed::Uuid(UuidSchema::Fixed(fixed)) => {
                return Ok(self.fixed(&fixed.name, fixed.size, json));
            }
            Parsed::Enum(symbols) => {
                let name = full(&symbols.name);
                let symbols = symbols.symbols.iter().map(|symbol| symbol.as_str().into()).collect();
                return Ok(self.define(name.clone(), Kind::Enum(Arc::new(Enum { name, symbols })), json));
            }
            Parsed::Record(record) => {
                let name = full(&record.name);
                self.named.insert(name.clone(), None);
                let fields = record.fields.iter().enumerate().map(|(index, field)| {
                    let json = &json["fields"][index];
                    let of = self.read(&field.schema, &json["type"])?;
                    Ok(Field { name: field.name.as_str().into(), of, properties: properties(json) })
                });
                let fields = fields.collect::<Result<_, ConvertError>>()?;
                return Ok(self.define(name.clone(), Kind::Record(Arc::new(Record { name, fields })), json));
            }
            Parsed::Ref { name } => return self.known(full(name)),
        };
        Ok(Type { kind, properties: properties(json) })
    }

    fn fixed(&mut self, name: &Name, size: usize, json: &Json) -> Type {
        let name = full(name);
        self.define(name.clone(), Kind::Fixed(Arc::new(Fixed { name, size })), json)
    }

    fn define(&mut self, name: Arc<str>, kind: Kind, json: &Json) -> Type {
        let defined = Type { kind, properties: properties(json) };
        self.named.insert(name, Some(defined.clone()));
        defined
    }

    fn known(&self, name: Arc<str>) -> Result<Type, ConvertError> {
        match self.named.get(&name) {
            Some(Some(known)) => Ok(known.clone()),
            Some(None) => Ok(Type { kind: Kind::Recursive(name), properties: Properties::default() }),
            None => Err(ConvertError::Data(format!("the Avro schema refers to `{name}` before it says what that is"))),
        }
    }
}

/// A wrong default is no reason to refuse a schema that is there already: it is only left out.
fn without_defaults(json: &Json) -> Json {
    match json {
        Json::Array(items) => items.iter().map(without_defaults).collect(),
        Json::Object(members) => {
            let kept = members.iter().filter(|(key, _)| *key != "default");
            let member = |(key, value): (&String, &Json)| match key.as_str() {
                "fields" | "items" | "type" | "values" => (key.clone(), without_defaults(value)),
                _ => (key.clone(), value.clone()),
            };
            Json::Object(kept.map(member).collect())
        }
        other => other.clone(),
    }
}

/// `{"type": {"type": "int", …}}` is its inner type.
fn innermost(mut json: &Json) -> &Json {
    while let Some(inner) = json.get("type").filter(|inner| !inner.is_string()) {
        json = inner;
    }
    json
}

fn properties(json: &Json) -> Properties {
    json.as_object().map(|object| Arc::new(object.clone())).unwrap_or_default()
}

fn full(name: &Name) -> Arc<str> {
    name.fullname(None).into()
}

fn json(text: &str) -> Result<Json, ConvertError> {
    serde_json::from_str(text).map_err(|error| unreadable(&error))
}

fn unreadable(error: &dyn std::error::Error) -> ConvertError {
    ConvertError::Data(format!("The Avro schema can't be read{CAUSED_BY}{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kinds, names and text properties, in one line.
    fn show(of: &Type) -> String {
        let inner = match &of.kind {
            Kind::Array(inner) | Kind::Map(inner) => format!("<{}>", show(inner)),
            Kind::Union(members) => format!("<{}>", members.iter().map(show).collect::<Vec<_>>().join(" ")),
            Kind::Record(record) => {
                let fields = record.fields.iter().map(|field| format!("{}:{}", field.name, show(&field.of)));
                format!(" {}({})", record.name, fields.collect::<Vec<_>>().join(" "))
            }
            Kind::Recursive(name) => format!(" ^{name}"),
            Kind::Fixed(fixed) => format!(" {}({})", fixed.name, fixed.size),
            Kind::Enum(symbols) => format!(" {}({})", symbols.name, symbols.symbols.join(" ")),
            _ => String::new(),
        };
        let x = of.text("x").map(|x| format!("[{x}]")).unwrap_or_default();
        format!("{}{inner}{x}", of.kind.name())
    }

    fn check(schema: &str, references: &[&str]) -> String {
        let references = references.iter().map(|text| Arc::from(*text)).collect();
        match Type::parse(&SchemaText { schema: schema.into(), references }) {
            Ok(parsed) => show(&parsed),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn types_keep_their_properties_wherever_they_stand() {
        assert_eq!(check(r#""int""#, &[]), "int");
        assert_eq!(check(r#"{"type":"int","x":"a"}"#, &[]), "int[a]");
        assert_eq!(check(r#"{"type":{"type":"int","x":"a"}}"#, &[]), "int[a]");
        assert_eq!(
            check(r#"["null",{"type":"array","items":{"type":"string","x":"b"},"x":"a"}]"#, &[]),
            "union<null array<string[b]>[a]>"
        );
        assert_eq!(check(r#"{"type":"map","values":{"type":"long","x":"b"},"x":"a"}"#, &[]), "map<long[b]>[a]");
        assert_eq!(
            check(
                r#"{"type":"record","name":"R","namespace":"n","x":"a","fields":[
                {"name":"f","type":{"type":"bytes","logicalType":"decimal","precision":4,"x":"b"}},
                {"name":"g","type":{"type":"enum","name":"E","symbols":["A","B"],"x":"c"}}]}"#,
                &[]
            ),
            "record n.R(f:bytes[b] g:enum n.E(A B)[c])[a]"
        );
    }

    #[test]
    fn names_are_resolved_by_their_namespace_also_into_referred_schemas() {
        let schema = r#"{"type":"record","name":"a.R","fields":[
            {"name":"f","type":{"type":"fixed","name":"F","size":3,"x":"f"}},
            {"name":"g","type":"F"},{"name":"h","type":["null","a.R"]},{"name":"i","type":"b.S"}]}"#;
        let other = r#"{"type":"record","name":"S","namespace":"b","x":"s","fields":[{"name":"j","type":"int"}]}"#;
        assert_eq!(
            check(schema, &[other]),
            "record a.R(f:fixed a.F(3)[f] g:fixed a.F(3)[f] h:union<null record ^a.R> i:record b.S(j:int)[s])"
        );
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for wrong in ["", "{", r#""nothing""#, r#"{"type":"record","name":"R"}"#, "7"] {
            let message = check(wrong, &[]);
            assert!(message.starts_with("The Avro schema can't be read\ncaused by: "), "{wrong}: {message}");
        }
    }
}
