//! Texts in configurations: values by their types, references, secrets to be hidden, security and client settings.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_model::RawConfig;
use bulkhead_model::config::references::{self, Piece};
use bulkhead_model::config::{Answer, ConfigType, Mask, OverridePolicy, Resolution};
use bulkhead_model::plugin::{Version, WantedVersion};
use bulkhead_model::security::ClientSecurity;
use bulkhead_worker::providers::{Keys, create};

use crate::{properties, rules};

const TYPES: [ConfigType; 9] = [
    ConfigType::Boolean,
    ConfigType::String,
    ConfigType::Int,
    ConfigType::Short,
    ConfigType::Long,
    ConfigType::Double,
    ConfigType::List,
    ConfigType::Class,
    ConfigType::Password,
];

/// A file of properties, each of which is looked at as if it were any of those the worker knows.
pub fn config(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        references(text);
        rules::rules(text);
        versions(text);
    }
    let Ok(config) = properties::parse(bytes) else { return };
    for (_, text) in config.iter() {
        values(text);
    }
    resolved(&config);
    settings(&config);
}

fn values(text: &str) {
    for kind in TYPES {
        let Ok(typed) = kind.parse(text) else { continue };
        let shown = typed.to_string();
        // A list's elements are trimmed once.
        if kind != ConfigType::Password && kind != ConfigType::List {
            assert_eq!(kind.parse(&shown).map(|typed| typed.to_string()), Ok(shown), "{kind:?} of {text:?}");
        }
    }
}

/// The pieces are the text.
fn references(text: &str) {
    let piece = |piece: &Piece<'_>| match piece {
        Piece::Text(text) => (*text).to_owned(),
        Piece::Reference(reference) => reference.text.to_owned(),
    };
    let pieces: String = references::pieces(text).iter().map(piece).collect();
    assert_eq!(pieces, text);
    let mask = Mask::new(text.lines().map(|line| (line, "[hidden]")));
    let _ = mask.apply(text);
}

/// Lines are versions and ranges of them. Maven's order is no order, but it has no favourites.
fn versions(text: &str) {
    let versions: Vec<_> = text.lines().map(Version::new).take(6).collect();
    for a in &versions {
        assert!(a.compare(a).is_eq(), "{a:?}");
        for b in &versions {
            assert_eq!(a.compare(b), b.compare(a).reverse(), "{a:?} {b:?}");
        }
    }
    for wanted in text.lines().filter_map(|line| line.parse::<WantedVersion>().ok()).take(6) {
        let _: Vec<_> = versions.iter().map(|version| wanted.includes(Some(version))).collect();
    }
    for line in text.lines().filter(|line| !line.contains(['[', ']', '(', ')'])).take(6) {
        if let Ok(wanted) = line.parse::<WantedVersion>() {
            assert!(wanted.includes(Some(&Version::new(line.trim()))), "{line:?}");
        }
    }
}

/// What stands for a reference is gone again from whatever is shown.
fn resolved(config: &RawConfig) {
    const SECRET: &str = "a-long-secret-text";
    let answer = |keys: &BTreeSet<String>| Answer {
        values: keys.iter().map(|key| (key.clone(), SECRET.to_owned())).collect(),
        ..Answer::default()
    };
    // Who has it in a text already, or in the reference to it, is shown it.
    if config.iter().any(|(_, text)| text.contains(SECRET)) {
        return;
    }
    let wanted = references::wanted(config, |provider| !provider.is_empty());
    let answers: BTreeMap<_, _> = wanted.iter().map(|(source, keys)| (source.clone(), Ok(answer(keys)))).collect();
    let resolution = Resolution::new(config, &answers);
    let applied = resolution.apply(config);
    for (key, text) in applied.iter() {
        let shown = resolution.mask(text);
        assert!(!shown.contains(SECRET), "{key} shows {shown}");
    }
    let _ = resolution.reverse(config, applied);
}

fn settings(config: &RawConfig) {
    let _ = ClientSecurity::read(config);
    let _ = bulkhead_rest::Settings::from_properties(config);
    let _ = bulkhead_worker::Settings::from_properties(config);
    if let Ok(policy) = OverridePolicy::of_worker(config) {
        let _: Vec<_> = config.iter().map(|(key, _)| policy.refusal(key)).collect();
    }
    rules::grants(config);
    let variables = config.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let own = config.with_prefix("config.providers.");
    if let Ok(provider) = create("EnvVar", &own, &variables) {
        let _ = provider.get("", Keys::All);
    }
}
