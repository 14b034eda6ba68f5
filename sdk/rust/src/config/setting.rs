use std::fmt;
use std::str::FromStr;

use super::Kind;

/// A type that a key's text can be read into.
pub trait Setting: Sized {
    /// How the worker and user interfaces treat the text.
    const KIND: Kind;
    /// Whether the key may be absent though it has no default.
    const OPTIONAL: bool = false;
    /// Bounds that the type itself has beyond those of its kind.
    const LEAST: Option<&'static str> = None;

    /// Reads the text; the error says what is wrong with it.
    fn read(text: &str) -> Result<Self, String>;

    /// The value of an absent key, if it may be absent.
    fn absent() -> Option<Self> {
        None
    }
}

/// A text that never shows: `Debug` and `Display` print `[hidden]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// The text itself. Don't log it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Password {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

impl fmt::Display for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

impl Setting for String {
    const KIND: Kind = Kind::Text;
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

impl Setting for Password {
    const KIND: Kind = Kind::Password;
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.into())
    }
}

impl Setting for bool {
    const KIND: Kind = Kind::Boolean;
    fn read(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err("Expected value to be either true or false".to_owned()),
        }
    }
}

impl Setting for Vec<String> {
    const KIND: Kind = Kind::ListOfText;
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        Ok(text.split(',').map(|element| element.trim().to_owned()).collect())
    }
}

impl<T: Setting> Setting for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;
    const LEAST: Option<&'static str> = T::LEAST;
    fn read(text: &str) -> Result<Self, String> {
        T::read(text).map(Some)
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
}

macro_rules! number {
    ($($type:ty: $kind:ident, $least:expr, $called:literal;)*) => {$(
        impl Setting for $type {
            const KIND: Kind = Kind::$kind;
            const LEAST: Option<&'static str> = $least;
            fn read(text: &str) -> Result<Self, String> {
                parse(text, $called)
            }
        }
    )*};
}

// Connect has no unsigned types: these are the signed ones of the same size or the next, from 0 on.
number! {
    i16: Short, None, "SHORT";
    i32: Int, None, "INT";
    i64: Long, None, "LONG";
    u16: Int, Some("0"), "INT from 0 to 65535";
    u32: Int, Some("0"), "INT from 0";
    u64: Long, Some("0"), "LONG from 0";
    f64: Double, None, "DOUBLE";
}

fn parse<T: FromStr>(text: &str, called: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("Not a number of type {called}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_never_shows() {
        let password = Password::from("secret");
        assert_eq!(format!("{password} {password:?}"), "[hidden] [hidden]");
        assert_eq!(password.reveal(), "secret");
    }

    #[test]
    fn lists_are_split_at_commas() {
        assert_eq!(Vec::<String>::read("a, b ,c"), Ok(vec!["a".into(), "b".into(), "c".into()]));
        assert_eq!(Vec::<String>::read(""), Ok(vec![]));
    }

    #[test]
    fn booleans_are_read_in_any_case_and_nothing_else_is() {
        assert_eq!(bool::read("True"), Ok(true));
        assert!(bool::read("yes").is_err());
    }
}
