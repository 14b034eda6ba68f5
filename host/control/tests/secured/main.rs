//! TLS and SASL against a real Kafka that this test starts: `BULKHEAD_KAFKA_HOME` names the folder with its `lib`.

#![allow(clippy::unwrap_used, reason = "what can't be had fails the test")]

mod broker;
mod certificates;

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use broker::Broker;
use bulkhead_control::{Admin, ClientSettings, Group, GroupEvent, GroupSettings, Protocol, Token, TokenProvider};
use bulkhead_model::RawConfig;
use bulkhead_model::security::ClientSecurity;

#[tokio::test]
async fn every_way_to_connect_works_and_wrong_ones_are_told() {
    let Some(home) = std::env::var_os("BULKHEAD_KAFKA_HOME").filter(|home| !home.is_empty()) else {
        eprintln!("left out: BULKHEAD_KAFKA_HOME names no folder with Kafka in it");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    certificates::write(folder.path());
    let broker = Broker::start(Path::new(&home), folder.path());
    certificates_are_checked_on_both_sides(&broker, folder.path()).await;
    accounts_are_checked_by_each_mechanism(&broker, folder.path()).await;
    tokens_are_sent(&broker).await;
    an_old_login_is_renewed_without_leaving_the_group(&broker).await;
}

/// Properties in Java's names, as lines.
fn settings(address: &str, properties: &str) -> ClientSettings {
    let properties: RawConfig = properties.lines().filter_map(|line| line.trim().split_once('=')).collect();
    ClientSettings {
        bootstrap: vec![address.to_owned()],
        client_id: "test".to_owned(),
        request_timeout: Duration::from_secs(20),
        security: ClientSecurity::read(&properties).unwrap(),
        tokens: None,
    }
}

/// `ok`, or what is wrong.
async fn connect(settings: ClientSettings) -> String {
    let admin = match Admin::new(settings) {
        Ok(admin) => admin,
        Err(error) => return error.explain(),
    };
    match admin.cluster().await {
        Ok(cluster) => {
            assert_eq!(cluster.brokers.len(), 1);
            "ok".to_owned()
        }
        Err(error) => error.explain(),
    }
}

#[track_caller]
fn contains(found: &str, part: &str) {
    assert!(found.contains(part), "`{found}` doesn't contain `{part}`");
}

async fn certificates_are_checked_on_both_sides(broker: &Broker, folder: &Path) {
    let dir = folder.display();
    let ssl = broker.address("SSL");
    let trust = format!("security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={dir}/ca.pem\n");
    let pem = format!("{trust}ssl.keystore.type=PEM\nssl.keystore.location={dir}/client.pem");
    assert_eq!(connect(settings(&ssl, &pem)).await, "ok");
    let encrypted = format!("{trust}ssl.keystore.location={dir}/client-encrypted.pem\nssl.key.password=geheim");
    assert_eq!(connect(settings(&ssl, &encrypted)).await, "ok");
    let pkcs12 = format!("{trust}ssl.keystore.location={dir}/client.p12\nssl.keystore.password=geheim");
    assert_eq!(connect(settings(&ssl, &pkcs12)).await, "ok");
    let mut text = settings(&ssl, &pem);
    text.security = ClientSecurity::read(&RawConfig::from([
        ("security.protocol", "SSL".to_owned()),
        ("ssl.truststore.certificates", std::fs::read_to_string(folder.join("ca.pem")).unwrap()),
        ("ssl.keystore.key", std::fs::read_to_string(folder.join("client.pem")).unwrap()),
        ("ssl.keystore.certificate.chain", std::fs::read_to_string(folder.join("client.pem")).unwrap()),
    ]))
    .unwrap();
    assert_eq!(connect(text).await, "ok");

    contains(&connect(settings(&ssl, &trust)).await, "alert bad certificate");
    contains(&connect(settings(&ssl, "security.protocol=SSL")).await, "certificate in certificate chain");
    let wrong_password = format!("{trust}ssl.keystore.location={dir}/client.p12\nssl.keystore.password=falsch");
    contains(&connect(settings(&ssl, &wrong_password)).await, "configuration `ssl.keystore.location`: ");
    let missing = format!("security.protocol=SSL\nssl.ca.location={dir}/none.pem");
    contains(&connect(settings(&ssl, &missing)).await, "none.pem: No such file");

    // The certificate names the address, not the name.
    let by_name = ssl.replace("127.0.0.1", "localhost");
    contains(&connect(settings(&by_name, &pem)).await, "ostname mismatch");
    let any_name = format!("{pem}\nssl.endpoint.identification.algorithm=\n");
    assert_eq!(connect(settings(&by_name, &any_name)).await, "ok");

    let mut hasty = settings(&ssl, "");
    hasty.request_timeout = Duration::from_secs(1);
    let plain = connect(hasty).await;
    assert!(plain != "ok", "an SSL listener took plain text");
}

async fn accounts_are_checked_by_each_mechanism(broker: &Broker, folder: &Path) {
    let account = |mechanism: &str, module: &str, password: &str| {
        format!(
            "sasl.mechanism={mechanism}\nsasl.jaas.config={module} required username=\"alice\" password=\"{password}\";\n\
             ssl.ca.location={}/ca.pem\n",
            folder.display()
        )
    };
    for protocol in ["SASL_PLAINTEXT", "SASL_SSL"] {
        let address = broker.address(protocol);
        for (mechanism, module) in [
            ("PLAIN", "PlainLoginModule"),
            ("SCRAM-SHA-256", "ScramLoginModule"),
            ("SCRAM-SHA-512", "ScramLoginModule"),
        ] {
            let right = format!("security.protocol={protocol}\n{}", account(mechanism, module, "wonderland"));
            assert_eq!(connect(settings(&address, &right)).await, "ok", "{protocol} {mechanism}");
            let wrong = format!("security.protocol={protocol}\n{}", account(mechanism, module, "looking-glass"));
            let told = connect(settings(&address, &wrong)).await;
            contains(&told, &format!("refused the login by {mechanism} (Authentication failed"));
        }
    }
}

struct Tokens(Result<Token, String>);

impl TokenProvider for Tokens {
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<Token, String>> + Send + '_>> {
        Box::pin(async { self.0.clone() })
    }
}

async fn tokens_are_sent(broker: &Broker) {
    let address = broker.address("SASL_PLAINTEXT");
    let properties = |options: &str| {
        format!(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n\
             sasl.jaas.config=OAuthBearerLoginModule required{options};"
        )
    };
    let unsecured = properties(" unsecuredLoginStringClaim_sub=\"alice\"");
    assert_eq!(connect(settings(&address, &unsecured)).await, "ok");
    contains(&connect(settings(&address, &properties(""))).await, "there is no source of tokens");

    let mut provided = settings(&address, &properties(""));
    provided.tokens = Some(Arc::new(Tokens(Err("the token endpoint is down".to_owned()))));
    contains(&connect(provided.clone()).await, "the token endpoint is down");
    provided.tokens = Some(Arc::new(Tokens(Ok(Token("no.token.".to_owned())))));
    contains(&connect(provided).await, "refused the login by OAUTHBEARER");
}

/// This listener ends sessions after three seconds.
async fn an_old_login_is_renewed_without_leaving_the_group(broker: &Broker) {
    let properties = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n\
                      sasl.username=alice\nsasl.password=wonderland";
    let settings = GroupSettings {
        client: settings(&broker.address("SASL_PLAINTEXT"), properties),
        group_id: "renewed".to_owned(),
        session_timeout: Duration::from_secs(6),
        heartbeat_interval: Duration::from_millis(200),
        rebalance_timeout: Duration::from_secs(8),
        retry_backoff: Duration::from_millis(50),
        retry_backoff_max: Duration::from_secs(1),
    };
    let (handle, mut events) = Group::spawn(settings).unwrap();
    let join = || handle.join(vec![Protocol { name: "default".to_owned(), metadata: Default::default() }]);
    join();
    let (generation, member) = loop {
        match events.recv().await.unwrap() {
            GroupEvent::Elected { generation, member, .. } => break (generation, member),
            // A broker that has just started makes the topic of the groups first.
            GroupEvent::CoordinatorLost { .. } => join(),
            event => panic!("{event:?}"),
        }
    };
    handle.assign(generation, vec![(member, Default::default())]);
    assert!(matches!(events.recv().await, Some(GroupEvent::Synced { .. })));
    // Nothing happens until the sign of life is missed, which is long after the first session's end.
    let next = events.recv().await;
    assert!(matches!(&next, Some(GroupEvent::Left { reason }) if reason.contains("no sign of life")), "{next:?}");
}
