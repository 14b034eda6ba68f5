//! One line for each rule: what is given, what becomes of it.

use bulkhead_model::RawConfig;

use super::effective::Effective;
use super::{Role, Settings};

/// Translates worker and connector properties and shows one of librdkafka's, or the error, or that all
/// given keys were ignored.
fn shown(role: Role, worker: &[(&str, &str)], connector: &[(&str, &str)], key: &str) -> String {
    let worker: RawConfig = worker.iter().copied().chain([("bootstrap.servers", "b:1")]).collect();
    let connector: RawConfig = connector.iter().copied().collect();
    match Effective::new(role, &worker, &connector) {
        Err(error) => error.to_string(),
        Ok(effective) => match effective.get(key) {
            Some(value) => value.to_owned(),
            None => format!("ignored: {}", effective.ignored().join(" ")),
        },
    }
}

#[track_caller]
fn check_producer(given: (&str, &str), key: &str, expected: &str) {
    let connector = [(format!("producer.override.{}", given.0), given.1)];
    let connector: Vec<_> = connector.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    assert_eq!(shown(Role::Producer, &[], &connector, key), expected, "{given:?}");
}

#[track_caller]
fn check_consumer(given: (&str, &str), key: &str, expected: &str) {
    let connector = [(format!("consumer.override.{}", given.0), given.1)];
    let connector: Vec<_> = connector.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    assert_eq!(shown(Role::Consumer, &[], &connector, key), expected, "{given:?}");
}

#[test]
fn a_producers_properties_are_translated() {
    for (given, key, expected) in [
        (("acks", "all"), "acks", "all"),
        (("max.request.size", "2000000"), "message.max.bytes", "2000000"),
        (("compression.type", "zstd"), "compression.type", "zstd"),
        (("batch.size", "0"), "batch.size", "1"),
        (("metadata.max.age.ms", "1000"), "topic.metadata.refresh.interval.ms", "1000"),
        (("send.buffer.bytes", "-1"), "socket.send.buffer.bytes", "0"),
        (("request.timeout.ms", "5000"), "request.timeout.ms", "5000"),
        (("queue.buffering.max.ms", "7"), "linger.ms", "7"),
        (("queue.buffering.max.messages", "7"), "queue.buffering.max.messages", "7"),
        (("max.block.ms", "9"), "max.block.ms", "ignored: "),
        (("interceptor.classes", "a.B"), "interceptor.classes", "ignored: producer.override.interceptor.classes"),
        (("no.such.key", "1"), "no.such.key", "ignored: producer.override.no.such.key"),
        (
            ("partitioner.class", "org.apache.kafka.clients.producer.internals.DefaultPartitioner"),
            "partitioner",
            "murmur2_random",
        ),
    ] {
        check_producer(given, key, expected);
    }
}

#[test]
fn a_consumers_properties_are_translated() {
    for (given, key, expected) in [
        (("auto.offset.reset", "none"), "auto.offset.reset", "error"),
        (("fetch.max.wait.ms", "20"), "fetch.wait.max.ms", "20"),
        (("fetch.min.bytes", "0"), "fetch.min.bytes", "1"),
        (("request.timeout.ms", "5000"), "socket.timeout.ms", "5000"),
        (("isolation.level", "read_committed"), "isolation.level", "read_committed"),
        (("enable.auto.commit", "true"), "enable.auto.commit", "false"),
        (("max.poll.records", "5"), "max.poll.records", "ignored: "),
        (
            (
                "partition.assignment.strategy",
                "org.apache.kafka.clients.consumer.RangeAssignor,\
                 org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
            ),
            "partition.assignment.strategy",
            "range",
        ),
        (
            ("partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"),
            "partition.assignment.strategy",
            "cooperative-sticky",
        ),
    ] {
        check_consumer(given, key, expected);
    }
}

#[test]
fn a_wrong_value_is_named_with_its_key() {
    check_producer(
        ("linger.ms", "soon"),
        "",
        "configuration `producer.override.linger.ms` = `soon`: \
         Invalid value for configuration property \"queue.buffering.max.ms\"",
    );
    check_consumer(
        ("auto.offset.reset", "by_duration:P1D"),
        "",
        "configuration `consumer.override.auto.offset.reset` = `by_duration:P1D`: this value has no counterpart here",
    );
}

#[test]
fn later_layers_win() {
    let worker = [("producer.linger.ms", "1"), ("producer.acks", "1"), ("linger.ms", "9")];
    let connector = [("producer.override.linger.ms", "2"), ("linger.ms", "8")];
    assert_eq!(shown(Role::Producer, &[], &[], "linger.ms"), "5");
    assert_eq!(shown(Role::Producer, &worker, &[], "linger.ms"), "1");
    assert_eq!(shown(Role::Producer, &worker, &connector, "linger.ms"), "2");
    assert_eq!(shown(Role::Producer, &worker, &connector, "acks"), "1");
    assert_eq!(shown(Role::Consumer, &worker, &connector, "linger.ms"), "ignored: ");
}

#[test]
fn one_request_at_a_time_keeps_order_and_idempotence_spares_duplicates_where_it_can() {
    let shown = |connector: &[(&str, &str)]| {
        ["enable.idempotence", "max.in.flight.requests.per.connection"]
            .map(|key| shown(Role::Producer, &[], connector, key))
            .join(" ")
    };
    assert_eq!(shown(&[]), "true 1");
    assert_eq!(shown(&[("producer.override.max.in.flight.requests.per.connection", "5")]), "true 5");
    assert_eq!(shown(&[("producer.override.max.in.flight.requests.per.connection", "6")]), "false 6");
    assert_eq!(shown(&[("producer.override.enable.idempotence", "false")]), "false 1");
    assert_eq!(shown(&[("producer.override.acks", "1")]), "false 1");
    assert_eq!(shown(&[("producer.override.retries", "0")]), "false 1");
}

#[test]
fn the_workers_connection_serves_all_clients() {
    let worker = [
        ("security.protocol", "SASL_SSL"),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("ssl.truststore.type", "PEM"),
        ("ssl.truststore.location", "/ca.pem"),
        ("ssl.endpoint.identification.algorithm", ""),
        (
            "sasl.jaas.config",
            "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"u\" password=\"p\";",
        ),
        ("ssl.protocol", "TLSv1.3"),
    ];
    for role in [Role::Producer, Role::Consumer, Role::Admin] {
        for (key, expected) in [
            ("security.protocol", "sasl_ssl"),
            ("sasl.mechanism", "SCRAM-SHA-512"),
            ("sasl.username", "u"),
            ("sasl.password", "p"),
            ("ssl.ca.location", "/ca.pem"),
            ("ssl.endpoint.identification.algorithm", "none"),
            ("ssl.protocol", "ignored: ssl.protocol"),
        ] {
            assert_eq!(shown(role, &worker, &[], key), expected, "{role:?} {key}");
        }
    }
}

#[test]
fn key_stores_are_taken_as_pem_or_pkcs12_and_others_are_refused_with_the_way_out() {
    let p12 = [("ssl.keystore.location", "/k.p12"), ("ssl.keystore.password", "s")];
    assert_eq!(shown(Role::Producer, &p12, &[], "ssl.keystore.location"), "/k.p12");
    assert_eq!(shown(Role::Producer, &p12, &[], "ssl.keystore.password"), "s");
    let pem = [("ssl.keystore.type", "PEM"), ("ssl.keystore.location", "/k.pem")];
    assert_eq!(shown(Role::Producer, &pem, &[], "ssl.key.location"), "/k.pem");
    assert_eq!(shown(Role::Producer, &pem, &[], "ssl.certificate.location"), "/k.pem");
    let jks = shown(Role::Producer, &[("ssl.keystore.location", "/k.jks")], &[], "");
    assert!(jks.contains("keytool -importkeystore -srckeystore /k.jks"), "{jks}");
    let trust = shown(Role::Producer, &[("ssl.truststore.location", "/t.jks")], &[], "");
    assert!(trust.contains("keytool -exportcert"), "{trust}");
}

#[test]
fn unsecured_tokens_are_made_by_librdkafka() {
    let jaas = "OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=me unsecuredLoginExtension_pool=a;";
    let worker = [("sasl.mechanism", "OAUTHBEARER"), ("sasl.jaas.config", jaas)];
    let config = "principalClaimName=sub principal=me lifeSeconds=3600 extension_pool=a";
    assert_eq!(shown(Role::Producer, &worker, &[], "sasl.oauthbearer.config"), config);
    assert_eq!(shown(Role::Producer, &worker, &[], "enable.sasl.oauthbearer.unsecure.jwt"), "true");
    let elsewhere = [("producer.override.sasl.mechanism", "OAUTHBEARER")];
    assert_eq!(
        shown(Role::Producer, &[], &elsewhere, ""),
        "configuration `producer.override.sasl.mechanism` = `OAUTHBEARER`: \
         OAUTHBEARER is supported with unsecured tokens only (unsecuredLoginStringClaim_sub)"
    );
}

#[test]
fn secrets_are_not_told() {
    let jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"me\" password=\"geheim\"";
    let error = shown(Role::Producer, &[("producer.sasl.jaas.config", jaas)], &[], "");
    assert_eq!(error, "configuration `producer.sasl.jaas.config`: it has to end with `;`");

    let worker = RawConfig::from([("bootstrap.servers", "b:1"), ("sasl.password", "geheim")]);
    let settings = Settings::from_properties(&worker).unwrap();
    assert!(!format!("{settings:?}").contains("geheim"));
}

#[test]
fn a_worker_without_brokers_is_refused() {
    let error = Settings::from_properties(&RawConfig::new()).unwrap_err();
    assert_eq!(error.to_string(), "configuration `bootstrap.servers` is missing");
}

#[test]
fn the_workers_own_clients_have_its_keys_without_a_prefix() {
    let worker = RawConfig::from([
        ("bootstrap.servers", "b:1"),
        ("security.protocol", "PLAINTEXT"),
        ("max.request.size", "2000000"),
        ("reconnect.backoff.max.ms", "700"),
        ("producer.acks", "1"),
        ("producer.max.request.size", "5000"),
        ("listeners", "http://:8083"),
    ]);
    let settings = Settings::from_properties(&worker).unwrap();
    let properties = settings.internal(Role::Producer).unwrap();
    for (key, expected) in [
        ("bootstrap.servers", "b:1"),
        ("security.protocol", "plaintext"),
        ("message.max.bytes", "2000000"),
        ("reconnect.backoff.max.ms", "700"),
        ("reconnect.backoff.ms", "50"),
        ("acks", "all"),
        ("partitioner", "murmur2_random"),
    ] {
        assert_eq!(properties.get(key), Some(expected), "{key}");
    }
    assert_eq!(properties.ignored(), [""; 0]);
}

#[test]
fn what_the_workers_policy_forbids_makes_no_client() {
    let policy = ("connector.client.config.override.policy", "Principal");
    let settings = Settings::from_properties(&RawConfig::from([("bootstrap.servers", "b:1"), policy])).unwrap();
    let made = |role, key| settings.effective(role, &RawConfig::from([(key, "1")])).map_err(|error| error.to_string());
    let expected = "The policy Principal (connector.client.config.override.policy) of this worker lets no connector \
                    override acks";
    assert_eq!(made(Role::Producer, "producer.override.acks").err().as_deref(), Some(expected));
    // The keys of other clients are their matter.
    made(Role::Consumer, "producer.override.acks").unwrap();
    let error = made(Role::Producer, "producer.override.security.protocol").err().unwrap();
    assert!(error.contains("security.protocol` = `1`"), "{error}");
}

#[test]
fn a_policy_that_nobody_knows_is_refused() {
    let policy = ("connector.client.config.override.policy", "com.acme.Mine");
    let error = Settings::from_properties(&RawConfig::from([("bootstrap.servers", "b:1"), policy])).unwrap_err();
    assert!(error.to_string().contains("com.acme.Mine"), "{error}");
}
