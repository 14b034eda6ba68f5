use bulkhead_sdk::prelude::*;
use bulkhead_sdk::source::Record;

use crate::connector::Settings;

/// What records look like, but for their number.
#[derive(Debug)]
pub struct Template {
    format: Format,
    filler: String,
    key_space: u64,
}

#[derive(Debug)]
enum Format {
    Text,
    Map,
    Struct(Schema),
}

impl Template {
    /// As the settings say.
    pub fn new(settings: &Settings) -> Result<Self> {
        let format = match settings.format.as_str() {
            "text" => Format::Text,
            "map" => Format::Map,
            "struct" => Format::Struct(schema()),
            other => return Err(Error::config("format")(format!("unknown format `{other}`"))),
        };
        let filler = "x".repeat(settings.value_size as usize);
        Ok(Self { format, filler, key_space: settings.key_space.into() })
    }

    /// Writes key and value of record `number`.
    pub fn fill<'b>(&self, record: Record<'b>, number: u64) -> Record<'b> {
        let record = match number.checked_rem(self.key_space) {
            Some(key) => record.key_fmt(format_args!("key-{key}")),
            None => record,
        };
        let id = Value::Int64(number.cast_signed());
        let filler = Value::from(self.filler.as_str());
        match &self.format {
            Format::Text => record.value_fmt(format_args!("{number} {}", self.filler)),
            Format::Map => record.value_of(None, Value::Map(vec![("id".into(), id), ("filler".into(), filler)])),
            Format::Struct(schema) => record.value_struct(schema, [("id", id), ("filler", filler)]),
        }
    }
}

fn schema() -> Schema {
    Schema::record("io.bulkhead.Generated").version(1).field("id", Schema::int64()).field("filler", Schema::text())
}
