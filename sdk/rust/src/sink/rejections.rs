use super::SinkRecord;
use crate::bindings::sink::exports::bulkhead::connect::sink_task::Rejection;

/// The records of a batch that a sink refuses, and why. The task goes on: what happens to them is the business of
/// `errors.tolerance`.
#[derive(Debug, Default)]
pub struct Rejections(Vec<Rejection>);

impl Rejections {
    /// All records are well.
    pub fn none() -> Self {
        Self::default()
    }

    /// Refuses a record; the message is one line for people.
    pub fn add(&mut self, record: &SinkRecord<'_>, message: impl Into<String>) {
        self.0.push(Rejection { index: record.index(), message: message.into() });
    }

    /// Number of records refused.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if no record is refused.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The places in the batch of those refused, and why.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.0.iter().map(|rejection| (rejection.index, rejection.message.as_str()))
    }

    pub(crate) fn into_wit(self) -> Vec<Rejection> {
        self.0
    }
}
