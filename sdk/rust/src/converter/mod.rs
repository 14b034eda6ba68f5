//! Converters: between what connectors see and the bytes that are in Kafka.

#![expect(clippy::wrong_self_convention, reason = "what Connect calls it")]

mod driver;
mod item;

#[doc(hidden)]
pub use driver::answer_unchecked;
pub use item::{ConnectValue, ConverterItem, KafkaBytes};

pub(crate) use driver::ConverterDriver;

use crate::Result;
use crate::bindings::converter::exports::bulkhead::connect::converter as wit;
use crate::config::Config;

/// A converter, as `key.converter`, `value.converter` and `header.converter` name it. One instance serves one of these
/// in one task.
///
/// ```
/// use std::io::Write as _;
/// use bulkhead_sdk::prelude::*;
///
/// /// Whole numbers as digits.
/// #[derive(Config)]
/// struct Settings {
///     /// What an empty text is taken for; an error if unset.
///     empty: Option<i64>,
/// }
///
/// struct Digits(Settings);
///
/// impl Converter for Digits {
///     type Config = Settings;
///
///     async fn start(settings: Settings, _: Role) -> Result<Self> {
///         Ok(Self(settings))
///     }
///
///     async fn from_connect(&mut self, item: &ConverterItem<'_>, kafka: &mut KafkaBytes<'_>) -> Result<()> {
///         match item.payload().decode()? {
///             Value::Null => {} // what isn't set is null
///             Value::Int64(number) => write!(kafka.buffer(), "{number}")?,
///             other => return Err(Error::data(format!("{other} is no int64"))),
///         }
///         Ok(())
///     }
///
///     async fn to_connect(&mut self, item: &ConverterItem<'_>, connect: &mut ConnectValue<'_>) -> Result<()> {
///         let Some(digits) = item.bytes() else { return Ok(()) };
///         let digits = str::from_utf8(digits).map_err(Error::data)?;
///         let number = match self.0.empty {
///             Some(number) if digits.is_empty() => number,
///             _ => digits.parse::<i64>().map_err(Error::data)?,
///         };
///         connect.set(None, number)
///     }
/// }
///
/// bulkhead_sdk::export! {
///     converter "org.example.Digits" => Digits,
///     header_converter "org.example.Digits" => Digits,
/// }
///
/// let mut run = bulkhead_sdk::test::ConverterRun::<Digits>::start([("empty", "0")], Role::Value);
/// assert_eq!(run.from_connect(None, 12_i64)?.as_deref(), Some(&b"12"[..]));
/// assert_eq!(run.to_connect(Some(b"12"))?.value, Value::Int64(12));
/// assert!(run.to_connect(Some(b"12a")).is_err());
/// # Ok::<(), Error>(())
/// ```
#[allow(async_fn_in_trait)] // a component has one thread, so nobody needs these futures to be Send
pub trait Converter: Sized + 'static {
    /// The settings: what a configuration has below `key.converter.` and its like.
    type Config: Config;

    /// Makes a converter of keys, values or header values from its settings.
    async fn start(settings: Self::Config, role: Role) -> Result<Self>;

    /// From Connect to Kafka. What is not set is null.
    ///
    /// An error of the kind `data` is this item's: its record is skipped or reported if `errors.tolerance=all`. Any other
    /// ends the task.
    async fn from_connect(&mut self, item: &ConverterItem<'_>, kafka: &mut KafkaBytes<'_>) -> Result<()>;

    /// From Kafka to Connect: the item has bytes, or is null. What is not set is null. Errors are as above.
    async fn to_connect(&mut self, item: &ConverterItem<'_>, connect: &mut ConnectValue<'_>) -> Result<()>;
}

/// What an instance converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Role {
    Key,
    Value,
    /// Values of headers.
    Header,
}

impl From<wit::Role> for Role {
    fn from(role: wit::Role) -> Self {
        match role {
            wit::Role::Key => Self::Key,
            wit::Role::Value => Self::Value,
            wit::Role::Header => Self::Header,
        }
    }
}
