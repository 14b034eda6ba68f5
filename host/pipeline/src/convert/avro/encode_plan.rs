//! How values of a Connect schema are written under an Avro schema, worked out once for each pair.
//!
//! Mostly the Avro schema was made from the Connect schema. Where it wasn't (`use.latest.version`), values are written
//! as Avro's rules of resolution would read them: fields go by name, numbers may be widened, what is missing has to have
//! a default.

use std::sync::Arc;

use bulkhead_model::value::{Field, Logical, Schema, SchemaType};
use serde_json::Value as Json;

use super::defaults::from_json;
use super::encode::write_long;
use super::names::{ANYTHING, property, scrubbed};
use super::read_schema::{member_name, read_schema};
use super::schema::{self, Enum, Kind, Record, Type};
use super::settings::Mapping;
use super::write_schema::is_union;
use crate::cbor;
use crate::convert::ConvertError;

#[derive(Debug)]
pub(super) struct Plan {
    /// What is written for a null. None where null is not allowed.
    pub(super) null: Option<Box<[u8]>>,
    /// What stands before any other value: which type of a union it is.
    pub(super) before: Box<[u8]>,
    pub(super) shape: Shape,
}

#[derive(Debug)]
pub(super) enum Shape {
    Boolean,
    /// An integer within these bounds, both included.
    Integer(i64, i64, Target),
    Float32(Target),
    Float64,
    Text,
    Enum(Arc<Enum>),
    Bytes,
    Fixed(usize),
    /// The unscaled number, as bytes or as a fixed of this size.
    Decimal(Option<usize>),
    Array(Box<Plan>),
    Map(Box<Plan>),
    /// A map as an array of records. `text_keys`: in CBOR it is a map, not an array of pairs.
    Pairs {
        plans: Box<(Plan, Plan)>,
        key_comes_first: bool,
        text_keys: bool,
    },
    Struct(StructPlan),
    /// A struct of which the first field that is set is written.
    Union(Vec<Plan>),
    /// A value without schema.
    Anything,
}

/// The number that Avro has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Integer,
    Float,
    Double,
}

#[derive(Debug)]
pub(super) struct StructPlan {
    /// Fields of the record, in its order.
    pub(super) slots: Vec<Slot>,
    /// Names of the struct's fields, in its order.
    pub(super) names: Vec<Arc<str>>,
    /// Whether the record has just the struct's fields, in the same order.
    pub(super) is_straight: bool,
}

#[derive(Debug)]
pub(super) enum Slot {
    /// A field of the struct, by its number.
    Field(usize, Plan),
    /// The default of a field that the struct doesn't have.
    Constant(Box<[u8]>),
}

/// Whether a number may become a wider one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Widening {
    Never,
    Allowed,
}

impl Plan {
    pub(super) fn new(schema: Option<&Schema>, of: &Type, mapping: &Mapping) -> Result<Self, ConvertError> {
        match schema {
            Some(schema) => Planner { mapping }.plan(schema, of),
            None if of.full_name().is_some_and(|name| **name == *ANYTHING) => Ok(Self::plain(Shape::Anything)),
            None => Err(ConvertError::Data("A value without schema can't be written with this Avro schema".to_owned())),
        }
    }

    fn plain(shape: Shape) -> Self {
        Self { null: None, before: Box::default(), shape }
    }

    fn member(index: usize, shape: Shape) -> Self {
        Self { null: None, before: number(index), shape }
    }
}

struct Planner<'a> {
    mapping: &'a Mapping,
}

impl Planner<'_> {
    fn plan(&self, schema: &Schema, of: &Type) -> Result<Plan, ConvertError> {
        let Kind::Union(members) = &of.kind else {
            return Ok(Plan::plain(self.shape(schema, of, Widening::Allowed)?));
        };
        let null = members.iter().position(Type::is_null).map(number);
        if is_union(schema) {
            let fields = schema.fields().iter().map(|field| self.union_field(field, members));
            return Ok(Plan { null, before: Box::default(), shape: Shape::Union(fields.collect::<Result<_, _>>()?) });
        }
        Ok(Plan { null, ..self.member(schema, members)? })
    }

    /// The first type of a union that takes the value as it is, or else widened.
    fn member(&self, schema: &Schema, members: &[Type]) -> Result<Plan, ConvertError> {
        let values = || members.iter().enumerate().filter(|(_, member)| !member.is_null());
        for widening in [Widening::Never, Widening::Allowed] {
            for (index, member) in values() {
                if let Ok(shape) = self.shape(schema, member, widening) {
                    return Ok(Plan::member(index, shape));
                }
            }
        }
        match values().next() {
            Some((_, member)) => {
                Err(self.shape(schema, member, Widening::Allowed).err().unwrap_or_else(|| misfit(schema, member)))
            }
            None => Err(ConvertError::Data("The Avro schema takes nothing but null".to_owned())),
        }
    }

    fn union_field(&self, field: &Field, members: &[Type]) -> Result<Plan, ConvertError> {
        let found =
            members.iter().position(|member| !member.is_null() && member_name(member, self.mapping) == *field.name);
        match found {
            Some(index) => Ok(Plan::member(index, self.shape(&field.schema, &members[index], Widening::Never)?)),
            None => self.member(&field.schema, members).map_err(|error| error.at(&format!("field `{}`", field.name))),
        }
    }

    fn shape(&self, schema: &Schema, of: &Type, widening: Widening) -> Result<Shape, ConvertError> {
        let misfit = || misfit(schema, of);
        let integer = |least: i64, most: i64| {
            let is_long = schema.kind == SchemaType::Int64;
            let target = match &of.kind {
                Kind::Int if !is_long => Target::Integer,
                Kind::Long if is_long || widening == Widening::Allowed => Target::Integer,
                Kind::Float if widening == Widening::Allowed => Target::Float,
                Kind::Double if widening == Widening::Allowed => Target::Double,
                _ => return Err(misfit()),
            };
            Ok(Shape::Integer(least, most, target))
        };
        match (&schema.kind, &of.kind) {
            (SchemaType::Int8, _) => integer(i8::MIN.into(), i8::MAX.into()),
            (SchemaType::Int16, _) => integer(i16::MIN.into(), i16::MAX.into()),
            (SchemaType::Int32, _) if Logical::of(schema) == Some(Logical::Time) => integer(0, 86_400_000),
            (SchemaType::Int32, _) => integer(i32::MIN.into(), i32::MAX.into()),
            (SchemaType::Int64, _) => integer(i64::MIN, i64::MAX),
            (SchemaType::Float32, Kind::Float) => Ok(Shape::Float32(Target::Float)),
            (SchemaType::Float32, Kind::Double) if widening == Widening::Allowed => Ok(Shape::Float32(Target::Double)),
            (SchemaType::Float64, Kind::Double) => Ok(Shape::Float64),
            (SchemaType::Boolean, Kind::Boolean) => Ok(Shape::Boolean),
            (SchemaType::String, Kind::String) => Ok(Shape::Text),
            (SchemaType::String, Kind::Enum(symbols)) => Ok(Shape::Enum(symbols.clone())),
            (SchemaType::Bytes, Kind::Bytes) => bytes(schema, of, None),
            (SchemaType::Bytes, Kind::Fixed(fixed)) => bytes(schema, of, Some(fixed.size)),
            (SchemaType::Array(Some(item)), Kind::Array(of)) => Ok(Shape::Array(Box::new(self.plan(item, of)?))),
            (SchemaType::Map(Some(key), Some(value)), Kind::Map(of)) if key.kind == SchemaType::String => {
                Ok(Shape::Map(Box::new(self.plan(value, of)?)))
            }
            (SchemaType::Map(Some(key), Some(value)), Kind::Array(of)) => match &of.kind {
                Kind::Record(entry) => self.pairs(key, value, entry).ok_or_else(misfit)?,
                _ => Err(misfit()),
            },
            (SchemaType::Struct(fields), Kind::Record(record)) if !is_union(schema) => {
                Ok(Shape::Struct(self.structure(fields, record)?))
            }
            _ => Err(misfit()),
        }
    }

    /// None if the record is no entry of a map.
    fn pairs(&self, key: &Schema, value: &Schema, entry: &Record) -> Option<Result<Shape, ConvertError>> {
        let [first, second] = &*entry.fields else { return None };
        let key_comes_first = match (&*first.name, &*second.name) {
            ("key", "value") => true,
            ("value", "key") => false,
            _ => return None,
        };
        let (of_key, of_value) = if key_comes_first { (&first.of, &second.of) } else { (&second.of, &first.of) };
        let plans = self.plan(key, of_key).and_then(|key| Ok(Box::new((key, self.plan(value, of_value)?))));
        let text_keys = key.kind == SchemaType::String;
        Some(plans.map(|plans| Shape::Pairs { plans, key_comes_first, text_keys }))
    }

    fn structure(&self, fields: &[Field], record: &Record) -> Result<StructPlan, ConvertError> {
        let find =
            |name: &str| fields.iter().position(|field| *scrubbed(&field.name, self.mapping.scrub_names) == *name);
        let slots = record.fields.iter().map(|of| match find(&of.name) {
            Some(index) => Ok(Slot::Field(index, self.field(&fields[index], of)?)),
            None => self.constant(of).map(Slot::Constant).ok_or_else(|| {
                ConvertError::Data(format!(
                    "The Avro record `{}` has a field `{}` without default, which the value doesn't have",
                    record.name, of.name
                ))
            }),
        });
        let slots = slots.collect::<Result<Vec<_>, _>>()?;
        let in_order = |(place, slot): (usize, &Slot)| matches!(slot, Slot::Field(index, _) if *index == place);
        let is_straight = slots.len() == fields.len() && slots.iter().enumerate().all(in_order);
        Ok(StructPlan { slots, names: fields.iter().map(|field| field.name.clone()).collect(), is_straight })
    }

    /// A null field is its default, if it has one.
    fn field(&self, field: &Field, of: &schema::Field) -> Result<Plan, ConvertError> {
        let mut plan =
            self.plan(&field.schema, &of.of).map_err(|error| error.at(&format!("field `{}`", field.name)))?;
        let default = field.schema.default.as_ref().filter(|_| !self.mapping.ignore_defaults);
        if let Some(default) = default {
            let own = Schema { default: None, ..Schema::clone(&field.schema) };
            let (mut item, mut bytes) = (Vec::new(), Vec::new());
            cbor::write(default, Some(&own), &mut item)?;
            plan.write_item(&item, &mut bytes).map_err(|error| error.at(&format!("default of `{}`", field.name)))?;
            plan.null = Some(bytes.into());
        }
        Ok(plan)
    }

    /// The bytes of a field's default.
    fn constant(&self, of: &schema::Field) -> Option<Box<[u8]>> {
        let json = of.properties.get("default")?;
        if let (Kind::Union(members), Json::Null) = (&of.of.kind, json) {
            return members.iter().position(Type::is_null).map(number);
        }
        let schema = read_schema(&of.of, None, self.mapping).ok()?.schema?;
        let default = from_json(json, &of.of, &schema, self.mapping)?;
        let (mut item, mut bytes) = (Vec::new(), Vec::new());
        cbor::write(&default, Some(&schema), &mut item).ok()?;
        self.plan(&schema, &of.of).ok()?.write_item(&item, &mut bytes).ok()?;
        Some(bytes.into())
    }
}

fn bytes(schema: &Schema, of: &Type, size: Option<usize>) -> Result<Shape, ConvertError> {
    if Logical::of(schema) != Some(Logical::Decimal) {
        return Ok(size.map_or(Shape::Bytes, Shape::Fixed));
    }
    let scale = of.properties.get(property::SCALE).and_then(Json::as_i64);
    match scale.is_none_or(|scale| schema.decimal_scale().is_ok_and(|own| i64::from(own) == scale)) {
        true => Ok(Shape::Decimal(size)),
        false => Err(misfit(schema, of)),
    }
}

fn misfit(schema: &Schema, of: &Type) -> ConvertError {
    let name = of.full_name().map(|name| format!(" `{name}`")).unwrap_or_default();
    ConvertError::Data(format!("A value of {} can't be written as an Avro {}{name}", schema.describe(), of.kind.name()))
}

fn number(index: usize) -> Box<[u8]> {
    let mut bytes = Vec::new();
    write_long(index as i64, &mut bytes);
    bytes.into()
}
