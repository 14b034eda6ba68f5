//! Cast: other primitive types for a key or value, or for fields of it.

mod convert;
mod parse;

use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigType, Importance, TypedConfig};
use bulkhead_model::value::{Field, Schema, SchemaType, Value};

use self::convert::{Target, cast};
use super::data::{Nulls, as_map, checked, entry, into_struct, put};
use super::keys::{def, replace_null, required};
use super::record::Side;
use super::schemas::{Rewritten, struct_like};
use super::{Record, Transform};
use crate::convert::{ConvertError, SchemaAndValue};

const PURPOSE: &str = "type casting";

#[derive(Debug)]
pub(super) struct Cast {
    side: Side,
    spec: Spec,
    nulls: Nulls,
    schemas: Rewritten,
}

#[derive(Debug)]
enum Spec {
    /// The whole key or value.
    Whole(Target),
    /// Fields by name.
    Fields(Vec<(String, Target)>),
}

impl Cast {
    pub(super) fn config_def() -> ConfigDef {
        let doc = "Fields and their new types, as in `foo:int32,bar:string`, or one type for the whole key or value. \
                   Types: int8, int16, int32, int64, float32, float64, boolean, string.";
        def([required("spec", ConfigType::List, Importance::High, doc), replace_null()])
    }

    pub(super) fn new(side: Side, config: &TypedConfig) -> Result<Self, ConvertError> {
        let spec = Spec::parse(config.list("spec").unwrap_or_default())?;
        Ok(Self { side, spec, nulls: Nulls::of(config), schemas: Rewritten::new() })
    }

    fn of_schemaless(&self, value: &Value) -> Result<SchemaAndValue, ConvertError> {
        let value = match &self.spec {
            Spec::Whole(target) => cast(value, None, *target)?,
            Spec::Fields(fields) => {
                let entries = as_map(value, PURPOSE)?;
                let mut changed = entries.clone();
                for (name, target) in fields {
                    put(&mut changed, name, cast(entry(entries, name).unwrap_or(&Value::Null), None, *target)?);
                }
                Value::Map(changed)
            }
        };
        Ok(SchemaAndValue { schema: None, value })
    }

    fn of_schema(&self, schema: &Arc<Schema>, value: Value) -> Result<SchemaAndValue, ConvertError> {
        let new_schema = self.schemas.of(schema, |schema| self.rewrite(schema))?;
        let value = match &self.spec {
            Spec::Whole(target) => cast(&value, Some(schema), *target)?,
            Spec::Fields(_) => {
                let mut value = into_struct(value, PURPOSE)?;
                self.nulls.fill(&mut value);
                for (field, value) in value.schema.fields().iter().zip(&mut value.values) {
                    self.cast_field(field, value)?;
                }
                checked(&new_schema, value.values)?
            }
        };
        Ok(SchemaAndValue { schema: Some(new_schema), value })
    }

    fn cast_field(&self, field: &Field, value: &mut Value) -> Result<(), ConvertError> {
        if let Some(target) = self.spec.target(&field.name) {
            *value = cast(value, Some(&field.schema), target)
                .map_err(|error| error.at(&format!("field `{}`", field.name)))?;
        }
        Ok(())
    }

    fn rewrite(&self, schema: &Schema) -> Result<Schema, ConvertError> {
        match &self.spec {
            Spec::Whole(target) => with_default(
                Schema { kind: target.schema_type(), default: None, ..schema.clone() },
                schema,
                schema.default.as_ref().map(|default| cast(default, Some(schema), *target)),
            ),
            Spec::Fields(_) => self.rewrite_fields(schema),
        }
    }

    /// A field that is cast loses name and doc of its schema; the struct keeps its own.
    fn rewrite_fields(&self, schema: &Schema) -> Result<Schema, ConvertError> {
        let SchemaType::Struct(fields) = &schema.kind else {
            return Err(ConvertError::Data(format!("{} is no struct", schema.describe())));
        };
        let fields = fields.iter().map(|field| match self.spec.target(&field.name) {
            None => Ok(field.clone()),
            Some(target) => {
                let default = field.schema.default.as_ref().map(|default| cast(default, Some(&field.schema), target));
                let schema = with_default(Schema::required(target.schema_type()), &field.schema, default)?;
                Ok(Field { name: field.name.clone(), schema: Arc::new(schema) })
            }
        });
        let fields = fields.collect::<Result<Vec<_>, ConvertError>>()?;
        Ok(Schema { optional: schema.optional, ..struct_like(schema, fields)? })
    }
}

/// As optional as the original, with its default cast.
fn with_default(
    schema: Schema,
    original: &Schema,
    default: Option<Result<Value, ConvertError>>,
) -> Result<Schema, ConvertError> {
    let schema = Schema { optional: original.optional, ..schema };
    match default {
        Some(default) => {
            let default = default?;
            schema.validate(&default)?;
            Ok(Schema { default: Some(default), ..schema })
        }
        None => Ok(schema),
    }
}

impl Transform for Cast {
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        if self.side.of(&record).value.is_null() {
            return Ok(Some(record));
        }
        let half = self.side.take(&mut record);
        let changed = match &half.schema {
            None => self.of_schemaless(&half.value)?,
            Some(schema) => self.of_schema(schema, half.value)?,
        };
        Ok(Some(self.side.replaced(record, changed)))
    }
}

impl Spec {
    fn parse(elements: &[String]) -> Result<Self, ConvertError> {
        let mut fields: Vec<(String, Target)> = Vec::new();
        let mut whole = None;
        for element in elements {
            match element.trim_end_matches(':').split(':').map(str::trim).collect::<Vec<_>>().as_slice() {
                [target] => whole = Some(Target::named(target)?),
                [name, target] => {
                    let target = Target::named(target)?;
                    fields.retain(|(other, _)| other != name);
                    fields.push(((*name).to_owned(), target));
                }
                _ => return Err(ConvertError::Config(format!("Invalid cast of a field: {element}"))),
            }
        }
        match (whole, fields.is_empty()) {
            (Some(target), true) if elements.len() == 1 => Ok(Self::Whole(target)),
            (Some(_), _) => Err(ConvertError::Config("a type for the whole value must stand alone".to_owned())),
            (None, true) => Err(ConvertError::Config("Must specify at least one field to cast.".to_owned())),
            (None, false) => Ok(Self::Fields(fields)),
        }
    }

    fn target(&self, field: &str) -> Option<Target> {
        match self {
            Self::Whole(_) => None,
            Self::Fields(fields) => fields.iter().find(|(name, _)| name == field).map(|(_, target)| *target),
        }
    }
}
