//! Text to typed value, by the rules of Kafka's `ConfigDef`.

use std::fmt;

use super::def::ConfigType;

/// A value that has the type its key declares.
#[derive(Clone, Debug, PartialEq)]
pub enum Typed {
    Boolean(bool),
    String(String),
    Int(i32),
    Short(i16),
    Long(i64),
    Double(f64),
    List(Vec<String>),
    /// The name of a class; whether there is such a class is not known here.
    Class(String),
    Password(Password),
}

/// A text that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub String);

/// A value that its key doesn't take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid value {value} for configuration {key}: {reason}")]
pub struct Invalid {
    pub key: String,
    /// As shown to people: `null` for none, `[hidden]` for a password.
    pub value: String,
    pub reason: String,
}

impl ConfigType {
    /// Reads a text of this type; the error is the reason alone.
    pub fn parse(self, text: &str) -> Result<Typed, String> {
        let text = trim(text);
        match self {
            Self::Boolean => parse_boolean(text).map(Typed::Boolean),
            Self::String => Ok(Typed::String(text.to_owned())),
            Self::Int => self.parse_number(text).map(Typed::Int),
            Self::Short => self.parse_number(text).map(Typed::Short),
            Self::Long => self.parse_number(text).map(Typed::Long),
            Self::Double => self.parse_number(text).map(Typed::Double),
            Self::List => Ok(Typed::List(parse_list(text))),
            Self::Class => Ok(Typed::Class(text.to_owned())),
            Self::Password => Ok(Typed::Password(Password(text.to_owned()))),
        }
    }

    fn parse_number<N: std::str::FromStr>(self, text: &str) -> Result<N, String> {
        text.parse().map_err(|_| format!("Not a number of type {}", self.name()))
    }

    /// The word that REST shows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Boolean => "BOOLEAN",
            Self::String => "STRING",
            Self::Int => "INT",
            Self::Short => "SHORT",
            Self::Long => "LONG",
            Self::Double => "DOUBLE",
            Self::List => "LIST",
            Self::Class => "CLASS",
            Self::Password => "PASSWORD",
        }
    }
}

/// Java's `trim`: only characters up to U+0020 count as space.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c <= ' ')
}

fn parse_boolean(text: &str) -> Result<bool, String> {
    if text.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if text.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err("Expected value to be either true or false".to_owned())
    }
}

fn parse_list(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    text.split(',').map(|element| element.trim().to_owned()).collect()
}

impl fmt::Display for Typed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::String(value) | Self::Class(value) => f.write_str(value),
            Self::Int(value) => value.fmt(f),
            Self::Short(value) => value.fmt(f),
            Self::Long(value) => value.fmt(f),
            // With a fraction always, as Java writes doubles.
            Self::Double(value) => write!(f, "{value:?}"),
            Self::List(elements) => f.write_str(&elements.join(",")),
            Self::Password(value) => value.fmt(f),
        }
    }
}

impl Password {
    const HIDDEN: &str = "[hidden]";
}

impl fmt::Display for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::HIDDEN)
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: ConfigType, text: &str) -> String {
        kind.parse(text).map_or_else(|reason| format!("! {reason}"), |value| value.to_string())
    }

    #[test]
    fn texts_are_read_by_the_type_of_their_key() {
        let table = [
            (ConfigType::Int, " 2 ", "2"),
            (ConfigType::Int, "+7", "7"),
            (ConfigType::Int, "2.5", "! Not a number of type INT"),
            (ConfigType::Int, "2147483648", "! Not a number of type INT"),
            (ConfigType::Int, "", "! Not a number of type INT"),
            (ConfigType::Short, "32768", "! Not a number of type SHORT"),
            (ConfigType::Long, "-9223372036854775808", "-9223372036854775808"),
            (ConfigType::Long, "1s", "! Not a number of type LONG"),
            (ConfigType::Double, "1", "1.0"),
            (ConfigType::Boolean, " TRUE", "true"),
            (ConfigType::Boolean, "maybe", "! Expected value to be either true or false"),
            (ConfigType::List, " a , b,,c ", "a,b,,c"),
            (ConfigType::List, "  ", ""),
            (ConfigType::String, "  x y ", "x y"),
            (ConfigType::String, "\u{a0}x", "\u{a0}x"),
            (ConfigType::Class, " a.B ", "a.B"),
            (ConfigType::Password, "secret", "[hidden]"),
        ];
        for (kind, text, expected) in table {
            assert_eq!(check(kind, text), expected, "{kind:?} {text:?}");
        }
    }

    #[test]
    fn a_password_is_not_shown_by_debug_either() {
        assert_eq!(format!("{:?}", Password("secret".to_owned())), "[hidden]");
    }
}
