use std::time::Duration;

use bulkhead_herder::ExactlyOnce;
use bulkhead_herder::protocol::ConnectProtocol;
use bulkhead_model::plugin::PluginCatalog;

use super::*;

/// A file with what is required, and `more` over it.
fn properties(more: &[(&str, &str)]) -> RawConfig {
    let mut properties = RawConfig::from([
        ("bootstrap.servers", "127.0.0.1:1"),
        ("plugin.path", "/plugins"),
        ("sandbox.cache.dir", "/cache"),
        ("key.converter", "org.apache.kafka.connect.json.JsonConverter"),
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
        ("group.id", "g"),
        ("config.storage.topic", "c"),
        ("offset.storage.topic", "o"),
        ("status.storage.topic", "s"),
    ]);
    for (key, value) in more {
        properties.set(*key, *value);
    }
    properties
}

fn cluster(more: &[(&str, &str)]) -> Result<ClusterSettings, String> {
    parse_distributed(&properties(more), &Secrets::default())
        .map(|(_, cluster)| cluster)
        .map_err(|problems| problems.join("; "))
}

#[test]
fn defaults_are_those_of_connect() {
    let cluster = cluster(&[]).unwrap();
    let millis = [
        cluster.session_timeout,
        cluster.heartbeat_interval,
        cluster.rebalance_timeout,
        cluster.rebalance_delay,
        cluster.sync_timeout,
        cluster.unsync_backoff,
        cluster.request_timeout,
        cluster.retry_backoff,
        cluster.retry_backoff_max,
    ];
    let expected = [10_000, 3_000, 60_000, 300_000, 3_000, 300_000, 40_000, 100, 1_000];
    assert_eq!(millis, expected.map(Duration::from_millis));
    assert_eq!((cluster.protocol, cluster.exactly_once), (ConnectProtocol::Sessioned, ExactlyOnce::Disabled));
    assert_eq!(cluster.client_id, None);
    let keys = cluster.keys;
    assert_eq!((keys.algorithm.as_str(), keys.size, keys.ttl), ("HmacSHA256", None, 3_600_000));
    assert_eq!((keys.signature.as_str(), keys.verification.as_slice()), ("HmacSHA256", &["HmacSHA256".to_owned()][..]));
    assert_eq!(cluster.logs.offset.partitions, 25);
}

#[test]
fn what_failed_stays_so_unless_the_worker_says_otherwise() {
    let policy = |more: &[_]| {
        let (settings, _) = parse_distributed(&properties(more), &Secrets::default()).unwrap();
        settings.herder(Mode::Standalone, WorkerId("w:1".into())).restart
    };
    assert_eq!(policy(&[]), RestartPolicy::default());
    let given = policy(&[("restart.policy", "on-failure"), ("restart.backoff.ms", "5")]);
    assert_eq!(given, RestartPolicy { on_failure: true, backoff: 5, ..RestartPolicy::default() });
}

#[test]
fn what_is_given_is_taken() {
    let more = [
        ("client.id", "me"),
        ("connect.protocol", "eager"),
        ("exactly.once.source.support", "Preparing"),
        ("session.timeout.ms", " 6000 "),
        ("scheduled.rebalance.max.delay.ms", "0"),
        ("inter.worker.key.size", "512"),
        ("inter.worker.verification.algorithms", "HmacSHA512, HmacSHA256"),
    ];
    let cluster = cluster(&more).unwrap();
    assert_eq!(cluster.client_id.as_deref(), Some("me"));
    assert_eq!((cluster.protocol, cluster.exactly_once), (ConnectProtocol::Eager, ExactlyOnce::Preparing));
    let herder = cluster.herder("http://w:1/".to_owned());
    assert_eq!((herder.url.as_str(), herder.rebalance_delay), ("http://w:1/", 0));
    assert_eq!((herder.keys.size, herder.keys.verification.len()), (Some(512), 2));
    assert_eq!(cluster.session_timeout, Duration::from_secs(6));
}

#[test]
fn what_is_wrong_is_said_with_key_value_and_what_is_allowed() {
    let choices = "String must be one of: eager, compatible, sessioned";
    let cases: [(&[(&str, &str)], String); 9] = [
        (
            &[("session.timeout.ms", "soon")],
            "Invalid value soon for configuration session.timeout.ms: Not a number of type INT".to_owned(),
        ),
        (
            &[("scheduled.rebalance.max.delay.ms", "-1")],
            "Invalid value -1 for configuration scheduled.rebalance.max.delay.ms: Value must be at least 0".to_owned(),
        ),
        (&[("connect.protocol", "lazy")], format!("Invalid value lazy for configuration connect.protocol: {choices}")),
        (
            &[("heartbeat.interval.ms", "10000")],
            "Invalid value 10000 for configuration heartbeat.interval.ms: Value must be below session.timeout.ms (10000)"
                .to_owned(),
        ),
        (
            &[("inter.worker.signature.algorithm", "HmacSHA512")],
            "Invalid value HmacSHA256 for configuration inter.worker.verification.algorithms: List must include \
             inter.worker.signature.algorithm (HmacSHA512)"
                .to_owned(),
        ),
        (
            &[("exactly.once.source.support", "enabled")],
            "Invalid value enabled for configuration exactly.once.source.support: Tasks don't write exactly once yet; \
             preparing, which protects the config topic, is what there is"
                .to_owned(),
        ),
        (
            &[("status.storage.topic", "c")],
            "Invalid value c for configuration status.storage.topic: Topic must not be that of config.storage.topic"
                .to_owned(),
        ),
        (
            &[("group.id", " ")],
            "Invalid value  for configuration group.id: String must be non-empty".to_owned(),
        ),
        (
            &[("internal.topics.automatic.creation.enable", "maybe")],
            "Invalid value maybe for configuration internal.topics.automatic.creation.enable: Expected value to be \
             either true or false"
                .to_owned(),
        ),
    ];
    for (more, expected) in cases {
        assert_eq!(cluster(more).unwrap_err(), expected);
    }
}

#[test]
fn no_replica_and_no_partition_is_too_few() {
    for key in ["config.storage.replication.factor", "offset.storage.partitions", "status.storage.partitions"] {
        let error = cluster(&[(key, "0")]).unwrap_err();
        assert!(
            error.starts_with(&format!("Invalid value 0 for configuration {key}: Value must be at least 1")),
            "{error}"
        );
    }
}

#[test]
fn all_that_is_missing_is_said_at_once() {
    let mut incomplete = properties(&[("listeners", "nonsense")]);
    for key in ["group.id", "value.converter", "config.storage.topic"] {
        incomplete.remove(key);
    }
    let problems = parse_distributed(&incomplete, &Secrets::default()).map(|_| ()).unwrap_err();
    let missing = |key: &str| format!("Missing required configuration \"{key}\" which has no default value.");
    let listener = "`nonsense` in `listeners` is no listener; it must look like `http://host:port`".to_owned();
    let expected = [missing("value.converter"), missing("group.id"), missing("config.storage.topic"), listener];
    assert_eq!(problems, expected);
}

#[test]
fn a_standalone_worker_needs_no_group_but_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("worker.properties");
    fs::write(&path, "key.converter=a\nvalue.converter=b\nplugin.path=/p\nsandbox.cache.dir=/c\n").unwrap();
    let error =
        standalone(&path, &RawConfig::from([("bootstrap.servers", "127.0.0.1:1")]), &Secrets::default()).unwrap_err();
    let expected = "Missing required configuration \"offset.storage.file.filename\" which has no default value.";
    assert_eq!(error.to_string(), format!("{}: {expected}", path.display()));
}

/// Settings of a worker that has a file provider, with `session.timeout.ms` and `client.id` from a file.
fn with_provider(file: &str) -> Result<ClusterSettings, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secrets.properties");
    std::fs::write(&path, file).unwrap();
    let reference = |key: &str| format!("${{f:{}:{key}}}", path.display());
    cluster(&[
        ("config.providers", "f"),
        ("config.providers.f.class", "org.apache.kafka.common.config.provider.FileConfigProvider"),
        ("config.providers.f.param.allowed.paths", folder.path().to_str().unwrap()),
        ("session.timeout.ms", &reference("timeout")),
        ("client.id", &reference("id")),
    ])
}

#[test]
fn a_workers_own_file_may_hold_references() {
    let cluster = with_provider("timeout=12345\nid=me").unwrap();
    assert_eq!((cluster.session_timeout, cluster.client_id.as_deref()), (Duration::from_millis(12_345), Some("me")));
}

#[test]
fn a_reference_without_value_is_named() {
    let error = with_provider("timeout=12345").unwrap_err();
    assert!(error.contains(":id} in configuration client.id can't be resolved"), "{error}");
}

#[test]
fn a_wrong_value_is_not_told_if_it_was_a_secret() {
    let error = with_provider("timeout=S3CRET-42\nid=me").unwrap_err();
    assert!(error.contains("session.timeout.ms") && !error.contains("S3CRET"), "{error}");
}

#[test]
fn converters_that_are_not_there_are_named_with_their_keys() {
    let catalog = crate::plugins::catalog(&PluginCatalog::default());
    let check = |more: &[(&str, &str)]| {
        let (settings, _) = parse_distributed(&properties(more), &Secrets::default()).unwrap();
        settings.check_converters(&catalog).map_err(|missing| missing.to_string())
    };
    assert_eq!(check(&[("value.converter", "Json"), ("key.converter.plugin.version", "[4,5)")]), Ok(()));
    let missing = check(&[
        ("value.converter", "org.example.CsvConverter"),
        ("key.converter.plugin.version", "9"),
        ("header.converter", "AvroConverter"),
    ]);
    let expected = "worker property `key.converter`: `org.apache.kafka.connect.json.JsonConverter`: version 9 is not \
                    installed (installed: 4.4.0); worker property `value.converter`: no converter of the class \
                    `org.example.CsvConverter` is installed; worker property `header.converter`: no header_converter of \
                    the class `AvroConverter` is installed";
    assert_eq!(missing, Err(expected.to_owned()));
}
