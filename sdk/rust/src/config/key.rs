use crate::bindings::base::bulkhead::connect::config_def as wit;
use crate::{Error, Result};

use super::{RawConfig, Setting};

/// The definition of one configuration key.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    name: String,
    kind: Kind,
    optional: bool,
    default: Option<String>,
    documentation: String,
    importance: Importance,
    group: Option<String>,
    display: Option<String>,
    checks: Vec<Check>,
    internal: bool,
}

/// The type of a key, in Connect's naming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Boolean,
    Text,
    Int,
    Short,
    Long,
    Double,
    ListOfText,
    Password,
}

/// How much a key matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Importance {
    High,
    Medium,
    Low,
}

/// A check that the worker carries out before it starts a guest, and the guest once more.
#[derive(Clone, Debug, PartialEq)]
enum Check {
    Range { least: Option<String>, most: Option<String> },
    OneOf(Vec<String>),
    NonEmpty,
}

impl Key {
    /// A key whose text is read into `T`.
    pub fn of<T: Setting>(name: impl Into<String>) -> Self {
        let least = T::LEAST.map(|least| Check::Range { least: Some(least.to_owned()), most: None });
        Self {
            name: name.into(),
            kind: T::KIND,
            optional: T::OPTIONAL,
            default: None,
            documentation: String::new(),
            importance: Importance::High,
            group: None,
            display: None,
            checks: least.into_iter().collect(),
            internal: false,
        }
    }

    /// What the key is for.
    #[must_use]
    pub fn doc(self, documentation: impl Into<String>) -> Self {
        Self { documentation: documentation.into(), ..self }
    }

    /// What holds if the key is absent.
    #[must_use]
    pub fn default(self, text: impl ToString) -> Self {
        Self { default: Some(text.to_string()), ..self }
    }

    /// How much the key matters; high if not said.
    #[must_use]
    pub fn importance(self, importance: Importance) -> Self {
        Self { importance, ..self }
    }

    /// Inclusive bounds.
    #[must_use]
    pub fn range(mut self, least: Option<String>, most: Option<String>) -> Self {
        self.checks.retain(|check| !matches!(check, Check::Range { .. }) || least.is_none());
        self.checks.push(Check::Range { least, most });
        self
    }

    /// The only values.
    #[must_use]
    pub fn one_of<const N: usize>(mut self, values: [&str; N]) -> Self {
        self.checks.push(Check::OneOf(values.map(str::to_owned).to_vec()));
        self
    }

    /// An empty text is refused.
    #[must_use]
    pub fn non_empty(mut self) -> Self {
        self.checks.push(Check::NonEmpty);
        self
    }

    /// The heading under which user interfaces show it.
    #[must_use]
    pub fn group(self, group: impl Into<String>) -> Self {
        Self { group: Some(group.into()), ..self }
    }

    /// What user interfaces call it.
    #[must_use]
    pub fn display(self, display: impl Into<String>) -> Self {
        Self { display: Some(display.into()), ..self }
    }

    /// Not shown to users.
    #[must_use]
    pub fn internal(self) -> Self {
        Self { internal: true, ..self }
    }

    /// The key's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the key is for.
    pub fn documentation(&self) -> &str {
        &self.documentation
    }

    pub(crate) fn get_group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// Reads and checks the key's value in `config`.
    pub fn read<T: Setting>(&self, config: &RawConfig) -> Result<T> {
        let refused = |why: String| Error::config(self.name.clone())(why);
        let Some(text) = config.get(&self.name).or(self.default.as_deref()).map(str::trim) else {
            return T::absent().ok_or_else(|| {
                refused(format!("Missing required configuration \"{}\" which has no default value.", self.name))
            });
        };
        let invalid =
            |why| refused(format!("Invalid value {} for configuration {}: {why}", self.shown(text), self.name));
        let value = T::read(text).map_err(invalid)?;
        self.checks.iter().try_for_each(|check| check.hold(self.kind, text)).map_err(invalid)?;
        Ok(value)
    }

    fn shown<'a>(&self, text: &'a str) -> &'a str {
        if self.kind == Kind::Password { "[hidden]" } else { text }
    }

    /// The definition as the worker wants it; `order` is the key's place in its group, from 1.
    pub(crate) fn to_wit(&self, order: u32) -> wit::ConfigKey {
        wit::ConfigKey {
            name: self.name.clone(),
            kind: self.kind.into(),
            default_value: self.default.clone(),
            default_null: self.optional && self.default.is_none(),
            importance: self.importance.into(),
            documentation: self.documentation.clone(),
            order: if self.group.is_some() { order } else { 0 },
            group: self.group.clone(),
            width: wit::Width::None,
            display_name: self.display.clone().unwrap_or_else(|| self.name.clone()),
            dependents: Vec::new(),
            validators: self.checks.iter().map(|check| check.to_wit(self.kind)).collect(),
            has_recommender: false,
            internal: self.internal,
        }
    }
}

impl Check {
    fn hold(&self, kind: Kind, text: &str) -> Result<(), String> {
        match self {
            Self::Range { least: Some(least), .. } if below(text, least) => {
                Err(format!("Value must be at least {least}"))
            }
            Self::Range { most: Some(most), .. } if below(most, text) => {
                Err(format!("Value must be no more than {most}"))
            }
            Self::NonEmpty if text.is_empty() => Err("String must be non-empty".to_owned()),
            Self::OneOf(values) => {
                let known = |part: &str| values.iter().any(|value| value == part.trim());
                let all_known = match kind {
                    Kind::ListOfText => text.is_empty() || text.split(',').all(known),
                    _ => known(text),
                };
                if all_known { Ok(()) } else { Err(format!("must be one of: {}", values.join(", "))) }
            }
            Self::Range { .. } | Self::NonEmpty => Ok(()),
        }
    }

    fn to_wit(&self, kind: Kind) -> wit::Validator {
        match self {
            Self::Range { least, most } => wit::Validator::Range((least.clone(), most.clone())),
            Self::OneOf(values) if kind == Kind::ListOfText => wit::Validator::EachOneOf(values.clone()),
            Self::OneOf(values) => wit::Validator::OneOf(values.clone()),
            Self::NonEmpty => wit::Validator::NonEmpty,
        }
    }
}

/// Compares two numbers given as text: whole ones exactly, others as floats.
fn below(left: &str, right: &str) -> bool {
    match (left.parse::<i128>(), right.parse::<i128>()) {
        (Ok(left), Ok(right)) => left < right,
        _ => left.parse::<f64>().ok().zip(right.parse::<f64>().ok()).is_some_and(|(left, right)| left < right),
    }
}

impl From<Kind> for wit::ConfigType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Boolean => Self::Boolean,
            Kind::Text => Self::Text,
            Kind::Int => Self::Int,
            Kind::Short => Self::Short,
            Kind::Long => Self::Long,
            Kind::Double => Self::Double,
            Kind::ListOfText => Self::ListOfText,
            Kind::Password => Self::Password,
        }
    }
}

impl From<Importance> for wit::Importance {
    fn from(importance: Importance) -> Self {
        match importance {
            Importance::High => Self::High,
            Importance::Medium => Self::Medium,
            Importance::Low => Self::Low,
        }
    }
}
