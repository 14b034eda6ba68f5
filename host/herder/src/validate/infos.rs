//! What validation answers (`ConfigInfos`), and how it is put together.

use bulkhead_model::config::{ConfigKey, ConfigType, ConfigValue, DefaultValue, Importance, Width};
use serde::Serialize;

/// The answer of `PUT /connector-plugins/{plugin}/config/validate`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigInfos {
    pub name: String,
    pub error_count: usize,
    pub groups: Vec<String>,
    pub configs: Vec<ConfigInfo>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigInfo {
    pub definition: Option<ConfigKeyInfo>,
    pub value: Option<ConfigValueInfo>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigKeyInfo {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: ConfigType,
    pub required: bool,
    pub default_value: Option<String>,
    pub importance: Importance,
    pub documentation: String,
    pub group: Option<String>,
    pub order_in_group: i32,
    pub width: Width,
    pub display_name: String,
    pub dependents: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigValueInfo {
    pub name: String,
    pub value: Option<String>,
    pub recommended_values: Vec<String>,
    pub errors: Vec<String>,
    pub visible: bool,
}

/// One key and what is to be said of it. Keys without definition appear only if something is wrong.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Option<ConfigKey>,
    pub(super) value: ConfigValue,
}

impl Entry {
    pub(super) fn undefined(name: &str) -> Self {
        Self { key: None, value: ConfigValue { name: name.to_owned(), visible: true, ..ConfigValue::default() } }
    }

    pub(super) fn name(&self) -> &str {
        &self.value.name
    }

    pub(super) fn error(&mut self, message: impl Into<String>) {
        self.value.errors.push(message.into());
    }

    pub(super) fn has_errors(&self) -> bool {
        !self.value.errors.is_empty()
    }
}

impl ConfigInfos {
    pub(super) fn new(name: &str, error_count: usize, entries: Vec<Entry>) -> Self {
        let mut groups: Vec<String> = Vec::new();
        for group in entries.iter().filter_map(|entry| entry.key.as_ref()?.group.as_ref()) {
            if !groups.contains(group) {
                groups.push(group.clone());
            }
        }
        Self {
            name: name.to_owned(),
            error_count,
            groups,
            configs: entries.into_iter().map(ConfigInfo::from).collect(),
        }
    }
}

impl From<Entry> for ConfigInfo {
    fn from(entry: Entry) -> Self {
        let ConfigValue { name, value, recommended, errors, visible } = entry.value;
        Self {
            definition: entry.key.as_ref().map(ConfigKeyInfo::from),
            value: Some(ConfigValueInfo { name, value, recommended_values: recommended, errors, visible }),
        }
    }
}

impl From<&ConfigKey> for ConfigKeyInfo {
    fn from(key: &ConfigKey) -> Self {
        Self {
            name: key.name.clone(),
            kind: key.kind,
            required: key.default == DefaultValue::Required,
            default_value: key.shown_default(),
            importance: key.importance,
            documentation: key.documentation.clone(),
            group: key.group.clone(),
            order_in_group: if key.group.is_some() { key.order } else { -1 },
            width: key.width,
            display_name: key.display_name.clone(),
            dependents: key.dependents.clone(),
        }
    }
}
