//! Text to moments, as leniently as Java.

use super::calendar::DateTime;
use super::fields::{Field, Fields};
use super::names::{ERAS, HALF_DAYS, MONTHS, WEEKDAYS, ZONES, short};
use super::pattern::{DateFormat, Letter, Part};

/// Years before and after now in which a year of two digits is looked for.
const CENTURY_BEFORE: i64 = 80;

impl DateFormat {
    /// The moment at the start of `text`, in milliseconds since 1970; what follows it is ignored. `now`
    /// says which century years of two digits belong to.
    pub fn parse(&self, text: &str, now: i64) -> Option<i64> {
        let mut cursor = Cursor { rest: text, fields: Fields::default(), now };
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Literal(literal) => cursor.rest = cursor.rest.strip_prefix(literal.as_str())?,
                Part::Field(letter, count) => {
                    let width = self.parts.get(index + 1).is_some_and(Part::is_number).then_some(*count);
                    cursor.read(*letter, *count, width)?;
                }
            }
        }
        Some(cursor.fields.millis())
    }
}

impl Part {
    /// Whether digits follow without anything between, so that the field before has a fixed width.
    fn is_number(&self) -> bool {
        match self {
            Self::Literal(_) => false,
            Self::Field(Letter::Month, count) => *count <= 2,
            Self::Field(letter, _) => !matches!(
                letter,
                Letter::Era
                    | Letter::WeekdayName
                    | Letter::HalfDay
                    | Letter::ZoneName
                    | Letter::ZoneOffset
                    | Letter::IsoZone
            ),
        }
    }
}

struct Cursor<'a> {
    rest: &'a str,
    fields: Fields,
    now: i64,
}

impl Cursor<'_> {
    fn read(&mut self, letter: Letter, count: usize, width: Option<usize>) -> Option<()> {
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        // A fixed width counts the blanks, too.
        let width = width.map(|width| width.saturating_sub(blanks));
        if !letter.is_named(count) {
            self.rest = &self.rest[blanks..];
        }
        let (field, value) = match letter {
            Letter::Era => (Field::Era, self.name(&ERAS, |era| era)?),
            Letter::HalfDay => (Field::HalfDay, self.name(&HALF_DAYS, |half| half)?),
            Letter::WeekdayName => (Field::Weekday, self.name(&WEEKDAYS, short)?),
            Letter::Month if count > 2 => (Field::Month, self.name(&MONTHS, short)?),
            Letter::ZoneName | Letter::ZoneOffset => (Field::Zone, self.zone()?),
            Letter::IsoZone => (Field::Zone, self.iso_zone(count)?),
            Letter::Year => (Field::Year, self.year(count, width)?),
            Letter::WeekYear => (Field::WeekYear, self.year(count, width)?),
            Letter::Month => (Field::Month, self.number(width)? - 1),
            Letter::WeekdayNumber => (Field::Weekday, weekday(self.number(width)?)),
            Letter::Hour1To24 => (Field::HourOfDay, zero_based(self.number(width)?, 24)),
            Letter::Hour1To12 => (Field::Hour, zero_based(self.number(width)?, 12)),
            Letter::WeekOfYear => (Field::WeekOfYear, self.number(width)?),
            Letter::WeekOfMonth => (Field::WeekOfMonth, self.number(width)?),
            Letter::DayOfYear => (Field::DayOfYear, self.number(width)?),
            Letter::DayOfMonth => (Field::DayOfMonth, self.number(width)?),
            Letter::WeekdayInMonth => (Field::WeekdayInMonth, self.number(width)?),
            Letter::Hour0To23 => (Field::HourOfDay, self.number(width)?),
            Letter::Hour0To11 => (Field::Hour, self.number(width)?),
            Letter::Minute => (Field::Minute, self.number(width)?),
            Letter::Second => (Field::Second, self.number(width)?),
            Letter::Milli => (Field::Milli, self.number(width)?),
        };
        self.fields.set(field, value);
        Some(())
    }

    /// A sign and digits, as many as there are or as the width allows.
    fn number(&mut self, width: Option<usize>) -> Option<i64> {
        let text = match width {
            Some(width) => self.rest.get(..width)?,
            None => self.rest,
        };
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let length = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return None;
        }
        let magnitude = unsigned[..length]
            .bytes()
            .fold(0_i64, |number, digit| number.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
        let negative = unsigned.len() < text.len();
        self.rest = &self.rest[length + usize::from(negative)..];
        // Fields are 32 bits wide in Java.
        let number = i64::from(magnitude.min(i32::MAX.into()) as i32);
        Some(if negative { -number } else { number })
    }

    /// Two digits under at most two letters are a year of the century around now.
    fn year(&mut self, count: usize, width: Option<usize>) -> Option<i64> {
        let before = self.rest;
        let year = self.number(width)?;
        let digits = &before[..before.len() - self.rest.len()];
        if count > 2 || digits.len() != 2 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Some(year);
        }
        let start = DateTime::from_millis(self.now).year - CENTURY_BEFORE;
        let candidate = start - start.rem_euclid(100) + year;
        Some(if candidate < start { candidate + 100 } else { candidate })
    }

    /// The longest of the names, in full or `shortened`, that the text begins with; case is ignored.
    fn name(&mut self, names: &[&'static str], shortened: fn(&'static str) -> &'static str) -> Option<i64> {
        let forms = names.iter().enumerate().flat_map(|(index, name)| [(index, *name), (index, shortened(name))]);
        let (index, found) =
            forms.filter(|(_, name)| starts_with(self.rest, name)).max_by_key(|(_, name)| name.len())?;
        self.rest = &self.rest[found.len()..];
        Some(index as i64)
    }

    /// `+0100`, `GMT+01:00`, `GMT` or a name.
    fn zone(&mut self) -> Option<i64> {
        if let Some(sign) = self.sign() {
            return self.offset(sign, Minutes::Required, "");
        }
        if !starts_with(self.rest, "GMT") {
            let (name, minutes) = ZONES.iter().find(|(name, _)| starts_with(self.rest, name))?;
            self.rest = &self.rest[name.len()..];
            return Some((*minutes).into());
        }
        self.rest = &self.rest[3..];
        match self.sign() {
            Some(sign) => self.offset(sign, Minutes::Required, ":"),
            None => Some(0),
        }
    }

    /// `Z`, or an offset of the form that the number of letters says.
    fn iso_zone(&mut self, count: usize) -> Option<i64> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Some(0);
        }
        let sign = self.sign()?;
        match count {
            1 => self.offset(sign, Minutes::Absent, ""),
            2 => self.offset(sign, Minutes::Required, ""),
            _ => self.offset(sign, Minutes::Required, ":"),
        }
    }

    fn sign(&mut self) -> Option<i64> {
        let sign = match self.rest.as_bytes().first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        self.rest = &self.rest[1..];
        Some(sign)
    }

    fn offset(&mut self, sign: i64, minutes: Minutes, separator: &str) -> Option<i64> {
        let hours = self.two_digits().filter(|hours| *hours <= 23)?;
        let minutes = match minutes {
            Minutes::Absent => 0,
            Minutes::Required => {
                self.rest = self.rest.strip_prefix(separator)?;
                self.two_digits().filter(|minutes| *minutes <= 59)?
            }
        };
        Some(sign * (hours * 60 + minutes))
    }

    fn two_digits(&mut self) -> Option<i64> {
        let digits = self.rest.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
        self.rest = &self.rest[2..];
        digits.parse().ok()
    }
}

impl Letter {
    /// Whether a name is expected, before which no blanks may be.
    fn is_named(self, count: usize) -> bool {
        match self {
            Self::Era | Self::HalfDay | Self::WeekdayName => true,
            Self::Month => count > 2,
            _ => false,
        }
    }
}

/// Whether an offset has minutes.
#[derive(Clone, Copy)]
enum Minutes {
    Absent,
    Required,
}

fn starts_with(text: &str, name: &str) -> bool {
    text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

/// From 1, Monday, to from 0, Sunday. What is no such weekday is taken for one counted from 1, Sunday.
fn weekday(number: i64) -> i64 {
    match number {
        1..=7 => number % 7,
        _ => number - 1,
    }
}

/// An hour where the number that ends the round is 0.
fn zero_based(hour: i64, round: i64) -> i64 {
    if hour == round { 0 } else { hour }
}
