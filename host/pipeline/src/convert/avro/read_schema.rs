//! Avro schemas to Connect schemas, by the rules of Confluent's converter, each with the plan by which its values are
//! read.

use std::sync::Arc;

use bulkhead_model::value::{Field, Parameters, Schema, SchemaType, logical};
use serde_json::Value as Json;

use super::decode_plan::{Member, Plan, Shape};
use super::defaults::from_json;
use super::names::{ANYTHING, DEFAULT_PRECISION, MAP_ENTRY, NAMESPACE, Name, UNION, is_default, parameter, property};
use super::schema::{Enum, Kind, Record, Type};
use super::settings::Mapping;
use crate::cbor::MAX_DEPTH;
use crate::convert::ConvertError;

/// Most schemas that one schema may consist of: few lines of Avro can name each other in so many ways that they would
/// never be written out.
const MAX_SCHEMAS: usize = 100_000;

/// How values of one Avro schema are read.
#[derive(Debug)]
pub(super) struct Readable {
    /// None for values without schema.
    pub(super) schema: Option<Arc<Schema>>,
    pub(super) plan: Plan,
}

/// `version` is the registry's, for schemas that don't say it themselves.
pub(super) fn read_schema(of: &Type, version: Option<i32>, mapping: &Mapping) -> Result<Readable, ConvertError> {
    if of.full_name().is_some_and(|name| **name == *ANYTHING) {
        return Ok(Readable { schema: None, plan: Plan::plain(Shape::Anything) });
    }
    let place = Place { version, ..Place::default() };
    let (schema, plan) = Reader { mapping, schemas: 0, depth: 0 }.read(of, &place)?;
    Ok(Readable { schema: Some(schema), plan })
}

struct Reader<'a> {
    mapping: &'a Mapping,
    schemas: usize,
    depth: usize,
}

/// What the place where a type stands adds to it.
#[derive(Clone, Copy, Default)]
struct Place<'a> {
    optional: bool,
    /// The default of the Avro field.
    default: Option<&'a Json>,
    version: Option<i32>,
}

const OPTIONAL: Place<'_> = Place { optional: true, default: None, version: None };

/// A schema on its way.
struct Draft {
    schema: Schema,
    shape: Shape,
}

impl Draft {
    fn new(kind: SchemaType, shape: Shape) -> Self {
        Self { schema: Schema::required(kind), shape }
    }

    /// A logical type, which has a version of its own.
    fn logical(kind: SchemaType, name: &str, shape: Shape) -> Self {
        Self { schema: Schema { version: Some(1), ..Schema::required(kind).named(name) }, shape }
    }

    /// Sets a parameter, in its old place if it is there.
    fn set(&mut self, key: &str, value: &str) {
        let parameters: &mut Parameters = self.schema.parameters.get_or_insert_default();
        match parameters.iter_mut().find(|(known, _)| **known == *key) {
            Some((_, known)) => *known = value.into(),
            None => parameters.push((key.into(), value.into())),
        }
    }
}

impl Reader<'_> {
    fn read(&mut self, of: &Type, place: &Place<'_>) -> Result<(Arc<Schema>, Plan), ConvertError> {
        self.schemas += 1;
        self.depth += 1;
        if self.schemas > MAX_SCHEMAS || self.depth > MAX_DEPTH {
            return Err(ConvertError::Data("The Avro schema has too many parts, or too many levels".to_owned()));
        }
        let read = match &of.kind {
            Kind::Union(members) => self.union(of, members, place),
            _ => self.draft(of).and_then(|draft| self.finish(draft, of, place)),
        };
        self.depth -= 1;
        read
    }

    fn draft(&mut self, of: &Type) -> Result<Draft, ConvertError> {
        let logical = of.text(property::LOGICAL).unwrap_or_default();
        Ok(match &of.kind {
            Kind::Boolean => Draft::new(SchemaType::Boolean, Shape::Boolean),
            Kind::Float => Draft::new(SchemaType::Float32, Shape::Float32),
            Kind::Double => Draft::new(SchemaType::Float64, Shape::Float64),
            Kind::String => Draft::new(SchemaType::String, Shape::Text),
            Kind::Int => int(of, logical)?,
            Kind::Long if logical.eq_ignore_ascii_case("timestamp-millis") => {
                Draft::logical(SchemaType::Int64, logical::TIMESTAMP, Shape::Long)
            }
            Kind::Long => Draft::new(SchemaType::Int64, Shape::Long),
            Kind::Bytes => bytes(of, logical, None)?,
            Kind::Fixed(fixed) => {
                let mut draft = bytes(of, logical, Some(fixed.size))?;
                draft.set(parameter::FIXED_SIZE, &fixed.size.to_string());
                draft
            }
            Kind::Enum(symbols) => self.enumeration(of, symbols),
            Kind::Array(item) => match &item.kind {
                Kind::Record(entry) if is_map_entry(item, entry) => self.pairs(entry)?,
                _ => {
                    let (schema, plan) = self.read(item, &Place::default())?;
                    Draft::new(SchemaType::Array(Some(schema)), Shape::Array(Box::new(plan)))
                }
            },
            Kind::Map(value) => {
                let (schema, plan) = self.read(value, &Place::default())?;
                let key = Arc::new(Schema::required(SchemaType::String));
                Draft::new(SchemaType::Map(Some(key), Some(schema)), Shape::Map(Box::new(plan)))
            }
            Kind::Record(record) => self.record(of, record)?,
            Kind::Null => return Err(refused("a null that isn't part of a union")),
            Kind::Recursive(name) => return Err(refused(&format!("`{name}`, which is part of itself"))),
            Kind::Union(_) => return Err(refused("a union directly inside a union")),
        })
    }

    fn enumeration(&self, of: &Type, symbols: &Arc<Enum>) -> Draft {
        let mut draft = Draft::new(SchemaType::String, Shape::Enum(symbols.clone()));
        let simple = Name::of(&symbols.name, false).simple;
        if self.mapping.meta_data {
            for (property, prefix) in [("doc", parameter::ENUM_DOC), ("default", parameter::ENUM_DEFAULT)] {
                if let Some(text) = of.text(property) {
                    draft.set(&format!("{prefix}{simple}"), text);
                }
            }
        }
        draft.set(parameter::ENUM, &symbols.name);
        for symbol in &symbols.symbols {
            draft.set(&format!("{}.{symbol}", parameter::ENUM), symbol);
        }
        draft
    }

    fn pairs(&mut self, entry: &Record) -> Result<Draft, ConvertError> {
        let position = |name| entry.fields.iter().position(|field| &*field.name == name);
        let (Some(key), Some(value), 2) = (position("key"), position("value"), entry.fields.len()) else {
            return Err(refused("a map as an array of entries that aren't made of key and value"));
        };
        let (key_schema, key_plan) = self.read(&entry.fields[key].of, &Place::default())?;
        let (value_schema, value_plan) = self.read(&entry.fields[value].of, &Place::default())?;
        let plans = Box::new((key_plan, value_plan));
        let text_keys = key_schema.kind == SchemaType::String;
        let shape = Shape::Pairs { plans, key_comes_first: key < value, text_keys };
        Ok(Draft::new(SchemaType::Map(Some(key_schema), Some(value_schema)), shape))
    }

    fn record(&mut self, of: &Type, record: &Record) -> Result<Draft, ConvertError> {
        let mut draft = Draft::new(SchemaType::Struct(Vec::new()), Shape::Struct(Vec::new()));
        if let Some(doc) = of.text("doc").filter(|_| self.mapping.meta_data) {
            draft.set(parameter::RECORD_DOC, doc);
        }
        let (mut fields, mut plans) = (Vec::new(), Vec::new());
        for field in &record.fields {
            let property = |name| field.properties.get(name);
            if let Some(doc) = property("doc").and_then(Json::as_str).filter(|_| self.mapping.meta_data) {
                draft.set(&format!("{}{}", parameter::FIELD_DOC, field.name), doc);
            }
            let place = Place { default: property("default"), ..Place::default() };
            let (mut schema, plan) = self.read(&field.of, &place)?;
            if let Some(Json::Object(more)) = property(property::PARAMETERS).filter(|_| self.mapping.meta_data) {
                let mut changed = Draft { schema: Schema::clone(&schema), shape: Shape::Boolean };
                more.iter().for_each(|(key, value)| changed.set(key, &plain_text(value)));
                schema = Arc::new(changed.schema);
            }
            fields.push(Field { name: field.name.clone(), schema });
            plans.push(plan);
        }
        draft.schema.kind = SchemaType::Struct(fields);
        draft.shape = Shape::Struct(plans);
        Ok(draft)
    }

    /// A type and null is that type, optional; other unions are structs with a field for each type.
    fn union(
        &mut self,
        of: &Type,
        members: &Arc<[Type]>,
        place: &Place<'_>,
    ) -> Result<(Arc<Schema>, Plan), ConvertError> {
        match &**members {
            [only] if self.mapping.flatten_singletons && !only.is_null() => {
                let (schema, plan) = self.read(only, &Place::default())?;
                return Ok((schema, Plan { members: vec![Member::Value(0)], shape: plan.shape }));
            }
            [null, value] if null.is_null() && !value.is_null() => {
                let (schema, plan) = self.read(value, &OPTIONAL)?;
                return Ok((schema, Plan { members: vec![Member::Null, Member::Value(0)], shape: plan.shape }));
            }
            [value, null] if null.is_null() && !value.is_null() => {
                let (schema, plan) = self.read(value, &OPTIONAL)?;
                return Ok((schema, Plan { members: vec![Member::Value(0), Member::Null], shape: plan.shape }));
            }
            _ => {}
        }
        let (mut fields, mut plans, mut plan_members) = (Vec::<Field>::new(), Vec::new(), Vec::new());
        for member in &**members {
            if member.is_null() {
                plan_members.push(Member::Null);
                continue;
            }
            let name = member_name(member, self.mapping);
            if fields.iter().any(|field| *field.name == *name) {
                return Err(ConvertError::Data(
                    "Multiple union schemas map to the Connect union field name".to_owned(),
                ));
            }
            let (schema, plan) = self.read(member, &OPTIONAL)?;
            plan_members.push(Member::Value(fields.len()));
            fields.push(Field { name: name.into(), schema });
            plans.push(plan);
        }
        let mut draft = Draft::new(SchemaType::Struct(fields), Shape::Union(plans));
        draft.schema.name = Some(UNION.into());
        draft.schema.optional = plan_members.contains(&Member::Null);
        let (schema, plan) = self.finish(draft, of, place)?;
        Ok((schema, Plan { members: plan_members, shape: plan.shape }))
    }

    /// Adds what Connect knows of a schema beyond its type.
    fn finish(&self, mut draft: Draft, of: &Type, place: &Place<'_>) -> Result<(Arc<Schema>, Plan), ConvertError> {
        let properties = &of.properties;
        if self.mapping.meta_data {
            draft.schema.doc = of.text(property::DOC).map(Into::into);
        }
        draft.schema.version = version(of, place.version, draft.schema.version)?;
        if let Some(parameters) = properties.get(property::PARAMETERS).filter(|_| self.mapping.meta_data) {
            let Json::Object(parameters) = parameters else {
                return Err(refused("parameters that are no JSON object"));
            };
            for (key, value) in parameters {
                let value = value.as_str().ok_or_else(|| refused("parameters that are no texts"))?;
                draft.set(key, value);
            }
        }
        for (key, value) in properties.iter().filter(|(key, _)| key.starts_with(parameter::AVRO)) {
            draft.set(key, &plain_text(value));
        }
        let own_default = properties.get(property::DEFAULT);
        if place.default.is_some() && own_default.is_none() && self.mapping.meta_data {
            draft.set(parameter::FIELD_DEFAULT, "true");
        }
        let default = place.default.or(own_default);
        draft.schema.optional |= place.optional;
        self.name(&mut draft, of)?;
        let mut schema = Arc::new(draft.schema);
        // One that doesn't fit is left out.
        let default = default.and_then(|json| from_json(json, of, &schema, self.mapping));
        if let Some(default) = default.filter(|default| !default.is_null() && schema.validate(default).is_ok()) {
            Arc::make_mut(&mut schema).default = Some(default);
        }
        Ok((schema, Plan::plain(draft.shape)))
    }

    fn name(&self, draft: &mut Draft, of: &Type) -> Result<(), ConvertError> {
        let is_decimal = draft.schema.name.as_deref() == Some(logical::DECIMAL);
        let own = match of.properties.get(property::NAME) {
            Some(Json::String(name)) => Some(&**name),
            Some(_) => return Err(refused("a name that is no text")),
            None if matches!(of.kind, Kind::Fixed(_)) && is_decimal => None,
            None => of.full_name().map(|name| &**name),
        };
        let Some(name) = own.filter(|name| !is_default(name)) else { return Ok(()) };
        match &draft.schema.name {
            Some(known) if **known != *name => {
                Err(refused(&format!("a schema named `{name}` whose type makes it a `{known}`")))
            }
            _ => {
                draft.schema.name = Some(name.into());
                Ok(())
            }
        }
    }
}

fn int(of: &Type, logical: &str) -> Result<Draft, ConvertError> {
    if logical.eq_ignore_ascii_case("date") {
        return Ok(Draft::logical(SchemaType::Int32, logical::DATE, Shape::Int32));
    }
    if logical.eq_ignore_ascii_case("time-millis") {
        return Ok(Draft::logical(SchemaType::Int32, logical::TIME, Shape::Time));
    }
    match of.text(property::TYPE).filter(|_| logical.is_empty()) {
        None => Ok(Draft::new(SchemaType::Int32, Shape::Int32)),
        Some("int8") => Ok(Draft::new(SchemaType::Int8, Shape::Int8)),
        Some("int16") => Ok(Draft::new(SchemaType::Int16, Shape::Int16)),
        Some(other) => Err(refused(&format!("an int with the {} `{other}`", property::TYPE))),
    }
}

/// Bytes, or with `size` a fixed.
fn bytes(of: &Type, logical: &str, size: Option<usize>) -> Result<Draft, ConvertError> {
    if !logical.eq_ignore_ascii_case("decimal") {
        return Ok(Draft::new(SchemaType::Bytes, size.map_or(Shape::Bytes, Shape::Fixed)));
    }
    let number = |name| match of.properties.get(name) {
        None => Ok(None),
        Some(json) => json.as_i64().map(Some).ok_or_else(|| refused("a decimal whose precision or scale is no number")),
    };
    let mut draft = Draft::logical(SchemaType::Bytes, logical::DECIMAL, Shape::Decimal(size));
    draft.set("scale", &number(property::SCALE)?.unwrap_or(0).to_string());
    if let Some(precision) = number(property::PRECISION)?.filter(|precision| *precision != DEFAULT_PRECISION) {
        draft.set(parameter::PRECISION, &precision.to_string());
    }
    Ok(draft)
}

/// Connect's own version comes first, then that of the type, then the registry's.
fn version(of: &Type, registry: Option<i32>, of_type: Option<i32>) -> Result<Option<i32>, ConvertError> {
    let own = match of.properties.get(property::VERSION) {
        None => None,
        Some(json) => {
            let number = json.as_i64().and_then(|number| i32::try_from(number).ok());
            Some(number.ok_or_else(|| refused("a version that is no number"))?).filter(|number| *number >= 0)
        }
    };
    match (own, of_type) {
        (Some(own), Some(of_type)) if own != of_type => Err(refused("a logical type of an unknown version")),
        _ => Ok(own.or(of_type).or(registry)),
    }
}

fn is_map_entry(of: &Type, record: &Record) -> bool {
    *record.name == *format!("{NAMESPACE}.{MAP_ENTRY}") || of.text(property::INTERNAL_TYPE) == Some(MAP_ENTRY)
}

/// The name of a union's field.
pub(super) fn member_name(member: &Type, mapping: &Mapping) -> String {
    match member.full_name() {
        Some(name) if mapping.enhanced => name.to_string(),
        Some(name) => Name::of(name, false).simple,
        None => member.kind.name().to_owned(),
    }
}

/// A text as it is, anything else as JSON.
fn plain_text(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

fn refused(what: &str) -> ConvertError {
    ConvertError::Data(format!("The Avro schema has {what}, which Connect schemas can't express"))
}
