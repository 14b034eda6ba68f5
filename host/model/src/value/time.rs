//! Dates and times as Java's classes handle them: `GregorianCalendar` and `SimpleDateFormat`, in UTC
//! and English.
//!
//! Connect's texts and transforms promise what those two do: days before 15 October 1582 are Julian,
//! fields that overflow roll over, what follows a text that matched is ignored. No library outside Java
//! does all of that, hence this module.

mod calendar;
mod fields;
mod format;
mod names;
mod parse;
mod pattern;

pub use calendar::DateTime;
pub use pattern::{DateFormat, IllegalPattern};

#[cfg(test)]
mod tests;
