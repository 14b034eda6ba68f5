//! `security.*`, `ssl.*` and `sasl.*`: Java thinks in key stores, librdkafka in PEM and PKCS#12.

use bulkhead_pipeline::ports::ClientError;

use super::effective::{Layered, Out};
use super::jaas;

/// Takes the security properties out of `given` and puts their counterparts into `out`. What is left
/// in `given` goes through the table of plain names.
pub(super) fn translate(given: &mut Layered, out: &mut Out) -> Result<(), ClientError> {
    protocol(given, out);
    trust_store(given, out)?;
    key_store(given, out)?;
    sasl(given, out)?;
    for key in UNSUPPORTED {
        if let Some(entry) = given.take(key) {
            out.ignore(entry.origin);
        }
    }
    Ok(())
}

/// Properties of Java's TLS and login machinery.
const UNSUPPORTED: &[&str] = &[
    "sasl.client.callback.handler.class",
    "sasl.jwt.retriever.class",
    "sasl.jwt.validator.class",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.login.retry.backoff.max.ms",
    "sasl.login.retry.backoff.ms",
    "ssl.enabled.protocols",
    "ssl.engine.factory.class",
    "ssl.keymanager.algorithm",
    "ssl.protocol",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
];

fn protocol(given: &mut Layered, out: &mut Out) {
    if let Some(entry) = given.take("security.protocol") {
        let name = entry.value.trim().to_ascii_lowercase();
        out.set("security.protocol", &name, &entry);
    }
    if let Some(entry) = given.take("ssl.endpoint.identification.algorithm") {
        let algorithm = match entry.value.trim() {
            "" => "none".to_owned(),
            name => name.to_ascii_lowercase(),
        };
        out.set("ssl.endpoint.identification.algorithm", &algorithm, &entry);
    }
}

fn trust_store(given: &mut Layered, out: &mut Out) -> Result<(), ClientError> {
    let format = Format::of(given, "ssl.truststore");
    given.take("ssl.truststore.password");
    if let Some(entry) = given.take("ssl.truststore.certificates") {
        out.set("ssl.ca.pem", &entry.value, &entry);
    }
    let Some(entry) = given.take("ssl.truststore.location") else {
        return Ok(());
    };
    match format {
        Format::Pem => out.set("ssl.ca.location", &entry.value, &entry),
        Format::Pkcs12 | Format::Jks => {
            return Err(entry.wrong(&format!(
                "a trust store has to be PEM (ssl.truststore.type=PEM); \
                 `keytool -exportcert -rfc -keystore {} -alias …` writes its certificates in that form",
                entry.value
            )));
        }
    }
    Ok(())
}

fn key_store(given: &mut Layered, out: &mut Out) -> Result<(), ClientError> {
    let format = Format::of(given, "ssl.keystore");
    for (java, ours) in [("ssl.keystore.key", "ssl.key.pem"), ("ssl.keystore.certificate.chain", "ssl.certificate.pem")]
    {
        if let Some(entry) = given.take(java) {
            out.set(ours, &entry.value, &entry);
        }
    }
    let password = given.take("ssl.keystore.password");
    let Some(entry) = given.take("ssl.keystore.location") else {
        return Ok(());
    };
    match format {
        Format::Pem => {
            out.set("ssl.key.location", &entry.value, &entry);
            out.set("ssl.certificate.location", &entry.value, &entry);
        }
        Format::Pkcs12 => {
            out.set("ssl.keystore.location", &entry.value, &entry);
            if let Some(password) = password {
                out.set("ssl.keystore.password", &password.value, &password);
            }
        }
        Format::Jks => {
            return Err(entry.wrong(&format!(
                "a key store has to be PEM or PKCS12; `keytool -importkeystore -srckeystore {} \
                 -destkeystore keystore.p12 -deststoretype PKCS12` makes one",
                entry.value
            )));
        }
    }
    Ok(())
}

fn sasl(given: &mut Layered, out: &mut Out) -> Result<(), ClientError> {
    let Some(entry) = given.take("sasl.jaas.config") else {
        return Ok(());
    };
    let login = jaas::parse(&entry.value).map_err(|problem| entry.wrong(&problem))?;
    match login.module.as_str() {
        "PlainLoginModule" | "ScramLoginModule" => {
            for (option, ours) in [("username", "sasl.username"), ("password", "sasl.password")] {
                let value = login.options.get(option);
                let value = value.ok_or_else(|| entry.wrong(&format!("`{option}` is missing")))?;
                out.set(ours, value, &entry);
            }
            Ok(())
        }
        module => Err(entry
            .wrong(&format!("login module `{module}` is not supported (PlainLoginModule and ScramLoginModule are)"))),
    }
}

/// The form of a key or trust store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Pem,
    Pkcs12,
    Jks,
}

impl Format {
    /// By `….type`, else by the file's ending; Java's default is JKS.
    fn of(given: &mut Layered, store: &str) -> Self {
        let kind = given.take(&format!("{store}.type")).map(|entry| entry.value);
        let location = given.get(&format!("{store}.location")).unwrap_or_default();
        match kind.as_deref().map(|kind| kind.trim().to_ascii_uppercase()).as_deref() {
            Some("PEM") => Self::Pem,
            Some("PKCS12") => Self::Pkcs12,
            Some(_) => Self::Jks,
            None if location.ends_with(".pem") => Self::Pem,
            None if location.ends_with(".p12") || location.ends_with(".pfx") => Self::Pkcs12,
            None => Self::Jks,
        }
    }
}
