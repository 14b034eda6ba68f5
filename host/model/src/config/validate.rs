//! A configuration against its definition.

use indexmap::IndexMap;

use super::def::{ConfigDef, ConfigKey, ConfigType, ConfigValue, DefaultValue};
use super::parse::{Invalid, Typed};
use super::raw::{ConfigPatch, RawConfig};

/// What a configuration says about one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given<'a> {
    Absent,
    Null,
    Text(&'a str),
}

/// A configuration whose values have their types, defaults filled in. A key without value is null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypedConfig(IndexMap<String, Option<Typed>>);

impl ConfigDef {
    /// One verdict for each key, in the order of the definition; internal keys are left out. Keys
    /// without definition are not looked at.
    pub fn validate(&self, config: &ConfigPatch) -> Vec<ConfigValue> {
        let shown = self.keys.iter().filter(|key| !key.internal);
        shown.map(|key| key.validate(Given::of(config, &key.name))).collect()
    }

    /// The typed values, or everything that is wrong.
    pub fn parse(&self, config: &RawConfig) -> Result<TypedConfig, Vec<String>> {
        let mut typed = TypedConfig::default();
        let mut errors = Vec::new();
        for key in &self.keys {
            let (value, found) = key.judge(config.get(&key.name).map_or(Given::Absent, Given::Text));
            typed.0.insert(key.name.clone(), value);
            errors.extend(found);
        }
        if errors.is_empty() { Ok(typed) } else { Err(errors) }
    }
}

impl ConfigKey {
    /// The verdict on what was given for this key.
    pub fn validate(&self, given: Given<'_>) -> ConfigValue {
        let (value, errors) = self.judge(given);
        ConfigValue {
            name: self.name.clone(),
            value: value.map(|value| value.to_string()),
            recommended: Vec::new(),
            errors,
            visible: true,
        }
    }

    /// The value, given or default, and what is wrong with it. As in Kafka, the validators also see
    /// that a value is missing, and may complain a second time.
    fn judge(&self, given: Given<'_>) -> (Option<Typed>, Vec<String>) {
        let (value, problem) = self.read(given);
        let null_is_fine = value.is_none() && self.default == DefaultValue::Null;
        let validators = self.validators.iter().filter(|_| !null_is_fine);
        let complaint = validators
            .filter_map(|validator| validator.check(value.as_ref()).err())
            .map(|reason| self.invalid(self.shown(value.as_ref()), reason))
            .next();
        (value, problem.into_iter().chain(complaint).collect())
    }

    fn read(&self, given: Given<'_>) -> (Option<Typed>, Option<String>) {
        match (given, &self.default) {
            (Given::Text(text), _) => self.parse(text),
            (Given::Null, _) | (Given::Absent, DefaultValue::Null) => (None, None),
            (Given::Absent, DefaultValue::Value(text)) => self.parse(text),
            (Given::Absent, DefaultValue::Required) => {
                (None, Some(format!("Missing required configuration \"{}\" which has no default value.", self.name)))
            }
        }
    }

    fn parse(&self, text: &str) -> (Option<Typed>, Option<String>) {
        match self.kind.parse(text) {
            Ok(value) => (Some(value), None),
            Err(reason) => (None, Some(self.invalid(text.to_owned(), reason))),
        }
    }

    fn shown(&self, value: Option<&Typed>) -> String {
        value.map_or_else(|| "null".to_owned(), Typed::to_string)
    }

    fn invalid(&self, value: String, reason: String) -> String {
        Invalid { key: self.name.clone(), value, reason }.to_string()
    }

    /// The default as REST shows it: read and written again, so that a password stays hidden.
    pub fn shown_default(&self) -> Option<String> {
        match &self.default {
            DefaultValue::Required | DefaultValue::Null => None,
            DefaultValue::Value(text) if self.kind == ConfigType::Password => {
                Some(ConfigType::Password.parse(text).map_or_else(|_| String::new(), |value| value.to_string()))
            }
            DefaultValue::Value(text) => Some(text.clone()),
        }
    }
}

impl<'a> Given<'a> {
    pub fn of(config: &'a ConfigPatch, key: &str) -> Self {
        match config.get(key) {
            None => Self::Absent,
            Some(None) => Self::Null,
            Some(Some(text)) => Self::Text(text),
        }
    }
}

impl TypedConfig {
    /// The value of a key; none if it is null or not in the definition.
    pub fn get(&self, key: &str) -> Option<&Typed> {
        self.0.get(key)?.as_ref()
    }

    /// A STRING or CLASS.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Typed::String(text) | Typed::Class(text) => Some(text),
            _ => None,
        }
    }

    pub fn boolean(&self, key: &str) -> Option<bool> {
        match self.get(key)? {
            Typed::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// An INT, SHORT or LONG.
    pub fn integer(&self, key: &str) -> Option<i64> {
        match self.get(key)? {
            Typed::Int(value) => Some((*value).into()),
            Typed::Short(value) => Some((*value).into()),
            Typed::Long(value) => Some(*value),
            _ => None,
        }
    }

    pub fn list(&self, key: &str) -> Option<&[String]> {
        match self.get(key)? {
            Typed::List(elements) => Some(elements),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::def::{Importance, Validator};
    use super::*;

    fn def() -> ConfigDef {
        let key = |name, kind, default| ConfigKey::new(name, kind, default, Importance::High, "");
        let at_least = |min: &str| Validator::Range { min: Some(min.to_owned()), max: None };
        let value = |text: &str| DefaultValue::Value(text.to_owned());
        ConfigDef {
            keys: vec![
                key("tasks.max", ConfigType::Int, value("1")).with_validator(at_least("1")),
                key("batch.size", ConfigType::Int, value("2000")),
                key("topic", ConfigType::String, DefaultValue::Required).with_validator(Validator::NonEmpty),
                key("interval.ms", ConfigType::Long, DefaultValue::Null).with_validator(at_least("0")),
                key("secret", ConfigType::Password, DefaultValue::Null),
            ],
        }
    }

    fn check(key: &str, given: Option<Option<&str>>) -> String {
        let mut config: ConfigPatch = [("topic".to_owned(), Some("t".to_owned()))].into_iter().collect();
        match given {
            None => config.shift_remove(key),
            Some(text) => config.insert(key.to_owned(), text.map(str::to_owned)),
        };
        let verdicts = def().validate(&config);
        let verdict = verdicts.into_iter().find(|verdict| verdict.name == key).unwrap();
        format!("{:?} {:?}", verdict.value.as_deref().unwrap_or("null"), verdict.errors)
    }

    #[test]
    fn a_value_gets_as_many_messages_as_kafka_gives() {
        let invalid_tasks =
            |value: &str| format!("Invalid value {value} for configuration tasks.max: Not a number of type INT");
        let null = "Invalid value null for configuration tasks.max: Value must be non-null";
        let cases: [(&str, Option<Option<&str>>, String); 11] = [
            ("tasks.max", None, r#""1" []"#.to_owned()),
            ("tasks.max", Some(Some(" 2 ")), r#""2" []"#.to_owned()),
            (
                "tasks.max",
                Some(Some("0")),
                r#""0" ["Invalid value 0 for configuration tasks.max: Value must be at least 1"]"#.to_owned(),
            ),
            ("tasks.max", Some(Some("x")), format!(r#""null" [{:?}, {null:?}]"#, invalid_tasks("x"))),
            ("tasks.max", Some(None), format!(r#""null" [{null:?}]"#)),
            (
                "batch.size",
                Some(Some("x")),
                r#""null" ["Invalid value x for configuration batch.size: Not a number of type INT"]"#.to_owned(),
            ),
            (
                "topic",
                None,
                format!("\"null\" [{:?}]", "Missing required configuration \"topic\" which has no default value."),
            ),
            (
                "topic",
                Some(Some(" ")),
                r#""" ["Invalid value  for configuration topic: String must be non-empty"]"#.to_owned(),
            ),
            ("interval.ms", None, r#""null" []"#.to_owned()),
            (
                "interval.ms",
                Some(Some("-1")),
                r#""-1" ["Invalid value -1 for configuration interval.ms: Value must be at least 0"]"#.to_owned(),
            ),
            ("secret", Some(Some("s3cret")), r#""[hidden]" []"#.to_owned()),
        ];
        for (key, given, expected) in cases {
            assert_eq!(check(key, given), expected, "{key} {given:?}");
        }
    }

    #[test]
    fn a_parsed_configuration_has_types_and_defaults() {
        let config = def().parse(&[("topic", "t"), ("tasks.max", "3"), ("other", "x")].into()).unwrap();
        assert_eq!(config.integer("tasks.max"), Some(3));
        assert_eq!(config.integer("batch.size"), Some(2000));
        assert_eq!(config.text("topic"), Some("t"));
        assert_eq!(config.get("interval.ms"), None);
        assert_eq!(config.get("other"), None);
    }

    #[test]
    fn a_bad_configuration_is_refused_with_all_that_is_wrong() {
        let errors = def().parse(&[("tasks.max", "0"), ("batch.size", "x")].into()).unwrap_err();
        assert_eq!(errors.len(), 3);
    }
}
