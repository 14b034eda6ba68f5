//! Columns of a batch, as a guest may hand them over.

use std::sync::Arc;

use arbitrary::{Arbitrary, Result, Unstructured};
use bulkhead_model::RawConfig;
use bulkhead_model::offset::SourcePartition;
use bulkhead_pipeline::batch::{Batch, Column, Encoding, Item, SourceBatch, Values};
use bulkhead_pipeline::convert::{self, Converter, Role, item};

use crate::data;

/// A batch that passes its check has nothing that can't be walked through, and every converter takes its items or says
/// why not.
pub fn batch(bytes: &[u8]) {
    let mut from = Unstructured::new(bytes);
    let Ok(batch) = source_batch(&mut from) else { return };
    if let Ok(column) = items(&mut from) {
        walk_through(&column);
    }
    if batch.check().is_err() {
        return;
    }
    let (mut records, mut total) = (0, 0);
    for record in batch.records.records() {
        records += 1;
        assert!(record.index < batch.records.count);
        let _ = (record.topic(), record.partition(), record.timestamp());
        let headers = record.headers().map(|(_, item)| item);
        for item in [record.key, record.value].into_iter().chain(headers) {
            total += item.bytes.len();
            convert(item);
        }
    }
    assert_eq!((records, total), (batch.records.count, batch.records.data.len()));
}

/// The same of what a converter gives back.
fn walk_through(column: &Column) {
    if column.check().is_ok() {
        let total: usize = column.iter().inspect(|item| convert(*item)).map(|item| item.bytes.len()).sum();
        assert_eq!((column.iter().count(), total), (column.count, column.data.len()));
    }
}

fn convert(item: Item<'_>) {
    let read = item::read(item);
    for converter in converters() {
        let mut out = Vec::new();
        let encoded = converter.encode("t", item, &mut out);
        if let Err(error) = &read {
            assert!(encoded.is_err() || !looks_into(&*converter), "{} took what is wrong: {error}", converter.class());
        }
    }
}

/// Whether it reads items; the others may pass on what they don't understand.
fn looks_into(converter: &dyn Converter) -> bool {
    converter.class().ends_with("IntegerConverter")
}

fn converters() -> impl Iterator<Item = Arc<dyn Converter>> {
    let classes = [("Json", Role::Value), ("String", Role::Key), ("Simple", Role::Header), ("Integer", Role::Value)];
    classes.into_iter().map(|(class, role)| {
        convert::create(class, &RawConfig::new(), role).expect("the converter needs no configuration")
    })
}

fn source_batch(from: &mut Unstructured<'_>) -> Result<SourceBatch> {
    let count = from.int_in_range(0..=4)?;
    let schemas = (0..from.int_in_range(0..=2)?).map(|_| data::schema(from, 2)).collect::<Result<Vec<_>>>()?;
    let header_count = column(from, count)?;
    let headers: u32 = header_count.iter().fold(0, |sum, count: &u32| sum.saturating_add(*count));
    let headers = headers.min(8) as usize;
    let mut records = Batch {
        count,
        topics: names(from)?,
        schemas: Arc::new(schemas),
        topic: column(from, count)?,
        partition: column(from, count)?,
        timestamp: column(from, count)?,
        keys: values(from, count)?,
        values: values(from, count)?,
        header_count,
        header_keys: names(from)?,
        header_key: column(from, headers)?,
        headers: values(from, headers)?,
        ..Batch::default()
    };
    let partitions = names(from)?.into_iter().map(SourcePartition).collect();
    let partition = column(from, count)?;
    let offset_len: Vec<u32> = column(from, count)?;
    let offsets = exact(from, &offset_len)?;
    let claimed: Vec<u32> = [&records.keys, &records.values, &records.headers]
        .map(|column| &column.len)
        .into_iter()
        .flatten()
        .copied()
        .collect();
    records.data = exact(from, &claimed)?.into();
    Ok(SourceBatch { records, partitions, partition, offset_len, offsets: offsets.into() })
}

fn items(from: &mut Unstructured<'_>) -> Result<Column> {
    let count = from.int_in_range(0..=4)?;
    let schemas = (0..from.int_in_range(0..=2)?).map(|_| data::schema(from, 2)).collect::<Result<Vec<_>>>()?;
    let values = values(from, count)?;
    let data = exact(from, &values.len)?.into();
    Ok(Column { count, schemas: Arc::new(schemas), values, data })
}

/// As many bytes as are claimed, mostly.
fn exact(from: &mut Unstructured<'_>, lengths: &[u32]) -> Result<Vec<u8>> {
    let claimed: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    if claimed > from.len() as u64 || from.ratio(1, 16)? {
        return from.arbitrary();
    }
    Ok(from.bytes((claimed as usize).min(from.len()))?.to_vec())
}

/// Empty or as long as is due, mostly; numbers are small, mostly.
fn column<'a, T: Arbitrary<'a> + From<u8>>(from: &mut Unstructured<'a>, count: usize) -> Result<Vec<T>> {
    let length = match from.int_in_range(0..=15)? {
        0..=4 => 0,
        5 => from.int_in_range(0..=8)?,
        _ => count,
    };
    let number = |_| if from.ratio(1, 16)? { from.arbitrary() } else { Ok(T::from(from.int_in_range(0..=2)?)) };
    (0..length).map(number).collect()
}

fn values(from: &mut Unstructured<'_>, count: usize) -> Result<Values> {
    let encoding: Vec<u8> = column(from, count)?;
    let shift = from.int_in_range(0..=3)?;
    let encoding = encoding.into_iter().map(|number| Encoding::from_number(number.wrapping_add(shift)));
    let mut values = Values {
        encoding: encoding.map(Option::unwrap_or_default).collect(),
        schema: column(from, count)?,
        len: column(from, count)?,
    };
    if from.arbitrary()? {
        values.len = values.len.into_iter().map(|len| len.saturating_mul(8)).collect();
    }
    Ok(values)
}

fn names(from: &mut Unstructured<'_>) -> Result<Vec<Arc<str>>> {
    (0..from.int_in_range(0..=2)?).map(|_| data::word(from).map(Arc::from)).collect()
}
