use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_pipeline::batch::{Column, Encoding, Item, Items, Values};
use bulkhead_pipeline::convert::{Role, SchemaAndValue, item};
use bulkhead_pipeline::ports::{Aliased, Converted, ConverterTask, Plugins};

use crate::{Failure, Inner, name};

/// What became of each item, or the reason why it can't be converted.
pub type Outcomes<T> = Vec<Result<T, String>>;

/// One converter, in an instance of its own. What it converts belongs to the topic `topic` and, in headers, to the key `header`.
pub struct ConverterRun {
    kit: Arc<Inner>,
    role: Role,
    converter: Arc<dyn ConverterTask>,
}

impl ConverterRun {
    pub(crate) fn start(kit: Arc<Inner>, role: Role, config: &RawConfig) -> Result<Self, Failure> {
        let converter = Aliased::converter(role, config).ok_or(Failure::NoConverter(role.key()))?;
        let task = name().task(0);
        let converter = kit.runtime.block_on(kit.sandbox.converter(&task, role, &converter, config))?;
        Ok(Self { kit, role, converter })
    }

    /// Converts values in one call: each to bytes, or to none for Kafka's null.
    pub fn from_connect(&mut self, values: &[SchemaAndValue]) -> Result<Outcomes<Option<Vec<u8>>>, Failure> {
        let mut column = Column { count: values.len(), ..Column::default() };
        let (mut data, mut schemas) = (Vec::new(), Vec::new());
        for SchemaAndValue { schema, value } in values {
            let start = data.len();
            column.values.encoding.push(item::write(schema.clone(), value, &mut data)?.encoding);
            column.values.len.push((data.len() - start) as u32);
            schemas.extend(schema.clone());
            column.values.schema.push(if schema.is_some() { schemas.len() as u32 } else { 0 });
        }
        (column.data, column.schemas) = (data.into(), schemas.into());
        let converted = self.kit.runtime.block_on(self.converter.from_connect(self.items(column)))?;
        each(converted, |item| Ok((item.encoding != Encoding::None).then(|| item.bytes.to_vec())))
    }

    /// Converts what is in Kafka in one call.
    pub fn to_connect(&mut self, items: &[Option<&[u8]>]) -> Result<Outcomes<SchemaAndValue>, Failure> {
        let bytes = || items.iter().map(|item| item.unwrap_or_default());
        let encoding = |item: &Option<_>| if item.is_some() { Encoding::Bytes } else { Encoding::None };
        let values = Values {
            encoding: items.iter().map(encoding).collect(),
            len: bytes().map(|bytes| bytes.len() as u32).collect(),
            ..Values::default()
        };
        let data = bytes().collect::<Vec<_>>().concat().into();
        let column = Column { count: items.len(), values, data, ..Column::default() };
        let converted = self.kit.runtime.block_on(self.converter.to_connect(self.items(column)))?;
        each(converted, |item| Ok(item::read(item)?))
    }

    fn items(&self, column: Column) -> Arc<Items> {
        let header_keys = if self.role == Role::Header { vec!["header".into()] } else { vec![] };
        Arc::new(Items { column, topics: vec!["topic".into()], header_keys, ..Items::default() })
    }
}

fn each<T>(
    Converted { column, failed }: Converted,
    read: impl Fn(Item<'_>) -> Result<T, Failure>,
) -> Result<Outcomes<T>, Failure> {
    let one = |(index, item)| match failed.iter().find(|(place, _)| *place == index) {
        Some((_, why)) => Ok(Err(why.clone())),
        None => read(item).map(Ok),
    };
    column.iter().enumerate().map(one).collect()
}
