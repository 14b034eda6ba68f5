use super::*;

/// What the properties mean, or what is wrong with them.
fn shown(given: &[(&str, &str)]) -> String {
    let given: RawConfig = given.iter().copied().collect();
    match ClientSecurity::read(&given) {
        Ok(security) => format!("{:?} {:?}", security.tls(), security.sasl()),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check_tls(given: &[(&str, &str)], expected: Tls) {
    let given: RawConfig = given.iter().copied().chain([("security.protocol", "SSL")]).collect();
    assert_eq!(ClientSecurity::read(&given).unwrap().tls(), Some(&expected));
}

#[track_caller]
fn check_sasl(given: &[(&str, &str)], expected: &str) {
    let all: Vec<_> = given.iter().copied().chain([("security.protocol", "sasl_plaintext")]).collect();
    let shown = shown(&all);
    assert_eq!(shown.strip_prefix("None ").unwrap_or(&shown), expected, "{given:?}");
}

#[test]
fn nothing_given_means_nothing_used() {
    assert_eq!(ClientSecurity::read(&RawConfig::new()).unwrap(), ClientSecurity::default());
    assert_eq!(shown(&[("sasl.mechanism", "GSSAPI"), ("ssl.ca.location", "/ca")]), "None None");
    assert_eq!(shown(&[("sasl.password", "s")]), "None None");
}

#[test]
fn names_of_protocols_are_checked() {
    assert_eq!(
        shown(&[("security.protocol", "TLS")]),
        "configuration `security.protocol`: it has to be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"
    );
    assert_eq!(
        shown(&[("ssl.endpoint.identification.algorithm", "LDAPS")]),
        "configuration `ssl.endpoint.identification.algorithm`: it has to be https, or empty to take any name"
    );
}

#[test]
fn authorities_are_a_file_or_a_text_under_either_name() {
    let file = || Tls { trust: Some(Pem::File("/ca.pem".into())), ..Tls::default() };
    check_tls(&[], Tls::default());
    check_tls(&[("ssl.truststore.type", "PEM"), ("ssl.truststore.location", "/ca.pem")], file());
    check_tls(&[("ssl.truststore.location", "/ca.pem")], file());
    check_tls(&[("ssl.ca.location", "/ca.pem")], file());
    let text = || Tls { trust: Some(Pem::Text(Password("PEM".to_owned()))), ..Tls::default() };
    check_tls(&[("ssl.truststore.certificates", "PEM"), ("ssl.truststore.type", "PEM")], text());
    check_tls(&[("ssl.ca.pem", " PEM\n")], text());
    for location in ["/t.jks", "/t.p12"] {
        let refused = shown(&[("ssl.truststore.location", location)]);
        assert!(refused.contains(&format!("keytool -exportcert -rfc -keystore {location}")), "{refused}");
    }
}

#[test]
fn hosts_and_suites_can_be_chosen() {
    check_tls(
        &[("ssl.endpoint.identification.algorithm", ""), ("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256, AES256-SHA")],
        Tls {
            verify_hostname: false,
            cipher_suites: Some(vec!["TLS_AES_128_GCM_SHA256".to_owned(), "AES256-SHA".to_owned()]),
            ..Tls::default()
        },
    );
    let java = shown(&[("ssl.cipher.suites", "TLS_RSA_WITH_AES_128_CBC_SHA")]);
    assert!(java.contains("`TLS_RSA_WITH_AES_128_CBC_SHA`: suites before TLS 1.3"), "{java}");
}

#[test]
fn the_clients_own_key_is_taken_from_stores_files_and_texts() {
    let with = |identity| Tls { identity: Some(identity), ..Tls::default() };
    let secret = || Some(Password("s".to_owned()));
    let pkcs12 = Identity::Pkcs12 { location: "/k.p12".into(), password: secret() };
    check_tls(&[("ssl.keystore.location", "/k.p12"), ("ssl.keystore.password", "s")], with(pkcs12));
    let file = || Pem::File("/k.pem".into());
    let one_file = Identity::Pem { key: file(), chain: file(), password: secret() };
    check_tls(&[("ssl.keystore.location", "/k.pem"), ("ssl.key.password", "s")], with(one_file));
    let text = |text: &str| Pem::Text(Password(text.to_owned()));
    let texts = Identity::Pem { key: text("KEY"), chain: text("CHAIN"), password: None };
    check_tls(&[("ssl.keystore.key", "KEY"), ("ssl.keystore.certificate.chain", "CHAIN")], with(texts.clone()));
    check_tls(&[("ssl.key.pem", "KEY"), ("ssl.certificate.pem", "CHAIN")], with(texts));
    assert_eq!(
        shown(&[("ssl.keystore.key", "KEY")]),
        "configuration `ssl.keystore.certificate.chain`: it is missing beside the key"
    );
    let jks = shown(&[("ssl.keystore.location", "/k")]);
    assert!(jks.contains("keytool -importkeystore -srckeystore /k "), "{jks}");
}

#[test]
fn accounts_are_read_from_the_login_module_or_under_librdkafkas_names() {
    let plain = "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" password=\"p\";";
    check_sasl(
        &[("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", plain)],
        r#"Some(Plain { username: "u", password: [hidden] })"#,
    );
    check_sasl(
        &[("sasl.mechanisms", "SCRAM-SHA-512"), ("sasl.username", "u"), ("sasl.password", "p")],
        r#"Some(Scram { hash: Sha512, username: "u", password: [hidden] })"#,
    );
    check_sasl(
        &[("sasl.mechanism", "PLAIN")],
        "configuration `sasl.jaas.config`: it is missing, so there is neither name nor password to log in with",
    );
    check_sasl(
        &[("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", "PlainLoginModule required username=u;")],
        "configuration `sasl.jaas.config`: `password` is missing",
    );
    check_sasl(
        &[("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", "a.Krb5LoginModule required;")],
        "configuration `sasl.jaas.config`: login module `Krb5LoginModule` is not supported \
         (PlainLoginModule, ScramLoginModule and OAuthBearerLoginModule are)",
    );
    check_sasl(
        &[],
        "configuration `sasl.mechanism`: of the mechanisms PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER are \
         supported; without this key it is GSSAPI, which is not",
    );
}

#[test]
fn tokens_are_made_from_options_or_come_from_elsewhere() {
    let check = |options: &str, expected: &str| {
        let jaas = format!("OAuthBearerLoginModule required {options};");
        check_sasl(&[("sasl.mechanism", "OAUTHBEARER"), ("sasl.jaas.config", &jaas)], expected);
    };
    check("clientId=\"me\"", "Some(OAuthBearer(None))");
    check(
        "unsecuredLoginStringClaim_sub=\"me\" unsecuredLoginExtension_pool=\"a\"",
        r#"Some(OAuthBearer(Some(UnsecuredToken { principal_claim: "sub", principal: "me", lifetime_seconds: 3600, extensions: {"pool": "a"} })))"#,
    );
    check(
        "unsecuredLoginStringClaim_sub=me unsecuredLoginLifetimeSeconds=soon",
        "configuration `sasl.jaas.config`: `unsecuredLoginLifetimeSeconds` has to be a number",
    );
    check(
        "unsecuredLoginStringClaim_sub=me unsecuredLoginListClaim_scope=x",
        "configuration `sasl.jaas.config`: option `unsecuredLoginListClaim_scope` is not supported",
    );
    check(
        "unsecuredLoginStringClaim_sub=\"me too\"",
        "configuration `sasl.jaas.config`: the parts of an unsecured token may be neither empty nor hold white space",
    );
}
