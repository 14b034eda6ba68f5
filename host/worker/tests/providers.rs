//! Config providers on recorded answers of real Connect.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, os};

use bulkhead_model::RawConfig;
use bulkhead_model::config::references::wanted;
use bulkhead_model::config::{Answer, Resolution};
use bulkhead_worker::providers::{Keys, Provider, create};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Base64 of the only bytes in the vectors that are no text.
const LATIN: (&str, &[u8]) = ("6Q==", b"\xe9");

/// What the vectors call `<dir>`.
struct Folder(TempDir);

impl Folder {
    fn new(files: &Value) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, content) in files.as_object().into_iter().flatten() {
            folder.write(&folder.0.path().join(name), content);
        }
        folder
    }

    fn write(&self, path: &Path, content: &Value) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(text) = content["text"].as_str() {
            fs::write(path, text).unwrap();
        } else if let Some(bytes) = content["bytes"].as_str() {
            assert_eq!(bytes, LATIN.0);
            fs::write(path, LATIN.1).unwrap();
        } else if let Some(target) = content["link"].as_str() {
            os::unix::fs::symlink(self.real(target), path).unwrap();
        } else {
            fs::create_dir_all(path).unwrap();
        }
    }

    fn real(&self, text: &str) -> String {
        text.replace("<dir>", self.0.path().to_str().unwrap())
    }

    fn recorded(&self, text: &str) -> String {
        text.replace(self.0.path().to_str().unwrap(), "<dir>")
    }

    fn config(&self, config: &Value) -> RawConfig {
        let texts = config.as_object().into_iter().flatten();
        texts.filter_map(|(key, value)| Some((key.clone(), self.real(value.as_str()?)))).collect()
    }
}

/// Gives `v` for everything, for some time.
struct Fleeting(Option<Duration>);

impl Provider for Fleeting {
    fn get(&self, _path: &str, keys: Keys<'_>) -> Result<Answer, String> {
        let Keys::These(keys) = keys else { return Ok(Answer::default()) };
        Ok(Answer { values: keys.iter().map(|key| (key.clone(), "v".to_owned())).collect(), ttl: self.0 })
    }
}

fn provider(folder: &Folder, described: &Value, env: &BTreeMap<String, String>) -> Result<Box<dyn Provider>, String> {
    let class = described["class"].as_str().unwrap();
    let config = folder.config(&described["config"]);
    if class == "test.Ttl" {
        let ttl = config.get("ttl").map(|text| Duration::from_millis(text.parse().unwrap()));
        return Ok(Box::new(Fleeting(ttl)));
    }
    create(class, &config, env)
}

fn get(folder: &Folder, case: &Value, env: &BTreeMap<String, String>) -> Result<Value, (&'static str, String)> {
    let provider = provider(folder, case, env).map_err(|error| ("configure", error))?;
    let path = folder.real(case["path"].as_str().unwrap_or_default());
    let keys: Option<BTreeSet<String>> =
        case["keys"].as_array().map(|keys| keys.iter().map(|key| key.as_str().unwrap().to_owned()).collect());
    let answer = provider.get(&path, keys.as_ref().map_or(Keys::All, Keys::These));
    let answer = answer.map_err(|error| ("apply", error))?;
    Ok(json!({ "data": answer.values, "ttl": answer.ttl.map(|ttl| ttl.as_millis() as u64) }))
}

fn transform(folder: &Folder, case: &Value, env: &BTreeMap<String, String>) -> Result<Value, (&'static str, String)> {
    let mut providers = BTreeMap::new();
    for (name, described) in case["providers"].as_object().unwrap() {
        let provider = provider(folder, described, env).map_err(|error| ("configure", error))?;
        providers.insert(name.clone(), provider);
    }
    let config = folder.config(&case["config"]);
    let mut answers = BTreeMap::new();
    let mut ttls = Map::new();
    for (source, keys) in wanted(&config, |provider| providers.contains_key(provider)) {
        let answer = providers[&source.provider].get(&source.path, Keys::These(&keys));
        let answer = answer.map_err(|error| ("apply", error))?;
        if let Some(ttl) = answer.ttl {
            ttls.insert(source.path.clone(), json!(ttl.as_millis() as u64));
        }
        answers.insert(source, Ok(answer));
    }
    let resolved = Resolution::new(&config, &answers).apply(&config);
    let data = case["config"].as_object().unwrap().keys().map(|key| {
        let value = resolved.get(key).map(|value| folder.recorded(value));
        (key.clone(), json!(value))
    });
    Ok(json!({ "data": data.collect::<Map<_, _>>(), "ttls": ttls }))
}

/// What is wrong; none if the case is as recorded. Words of a failing regular expression are the engine's.
fn wrong(case: &Value) -> Option<String> {
    let folder = Folder::new(&case["files"]);
    let env: BTreeMap<String, String> = serde_json::from_value(case["env"].clone()).unwrap_or_default();
    let outcome = match case["kind"].as_str().unwrap() {
        "provider" => get(&folder, case, &env),
        _ => transform(&folder, case, &env),
    };
    let expected = &case["expect"];
    let right = match &outcome {
        Ok(answer) => answer == expected,
        Err((stage, error)) => {
            let recorded = &expected["error"];
            let same_words = recorded["category"] == "other" || recorded["message"] == folder.recorded(error).as_str();
            recorded["stage"] == *stage && same_words
        }
    };
    (!right).then(|| format!("{}: {outcome:?}, but should be {expected}", case["id"]))
}

#[test]
fn providers_and_references_are_connects() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/config-providers.json");
    let vectors: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert!(cases.len() > 100, "{} cases", cases.len());
    let wrong: Vec<_> = cases.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn what_may_not_be_read_is_told_apart_neither_by_words_nor_by_outcome() {
    let folder = Folder::new(&json!({"in/a": {"text": "k=v"}, "out/a": {"text": "k=v"}}));
    let config = RawConfig::from([("allowed.paths", folder.real("<dir>/in"))]);
    for class in ["FileConfigProvider", "DirectoryConfigProvider"] {
        let provider = create(class, &config, &BTreeMap::new()).unwrap();
        for path in ["<dir>/out/a", "<dir>/out/b", "<dir>/out", "<dir>/in/../out/a", "<dir>/in/b"] {
            assert_eq!(provider.get(&folder.real(path), Keys::All), Ok(Answer::default()), "{class} {path}");
        }
    }
}

#[test]
fn what_is_no_file_or_too_large_is_not_read() {
    let folder = Folder::new(&json!({}));
    let large = folder.real("<dir>/large");
    fs::write(&large, vec![b'x'; 1024 * 1024 + 1]).unwrap();
    let provider = create("FileConfigProvider", &RawConfig::new(), &BTreeMap::new()).unwrap();
    for path in ["/dev/zero", large.as_str()] {
        let expected = format!("Could not read properties from file {path}");
        assert_eq!(provider.get(path, Keys::All), Err(expected));
    }
}
