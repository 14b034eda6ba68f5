//! Values of one run, put into requests and taken out of answers.

use std::path::Path;

use serde_json::Value;

/// The connector classes that read and write a file, as Connect's FileStream examples do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileConnectors {
    pub source: String,
    pub sink: String,
}

impl Default for FileConnectors {
    fn default() -> Self {
        Self {
            source: "org.apache.kafka.connect.file.FileStreamSourceConnector".to_owned(),
            sink: "org.apache.kafka.connect.file.FileStreamSinkConnector".to_owned(),
        }
    }
}

/// `{run}`, `{work}`, `{file_source}` and the like.
#[derive(Debug)]
pub(crate) struct Placeholders {
    values: Vec<(&'static str, String)>,
    /// Value and what stands for it; the longest first, so that no value is cut by another inside it.
    marks: Vec<(String, String)>,
    pub(crate) connectors: FileConnectors,
}

impl Placeholders {
    pub(crate) fn new(run: &str, work: &Path, connectors: FileConnectors) -> Self {
        let values = vec![
            ("run", run.to_owned()),
            ("work", work.to_string_lossy().into_owned()),
            ("file_source", connectors.source.clone()),
            ("file_source_alias", alias(&connectors.source).to_owned()),
            ("file_sink", connectors.sink.clone()),
            ("file_sink_alias", alias(&connectors.sink).to_owned()),
        ];
        let mark = |name: &str| format!("{{{}}}", name.strip_suffix("_alias").unwrap_or(name));
        let mut marks: Vec<_> = values.iter().map(|(name, value)| (value.clone(), mark(name))).collect();
        marks.sort_by_key(|(value, _)| std::cmp::Reverse(value.chars().count()));
        Self { values, marks, connectors }
    }

    /// Puts values in place of their names, in all texts and keys.
    pub(crate) fn fill(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill_text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.fill(item)).collect(),
            Value::Object(members) => {
                members.into_iter().map(|(key, value)| (self.fill_text(&key), self.fill(value))).collect()
            }
            scalar => scalar,
        }
    }

    /// Unknown names in braces, and braces around anything else, stay as they are.
    fn fill_text(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            filled.push_str(&rest[..open]);
            rest = &rest[open..];
            let known = self.values.iter().find_map(|(name, value)| {
                let after = rest.strip_prefix('{')?.strip_prefix(name)?.strip_prefix('}')?;
                Some((value, after))
            });
            let (value, after) = known.map_or(("{", &rest[1..]), |(value, after)| (value.as_str(), after));
            filled.push_str(value);
            rest = after;
        }
        filled + rest
    }

    /// Puts names in place of values.
    pub(crate) fn strip(&self, text: &str) -> String {
        self.marks.iter().fold(text.to_owned(), |text, (value, mark)| text.replace(value.as_str(), mark))
    }
}

/// The short name that Connect accepts for a connector class.
fn alias(class: &str) -> &str {
    let simple = class.rsplit('.').next().unwrap_or(class);
    simple.strip_suffix("Connector").unwrap_or(simple)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn placeholders() -> Placeholders {
        Placeholders::new("r1", Path::new("/tmp/w"), FileConnectors::default())
    }

    #[test]
    fn known_names_are_filled_and_other_braces_kept() {
        let filled = placeholders().fill(json!({"cf-{run}-{x}": ["{file_source_alias}", "{bad", "{{run}}", 5]}));
        assert_eq!(filled, json!({"cf-r1-{x}": ["FileStreamSource", "{bad", "{r1}", 5]}));
    }

    #[test]
    fn class_and_alias_get_the_same_mark_and_the_longest_value_goes_first() {
        let text = "org.apache.kafka.connect.file.FileStreamSinkConnector FileStreamSink cf-r1-a /tmp/w/x";
        assert_eq!(placeholders().strip(text), "{file_sink} {file_sink} cf-{run}-a {work}/x");
    }
}
