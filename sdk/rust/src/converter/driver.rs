//! Drives a converter, for a component's exports and for native tests alike.

use std::cell::Cell;

use super::item::Items;
use super::{ConnectValue, Converter, ConverterItem, KafkaBytes};
use crate::Result;
use crate::bindings::converter::exports::bulkhead::connect::converter::{Converted, ValueBatch};
use crate::connector::Answer;
use crate::part::Part;
use crate::shown::Shown;
use crate::source::columns::{Item, Values};

thread_local! {
    static UNCHECKED_ANSWER: Cell<Option<Result<Converted>>> = const { Cell::new(None) };
}

/// Answers the call under way with this, however broken: for tests of the worker.
#[doc(hidden)]
pub fn answer_unchecked(answer: Result<Converted>) {
    UNCHECKED_ANSWER.set(Some(answer));
}

/// A [`Converter`] of whatever type.
trait AnyConverter {
    fn from_connect<'a>(&'a mut self, items: &'a Items) -> Answer<'a, Converted>;
    fn to_connect<'a>(&'a mut self, items: &'a Items) -> Answer<'a, Converted>;
}

impl<C: Converter> AnyConverter for C {
    fn from_connect<'a>(&'a mut self, items: &'a Items) -> Answer<'a, Converted> {
        Box::pin(each(items, async |item, part| Converter::from_connect(self, item, &mut KafkaBytes(part)).await))
    }

    fn to_connect<'a>(&'a mut self, items: &'a Items) -> Answer<'a, Converted> {
        Box::pin(each(items, async |item, part| Converter::to_connect(self, item, &mut ConnectValue(part)).await))
    }
}

async fn each(
    items: &Items,
    mut convert: impl AsyncFnMut(&ConverterItem<'_>, &mut Part) -> Result<()>,
) -> Result<Converted> {
    let count = items.len();
    let (mut made, mut part, mut failed) = (Values::new(), Part::null(), Vec::new());
    let mut data = Vec::with_capacity(items.bytes);
    for (row, item) in items.iter().enumerate() {
        part.clear();
        match convert(&item, &mut part).await {
            Ok(()) => made.append(row, Item::from(&part), count, &mut data),
            Err(error) => failed.push(error.of_one("item", item.index())?),
        }
    }
    let answer = Converted { schemas: Vec::new(), items: made.finish(count), data, failed };
    UNCHECKED_ANSWER.take().unwrap_or(Ok(answer))
}

/// A converter that was started.
pub(crate) struct ConverterDriver {
    converter: Box<dyn AnyConverter>,
    shown: Shown,
}

impl ConverterDriver {
    pub(crate) fn new(converter: impl Converter) -> Self {
        Self { converter: Box::new(converter), shown: Shown::default() }
    }

    pub(crate) async fn from_connect(&mut self, batch: ValueBatch) -> Result<Converted> {
        let items = Items::new(batch, &mut self.shown)?;
        let converted = self.converter.from_connect(&items).await;
        items.give_back(&mut self.shown);
        converted
    }

    pub(crate) async fn to_connect(&mut self, batch: ValueBatch) -> Result<Converted> {
        let items = Items::new(batch, &mut self.shown)?;
        let converted = self.converter.to_connect(&items).await;
        items.give_back(&mut self.shown);
        converted
    }
}
