//! What the references of a configuration stand for.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::mask::Mask;
use super::raw::{ConfigPatch, RawConfig};
use super::references::{Piece, Source, pieces, references};

/// A value of at least this many bytes is taken for the secret wherever a connector has put it.
const DISTINCTIVE: usize = 8;

/// What a provider knows of the keys it was asked for.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Keys that it doesn't have are left out.
    pub values: BTreeMap<String, String>,
    /// How long the values hold; none: for ever.
    pub ttl: Option<Duration>,
}

/// The references of one configuration, each with its value or with why it has none. `Debug` shows no
/// value.
#[derive(Clone, Default, PartialEq)]
pub struct Resolution {
    values: BTreeMap<String, String>,
    failures: BTreeMap<String, String>,
    mask: Mask,
    ttl: Option<Duration>,
}

impl Resolution {
    /// Puts together what providers answered; an error is a provider's own words. References to what was
    /// not asked are left alone.
    pub fn new(config: &RawConfig, answers: &BTreeMap<Source, Result<Answer, String>>) -> Self {
        let ttl = answers.values().flatten().filter_map(|answer| answer.ttl).min();
        let mut resolution = Self { ttl, ..Self::default() };
        for reference in config.iter().flat_map(|(_, value)| references(value)) {
            let text = reference.text;
            let Some(answer) = answers.get(&reference.source()) else { continue };
            let value = answer.as_ref().map(|answer| answer.values.get(reference.key));
            match value {
                Ok(Some(value)) => {
                    resolution.mask.add(value, text);
                    resolution.values.insert(text.to_owned(), value.clone());
                }
                Ok(None) => {
                    let why = format!("config provider {} has no such value, or may not give it", reference.provider);
                    resolution.failures.insert(text.to_owned(), why);
                }
                Err(why) => {
                    resolution.failures.insert(text.to_owned(), why.clone());
                }
            }
        }
        resolution
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.failures.is_empty()
    }

    /// When to ask again: the shortest time that a provider's values hold. None: never.
    pub fn ttl(&self) -> Option<Duration> {
        self.ttl
    }

    /// Whether what was asked later says otherwise. What has no value any more says nothing.
    pub fn is_outdated_by(&self, later: &Self) -> bool {
        later.values.iter().any(|(reference, value)| self.values.get(reference) != Some(value))
    }

    /// Keys with a reference that has no value, and what to tell people of it.
    pub fn problems<'a>(
        &self,
        config: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> impl Iterator<Item = (&'a str, String)> {
        config.into_iter().filter_map(|(key, value)| {
            let (reference, why) = references(value).find_map(|it| Some((it.text, self.failures.get(it.text)?)))?;
            Some((key, format!("Reference {reference} in configuration {key} can't be resolved: {why}")))
        })
    }

    /// The values in place of the references, once. References of which nothing is known stay.
    pub fn apply(&self, config: &RawConfig) -> RawConfig {
        config.iter().map(|(key, value)| (key, self.resolve(value))).collect()
    }

    pub fn apply_to_patch(&self, config: &ConfigPatch) -> ConfigPatch {
        let resolve = |value: &String| self.resolve(value).into_owned();
        config.iter().map(|(key, value)| (key.clone(), value.as_ref().map(resolve))).collect()
    }

    /// A task's configuration with references again, as it is stored: a value that is the connector's own
    /// for this key, and a secret that the connector has put elsewhere.
    pub fn reverse(&self, connector: &RawConfig, task: RawConfig) -> RawConfig {
        let own = |key: &str, value: &str| {
            let raw = connector.get(key).filter(|raw| self.concerns(raw))?;
            (self.resolve(raw).trim() == value.trim()).then(|| raw.to_owned())
        };
        let distinctive = self.distinctive();
        let back = |(key, value): (String, String)| {
            let raw = own(&key, &value).unwrap_or_else(|| self.with_references(&distinctive, &value));
            (key, raw)
        };
        task.into_iter().map(back).collect()
    }

    /// Whether a text has references that this is about.
    pub fn concerns(&self, text: &str) -> bool {
        references(text).any(|it| self.values.contains_key(it.text) || self.failures.contains_key(it.text))
    }

    /// A text for people: references where it has their values.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.mask.apply(text)
    }

    /// All secrets that [`Self::mask`] takes out.
    pub fn secrets(&self) -> &Mask {
        &self.mask
    }

    /// A value for people, of a key that has no reference: what it has in common with a short secret is
    /// chance.
    pub fn mask_value(&self, text: &str) -> String {
        self.distinctive().apply(text).into_owned()
    }

    /// References and their values.
    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(text, value)| (text.as_str(), value.as_str()))
    }

    fn resolve<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !self.concerns(text) {
            return Cow::Borrowed(text);
        }
        let value = |piece: Piece<'a>| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Reference(reference) => {
                self.values.get(reference.text).cloned().unwrap_or_else(|| reference.text.to_owned())
            }
        };
        Cow::Owned(pieces(text).into_iter().map(value).collect())
    }

    /// Only if resolving gives the same text again.
    fn with_references(&self, distinctive: &Mask, text: &str) -> String {
        let referring = distinctive.apply(text).into_owned();
        if self.resolve(&referring) == text { referring } else { text.to_owned() }
    }

    fn distinctive(&self) -> Mask {
        let values = self.values().filter(|(_, value)| value.len() >= DISTINCTIVE);
        Mask::of_exact_values(values.map(|(reference, value)| (value, reference)))
    }
}

impl fmt::Debug for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: BTreeSet<_> = self.values.keys().collect();
        f.debug_struct("Resolution").field("values", &known).field("failures", &self.failures).finish()
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: BTreeSet<_> = self.values.keys().collect();
        f.debug_struct("Answer").field("keys", &keys).field("ttl", &self.ttl).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> RawConfig {
        RawConfig::from([
            ("password", "${f:p:password}"),
            ("url", "db://${f:p:user}:${f:p:password}@h"),
            ("topic", "${topic}"),
            ("other", "${unknown:x}"),
        ])
    }

    fn source(path: &str) -> Source {
        Source { provider: "f".to_owned(), path: path.to_owned() }
    }

    fn resolution(values: &[(&str, &str)]) -> Resolution {
        let values = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let answers = [(source("p"), Ok(Answer { values, ttl: None }))].into();
        Resolution::new(&config(), &answers)
    }

    fn good() -> Resolution {
        resolution(&[("user", "bob"), ("password", "S3CRET-42")])
    }

    #[test]
    fn values_stand_where_references_were() {
        let resolved = good().apply(&config());
        assert_eq!(resolved.get("password"), Some("S3CRET-42"));
        assert_eq!(resolved.get("url"), Some("db://bob:S3CRET-42@h"));
        assert_eq!(resolved.get("topic"), Some("${topic}"));
        assert_eq!(resolved.get("other"), Some("${unknown:x}"));
    }

    #[test]
    fn a_value_is_not_looked_through_for_references() {
        let resolution = resolution(&[("user", "${f:p:password}"), ("password", "x")]);
        assert_eq!(resolution.apply(&config()).get("url"), Some("db://${f:p:password}:x@h"));
    }

    #[test]
    fn what_a_provider_does_not_give_is_a_problem_of_its_key() {
        let config = config();
        let resolution = resolution(&[("user", "bob")]);
        let problems: Vec<_> = resolution.problems(config.iter()).collect();
        let keys: Vec<_> = problems.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["password", "url"]);
        let expected = "Reference ${f:p:password} in configuration password can't be resolved: \
                        config provider f has no such value, or may not give it";
        assert_eq!(problems[0].1, expected);
        assert_eq!(good().problems(config.iter()).count(), 0);
    }

    #[test]
    fn a_provider_that_fails_is_quoted() {
        let answers = [(source("p"), Err("no disk".to_owned()))].into();
        let config = config();
        let resolution = Resolution::new(&config, &answers);
        let (_, problem) = resolution.problems(config.iter()).next().unwrap();
        assert!(problem.ends_with("can't be resolved: no disk"), "{problem}");
    }

    #[test]
    fn tasks_are_stored_with_the_references_of_their_connector() {
        let task = RawConfig::from([
            ("password", "S3CRET-42"),
            ("url", "jdbc:db://bob:S3CRET-42@h"),
            ("user", "bob"),
            ("note", "of S3CRET-42"),
        ]);
        let stored = good().reverse(&config(), task.clone());
        let shown: Vec<_> = stored.iter().map(|(_, value)| value).collect();
        let expected = ["${f:p:password}", "jdbc:db://bob:${f:p:password}@h", "bob", "of ${f:p:password}"];
        assert_eq!(shown, expected);
        assert_eq!(good().apply(&stored), task);
    }

    #[test]
    fn a_task_cannot_refer_to_what_its_connector_does_not() {
        let task = RawConfig::from([("x", "${f:p:other}"), ("y", "${f:q:password}")]);
        assert_eq!(good().apply(&task), task);
    }

    #[test]
    fn no_value_shows_in_debug_output() {
        let answer = Answer { values: [("k".to_owned(), "S3CRET-42".to_owned())].into(), ttl: None };
        assert!(!format!("{:?} {answer:?}", good()).contains("S3CRET"));
    }
}
