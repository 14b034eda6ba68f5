//! Transforms and predicates: change records between a task and the converters, or tell them apart.

mod columns;
mod driver;
mod record;

#[doc(hidden)]
pub use driver::{answer_unchecked, tell_unchecked};
pub use record::TransformRecord;

pub(crate) use driver::{PredicateDriver, TransformDriver};

use crate::Result;
use crate::config::Config;

/// A transformation, as `transforms.<alias>.type` names it. One instance serves one alias in one task.
///
/// ```
/// use bulkhead_sdk::prelude::*;
///
/// /// Makes texts upper case.
/// #[derive(Config)]
/// struct Settings {
///     /// Drop records with an empty text.
///     #[config(default = false)]
///     drop_empty: bool,
/// }
///
/// struct Upper(Settings);
///
/// impl Transform for Upper {
///     type Config = Settings;
///
///     async fn start(settings: Settings) -> Result<Self> {
///         Ok(Self(settings))
///     }
///
///     async fn apply(&mut self, record: &mut TransformRecord<'_>) -> Result<Outcome> {
///         let Some(text) = record.value().as_text() else {
///             return Err(Error::data("the value is no text"));
///         };
///         if text.is_empty() && self.0.drop_empty {
///             return Ok(Outcome::Drop);
///         }
///         record.replace_value(text.to_uppercase())?;
///         Ok(Outcome::Keep)
///     }
/// }
///
/// bulkhead_sdk::export! { transform "org.example.Upper" => Upper }
///
/// let mut run = bulkhead_sdk::test::TransformRun::<Upper>::start([("drop.empty", "true")]);
/// assert_eq!(run.apply_texts(["a", ""]), ["A", "dropped"]);
/// ```
#[allow(async_fn_in_trait)] // a component has one thread, so nobody needs these futures to be Send
pub trait Transform: Sized + 'static {
    /// The settings: what a configuration has below the alias.
    type Config: Config;

    /// Makes a transformation from its settings.
    async fn start(settings: Self::Config) -> Result<Self>;

    /// Changes a record, or leaves it as it is, and says whether it goes on. An error of the kind `data` is this record's:
    /// it is skipped or reported if `errors.tolerance=all`. Any other ends the task.
    async fn apply(&mut self, record: &mut TransformRecord<'_>) -> Result<Outcome>;
}

/// What becomes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on, with what was changed.
    Keep,
    /// It ends here, as if it had never been there.
    Drop,
}

/// A predicate, as `predicates.<alias>.type` names it: says for which records a transformation is meant.
#[allow(async_fn_in_trait)]
pub trait Predicate: Sized + 'static {
    /// The settings: what a configuration has below the alias.
    type Config: Config;

    /// Makes a predicate from its settings.
    async fn start(settings: Self::Config) -> Result<Self>;

    /// The answer for a record. Errors are as those of [`Transform::apply`].
    async fn test(&mut self, record: &TransformRecord<'_>) -> Result<bool>;
}
