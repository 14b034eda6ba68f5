//! Patterns of `SimpleDateFormat`.

/// A pattern, ready to write and read moments with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateFormat {
    pub(super) parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Literal(String),
    /// A field, and how often its letter was repeated.
    Field(Letter, usize),
}

/// What a letter of a pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letter {
    Era,
    Year,
    WeekYear,
    Month,
    WeekOfYear,
    WeekOfMonth,
    DayOfYear,
    DayOfMonth,
    WeekdayInMonth,
    WeekdayName,
    /// From 1, Monday.
    WeekdayNumber,
    HalfDay,
    /// 0 to 23.
    Hour0To23,
    /// 1 to 24.
    Hour1To24,
    /// 0 to 11.
    Hour0To11,
    /// 1 to 12.
    Hour1To12,
    Minute,
    Second,
    Milli,
    ZoneName,
    /// As in `+0100`.
    ZoneOffset,
    /// As in `+01:00`, or `Z`.
    IsoZone,
}

/// Why a pattern cannot be used; the texts are Java's, since users see them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IllegalPattern {
    #[error("Illegal pattern character '{0}'")]
    Letter(char),
    #[error("Unterminated quote")]
    Quote,
    #[error("invalid ISO 8601 format: length={0}")]
    IsoZone(usize),
}

impl DateFormat {
    /// Letters stand for fields, text in single quotes for itself, and so does any other character.
    pub fn new(pattern: &str) -> Result<Self, IllegalPattern> {
        let mut parts = Vec::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            if first.is_ascii_alphabetic() {
                let count = rest.chars().take_while(|letter| *letter == first).count();
                parts.push(field(first, count)?);
                rest = &rest[count..];
            } else {
                rest = literal(rest, &mut parts)?;
            }
        }
        Ok(Self { parts })
    }
}

fn field(letter: char, count: usize) -> Result<Part, IllegalPattern> {
    let field = match letter {
        'G' => Letter::Era,
        'y' => Letter::Year,
        'Y' => Letter::WeekYear,
        'M' | 'L' => Letter::Month,
        'w' => Letter::WeekOfYear,
        'W' => Letter::WeekOfMonth,
        'D' => Letter::DayOfYear,
        'd' => Letter::DayOfMonth,
        'F' => Letter::WeekdayInMonth,
        'E' => Letter::WeekdayName,
        'u' => Letter::WeekdayNumber,
        'a' => Letter::HalfDay,
        'H' => Letter::Hour0To23,
        'k' => Letter::Hour1To24,
        'K' => Letter::Hour0To11,
        'h' => Letter::Hour1To12,
        'm' => Letter::Minute,
        's' => Letter::Second,
        'S' => Letter::Milli,
        'z' => Letter::ZoneName,
        'Z' => Letter::ZoneOffset,
        'X' if count <= 3 => Letter::IsoZone,
        'X' => return Err(IllegalPattern::IsoZone(count)),
        _ => return Err(IllegalPattern::Letter(letter)),
    };
    Ok(Part::Field(field, count))
}

/// Takes one literal character, or one quoted text, and returns what follows.
fn literal<'a>(pattern: &'a str, parts: &mut Vec<Part>) -> Result<&'a str, IllegalPattern> {
    let mut text = String::new();
    let rest = match pattern.strip_prefix('\'') {
        None => {
            let mut chars = pattern.chars();
            text.extend(chars.next());
            chars.as_str()
        }
        Some(quoted) => match quoted.strip_prefix('\'') {
            Some(rest) => {
                text.push('\'');
                rest
            }
            None => unquote(quoted, &mut text)?,
        },
    };
    match parts.last_mut() {
        Some(Part::Literal(before)) => before.push_str(&text),
        _ => parts.push(Part::Literal(text)),
    }
    Ok(rest)
}

/// Reads up to the closing quote; two quotes are one that doesn't close.
fn unquote<'a>(mut quoted: &'a str, text: &mut String) -> Result<&'a str, IllegalPattern> {
    loop {
        let (content, rest) = quoted.split_once('\'').ok_or(IllegalPattern::Quote)?;
        text.push_str(content);
        match rest.strip_prefix('\'') {
            Some(more) => {
                text.push('\'');
                quoted = more;
            }
            None => return Ok(rest),
        }
    }
}
