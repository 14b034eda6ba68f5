//! From the bytes of a topic to a batch for `put`.

use std::sync::Arc;

use bulkhead_model::value::Schema;
use bytes::Bytes;

use super::fetch::Original;
use crate::batch::{Batch, Encoding, SinkBatch, Values};
use crate::convert::{ConvertError, Converter, Converters, Decoded, Encoded};
use crate::guest::GuestFailure;
use crate::ports::Consumed;
use crate::tolerance::{Fault, Stage};
use crate::transform::Transforms;

/// Converters and transforms of a sink task.
pub struct Decoder {
    pub(super) converters: Converters,
    pub(super) transforms: Transforms,
}

/// What became of a fetch.
#[derive(Debug, Default)]
pub(super) struct Converted {
    pub(super) batch: SinkBatch,
    /// For each record of the batch its place in the fetch; none if all are there.
    pub(super) rows: Option<Vec<usize>>,
    /// Records that could not be converted; they are not in the batch.
    pub(super) refused: Vec<Refused>,
}

/// A record that a converter or transform refused.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) original: Original,
    pub(super) fault: Fault,
}

impl Decoder {
    pub fn new(converters: Converters, transforms: impl Into<Transforms>) -> Self {
        Self { converters, transforms: transforms.into() }
    }

    /// Converts and transforms all records of a fetch.
    pub(super) async fn decode(&self, consumed: &Consumed) -> Result<Converted, GuestFailure> {
        match &self.transforms {
            Transforms::Native(chain) if !self.converters.has_guests() => {
                Ok(if chain.is_empty() { self.convert(consumed) } else { self.transform(chain, consumed) })
            }
            Transforms::Native(_) | Transforms::Mixed(_) => self.with_guests(consumed).await,
        }
    }

    /// The quick way: bytes that no converter has to change stay where they are.
    pub(super) fn convert(&self, consumed: &Consumed) -> Converted {
        let mut building = Building::new(consumed);
        let mut refused = Vec::new();
        let mut cursor = Cursor::default();
        for index in 0..consumed.count() {
            let start = cursor;
            if let Err(fault) = self.decode_record(consumed, index, &mut cursor, &mut building) {
                cursor = start.past_record(consumed, index);
                building.forget_record(consumed, index);
                refused.push(Refused { original: Original::of(consumed, index, start), fault });
            }
        }
        let rows = building.kept.clone();
        Converted { batch: building.finish(consumed), rows, refused }
    }

    fn decode_record(
        &self,
        consumed: &Consumed,
        index: usize,
        cursor: &mut Cursor,
        building: &mut Building,
    ) -> Result<(), Fault> {
        building.begin_record();
        let topic = &consumed.topics[consumed.topic[index] as usize];
        let item = |building: &mut Building, place, converter: &dyn Converter, stage| {
            let decoded = building.item(consumed, place, |bytes, out| converter.decode(topic, bytes, out));
            decoded.map_err(|error| Fault::converting(stage, converter, error))
        };
        let Converters { key, value, header, .. } = &self.converters;
        let key = item(building, cursor.take(consumed.key_len[index]), &**key, Stage::KeyConverter)?;
        let value = item(building, cursor.take(consumed.value_len[index]), &**value, Stage::ValueConverter)?;
        let headers = consumed.header_count[index] as usize;
        for _ in 0..headers {
            let place = cursor.take(consumed.header_len[cursor.header]);
            let item = item(building, place, &**header, Stage::HeaderConverter)?;
            building.headers.push(item);
            building.header_key.push(consumed.header_key[cursor.header]);
            cursor.header += 1;
        }
        building.end_record(index, key, value, headers as u32);
        Ok(())
    }
}

/// Where in a fetch's columns and buffer we are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    pub(super) position: usize,
    pub(super) header: usize,
}

/// A null, or a range of the fetch's buffer.
type Place = Option<(usize, usize)>;

impl Cursor {
    /// Steps over a column entry of this length, -1 being null.
    pub(super) fn take(&mut self, len: i32) -> Place {
        let len = usize::try_from(len).ok()?;
        let place = (self.position, len);
        self.position += len;
        Some(place)
    }

    /// Behind the record that begins here.
    pub(super) fn past_record(mut self, consumed: &Consumed, index: usize) -> Self {
        self.take(consumed.key_len[index]);
        self.take(consumed.value_len[index]);
        for _ in 0..consumed.header_count[index] {
            self.take(consumed.header_len[self.header]);
            self.header += 1;
        }
        self
    }
}

/// One entry of a [`Values`] column.
#[derive(Clone, Copy, Debug)]
struct Entry {
    encoding: Encoding,
    schema: u32,
    len: u32,
}

/// A batch on its way. As long as nothing had to change, `data` is not used and the batch shares the
/// fetch's buffer.
struct Building {
    schemas: Vec<Arc<Schema>>,
    keys: Vec<Entry>,
    values: Vec<Entry>,
    headers: Vec<Entry>,
    header_key: Vec<u32>,
    header_count: Vec<u32>,
    /// Which records of the fetch are in the batch; none while all are.
    kept: Option<Vec<usize>>,
    data: Option<Vec<u8>>,
    /// Bytes of the fetch's buffer, from its start, that are in the batch unchanged.
    shared: usize,
    record_start: Mark,
}

/// What to go back to when a record turns out bad half-way.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    headers: usize,
    data: usize,
    shared: usize,
}

impl Building {
    fn new(consumed: &Consumed) -> Self {
        let count = consumed.count();
        Self {
            schemas: Vec::new(),
            keys: Vec::with_capacity(count),
            values: Vec::with_capacity(count),
            headers: Vec::with_capacity(consumed.header_key.len()),
            header_key: Vec::with_capacity(consumed.header_key.len()),
            header_count: Vec::with_capacity(count),
            kept: None,
            data: None,
            shared: 0,
            record_start: Mark::default(),
        }
    }

    fn begin_record(&mut self) {
        let data = self.data.as_ref().map_or(0, Vec::len);
        self.record_start = Mark { headers: self.headers.len(), data, shared: self.shared };
    }

    /// Decodes one key, value or header value.
    fn item(
        &mut self,
        consumed: &Consumed,
        place: Place,
        decode: impl FnOnce(Option<&[u8]>, &mut Vec<u8>) -> Result<Decoded, ConvertError>,
    ) -> Result<Entry, ConvertError> {
        let bytes = place.map(|(start, len)| &consumed.data[start..start + len]);
        let mut fresh = Vec::new();
        let out = self.data.as_mut().unwrap_or(&mut fresh);
        let before = out.len();
        let decoded = decode(bytes, out)?;
        let appended = out.len() - before;
        let same = bytes.unwrap_or_default();
        let len = match decoded.bytes {
            Encoded::Same => {
                match &mut self.data {
                    Some(data) => data.extend_from_slice(same),
                    None => self.shared += same.len(),
                }
                same.len()
            }
            Encoded::Appended => {
                self.own(consumed, &fresh);
                appended
            }
            Encoded::Null if same.is_empty() => 0,
            Encoded::Null => {
                self.own(consumed, &[]);
                0
            }
        };
        let schema = decoded.schema.map_or(0, |schema| self.schema(schema));
        Ok(Entry { encoding: decoded.encoding, schema, len: len as u32 })
    }

    /// From here on the batch has a buffer of its own; `more` goes to its end if it was just made.
    fn own(&mut self, consumed: &Consumed, more: &[u8]) {
        if self.data.is_none() {
            let mut data = Vec::with_capacity(consumed.data.len() + more.len());
            data.extend_from_slice(&consumed.data[..self.shared]);
            data.extend_from_slice(more);
            self.record_start.data = self.record_start.shared;
            self.data = Some(data);
        }
    }

    fn schema(&mut self, schema: Arc<Schema>) -> u32 {
        let known = self.schemas.iter().rposition(|known| Arc::ptr_eq(known, &schema));
        let index = known.unwrap_or_else(|| {
            self.schemas.push(schema);
            self.schemas.len() - 1
        });
        index as u32 + 1
    }

    fn end_record(&mut self, index: usize, key: Entry, value: Entry, headers: u32) {
        self.keys.push(key);
        self.values.push(value);
        self.header_count.push(headers);
        if let Some(kept) = &mut self.kept {
            kept.push(index);
        }
    }

    /// The record can't be part of the batch: later ones no longer line up with the fetch.
    fn forget_record(&mut self, consumed: &Consumed, index: usize) {
        self.shared = self.record_start.shared;
        self.own(consumed, &[]);
        self.headers.truncate(self.record_start.headers);
        self.header_key.truncate(self.record_start.headers);
        let keep = self.record_start.data;
        if let Some(data) = &mut self.data {
            data.truncate(keep);
        }
        self.kept.get_or_insert_with(|| (0..index).collect());
    }

    fn finish(self, consumed: &Consumed) -> SinkBatch {
        let kept = self.kept;
        let records = Batch {
            count: self.keys.len(),
            topics: consumed.topics.clone(),
            schemas: Arc::new(self.schemas),
            topic: pick(&consumed.topic, kept.as_deref()),
            partition: pick(&consumed.partition, kept.as_deref()),
            timestamp: pick(&consumed.timestamp, kept.as_deref()),
            keys: column(&self.keys),
            values: column(&self.values),
            header_count: if self.header_key.is_empty() { Vec::new() } else { self.header_count },
            header_keys: consumed.header_keys.clone(),
            header_key: self.header_key,
            headers: column(&self.headers),
            data: self.data.map_or_else(|| consumed.data.clone(), Bytes::from),
        };
        let offset = pick(&consumed.offset, kept.as_deref());
        let timestamp_type = pick(&consumed.timestamp_type, kept.as_deref());
        SinkBatch { records, offset, timestamp_type, ..SinkBatch::default() }
    }
}

fn pick<T: Copy>(column: &[T], kept: Option<&[usize]>) -> Vec<T> {
    match kept {
        None => column.to_vec(),
        Some(kept) => kept.iter().map(|index| column[*index]).collect(),
    }
}

/// Rows to columns; a column that says only the default is left empty.
fn column(entries: &[Entry]) -> Values {
    let encoding = if entries.iter().all(|entry| entry.encoding == Encoding::Bytes) {
        Vec::new()
    } else {
        entries.iter().map(|entry| entry.encoding).collect()
    };
    let schema = if entries.iter().all(|entry| entry.schema == 0) {
        Vec::new()
    } else {
        entries.iter().map(|entry| entry.schema).collect()
    };
    Values { encoding, schema, len: entries.iter().map(|entry| entry.len).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Item;
    use crate::convert::{Converter, SchemaAndValue};
    use crate::transform::Chain;
    use bulkhead_model::value::Value;

    /// Keeps texts, doubles those that begin with `+`, refuses those that begin with `!`, and makes
    /// `0` null.
    struct Picky;

    impl Converter for Picky {
        fn class(&self) -> &'static str {
            "test.Picky"
        }

        fn from_connect(&self, _: &str, _: Option<&Arc<Schema>>, _: &Value) -> Result<Option<Vec<u8>>, ConvertError> {
            Ok(None)
        }

        fn to_connect(&self, _: &str, _: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError> {
            Ok(SchemaAndValue { schema: None, value: Value::Null })
        }

        fn encode(&self, _: &str, _: Item<'_>, _: &mut Vec<u8>) -> Result<Encoded, ConvertError> {
            Ok(Encoded::Same)
        }

        fn decode(&self, _: &str, bytes: Option<&[u8]>, out: &mut Vec<u8>) -> Result<Decoded, ConvertError> {
            let bytes = match bytes {
                None | Some(b"0") => {
                    return Ok(Decoded { encoding: Encoding::None, schema: None, bytes: Encoded::Null });
                }
                Some(bytes) if bytes.starts_with(b"!") => return Err(ConvertError::Data("no".to_owned())),
                Some(bytes) if bytes.starts_with(b"+") => {
                    out.extend_from_slice(bytes);
                    out.extend_from_slice(bytes);
                    Encoded::Appended
                }
                Some(_) => Encoded::Same,
            };
            Ok(Decoded { encoding: Encoding::Text, schema: None, bytes })
        }
    }

    /// Records of key, value and one header value; "-" is null.
    fn fetch(records: &[[&str; 3]]) -> Consumed {
        let len = |text: &str| if text == "-" { -1 } else { text.len() as i32 };
        let count = records.len();
        let data: String = records.iter().flatten().filter(|text| **text != "-").copied().collect();
        Consumed {
            topics: vec!["t".into()],
            topic: vec![0; count],
            partition: vec![0; count],
            offset: (100..100 + count as i64).collect(),
            timestamp: vec![5; count],
            timestamp_type: vec![1; count],
            key_len: records.iter().map(|[key, _, _]| len(key)).collect(),
            value_len: records.iter().map(|[_, value, _]| len(value)).collect(),
            header_count: vec![1; count],
            header_keys: vec!["h".into()],
            header_key: vec![0; count],
            header_len: records.iter().map(|[_, _, header]| len(header)).collect(),
            data: data.into(),
        }
    }

    async fn check(records: &[[&str; 3]]) -> (String, bool) {
        let consumed = fetch(records);
        let buffer = consumed.data.as_ptr();
        let picky = Arc::new(Picky);
        let converters = Converters { key: picky.clone(), value: picky.clone(), header: picky, guests: Vec::new() };
        let decoder = Decoder::new(converters, Chain::default());
        let Converted { batch, refused, .. } = decoder.decode(&consumed).await.unwrap();
        batch.records.check().unwrap();
        let text = |item: Item<'_>| match item.encoding {
            Encoding::None => "-".to_owned(),
            _ => String::from_utf8_lossy(item.bytes).into_owned(),
        };
        let mut lines: Vec<_> = batch
            .records
            .records()
            .map(|record| {
                let headers: Vec<_> = record.headers().map(|(_, item)| text(item)).collect();
                let offset = batch.offset[record.index];
                format!("{offset} {} {} {}", text(record.key), text(record.value), headers.join(","))
            })
            .collect();
        lines.extend(refused.iter().map(|refused| {
            let Refused { original, fault } = refused;
            let bytes = original.value.as_deref().unwrap_or_default();
            format!("refused {} at {}: {}", original.offset, fault.stage, String::from_utf8_lossy(bytes))
        }));
        (lines.join("\n"), batch.records.data.as_ptr() == buffer)
    }

    #[tokio::test]
    async fn bytes_that_need_no_change_are_shared() {
        let (text, shared) = check(&[["k", "v", "h"], ["-", "w", "-"]]).await;
        assert_eq!(text, "100 k v h\n101 - w -");
        assert!(shared);
    }

    #[tokio::test]
    async fn what_changes_is_copied_with_all_that_comes_after() {
        let (text, shared) = check(&[["k", "v", "h"], ["a", "+b", "c"], ["0", "x", "+y"], ["z", "0", "-"]]).await;
        assert_eq!(text, "100 k v h\n101 a +b+b c\n102 - x +y+y\n103 z - -");
        assert!(!shared);
    }

    #[tokio::test]
    async fn a_refused_record_leaves_the_others_as_they_are() {
        let (text, _) = check(&[["k", "v", "h"], ["a", "!b", "c"], ["d", "e", "!f"], ["+g", "h", "i"]]).await;
        assert_eq!(
            text,
            "100 k v h\n103 +g+g h i\nrefused 101 at VALUE_CONVERTER: !b\nrefused 102 at HEADER_CONVERTER: e"
        );
        let (text, _) = check(&[["+a", "!b", "c"], ["d", "e", "f"]]).await;
        assert_eq!(text, "101 d e f\nrefused 100 at VALUE_CONVERTER: !b");
    }
}
