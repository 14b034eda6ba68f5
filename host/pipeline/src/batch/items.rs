//! Keys, values or header values alone, as converters of plugins take them and give them back.

use std::sync::Arc;

use bulkhead_model::value::Schema;
use bytes::Bytes;

use super::{Item, Malformed, Values, check_pool};

/// Items one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    pub count: usize,
    /// What [`Values::schema`] refers to.
    pub schemas: Arc<Vec<Arc<Schema>>>,
    pub values: Values,
    /// The items' bytes, without gaps.
    pub data: Bytes,
}

/// Items with the place that each belongs to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Items {
    pub column: Column,
    pub topics: Vec<Arc<str>>,
    /// Index into `topics`. Empty: all 0.
    pub topic: Vec<u32>,
    /// Of header values only.
    pub header_keys: Vec<Arc<str>>,
    /// Index into `header_keys`. Empty: all 0, or none if there are no keys.
    pub header_key: Vec<u32>,
}

impl Column {
    /// Checks what the type promises; to be called on anything that was not made by this crate.
    pub fn check(&self) -> Result<(), Malformed> {
        let claimed = self.values.check("items", self.count, self.schemas.len())?;
        if claimed != self.data.len() as u64 {
            return Err(Malformed::DataLength { claimed, found: self.data.len() });
        }
        Ok(())
    }

    /// The items in order.
    pub fn iter(&self) -> impl Iterator<Item = Item<'_>> {
        let mut start = 0;
        (0..self.count).map(move |index| {
            let item = self.values.item(index, start, &self.schemas, &self.data);
            start += item.bytes.len();
            item
        })
    }
}

impl Items {
    /// As [`Column::check`].
    pub fn check(&self) -> Result<(), Malformed> {
        self.column.check()?;
        check_pool("topic", &self.topic, self.column.count, self.topics.len())?;
        if self.header_keys.is_empty() && self.header_key.is_empty() {
            return Ok(());
        }
        check_pool("header-key", &self.header_key, self.column.count, self.header_keys.len())
    }
}
