//! Whether a value fits a schema: no widening, rich forms for logical types, all the way down.

use super::{DataError, Logical, Schema, SchemaType, Struct, Value};

impl Schema {
    /// Checks `value` as setting a field does. A default does not make null acceptable.
    pub fn validate(&self, value: &Value) -> Result<(), DataError> {
        if value.is_null() {
            return if self.optional { Ok(()) } else { Err(self.null_where_required()) };
        }
        if !self.class_fits(value) {
            return Err(DataError(format!(
                "a value of type {} was found where {} is expected",
                value.type_name(),
                self.describe()
            )));
        }
        match (value, &self.kind) {
            (Value::Array(items), SchemaType::Array(item)) => {
                items.iter().try_for_each(|value| validate_part(item.as_deref(), value))
            }
            (Value::Map(entries), SchemaType::Map(key, value)) => entries.iter().try_for_each(|entry| {
                validate_part(key.as_deref(), &entry.0)?;
                validate_part(value.as_deref(), &entry.1)
            }),
            (Value::Struct(value), SchemaType::Struct(_)) => {
                if !std::ptr::eq(&raw const *value.schema, self) && *value.schema != *self {
                    return Err(DataError(format!("the struct's schema is not that of {}", self.describe())));
                }
                value.validate()
            }
            _ => Ok(()),
        }
    }

    fn class_fits(&self, value: &Value) -> bool {
        match Logical::of(self) {
            Some(logical) => logical.fits(value),
            None => matches!(
                (&self.kind, value),
                (SchemaType::Int8, Value::Int8(_))
                    | (SchemaType::Int16, Value::Int16(_))
                    | (SchemaType::Int32, Value::Int32(_))
                    | (SchemaType::Int64, Value::Int64(_))
                    | (SchemaType::Float32, Value::Float32(_))
                    | (SchemaType::Float64, Value::Float64(_))
                    | (SchemaType::Boolean, Value::Boolean(_))
                    | (SchemaType::String, Value::String(_))
                    | (SchemaType::Bytes, Value::Bytes(_))
                    | (SchemaType::Array(_), Value::Array(_))
                    | (SchemaType::Map(_, _), Value::Map(_))
                    | (SchemaType::Struct(_), Value::Struct(_))
            ),
        }
    }

    /// For messages: the name, if there is one, and the type.
    pub fn describe(&self) -> String {
        match &self.name {
            Some(name) => format!("{name} ({})", self.kind.name()),
            None => self.kind.name().to_owned(),
        }
    }

    /// What to say of a null that neither `optional` nor a default allows.
    pub fn null_where_required(&self) -> DataError {
        DataError(format!("null was found where {} is required", self.describe()))
    }
}

/// An element, key or map value, whose schema may be unknown: then nothing fits.
fn validate_part(schema: Option<&Schema>, value: &Value) -> Result<(), DataError> {
    match schema {
        Some(schema) => schema.validate(value),
        None => Err(DataError::new("an element has no schema")),
    }
}

impl Struct {
    /// Checks all fields; unlike a field that is being set, one with a default may be null.
    pub fn validate(&self) -> Result<(), DataError> {
        self.fields().try_for_each(|(field, value)| {
            if value.is_null() && (field.schema.optional || field.schema.default.is_some()) {
                return Ok(());
            }
            field.schema.validate(value).map_err(|error| DataError(format!("field `{}`: {error}", field.name)))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Decimal, Field, logical};
    use super::*;

    fn of(kind: SchemaType) -> Arc<Schema> {
        Arc::new(Schema::required(kind))
    }

    #[test]
    fn nothing_is_widened() {
        assert!(of(SchemaType::Int64).validate(&Value::Int64(1)).is_ok());
        assert!(of(SchemaType::Int64).validate(&Value::Int32(1)).is_err());
        assert!(of(SchemaType::Float64).validate(&Value::Float32(1.0)).is_err());
    }

    #[test]
    fn a_default_does_not_make_null_acceptable() {
        let mut schema = Schema::required(SchemaType::Int8);
        schema.default = Some(Value::Int8(1));
        assert!(schema.validate(&Value::Null).is_err());
        assert!(Schema::optional(SchemaType::Int8).validate(&Value::Null).is_ok());
    }

    #[test]
    fn logical_types_demand_their_rich_form() {
        let date = Schema::required(SchemaType::Int32).named(logical::DATE);
        assert!(date.validate(&Value::Instant(0)).is_ok());
        assert!(date.validate(&Value::Int32(0)).is_err());
        let decimal = Schema::required(SchemaType::Bytes).named(logical::DECIMAL);
        assert!(decimal.validate(&Value::Decimal(Decimal::from_i64(1))).is_ok());
        assert!(decimal.validate(&Value::Bytes(vec![1].into())).is_err());
    }

    #[test]
    fn containers_are_checked_all_the_way_down() {
        let list = of(SchemaType::Array(Some(of(SchemaType::Int8))));
        assert!(list.validate(&Value::Array(vec![Value::Int8(1)])).is_ok());
        assert!(list.validate(&Value::Array(vec![Value::Int8(1), Value::Null])).is_err());
        let unknown = of(SchemaType::Array(None));
        assert!(unknown.validate(&Value::Array(vec![])).is_ok());
        assert!(unknown.validate(&Value::Array(vec![Value::Null])).is_err());
    }

    #[test]
    fn a_struct_needs_the_very_schema_and_its_required_fields() {
        let schema = of(SchemaType::Struct(vec![Field { name: "x".into(), schema: of(SchemaType::Int8) }]));
        let point = |value| Value::Struct(Struct { schema: schema.clone(), values: vec![value] });
        assert!(schema.validate(&point(Value::Int8(1))).is_ok());
        assert!(schema.validate(&point(Value::Null)).is_err());
        let other = (*schema).clone().named("other");
        assert!(other.validate(&point(Value::Int8(1))).is_err());
    }
}
