//! The definition of configuration keys, in the terms of Kafka's `ConfigDef`.

use serde::Serialize;

/// All keys of one plugin, in the order in which its author declared them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigDef {
    pub keys: Vec<ConfigKey>,
}

/// One key: everything that parsing, validation and documentation need.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigKey {
    pub name: String,
    pub kind: ConfigType,
    pub default: DefaultValue,
    pub importance: Importance,
    pub documentation: String,
    pub group: Option<String>,
    /// Order inside the group; -1 without one.
    pub order: i32,
    pub width: Width,
    pub display_name: String,
    pub dependents: Vec<String>,
    pub validators: Vec<Validator>,
    /// Left out of documentation and validation answers.
    pub internal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ConfigType {
    Boolean,
    String,
    Int,
    Short,
    Long,
    Double,
    List,
    Class,
    Password,
}

/// What holds when a key is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// Nothing: the key is required.
    Required,
    Null,
    Value(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Importance {
    High,
    Medium,
    Low,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Width {
    None,
    Short,
    Medium,
    Long,
}

/// A check that the worker carries out without calling the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Validator {
    /// Inclusive bounds, as text so that any numeric type fits.
    Range {
        min: Option<String>,
        max: Option<String>,
    },
    OneOf(Vec<String>),
    OneOfIgnoringCase(Vec<String>),
    NonEmpty,
    NonEmptyWithoutControlCharacters,
    /// For lists: every element must be one of these.
    EachOneOf(Vec<String>),
    /// For lists: no element twice.
    Unique,
    /// A regular expression that the whole value must match.
    Pattern(String),
    /// The value itself must be a regular expression.
    Regex,
    /// The same, in Java's syntax.
    JavaRegex,
}

/// What a plugin has to say about one key after its own checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigValue {
    pub name: String,
    pub value: Option<String>,
    pub recommended: Vec<String>,
    pub errors: Vec<String>,
    pub visible: bool,
}

impl ConfigDef {
    pub fn get(&self, name: &str) -> Option<&ConfigKey> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl ConfigKey {
    /// A key without group, width and checks; the rest is set by the `with…` methods or in place.
    pub fn new(
        name: &str,
        kind: ConfigType,
        default: DefaultValue,
        importance: Importance,
        documentation: &str,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            default,
            importance,
            documentation: documentation.to_owned(),
            group: None,
            order: -1,
            width: Width::None,
            display_name: name.to_owned(),
            dependents: Vec::new(),
            validators: Vec::new(),
            internal: false,
        }
    }

    pub fn with_group(mut self, group: &str, order: i32, width: Width, display_name: &str) -> Self {
        self.group = Some(group.to_owned());
        self.order = order;
        self.width = width;
        self.display_name = display_name.to_owned();
        self
    }

    pub fn with_validator(mut self, validator: Validator) -> Self {
        self.validators.push(validator);
        self
    }
}
