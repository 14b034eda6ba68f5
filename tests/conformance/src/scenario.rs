//! Scenario files.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Map, Value};

/// One file: steps in order, with definitions that they share.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub name: String,
    definitions: Map<String, Value>,
    steps: Vec<Value>,
}

impl Scenario {
    /// The scenarios of a folder, by file name.
    pub fn load(folder: &Path) -> anyhow::Result<Vec<Self>> {
        let entries = folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))?;
        let mut files = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
        files.sort();
        files.iter().map(|file| Self::read(file)).collect()
    }

    fn read(file: &Path) -> anyhow::Result<Self> {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(&name, &text).with_context(|| format!("{} is no scenario", file.display()))
    }

    pub fn parse(name: &str, text: &str) -> anyhow::Result<Self> {
        let mut document: Map<String, Value> = serde_json::from_str(text)?;
        let definitions = match document.remove("define") {
            Some(Value::Object(definitions)) => definitions,
            None => Map::new(),
            Some(other) => bail!("`define` is {other}, but must be an object"),
        };
        let Some(Value::Array(steps)) = document.remove("steps") else { bail!("`steps` must be a list") };
        Ok(Self { name: name.to_owned(), definitions, steps })
    }

    /// The steps, with their definitions put in.
    pub fn steps(&self) -> impl Iterator<Item = Value> {
        self.steps.iter().map(|step| self.expand(step))
    }

    /// Puts a copy of definition NAME in place of `{"$base": NAME, …}`, with the other members set anew
    /// and those of `$drop` removed.
    fn expand(&self, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.expand(item)).collect(),
            Value::Object(members) => Value::Object(self.expand_object(members)),
            scalar => scalar.clone(),
        }
    }

    fn expand_object(&self, members: &Map<String, Value>) -> Map<String, Value> {
        let base = members.get("$base").and_then(Value::as_str).and_then(|name| self.definitions.get(name));
        let mut expanded = match base.map(|base| self.expand(base)) {
            Some(Value::Object(base)) => base,
            _ => Map::new(),
        };
        for (key, value) in members {
            match key.as_str() {
                "$base" => {}
                "$drop" => {
                    for dropped in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
                        expanded.shift_remove(dropped);
                    }
                }
                _ => {
                    expanded.insert(key.clone(), self.expand(value));
                }
            }
        }
        expanded
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_base_is_copied_overridden_and_thinned() {
        let text = r#"{
            "define": {"a": {"x": 1, "y": 2}, "b": {"$base": "a", "z": 3}},
            "steps": [{"json": {"$base": "b", "y": 5, "$drop": ["x"]}}, {"json": [{"$base": "a"}]}]
        }"#;
        let steps: Vec<_> = Scenario::parse("s", text).unwrap().steps().collect();
        assert_eq!(steps, [json!({"json": {"y": 5, "z": 3}}), json!({"json": [{"x": 1, "y": 2}]})]);
    }

    #[test]
    fn every_scenario_of_this_folder_is_read() {
        let scenarios = crate::scenarios().unwrap();
        assert_eq!(scenarios.len(), 15);
        assert!(scenarios.iter().all(|scenario| scenario.steps().count() > 10));
    }
}
