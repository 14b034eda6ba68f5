//! Taking secrets out of texts that people see.

use std::borrow::Cow;
use std::fmt;

/// Values shorter than this are replaced only where they stand alone: `1` isn't cut out of `2026-11-29`.
const SHORT: usize = 4;
/// Lines of a longer value (a key, a certificate) that are secrets by themselves.
const LINE: usize = 8;

/// Secrets and what is shown in their place. Its `Debug` doesn't show them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Mask {
    /// Longest first, so that a secret in which another is contained goes as a whole.
    secrets: Vec<(String, String)>,
}

impl Mask {
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut mask = Self::default();
        for (secret, shown) in secrets {
            mask.add(secret, shown);
        }
        mask
    }

    /// Looks for secrets in just this form.
    pub fn of_exact_values<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut mask = Self::default();
        for (secret, shown) in secrets.into_iter().filter(|(secret, _)| !secret.is_empty()) {
            mask.insert(secret.to_owned(), shown);
        }
        mask
    }

    /// From now on `shown` stands for `secret`, in any of the forms in which it may come along.
    pub fn add(&mut self, secret: &str, shown: &str) {
        for form in forms(secret) {
            self.insert(form, shown);
        }
    }

    fn insert(&mut self, form: String, shown: &str) {
        if !self.secrets.iter().any(|(known, _)| *known == form) {
            let place = self.secrets.partition_point(|(known, _)| known.len() >= form.len());
            self.secrets.insert(place, (form, shown.to_owned()));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// How many texts it looks for.
    pub fn len(&self) -> usize {
        self.secrets.len()
    }

    /// The same without secrets too short to be told from ordinary text.
    pub fn without_short_ones(mut self) -> Self {
        self.secrets.retain(|(secret, _)| secret.len() >= SHORT);
        self
    }

    /// The text without secrets. What was put in is not looked at again.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let present: Vec<_> = self.secrets.iter().filter(|(secret, _)| text.contains(secret.as_str())).collect();
        if present.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = String::with_capacity(text.len());
        let mut rest = 0;
        while let Some(next) = text[rest..].chars().next() {
            let found = present.iter().find(|(secret, _)| stands_at(text, rest, secret));
            match found {
                Some((secret, shown)) => {
                    masked.push_str(shown);
                    rest += secret.len();
                }
                None => {
                    masked.push(next);
                    rest += next.len_utf8();
                }
            }
        }
        Cow::Owned(masked)
    }
}

fn stands_at(text: &str, at: usize, secret: &str) -> bool {
    let Some(after) = text[at..].strip_prefix(secret) else { return false };
    let is_word = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
    secret.len() >= SHORT || !(is_word(text[..at].chars().next_back()) || is_word(after.chars().next()))
}

/// The secret, trimmed, and quoted as debug output and JSON do it, and line by line. Booleans are no secrets.
fn forms(secret: &str) -> Vec<String> {
    if ["true", "false"].iter().any(|word| secret.trim().eq_ignore_ascii_case(word)) {
        return Vec::new();
    }
    let trimmed = secret.trim();
    let json = serde_json::Value::from(trimmed).to_string();
    let lines = trimmed.lines().map(str::trim).filter(|line| line.len() >= LINE);
    let forms = [secret, trimmed, json.trim_matches('"')].into_iter().chain(lines).map(str::to_owned);
    forms.chain([trimmed.escape_debug().to_string()]).filter(|form| !form.trim().is_empty()).collect()
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mask of {}", self.secrets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(secret: &str, text: &str) -> String {
        Mask::new([(secret, "***")]).apply(text).into_owned()
    }

    #[test]
    fn a_secret_is_replaced_wherever_it_stands() {
        assert_eq!(check("s3cret", "user s3cret, as3cretb"), "user ***, a***b");
        assert_eq!(check("päss", "päss päs"), "*** päs");
        assert_eq!(check("s3cret", "nothing"), "nothing");
    }

    #[test]
    fn short_ones_are_replaced_only_as_words() {
        assert_eq!(check("1", "value 1 at 2021-11-01 line 12 (1)"), "value *** at 2021-11-01 line 12 (***)");
        assert_eq!(check("", "text"), "text");
        assert_eq!(check("true", "true"), "true");
        assert_eq!(check(" \n", "a \n"), "a \n");
    }

    #[test]
    fn trimmed_and_escaped_forms_are_secrets_too() {
        assert_eq!(check("s3cret\n", "bad value s3cret."), "bad value ***.");
        assert_eq!(check("one\ntwo\"x", r#"{"v":"one\ntwo\"x"}"#), r#"{"v":"***"}"#);
        assert_eq!(check("BEGIN\nMIIEvQIBADAN\nEND", "in MIIEvQIBADAN"), "in ***");
    }

    #[test]
    fn of_secrets_in_each_other_the_longer_goes_first_and_nothing_is_replaced_twice() {
        let mask = Mask::new([("secret", "${a:secret-name}"), ("secret-name", "${b}")]);
        assert_eq!(mask.apply("secret-name secret"), "${b} ${a:secret-name}");
    }

    #[test]
    fn debug_output_has_no_secrets() {
        assert_eq!(format!("{:?}", Mask::new([("s3cret", "x")])), "Mask of 1");
    }
}
