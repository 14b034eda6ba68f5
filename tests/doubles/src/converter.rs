//! A converter that works on texts.

use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_pipeline::batch::{Column, Encoding, Items, Values};
use bulkhead_pipeline::ports::{BoxFuture, Converted, ConverterTask, PluginError};

use crate::transform::{crash, text};

/// To Kafka it writes the topic, or for a header its key, and the text with `mark` between them; on the way back it takes
/// these off. Nulls stay nulls. It fails on texts that are `bad`, and crashes on `crash`.
pub struct ScriptedConverter {
    mark: String,
}

impl ScriptedConverter {
    /// Its key is `mark`.
    pub fn new(config: &RawConfig) -> Self {
        Self { mark: config.get("mark").unwrap_or(":").to_owned() }
    }

    /// `convert` gets what the text belongs to, with the mark, and the text.
    fn convert(
        items: &Items,
        encoding: Encoding,
        convert: impl Fn(&str, &str) -> Result<String, String>,
    ) -> Result<Converted, PluginError> {
        let count = items.column.count;
        let (mut encodings, mut lens, mut data) = (Vec::with_capacity(count), Vec::with_capacity(count), String::new());
        let mut failed = Vec::new();
        for (index, item) in items.column.iter().enumerate() {
            let place = |pool: &[Arc<str>], column: &[u32]| {
                pool.get(column.get(index).map_or(0, |at| *at as usize)).map(Arc::clone)
            };
            let header_key = place(&items.header_keys, &items.header_key);
            let place = header_key.or_else(|| place(&items.topics, &items.topic)).unwrap_or_default();
            let converted = match text(&item) {
                "crash" => return Err(crash()),
                "bad" => Err("a bad item".to_owned()),
                _ if item.encoding == Encoding::None => Ok(None),
                text => convert(&place, text).map(Some),
            };
            let converted = converted.unwrap_or_else(|message| {
                failed.push((index, message));
                None
            });
            encodings.push(if converted.is_some() { encoding } else { Encoding::None });
            let converted = converted.unwrap_or_default();
            lens.push(converted.len() as u32);
            data.push_str(&converted);
        }
        let values = Values { encoding: encodings, len: lens, ..Values::default() };
        Ok(Converted { column: Column { count, values, data: data.into(), ..Column::default() }, failed })
    }
}

impl ConverterTask for ScriptedConverter {
    fn from_connect(&self, items: Arc<Items>) -> BoxFuture<Result<Converted, PluginError>> {
        let mark = &self.mark;
        let converted = Self::convert(&items, Encoding::Bytes, |place, text| Ok(format!("{place}{mark}{text}")));
        Box::pin(async { converted })
    }

    fn to_connect(&self, items: Arc<Items>) -> BoxFuture<Result<Converted, PluginError>> {
        let converted = Self::convert(&items, Encoding::Text, |place, text| {
            let start = format!("{place}{}", self.mark);
            text.strip_prefix(&start).map(str::to_owned).ok_or_else(|| format!("it doesn't begin with {start}"))
        });
        Box::pin(async { converted })
    }
}
