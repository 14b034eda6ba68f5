//! Connect schemas to Avro schemas, by the rules of Confluent's converter: also in the order of properties, so that a
//! registry takes both for one schema.

use std::collections::HashSet;

use bulkhead_model::value::{Field, Schema, SchemaType, logical};
use serde_json::{Map, Value as Json, json};

use super::defaults::{is_avro_map, to_json};
use super::names::{DEFAULT_PRECISION, MAP_ENTRY, NAMESPACE, Name, UNION, parameter, property, scrubbed};
use super::settings::Mapping;
use crate::convert::ConvertError;

/// The schema of values without schema.
const ANYTHING: &str = r#"{"type":"record","name":"Anything","namespace":"io.confluent.connect.avro","fields":[{"name":"boolean","type":["null","boolean"],"default":null},{"name":"bytes","type":["null","bytes"],"default":null},{"name":"double","type":["null","double"],"default":null},{"name":"float","type":["null","float"],"default":null},{"name":"int","type":["null","int"],"default":null},{"name":"long","type":["null","long"],"default":null},{"name":"string","type":["null","string"],"default":null},{"name":"array","type":["null",{"type":"array","items":"Anything"}],"default":null},{"name":"map","type":["null",{"type":"array","items":{"type":"record","name":"MapEntry","fields":[{"name":"key","type":"Anything"},{"name":"value","type":"Anything"}]}}],"default":null}]}"#;

/// The JSON of the Avro schema that values of `schema` are written with.
pub(super) fn write_schema(schema: Option<&Schema>, mapping: &Mapping) -> Result<String, ConvertError> {
    let Some(schema) = schema else { return Ok(ANYTHING.to_owned()) };
    let mut writer = Writer { mapping, unnamed: 0, defined: Vec::new(), seen: HashSet::new() };
    Ok(writer.write(schema, None)?.to_string())
}

struct Writer<'a> {
    mapping: &'a Mapping,
    /// How many things without a name were named.
    unnamed: usize,
    /// What has a name in the Avro schema so far.
    defined: Vec<(Name, &'a Schema)>,
    /// Names of the schemas of fields so far.
    seen: HashSet<&'a str>,
}

type Written = Result<Json, ConvertError>;
type Object = Map<String, Json>;

impl<'a> Writer<'a> {
    /// `space` is the namespace around.
    fn write(&mut self, schema: &'a Schema, space: Option<&str>) -> Written {
        if is_union(schema) {
            return self.union(schema, space);
        }
        let base = self.required(schema, space)?;
        Ok(match (schema.optional, &schema.kind, &schema.default) {
            (false, _, _) => base,
            (true, SchemaType::Struct(_), _) | (true, _, None) => json!(["null", base]),
            (true, _, Some(_)) => json!([base, "null"]),
        })
    }

    fn union(&mut self, schema: &'a Schema, space: Option<&str>) -> Written {
        let null = schema.optional.then(|| Ok(json!("null")));
        let members = schema.fields().iter().map(|field| self.required(&field.schema, space));
        null.into_iter().chain(members).collect()
    }

    /// The schema without its nulls.
    fn required(&mut self, schema: &'a Schema, space: Option<&str>) -> Written {
        match &schema.kind {
            SchemaType::Int8 => Ok(self.primitive("int", Some("int8"), schema)),
            SchemaType::Int16 => Ok(self.primitive("int", Some("int16"), schema)),
            SchemaType::Int32 => Ok(self.primitive("int", None, schema)),
            SchemaType::Int64 => Ok(self.primitive("long", None, schema)),
            SchemaType::Float32 => Ok(self.primitive("float", None, schema)),
            SchemaType::Float64 => Ok(self.primitive("double", None, schema)),
            SchemaType::Boolean => Ok(self.primitive("boolean", None, schema)),
            SchemaType::String => match schema.parameter(parameter::ENUM).filter(|_| self.mapping.enhanced) {
                Some(name) => self.enumeration(name, schema, space),
                None => Ok(self.primitive("string", None, schema)),
            },
            SchemaType::Bytes => match fixed_size(schema)? {
                Some(size) => self.fixed(size, schema, space),
                None => Ok(self.primitive("bytes", None, schema)),
            },
            SchemaType::Array(item) => {
                let items = self.write(part(item.as_deref(), "an array's items")?, space)?;
                Ok(self.finish(object([("type", json!("array")), ("items", items)]), None, schema))
            }
            SchemaType::Map(key, value) => {
                let key = part(key.as_deref(), "a map's keys")?;
                let value = part(value.as_deref(), "a map's values")?;
                let avro = if is_avro_map(key, self.mapping) {
                    object([("type", json!("map")), ("values", self.write(value, space)?)])
                } else {
                    object([("type", json!("array")), ("items", self.map_entry(key, value, schema, space)?)])
                };
                Ok(self.finish(avro, None, schema))
            }
            SchemaType::Struct(_) if is_union(schema) => {
                Err(ConvertError::Data("Avro has no unions directly inside unions".to_owned()))
            }
            SchemaType::Struct(fields) => self.record(fields, schema, space),
        }
    }

    fn primitive(&self, name: &str, connect_type: Option<&str>, schema: &Schema) -> Json {
        let mut avro = object([("type", json!(name))]);
        if is_named(schema, logical::DECIMAL) {
            let (precision, scale) = precision_and_scale(schema);
            avro.insert(property::SCALE.to_owned(), scale.into());
            avro.insert(property::PRECISION.to_owned(), precision.into());
        }
        let avro = self.finish(avro, connect_type, schema);
        match avro.as_object() {
            Some(object) if object.len() == 1 => json!(name),
            Some(_) | None => avro,
        }
    }

    fn enumeration(&mut self, name: &str, schema: &'a Schema, space: Option<&str>) -> Written {
        let name = Name::of(name, false);
        if let Some(known) = self.known(&name, schema, space)? {
            return Ok(known);
        }
        let prefix = format!("{}.", parameter::ENUM);
        let parameters = schema.parameters.iter().flatten();
        let symbols: Vec<&str> = parameters.filter_map(|(key, _)| key.strip_prefix(&prefix)).collect();
        let of_enum = |prefix: &str| {
            let connect_name = schema.name.as_deref().map(|name| Name::of(name, self.mapping.scrub_names));
            schema.parameter(&format!("{prefix}{}", connect_name.as_ref().unwrap_or(&name).simple))
        };
        let mut avro = named("enum", &name, space);
        insert(&mut avro, "doc", of_enum(parameter::ENUM_DOC));
        avro.insert("symbols".to_owned(), json!(symbols));
        insert(&mut avro, "default", of_enum(parameter::ENUM_DEFAULT));
        self.defined.push((name, schema));
        Ok(self.finish(avro, None, schema))
    }

    fn fixed(&mut self, size: usize, schema: &'a Schema, space: Option<&str>) -> Written {
        let name = self.name(schema);
        if let Some(known) = self.known(&name, schema, space)? {
            return Ok(known);
        }
        let mut avro = named("fixed", &name, space);
        avro.insert("size".to_owned(), size.into());
        if is_named(schema, logical::DECIMAL) {
            let (precision, scale) = precision_and_scale(schema);
            avro.insert(property::SCALE.to_owned(), scale.into());
            avro.insert(property::PRECISION.to_owned(), precision.into());
        }
        self.defined.push((name, schema));
        Ok(self.finish(avro, None, schema))
    }

    fn record(&mut self, fields: &'a [Field], schema: &'a Schema, space: Option<&str>) -> Written {
        let same = self.defined.iter().find(|(_, known)| schema.name.is_none() && is_same(known, schema));
        let name = match same {
            Some((name, _)) => name.clone(),
            None => self.name(schema),
        };
        if let Some(known) = self.known(&name, schema, space)? {
            return Ok(known);
        }
        self.defined.push((name.clone(), schema));
        let mut avro = named("record", &name, space);
        insert(&mut avro, "doc", schema.parameter(parameter::RECORD_DOC));
        let space = name.namespace.as_deref();
        let fields = fields.iter().map(|field| {
            let doc = schema.parameter(&format!("{}{}", parameter::FIELD_DOC, field.name));
            self.field(&scrubbed(&field.name, self.mapping.scrub_names), &field.schema, doc, space)
        });
        avro.insert("fields".to_owned(), fields.collect::<Written>()?);
        Ok(self.finish(avro, None, schema))
    }

    fn map_entry(&mut self, key: &'a Schema, value: &'a Schema, schema: &'a Schema, space: Option<&str>) -> Written {
        let name = match &schema.name {
            Some(name) => Name::of(name, self.mapping.scrub_names),
            None => Name { namespace: Some(NAMESPACE.to_owned()), simple: MAP_ENTRY.to_owned() },
        };
        if let Some(known) = self.known(&name, schema, space)? {
            return Ok(known);
        }
        self.defined.push((name.clone(), schema));
        let mut avro = named("record", &name, space);
        let space = name.namespace.as_deref();
        let fields = vec![self.field("key", key, None, space)?, self.field("value", value, None, space)?];
        avro.insert("fields".to_owned(), fields.into());
        insert(&mut avro, property::INTERNAL_TYPE, schema.name.as_ref().map(|_| MAP_ENTRY));
        Ok(Json::Object(avro))
    }

    fn field(&mut self, name: &str, schema: &'a Schema, doc: Option<&str>, space: Option<&str>) -> Written {
        let seen_before = schema.name.as_deref().is_some_and(|name| !self.seen.insert(name));
        let avro = self.write(schema, space)?;
        let is_named_type = is_named_type(schema, self.mapping);
        let mut field = object([("name", json!(name)), ("type", avro)]);
        insert(&mut field, "doc", doc);
        if let Some(default) = self.field_default(schema) {
            field.insert("default".to_owned(), default);
        }
        if seen_before && is_named_type && self.mapping.meta_data {
            insert_parameters(&mut field, schema);
        }
        Ok(Json::Object(field))
    }

    /// None where there is none, or where Avro wouldn't allow it: it has to be of a union's first type.
    fn field_default(&self, schema: &Schema) -> Option<Json> {
        let Some(default) = &schema.default else { return schema.optional.then_some(Json::Null) };
        let null_comes_first = schema.optional && matches!(schema.kind, SchemaType::Struct(_));
        let is_pairs = match &schema.kind {
            SchemaType::Map(Some(key), _) => !is_avro_map(key, self.mapping),
            _ => false,
        };
        let json = to_json(default, schema, self.mapping)?;
        let is_empty = json.as_array().is_some_and(Vec::is_empty);
        (json.is_null() == null_comes_first && (!is_pairs || is_empty)).then_some(json)
    }

    fn name(&mut self, schema: &Schema) -> Name {
        match &schema.name {
            Some(name) => Name::of(name, self.mapping.scrub_names),
            None => {
                self.unnamed += 1;
                Name::default(self.unnamed)
            }
        }
    }

    /// What stands for a type that was defined further up.
    fn known(&self, name: &Name, schema: &Schema, space: Option<&str>) -> Result<Option<Json>, ConvertError> {
        let Some((_, known)) = self.defined.iter().find(|(known, _)| known == name) else { return Ok(None) };
        if !is_same(known, schema) {
            return Err(ConvertError::Data(format!(
                "Two schemas that differ are both named `{}`, which Avro doesn't allow",
                name.full()
            )));
        }
        let is_near = name.namespace.is_none() || name.namespace.as_deref() == space;
        Ok(Some(if is_near { json!(name.simple) } else { json!(name.full()) }))
    }

    /// Adds what Connect knows of a schema beyond its type.
    fn finish(&self, mut avro: Object, connect_type: Option<&str>, schema: &Schema) -> Json {
        if self.mapping.meta_data {
            insert(&mut avro, property::DOC, schema.doc.as_deref());
            if let Some(version) = schema.version {
                avro.insert(property::VERSION.to_owned(), version.into());
            }
            insert_parameters(&mut avro, schema);
            let default = schema.default.as_ref().filter(|_| schema.parameter(parameter::FIELD_DEFAULT).is_none());
            if let Some(default) = default.and_then(|default| to_json(default, schema, self.mapping)) {
                avro.insert(property::DEFAULT.to_owned(), default);
            }
            insert(&mut avro, property::NAME, schema.name.as_deref());
            insert(&mut avro, property::TYPE, connect_type);
        }
        insert(&mut avro, property::LOGICAL, logical_type(schema));
        for (key, value) in schema.parameters.iter().flatten() {
            if key.starts_with(parameter::AVRO) {
                avro.insert(key.to_string(), json!(**value));
            }
        }
        Json::Object(avro)
    }
}

/// Avro's name of a logical type; a Decimal that Avro doesn't allow has one only if its precision was asked for.
fn logical_type(schema: &Schema) -> Option<&'static str> {
    Some(match schema.name.as_deref()? {
        logical::DECIMAL => "decimal",
        logical::DATE => "date",
        logical::TIME => "time-millis",
        logical::TIMESTAMP => "timestamp-millis",
        _ => return None,
    })
}

fn precision_and_scale(schema: &Schema) -> (i64, i64) {
    let number = |name| schema.parameter(name).and_then(|text| text.parse().ok());
    (number(parameter::PRECISION).unwrap_or(DEFAULT_PRECISION), number("scale").unwrap_or(0))
}

/// Bytes of a name and this parameter are a fixed of Avro.
pub(super) fn fixed_size(schema: &Schema) -> Result<Option<usize>, ConvertError> {
    let Some(size) = schema.parameter(parameter::FIXED_SIZE).filter(|_| schema.name.is_some()) else { return Ok(None) };
    let wrong = |_| ConvertError::Data(format!("The parameter `{}` is `{size}`, no size", parameter::FIXED_SIZE));
    size.parse().map(Some).map_err(wrong)
}

pub(super) fn is_union(schema: &Schema) -> bool {
    matches!(schema.kind, SchemaType::Struct(_)) && is_named(schema, UNION)
}

fn is_named(schema: &Schema, name: &str) -> bool {
    schema.name.as_deref() == Some(name)
}

/// Whether its Avro type has a name.
fn is_named_type(schema: &Schema, mapping: &Mapping) -> bool {
    match &schema.kind {
        SchemaType::Struct(fields) if is_union(schema) => {
            fields.iter().any(|field| is_named_type(&field.schema, mapping))
        }
        SchemaType::Struct(_) => true,
        SchemaType::String => mapping.enhanced && schema.parameter(parameter::ENUM).is_some(),
        SchemaType::Bytes => schema.parameter(parameter::FIXED_SIZE).is_some() && schema.name.is_some(),
        _ => false,
    }
}

/// Whether one definition serves both: of a struct, nulls, defaults and remarks don't count.
fn is_same(one: &Schema, other: &Schema) -> bool {
    let is_struct = matches!(one.kind, SchemaType::Struct(_));
    one.kind == other.kind && one.name == other.name && (is_struct || one.parameters == other.parameters)
}

fn part<'a>(schema: Option<&'a Schema>, what: &str) -> Result<&'a Schema, ConvertError> {
    schema.ok_or_else(|| ConvertError::Data(format!("The schema of {what} is missing, without which Avro has no type")))
}

fn named(kind: &str, name: &Name, space: Option<&str>) -> Object {
    let mut avro = object([("type", json!(kind)), ("name", json!(name.simple))]);
    if name.namespace.as_deref() != space {
        avro.insert("namespace".to_owned(), json!(name.namespace.as_deref().unwrap_or_default()));
    }
    avro
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Object {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn insert(object: &mut Object, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        object.insert(key.to_owned(), json!(text));
    }
}

fn insert_parameters(object: &mut Object, schema: &Schema) {
    let parameters = schema.parameters.iter().flatten().filter(|(key, _)| **key != *parameter::FIELD_DEFAULT);
    let parameters: Object = parameters.map(|(key, value)| (key.to_string(), json!(**value))).collect();
    if !parameters.is_empty() {
        object.insert(property::PARAMETERS.to_owned(), Json::Object(parameters));
    }
}
