use std::sync::Arc;

use bulkhead_model::ConfigPatch;
use bulkhead_model::config::{
    ConfigDef, ConfigKey, ConfigType, ConfigValue, DefaultValue, Importance, OverridePolicy, Validator, Width,
};
use bulkhead_model::plugin::{PluginCatalog, PluginDesc, PluginKind};
use bulkhead_model::work::Validation;

use super::infos::ConfigInfos;
use super::judge::{Case, judge, wrong_version};
use super::plugins::{Defaults, plugin_keys};
use crate::ConverterVersions;

const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";
const SIMPLE: &str = "org.apache.kafka.connect.storage.SimpleHeaderConverter";
const ROUTER: &str = "org.apache.kafka.connect.transforms.RegexRouter";

fn key(name: &str, kind: ConfigType, default: DefaultValue) -> ConfigKey {
    ConfigKey::new(name, kind, default, Importance::Medium, "")
}

fn value(text: &str) -> DefaultValue {
    DefaultValue::Value(text.to_owned())
}

fn plugin(class: &str, kind: PluginKind, keys: Vec<ConfigKey>) -> PluginDesc {
    PluginDesc {
        class: class.to_owned(),
        aliases: Vec::new(),
        kind,
        version: Some("1.2".to_owned()),
        documentation: String::new(),
        config: ConfigDef { keys },
    }
}

/// The same in another version, with keys of its own.
fn older(plugin: PluginDesc, keys: Vec<ConfigKey>) -> PluginDesc {
    PluginDesc { version: Some("1.1".to_owned()), config: ConfigDef { keys }, ..plugin }
}

fn source_keys() -> Vec<ConfigKey> {
    vec![
        key("topic", ConfigType::String, DefaultValue::Required).with_validator(Validator::NonEmpty),
        key("batch.size", ConfigType::Int, value("2000")),
        key("password", ConfigType::Password, DefaultValue::Null),
    ]
}

fn catalog() -> PluginCatalog {
    let schemas = key("schemas.enable", ConfigType::Boolean, value("true")).with_group("Schemas", 0, Width::Medium, "");
    let required = |name: &str| vec![key(name, ConfigType::String, DefaultValue::Required)];
    let source = plugin("a.FileSourceConnector", PluginKind::Source, source_keys());
    let router = plugin(ROUTER, PluginKind::Transformation, Vec::new());
    PluginCatalog::new([
        older(source.clone(), required("file")),
        source,
        plugin("a.FileSinkConnector", PluginKind::Sink, Vec::new()),
        older(plugin(JSON, PluginKind::Converter, Vec::new()), required("old")),
        older(router, required("pattern")),
        plugin(
            JSON,
            PluginKind::Converter,
            vec![key("converter.type", ConfigType::String, DefaultValue::Required), schemas],
        ),
        plugin(SIMPLE, PluginKind::HeaderConverter, Vec::new()),
        plugin(
            ROUTER,
            PluginKind::Transformation,
            vec![key("regex", ConfigType::String, DefaultValue::Required).with_validator(Validator::Regex)],
        ),
        plugin(
            "a.TopicNameMatches",
            PluginKind::Predicate,
            vec![key("pattern", ConfigType::String, DefaultValue::Required)],
        ),
    ])
}

/// Keys to texts, or to null.
type Changes<'a> = &'a [(&'a str, Option<&'a str>)];

fn config(fixed: &[(&str, &str)], config: Changes<'_>) -> ConfigPatch {
    let fixed = fixed.iter().map(|(key, value)| ((*key).to_owned(), Some((*value).to_owned())));
    fixed.chain(config.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned)))).collect()
}

const SOURCE: [(&str, &str); 3] = [("connector.class", "FileSource"), ("name", "orders"), ("topic", "t")];

fn source(changes: Changes<'_>) -> ConfigInfos {
    validate(&config(&SOURCE, changes), PluginKind::Source, Vec::new(), Vec::new())
}

fn source_in_cluster(changes: Changes<'_>) -> ConfigInfos {
    judged(&config(&SOURCE, changes), PluginKind::Source, true, Vec::new(), Vec::new())
}

fn sink(changes: Changes<'_>) -> ConfigInfos {
    let fixed = [("connector.class", "a.FileSinkConnector"), ("name", "orders")];
    validate(&config(&fixed, changes), PluginKind::Sink, Vec::new(), Vec::new())
}

fn validate(
    config: &ConfigPatch,
    kind: PluginKind,
    values: Vec<ConfigValue>,
    refused_grants: Vec<ConfigValue>,
) -> ConfigInfos {
    judged(config, kind, false, values, refused_grants)
}

fn judged(
    config: &ConfigPatch,
    kind: PluginKind,
    in_cluster: bool,
    values: Vec<ConfigValue>,
    refused_grants: Vec<ConfigValue>,
) -> ConfigInfos {
    let catalog = catalog();
    let plugin = catalog.iter().find(|plugin| plugin.kind == kind).unwrap();
    let wanted = config.get("connector.plugin.version").and_then(Option::as_deref);
    let latest = catalog.connector(&plugin.class).unwrap();
    let plugin = Arc::clone(catalog.resolve_version(&plugin.class, &[kind], wanted).unwrap_or(latest));
    let defaults = Defaults {
        key_converter: JSON.to_owned(),
        value_converter: JSON.to_owned(),
        header_converter: SIMPLE.to_owned(),
        versions: ConverterVersions::default(),
    };
    let policy = OverridePolicy::All;
    let case = Case { catalog: &catalog, defaults, plugin: &plugin, config, overrides: &policy, in_cluster };
    let config_def = plugin.config.clone();
    let (version, resolution) = (plugin.version.clone(), Default::default());
    let validation = Validation { kind, version, config_def, values, refused_grants, resolution };
    wrong_version(&case).unwrap_or_else(|| judge(&case, &validation))
}

/// The keys with errors and how many each has.
fn errors(infos: &ConfigInfos) -> String {
    let values = infos.configs.iter().filter_map(|config| config.value.as_ref());
    let bad: Vec<_> = values
        .filter(|value| !value.errors.is_empty())
        .map(|value| format!("{} {}", value.name, value.errors.len()))
        .collect();
    format!("{}: {}", infos.error_count, bad.join(", "))
}

fn shown(infos: &ConfigInfos, name: &str) -> Option<String> {
    let values = infos.configs.iter().filter_map(|config| config.value.as_ref());
    values.into_iter().find(|value| value.name == name).and_then(|value| value.value.clone())
}

#[test]
fn a_good_source_has_the_groups_of_sources() {
    let infos = source(&[]);
    assert_eq!(errors(&infos), "0: ");
    assert_eq!(infos.name, "FileSource");
    let expected = [
        "Common",
        "Transforms",
        "Predicates",
        "Error Handling",
        "Topic Creation",
        "Exactly Once Support",
        "offsets.topic",
        "Sandbox",
    ];
    assert_eq!(infos.groups, expected);
    assert_eq!(shown(&infos, "key.converter").as_deref(), Some(JSON));
    assert_eq!(shown(&infos, "key.converter.plugin.version").as_deref(), Some("1.2"));
}

#[test]
fn sources_have_as_many_errors_as_in_connect() {
    let table: [(&str, Option<&str>, &str); 24] = [
        ("name", Some(""), "1: name 1"),
        ("name", Some("a\u{1}b"), "1: name 1"),
        ("topic", Some(""), "1: topic 1"),
        ("unknown.key", Some("x"), "0: "),
        ("unknown.key", None, "1: unknown.key 1"),
        ("tasks.max", Some("0"), "1: tasks.max 1"),
        ("tasks.max", Some("x"), "2: tasks.max 2"),
        ("tasks.max", None, "2: tasks.max 2"),
        ("batch.size", Some("x"), "1: batch.size 1"),
        ("errors.tolerance", Some("ALL"), "1: errors.tolerance 1"),
        ("errors.retry.timeout", Some("-1"), "0: "),
        ("config.action.reload", Some("never"), "1: config.action.reload 1"),
        ("key.converter", Some("no.such.Converter"), "1: key.converter 1"),
        ("key.converter", Some("FileSource"), "1: key.converter 1"),
        ("value.converter.schemas.enable", Some("maybe"), "0: "),
        ("transforms", Some("r"), "1: transforms.r.type 1"),
        ("predicates", Some("p"), "1: predicates.p.type 1"),
        ("exactly.once.support", Some("REQUIRED"), "0: "),
        ("exactly.once.support", Some("maybe"), "1: exactly.once.support 1"),
        ("transaction.boundary", Some("connector"), "0: "),
        ("transaction.boundary.interval.ms", Some("-1"), "1: transaction.boundary.interval.ms 1"),
        ("offsets.storage.topic", Some(""), "1: offsets.storage.topic 1"),
        ("topic.creation.groups", Some("a,a"), "1: topic.creation.groups 1"),
        ("producer.override.linger.ms", Some("5"), "0: "),
    ];
    for (key, value, expected) in table {
        assert_eq!(errors(&source(&[(key, value)])), expected, "{key} {value:?}");
    }
}

#[test]
fn a_cluster_refuses_sources_that_depend_on_exactly_once() {
    for (key, value, expected) in [
        ("exactly.once.support", "REQUIRED", "1: exactly.once.support 1"),
        ("exactly.once.support", "requested", "0: "),
        ("transaction.boundary", "Connector", "1: transaction.boundary 1"),
        ("transaction.boundary", "interval", "0: "),
    ] {
        assert_eq!(errors(&source_in_cluster(&[(key, Some(value))])), expected, "{key} {value}");
    }
}

#[test]
fn sinks_read_topics_by_name_or_by_pattern() {
    let dead_letters = ("errors.deadletterqueue.topic.name", Some("t"));
    let table: [(Changes<'_>, &str); 8] = [
        (&[], "2: topics 1, topics.regex 1"),
        (&[("topics", Some(" "))], "2: topics 1, topics.regex 1"),
        (&[("topics", Some("t")), ("topics.regex", Some("t.*"))], "2: topics 1, topics.regex 1"),
        (&[("topics.regex", Some("t.*"))], "0: "),
        (&[("topics.regex", Some("["))], "1: topics.regex 1"),
        (&[("topics", Some("t,t"))], "1: topics 1"),
        (&[("topics", Some("s, t")), dead_letters], "1: topics 1"),
        (&[("topics.regex", Some("t|s")), dead_letters], "1: topics.regex 1"),
    ];
    for (changes, expected) in table {
        assert_eq!(errors(&sink(changes)), expected, "{changes:?}");
    }
}

#[test]
fn a_wrong_version_is_reported_on_the_class_too() {
    let infos = source(&[("connector.plugin.version", Some("9999.1"))]);
    assert_eq!(errors(&infos), "2: connector.class 1, connector.plugin.version 1");
    assert_eq!(infos.groups, ["Common", "Transforms", "Predicates", "Error Handling"]);
    assert_eq!(errors(&source(&[("connector.plugin.version", Some("[1.0,2.0)"))])), "0: ");
    // The plugin was asked: what the reference stands for could have been there.
    let reference = source(&[("connector.plugin.version", Some("${file:/versions:source}"))]);
    assert_eq!(errors(&reference), "1: connector.plugin.version 1");
}

fn recommended(infos: &ConfigInfos, name: &str) -> String {
    let values = infos.configs.iter().filter_map(|config| config.value.as_ref());
    values.into_iter().find(|value| value.name == name).unwrap().recommended_values.join(" ")
}

fn default(infos: &ConfigInfos, name: &str) -> Option<String> {
    let keys = infos.configs.iter().filter_map(|config| config.definition.as_ref());
    keys.into_iter().find(|key| key.name == name).and_then(|key| key.default_value.clone())
}

#[test]
fn the_version_that_is_wanted_has_its_own_keys() {
    let version = |wanted| errors(&source(&[("connector.plugin.version", Some(wanted))]));
    assert_eq!(version("latest"), "0: ");
    assert_eq!(version("1.1"), "1: file 1");
    assert_eq!(version("(,1.2)"), "1: file 1");
    let old = source(&[("connector.plugin.version", Some("1.1")), ("file", Some("f"))]);
    assert_eq!((errors(&old), shown(&old, "connector.plugin.version").as_deref()), ("0: ".to_owned(), Some("1.1")));
    assert_eq!(default(&old, "connector.plugin.version").as_deref(), Some("1.2"));
}

#[test]
fn all_versions_that_are_installed_are_recommended() {
    let infos = source(&[("transforms", Some("r")), ("transforms.r.type", Some(ROUTER))]);
    for key in ["connector.plugin.version", "key.converter.plugin.version", "transforms.r.plugin.version"] {
        assert_eq!(recommended(&infos, key), "1.1 1.2", "{key}");
        assert_eq!(default(&infos, key).as_deref(), Some("1.2"), "{key}");
    }
    assert_eq!(recommended(&infos, "header.converter.plugin.version"), "1.2");
    assert_eq!(recommended(&infos, "transforms.r.type"), ROUTER);
    assert_eq!(recommended(&infos, "key.converter"), JSON);
}

#[test]
fn converters_and_transformations_have_the_keys_of_their_version() {
    let of_converter = |wanted| {
        let version = ("value.converter.plugin.version", Some(wanted));
        errors(&source(&[("value.converter", Some(JSON)), version]))
    };
    assert_eq!(of_converter("latest"), "0: ");
    assert_eq!(of_converter("[1.1]"), "1: value.converter.old 1");
    assert_eq!(of_converter("3"), "1: value.converter.plugin.version 1");
    assert_eq!(of_converter("["), "1: value.converter.plugin.version 1");
    let of_transformation = |wanted| {
        let transforms = [("transforms", Some("r")), ("transforms.r.type", Some(ROUTER))];
        let version = ("transforms.r.plugin.version", Some(wanted));
        errors(&source(&[transforms[0], transforms[1], version]))
    };
    assert_eq!(of_transformation("1.1"), "1: transforms.r.pattern 1");
    assert_eq!(of_transformation("latest"), "2: transforms.r.regex 2");
    assert_eq!(of_transformation("3"), "1: transforms.r.plugin.version 1");
}

#[test]
fn a_version_that_is_not_there_is_answered_with_those_that_are() {
    let infos = source(&[("connector.plugin.version", Some("9999.1"))]);
    let values = infos.configs.iter().filter_map(|config| config.value.as_ref());
    let errors: Vec<_> = values.flat_map(|value| &value.errors).collect();
    let expected = "Invalid value 9999.1 for configuration connector.plugin.version: \
                    version 9999.1 is not installed (installed: 1.1, 1.2)";
    assert_eq!(errors, [expected, expected]);
}

#[test]
fn a_transformation_has_a_section_of_its_own() {
    let type_key = ("transforms.r.type", Some(ROUTER));
    let infos = source(&[("transforms", Some("r")), type_key, ("transforms.r.regex", Some("a(.*)"))]);
    assert_eq!(errors(&infos), "0: ");
    let keys = infos.configs.iter().filter_map(|config| config.definition.as_ref());
    let section: Vec<_> = keys
        .filter(|key| key.group.as_deref() == Some("Transforms: r"))
        .map(|key| format!("{} {}", key.order_in_group, key.name))
        .collect();
    let expected = [
        "0 transforms.r.type",
        "1 transforms.r.plugin.version",
        "2 transforms.r.regex",
        "3 transforms.r.negate",
        "4 transforms.r.predicate",
    ];
    assert_eq!(section, expected);
}

#[test]
fn sections_are_checked_like_everything_else() {
    let with = |key: &'static str, value: &'static str| {
        let transforms =
            [("transforms", Some("r")), ("transforms.r.type", Some("RegexRouter")), ("transforms.r.regex", Some("a"))];
        let changes: Vec<_> = transforms.into_iter().chain([(key, Some(value))]).collect();
        errors(&source(&changes))
    };
    assert_eq!(with("note", ""), "0: ");
    assert_eq!(with("transforms.r.regex", "("), "1: transforms.r.regex 1");
    assert_eq!(with("transforms.r.type", "no.such.Transform"), "1: transforms.r.type 1");
    assert_eq!(with("transforms.r.negate", "true"), "1: transforms.r.type 1");
    assert_eq!(with("transforms.r.predicate", "undefined"), "0: ");
    assert_eq!(with("transforms.r.plugin.version", "7"), "1: transforms.r.plugin.version 1");
    assert_eq!(with("transforms", "r, r"), "1: transforms 1");
}

#[test]
fn the_keys_of_a_converter_count_once_however_wrong_they_are() {
    let infos = source(&[("value.converter", Some(JSON)), ("value.converter.schemas.enable", None)]);
    assert_eq!(shown(&infos, "value.converter.converter.type").as_deref(), Some("value"));
    assert_eq!(errors(&infos), "1: value.converter.schemas.enable 1");
    assert!(infos.groups.contains(&"Schemas".to_owned()));
}

#[test]
fn the_plugin_and_the_sandbox_have_their_say() {
    let opinion = |name: &str, error: &str| ConfigValue {
        name: name.to_owned(),
        errors: vec![error.to_owned()],
        visible: true,
        ..ConfigValue::default()
    };
    let fixed = [("connector.class", "FileSource"), ("name", "orders"), ("topic", "t")];
    let values = vec![opinion("topic", "no such topic"), opinion("other", "is missing")];
    let refused = vec![opinion("sandbox.network", "db:5432 is above the limit")];
    let infos = validate(&config(&fixed, &[]), PluginKind::Source, values, refused);
    assert_eq!(errors(&infos), "3: other 1, topic 1, sandbox.network 1");
}

#[test]
fn a_password_is_hidden() {
    let infos = source(&[("password", Some("s3cret"))]);
    assert_eq!(shown(&infos, "password").as_deref(), Some("[hidden]"));
}

#[test]
fn the_keys_of_a_connector_are_its_own_and_then_the_common_ones() {
    let names = |name: &str| -> Vec<String> {
        plugin_keys(&catalog(), name, None).unwrap().into_iter().map(|key| key.name).collect()
    };
    let source = names("FileSource");
    assert_eq!(source[..4], ["topic", "batch.size", "password", "name"]);
    assert!(source.contains(&"transaction.boundary".to_owned()) && !source.contains(&"topics".to_owned()));
    assert_eq!(names("RegexRouter"), ["regex"]);
    let keys = |wanted| plugin_keys(&catalog(), "RegexRouter", Some(wanted));
    assert_eq!(keys("[1.0,1.2)").unwrap()[0].name, "pattern");
    let error = keys("3").unwrap_err();
    let expected = "Plugin RegexRouter not found that matches the version range 3, available versions: [1.1, 1.2]";
    assert_eq!((error.status(), error.to_string().as_str()), (400, expected));
    assert_eq!(plugin_keys(&catalog(), "Nothing", None).unwrap_err().status(), 404);
}
