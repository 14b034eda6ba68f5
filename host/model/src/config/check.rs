//! The checks a [`Validator`] stands for.

use std::collections::BTreeSet;

use super::def::Validator;
use super::java_regex;
use super::parse::Typed;

const NO_REGEX: &str = "Value must be a valid regular expression";

impl Validator {
    /// Looks at a value; none means that there is none, because it didn't parse or because the key is
    /// required and absent. The error is the reason alone.
    pub(super) fn check(&self, value: Option<&Typed>) -> Result<(), String> {
        match value {
            Some(value) => self.check_value(value),
            None => self.check_null(),
        }
    }

    fn check_value(&self, value: &Typed) -> Result<(), String> {
        match self {
            Self::Range { min, max } => check_range(value, min.as_deref(), max.as_deref()),
            Self::OneOf(allowed) => check_one_of(&value.to_string(), allowed),
            Self::OneOfIgnoringCase(allowed) => check_one_of_ignoring_case(&value.to_string(), allowed),
            Self::NonEmpty => check_not_empty(value),
            Self::NonEmptyWithoutControlCharacters => check_not_empty(value).and_then(|()| check_printable(value)),
            Self::EachOneOf(allowed) => elements(value).iter().try_for_each(|element| check_one_of(element, allowed)),
            Self::Unique => check_unique(elements(value)),
            Self::Pattern(pattern) => check_pattern(value, pattern),
            Self::Regex => compile(&plain(value)).map(|_| ()),
            Self::JavaRegex => java_regex::compile(&plain(value)).map(|_| ()).map_err(|_| NO_REGEX.to_owned()),
        }
    }

    /// As Kafka's validators: those of choices and ranges insist on a value, the others leave the
    /// complaint to whoever found it missing.
    fn check_null(&self) -> Result<(), String> {
        match self {
            Self::Range { .. } => Err("Value must be non-null".to_owned()),
            Self::OneOf(allowed) => Err(one_of(allowed)),
            Self::OneOfIgnoringCase(allowed) => Err(one_of_ignoring_case(allowed)),
            Self::Regex | Self::JavaRegex => Err(NO_REGEX.to_owned()),
            Self::NonEmpty
            | Self::NonEmptyWithoutControlCharacters
            | Self::EachOneOf(_)
            | Self::Unique
            | Self::Pattern(_) => Ok(()),
        }
    }
}

fn check_range(value: &Typed, min: Option<&str>, max: Option<&str>) -> Result<(), String> {
    let Some(number) = number(value) else { return Ok(()) };
    match (min, max) {
        (Some(min), _) if bound(min).is_some_and(|bound| number < bound) => {
            Err(format!("Value must be at least {min}"))
        }
        (_, Some(max)) if bound(max).is_some_and(|bound| number > bound) => {
            Err(format!("Value must be no more than {max}"))
        }
        _ => Ok(()),
    }
}

/// A number that orders integers exactly and anything else as well as a double can.
#[derive(Clone, Copy, Debug)]
enum Number {
    Whole(i128),
    Real(f64),
}

impl Number {
    fn as_real(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Real(value) => value,
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(std::cmp::Ordering::Equal)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => Some(a.cmp(b)),
            (a, b) => a.as_real().partial_cmp(&b.as_real()),
        }
    }
}

fn number(value: &Typed) -> Option<Number> {
    match value {
        Typed::Int(value) => Some(Number::Whole((*value).into())),
        Typed::Short(value) => Some(Number::Whole((*value).into())),
        Typed::Long(value) => Some(Number::Whole((*value).into())),
        Typed::Double(value) => Some(Number::Real(*value)),
        Typed::Boolean(_) | Typed::String(_) | Typed::List(_) | Typed::Class(_) | Typed::Password(_) => None,
    }
}

fn bound(text: &str) -> Option<Number> {
    text.parse().map(Number::Whole).or_else(|_| text.parse().map(Number::Real)).ok()
}

fn check_one_of(value: &str, allowed: &[String]) -> Result<(), String> {
    if allowed.iter().any(|choice| choice == value) { Ok(()) } else { Err(one_of(allowed)) }
}

fn check_one_of_ignoring_case(value: &str, allowed: &[String]) -> Result<(), String> {
    let found = allowed.iter().any(|choice| choice.eq_ignore_ascii_case(value));
    if found { Ok(()) } else { Err(one_of_ignoring_case(allowed)) }
}

fn one_of(allowed: &[String]) -> String {
    format!("String must be one of: {}", allowed.join(", "))
}

fn one_of_ignoring_case(allowed: &[String]) -> String {
    format!("String must be one of (case insensitive): {}", allowed.join(", "))
}

fn check_not_empty(value: &Typed) -> Result<(), String> {
    if plain(value).is_empty() { Err("String must be non-empty".to_owned()) } else { Ok(()) }
}

fn check_printable(value: &Typed) -> Result<(), String> {
    let found: Vec<_> = plain(value).chars().filter(|c| c.is_control()).map(|c| (c as u32).to_string()).collect();
    if found.is_empty() {
        return Ok(());
    }
    Err(format!("String may not contain control characters, but has those with the codes {}", found.join(", ")))
}

fn check_unique(elements: &[String]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match elements.iter().find(|element| !seen.insert(*element)) {
        Some(element) => Err(format!("List may not contain {element} twice")),
        None => Ok(()),
    }
}

fn check_pattern(value: &Typed, pattern: &str) -> Result<(), String> {
    let regex = compile(&format!("^(?:{pattern})$"))?;
    if regex.is_match(&plain(value)) { Ok(()) } else { Err(format!("String must match pattern {pattern}")) }
}

fn compile(pattern: &str) -> Result<regex::Regex, String> {
    regex::Regex::new(pattern).map_err(|_| NO_REGEX.to_owned())
}

fn elements(value: &Typed) -> &[String] {
    match value {
        Typed::List(elements) => elements,
        Typed::String(text) | Typed::Class(text) => std::slice::from_ref(text),
        Typed::Boolean(_)
        | Typed::Int(_)
        | Typed::Short(_)
        | Typed::Long(_)
        | Typed::Double(_)
        | Typed::Password(_) => &[],
    }
}

/// The text that is checked, which for a password is not the text that is shown.
fn plain(value: &Typed) -> String {
    match value {
        Typed::Password(password) => password.0.clone(),
        Typed::Boolean(_)
        | Typed::String(_)
        | Typed::Int(_)
        | Typed::Short(_)
        | Typed::Long(_)
        | Typed::Double(_)
        | Typed::List(_)
        | Typed::Class(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::Password;
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn text(text: &str) -> Typed {
        Typed::String(text.to_owned())
    }

    fn at_least(min: &str) -> Validator {
        Validator::Range { min: Some(min.to_owned()), max: None }
    }

    #[test]
    fn every_validator_accepts_and_refuses() {
        let list = |elements: &[&str]| Typed::List(words(elements));
        let table = [
            (at_least("1"), Typed::Int(1), ""),
            (at_least("1"), Typed::Int(0), "Value must be at least 1"),
            (at_least("0.5"), Typed::Double(0.25), "Value must be at least 0.5"),
            (Validator::Range { min: None, max: Some("9".into()) }, Typed::Long(10), "Value must be no more than 9"),
            (Validator::OneOf(words(&["none", "all"])), text("all"), ""),
            (Validator::OneOf(words(&["none", "all"])), text("ALL"), "String must be one of: none, all"),
            (Validator::OneOfIgnoringCase(words(&["poll"])), text("Poll"), ""),
            (
                Validator::OneOfIgnoringCase(words(&["poll"])),
                text("x"),
                "String must be one of (case insensitive): poll",
            ),
            (Validator::NonEmpty, text(""), "String must be non-empty"),
            (Validator::NonEmpty, Typed::Password(Password("x".into())), ""),
            (
                Validator::NonEmptyWithoutControlCharacters,
                text("a\u{7}\u{85}"),
                "String may not contain control characters, but has those with the codes 7, 133",
            ),
            (Validator::EachOneOf(words(&["a", "b"])), list(&["a", "c"]), "String must be one of: a, b"),
            (Validator::Unique, list(&["a", "b"]), ""),
            (Validator::Unique, list(&["a", "b", "a"]), "List may not contain a twice"),
            (Validator::Pattern("a+|b".into()), text("aa"), ""),
            (Validator::Pattern("a+|b".into()), text("ab"), "String must match pattern a+|b"),
            (Validator::Regex, text("t.*"), ""),
            (Validator::Regex, text("["), "Value must be a valid regular expression"),
            (Validator::JavaRegex, text(r"(?<!a)b\Q(\E"), ""),
            (Validator::JavaRegex, text("("), "Value must be a valid regular expression"),
        ];
        for (validator, value, expected) in table {
            let found = validator.check(Some(&value)).err().unwrap_or_default();
            assert_eq!(found, expected, "{validator:?} {value:?}");
        }
    }

    #[test]
    fn ranges_and_choices_do_not_take_null() {
        assert_eq!(at_least("1").check(None), Err("Value must be non-null".to_owned()));
        assert_eq!(Validator::OneOf(words(&["a"])).check(None), Err("String must be one of: a".to_owned()));
        assert_eq!(Validator::NonEmpty.check(None), Ok(()));
    }
}
