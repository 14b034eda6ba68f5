//! Moments to text.

use std::fmt::Write as _;

use super::DateTime;
use super::names::{ERAS, HALF_DAYS, MONTHS, WEEKDAYS, short};
use super::pattern::{DateFormat, Letter, Part};

impl DateFormat {
    /// The text of a moment, in milliseconds since 1970.
    pub fn format(&self, millis: i64) -> String {
        let moment = DateTime::from_millis(millis);
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Field(letter, count) => write_field(*letter, *count, &moment, &mut text),
            }
        }
        text
    }
}

fn write_field(letter: Letter, count: usize, moment: &DateTime, text: &mut String) {
    let number = match letter {
        Letter::Era => return text.push_str(ERAS[usize::from(!moment.is_before_christ())]),
        Letter::Year => return write_year(moment.year_of_era(), count, text),
        Letter::WeekYear => return write_year(moment.week_year(), count, text),
        Letter::Month if count > 2 => return text.push_str(name(MONTHS[usize::from(moment.month) - 1], count)),
        Letter::WeekdayName => return text.push_str(name(WEEKDAYS[moment.weekday()], count)),
        Letter::HalfDay => return text.push_str(HALF_DAYS[usize::from(moment.hour >= 12)]),
        Letter::ZoneName => return text.push_str(if count > 3 { "Coordinated Universal Time" } else { "UTC" }),
        Letter::ZoneOffset => return text.push_str("+0000"),
        Letter::IsoZone => return text.push('Z'),
        Letter::Month => moment.month.into(),
        Letter::WeekOfYear => moment.week_of_year(),
        Letter::WeekOfMonth => moment.week_of_month(),
        Letter::DayOfYear => moment.day_of_year(),
        Letter::DayOfMonth => moment.day.into(),
        Letter::WeekdayInMonth => i64::from(moment.day - 1) / 7 + 1,
        Letter::WeekdayNumber => (moment.weekday() as i64 + 6) % 7 + 1,
        Letter::Hour0To23 => moment.hour.into(),
        Letter::Hour1To24 => one_based(moment.hour, 24),
        Letter::Hour0To11 => (moment.hour % 12).into(),
        Letter::Hour1To12 => one_based(moment.hour % 12, 12),
        Letter::Minute => moment.minute.into(),
        Letter::Second => moment.second.into(),
        Letter::Milli => moment.milli.into(),
    };
    write_padded(number, count, text);
}

/// Two letters mean two digits; any other number of them means at least as many.
fn write_year(year: i64, count: usize, text: &mut String) {
    match count {
        2 => write_padded(year.rem_euclid(100), 2, text),
        _ => write_padded(year, count, text),
    }
}

fn write_padded(number: i64, width: usize, text: &mut String) {
    if number < 0 {
        text.push('-');
    }
    // Writing to a String cannot fail.
    let _ = write!(text, "{:0>width$}", number.unsigned_abs());
}

fn name(name: &'static str, count: usize) -> &'static str {
    if count > 3 { name } else { short(name) }
}

/// An hour where 0 is called by the number that ends the round.
fn one_based(hour: u8, round: i64) -> i64 {
    if hour == 0 { round } else { hour.into() }
}
