//! Which transform or predicate a class name stands for.

use bulkhead_model::config::{ConfigDef, RawConfig, TypedConfig};
use bulkhead_model::plugin::{PluginDesc, PluginKind};

use super::cast::Cast;
use super::drop_headers::DropHeaders;
use super::extract_field::ExtractField;
use super::filter::Filter;
use super::flatten::Flatten;
use super::header_from::HeaderFrom;
use super::hoist_field::HoistField;
use super::insert_field::InsertField;
use super::insert_header::InsertHeader;
use super::mask_field::MaskField;
use super::predicate::{HasHeaderKey, RecordIsTombstone, TopicNameMatches};
use super::record::Side;
use super::regex_router::RegexRouter;
use super::replace_field::ReplaceField;
use super::set_schema_metadata::SetSchemaMetadata;
use super::timestamp_converter::TimestampConverter;
use super::timestamp_router::TimestampRouter;
use super::value_to_key::ValueToKey;
use super::{Predicate, Transform};
use crate::convert::{CONNECT_VERSION, ConvertError};

const TRANSFORMS: &str = "org.apache.kafka.connect.transforms";
const PREDICATES: &str = "org.apache.kafka.connect.transforms.predicates";

type Made<T> = Result<Box<T>, ConvertError>;

/// One class, or a pair of classes for keys and values.
struct Class<M> {
    /// Without the package; classes that come in pairs have a `$` behind, to be followed by the side.
    name: &'static str,
    documentation: &'static str,
    config_def: fn() -> ConfigDef,
    make: M,
}

type MakeTransform = fn(Side, &TypedConfig) -> Made<dyn Transform>;
type MakePredicate = fn(&TypedConfig) -> Made<dyn Predicate>;

const TRANSFORM_CLASSES: [Class<MakeTransform>; 16] = [
    Class {
        name: "Cast$",
        documentation: "Casts fields, or the whole, to other primitive types.",
        config_def: Cast::config_def,
        make: |side, config| Ok(Box::new(Cast::new(side, config)?)),
    },
    Class {
        name: "DropHeaders",
        documentation: "Removes headers by name.",
        config_def: DropHeaders::config_def,
        make: |_, config| Ok(Box::new(DropHeaders::new(config)?)),
    },
    Class {
        name: "ExtractField$",
        documentation: "Puts one field in place of the whole.",
        config_def: ExtractField::config_def,
        make: |side, config| Ok(Box::new(ExtractField::new(side, config)?)),
    },
    Class {
        name: "Filter",
        documentation: "Drops records; to be used with a predicate.",
        config_def: ConfigDef::default,
        make: |_, _| Ok(Box::new(Filter)),
    },
    Class {
        name: "Flatten$",
        documentation: "Makes one level of nested structs or maps.",
        config_def: Flatten::config_def,
        make: |side, config| Ok(Box::new(Flatten::new(side, config)?)),
    },
    Class {
        name: "HeaderFrom$",
        documentation: "Copies or moves fields to headers.",
        config_def: HeaderFrom::config_def,
        make: |side, config| Ok(Box::new(HeaderFrom::new(side, config)?)),
    },
    Class {
        name: "HoistField$",
        documentation: "Wraps the whole in a struct or map with one field.",
        config_def: HoistField::config_def,
        make: |side, config| Ok(Box::new(HoistField::new(side, config)?)),
    },
    Class {
        name: "InsertField$",
        documentation: "Adds topic, partition, offset, timestamp or a fixed text as a field.",
        config_def: InsertField::config_def,
        make: |side, config| Ok(Box::new(InsertField::new(side, config)?)),
    },
    Class {
        name: "InsertHeader",
        documentation: "Adds a header with a fixed value.",
        config_def: InsertHeader::config_def,
        make: |_, config| Ok(Box::new(InsertHeader::new(config)?)),
    },
    Class {
        name: "MaskField$",
        documentation: "Replaces the values of fields by zeros or a fixed text.",
        config_def: MaskField::config_def,
        make: |side, config| Ok(Box::new(MaskField::new(side, config)?)),
    },
    Class {
        name: "RegexRouter",
        documentation: "Changes the topic by a regular expression.",
        config_def: RegexRouter::config_def,
        make: |_, config| Ok(Box::new(RegexRouter::new(config)?)),
    },
    Class {
        name: "ReplaceField$",
        documentation: "Keeps, drops and renames fields.",
        config_def: ReplaceField::config_def,
        make: |side, config| Ok(Box::new(ReplaceField::new(side, config)?)),
    },
    Class {
        name: "SetSchemaMetadata$",
        documentation: "Sets name or version of the schema of a struct.",
        config_def: SetSchemaMetadata::config_def,
        make: |side, config| Ok(Box::new(SetSchemaMetadata::new(side, config)?)),
    },
    Class {
        name: "TimestampConverter$",
        documentation: "Converts between texts, unix times, Date, Time and Timestamp.",
        config_def: TimestampConverter::config_def,
        make: |side, config| Ok(Box::new(TimestampConverter::new(side, config)?)),
    },
    Class {
        name: "TimestampRouter",
        documentation: "Changes the topic by the record's timestamp.",
        config_def: TimestampRouter::config_def,
        make: |_, config| Ok(Box::new(TimestampRouter::new(config)?)),
    },
    Class {
        name: "ValueToKey",
        documentation: "Makes a new key from fields of the value.",
        config_def: ValueToKey::config_def,
        make: |_, config| Ok(Box::new(ValueToKey::new(config)?)),
    },
];

const PREDICATE_CLASSES: [Class<MakePredicate>; 3] = [
    Class {
        name: "HasHeaderKey",
        documentation: "True of records with a header of some name.",
        config_def: HasHeaderKey::config_def,
        make: |config| Ok(Box::new(HasHeaderKey::new(config)?)),
    },
    Class {
        name: "RecordIsTombstone",
        documentation: "True of records whose value is null.",
        config_def: ConfigDef::default,
        make: |_| Ok(Box::new(RecordIsTombstone)),
    },
    Class {
        name: "TopicNameMatches",
        documentation: "True of records whose topic matches a regular expression.",
        config_def: TopicNameMatches::config_def,
        make: |config| Ok(Box::new(TopicNameMatches::new(config)?)),
    },
];

/// Whether a transform of this class is built in.
pub(super) fn is_transform(class: &str) -> bool {
    TRANSFORM_CLASSES.iter().any(|known| known.side_of(class).is_some())
}

/// Whether a predicate of this class is built in.
pub(super) fn is_predicate(class: &str) -> bool {
    PREDICATE_CLASSES.iter().any(|known| known.is(class))
}

/// Makes a transform from its own part of the configuration.
pub(super) fn make_transform(class: &str, config: &RawConfig) -> Made<dyn Transform> {
    for known in &TRANSFORM_CLASSES {
        if let Some(side) = known.side_of(class) {
            return (known.make)(side, &parse(&(known.config_def)(), config)?);
        }
    }
    Err(ConvertError::Config(format!("there is no transform of class {class}")))
}

/// The name of a transform's class with its package.
pub(super) fn full_name(class: &str) -> String {
    if class.contains('.') { class.to_owned() } else { format!("{TRANSFORMS}.{class}") }
}

/// Makes a predicate from its own part of the configuration.
pub(super) fn make_predicate(class: &str, config: &RawConfig) -> Made<dyn Predicate> {
    match PREDICATE_CLASSES.iter().find(|known| known.is(class)) {
        Some(known) => (known.make)(&parse(&(known.config_def)(), config)?),
        None => Err(ConvertError::Config(format!("there is no predicate of class {class}"))),
    }
}

fn parse(def: &ConfigDef, config: &RawConfig) -> Result<TypedConfig, ConvertError> {
    def.parse(config).map_err(|errors| ConvertError::Config(errors.join("; ")))
}

/// All transforms and predicates.
pub fn builtin_plugins() -> Vec<PluginDesc> {
    let transforms = TRANSFORM_CLASSES.iter().flat_map(|class| {
        let names = class.full_names();
        names.into_iter().map(|name| describe(name, PluginKind::Transformation, class.documentation, class.config_def))
    });
    let predicates = PREDICATE_CLASSES.iter().map(|class| {
        let name = format!("{PREDICATES}.{}", class.name);
        describe(name, PluginKind::Predicate, class.documentation, class.config_def)
    });
    transforms.chain(predicates).collect()
}

fn describe(class: String, kind: PluginKind, documentation: &str, config_def: fn() -> ConfigDef) -> PluginDesc {
    PluginDesc {
        class,
        aliases: Vec::new(),
        kind,
        version: Some(CONNECT_VERSION.to_owned()),
        documentation: documentation.to_owned(),
        config: config_def(),
    }
}

impl Class<MakePredicate> {
    fn is(&self, name: &str) -> bool {
        name == self.name || name.strip_prefix(PREDICATES).and_then(|name| name.strip_prefix('.')) == Some(self.name)
    }
}

impl Class<MakeTransform> {
    /// Whether `name` is this class, and for which side. The classes of a pair go by their full names
    /// only: `Key` and `Value` could be anybody's.
    fn side_of(&self, name: &str) -> Option<Side> {
        let simple = name.strip_prefix(TRANSFORMS).and_then(|name| name.strip_prefix('.'));
        match simple.unwrap_or(name).strip_prefix(self.name)? {
            "" if !self.is_pair() => Some(Side::Value),
            "Key" if self.is_pair() && simple.is_some() => Some(Side::Key),
            "Value" if self.is_pair() && simple.is_some() => Some(Side::Value),
            _ => None,
        }
    }

    fn full_names(&self) -> Vec<String> {
        let sides: &[&str] = if self.is_pair() { &["Key", "Value"] } else { &[""] };
        sides.iter().map(|side| format!("{TRANSFORMS}.{}{side}", self.name)).collect()
    }

    fn is_pair(&self) -> bool {
        self.name.ends_with('$')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the class is known, whatever is said about its configuration.
    fn is_known(class: &str) -> bool {
        match make_transform(class, &RawConfig::new()) {
            Ok(_) => true,
            Err(error) => !error.to_string().contains("no transform of class"),
        }
    }

    #[test]
    fn the_classes_of_a_pair_go_by_their_full_names_only() {
        for class in ["RegexRouter", "org.apache.kafka.connect.transforms.Filter"] {
            assert!(is_known(class), "{class}");
        }
        assert!(is_known("org.apache.kafka.connect.transforms.Cast$Value"));
        for class in ["Cast", "Cast$Value", "Value", "org.apache.kafka.connect.transforms.Cast", "Filter$Key"] {
            assert!(!is_known(class), "{class}");
        }
    }

    #[test]
    fn every_class_is_listed() {
        let plugins = builtin_plugins();
        let of_kind = |kind| plugins.iter().filter(|plugin| plugin.kind == kind).count();
        assert_eq!((of_kind(PluginKind::Transformation), of_kind(PluginKind::Predicate)), (26, 3));
    }
}
