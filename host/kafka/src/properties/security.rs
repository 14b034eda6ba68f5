//! `security.*`, `ssl.*` and `sasl.*`: what the model reads, in librdkafka's words.

use bulkhead_model::RawConfig;
use bulkhead_model::security::{ClientSecurity, Identity, Pem, Sasl, Tls, UnsecuredToken, WrongProperty};
use bulkhead_pipeline::ports::ClientError;

use super::effective::{Entry, Layered, Out};

/// Takes the security properties out of `given` and puts their counterparts into `out`. What is left
/// in `given` goes through the table of plain names.
pub(super) fn translate(given: &mut Layered, out: &mut Out) -> Result<(), ClientError> {
    let keys = ClientSecurity::KEYS.iter().copied();
    let taken = Taken(keys.filter_map(|key| Some((key, given.take(key)?))).collect());
    let security = ClientSecurity::read(&taken.config()).map_err(|wrong| taken.blame(&wrong))?;
    if taken.first(&["security.protocol"]).is_some() {
        taken.set(out, "security.protocol", &security.protocol.name().to_ascii_lowercase(), &["security.protocol"]);
    }
    tls(&taken, out, &security.tls);
    if let Some(login) = &security.sasl {
        sasl(&taken, out, login)?;
    }
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

/// What was given, to be named in messages.
struct Taken(Vec<(&'static str, Entry)>);

impl Taken {
    fn config(&self) -> RawConfig {
        self.0.iter().map(|(key, entry)| (*key, entry.value.clone())).collect()
    }

    fn first(&self, keys: &[&str]) -> Option<&Entry> {
        keys.iter().find_map(|key| self.0.iter().find(|(given, _)| given == key)).map(|(_, entry)| entry)
    }

    /// Names the property under the name and prefix by which it was given.
    fn blame(&self, wrong: &WrongProperty) -> ClientError {
        match self.first(&[&wrong.key]) {
            Some(entry) => entry.wrong(&wrong.problem),
            None => ClientError(wrong.to_string()),
        }
    }

    /// Sets a property of librdkafka's that comes from one of these keys.
    fn set(&self, out: &mut Out, name: &str, value: &str, from: &[&str]) {
        if let Some(entry) = self.first(from) {
            out.set(name, value, entry);
        }
    }

    fn set_pem(&self, out: &mut Out, names: [&str; 2], pem: &Pem, from: &[&str]) {
        let [location, text] = names;
        match pem {
            Pem::File(path) => self.set(out, location, &path.to_string_lossy(), from),
            Pem::Text(pem) => self.set(out, text, &pem.0, from),
        }
    }
}

fn tls(taken: &Taken, out: &mut Out, tls: &Tls) {
    if let Some(trust) = &tls.trust {
        let from = &["ssl.truststore.certificates", "ssl.ca.pem", "ssl.ca.location", "ssl.truststore.location"];
        taken.set_pem(out, ["ssl.ca.location", "ssl.ca.pem"], trust, from);
    }
    match &tls.identity {
        Some(Identity::Pem { key, chain, password }) => {
            let from = &["ssl.keystore.key", "ssl.key.pem", "ssl.key.location", "ssl.keystore.location"];
            taken.set_pem(out, ["ssl.key.location", "ssl.key.pem"], key, from);
            let from = &[
                "ssl.keystore.certificate.chain",
                "ssl.certificate.pem",
                "ssl.certificate.location",
                "ssl.keystore.location",
            ];
            taken.set_pem(out, ["ssl.certificate.location", "ssl.certificate.pem"], chain, from);
            if let Some(password) = password {
                taken.set(out, "ssl.key.password", &password.0, &["ssl.key.password"]);
            }
        }
        Some(Identity::Pkcs12 { location, password }) => {
            let from = ["ssl.keystore.location"];
            taken.set(out, "ssl.keystore.location", &location.to_string_lossy(), &from);
            if let Some(password) = password {
                taken.set(out, "ssl.keystore.password", &password.0, &["ssl.keystore.password"]);
            }
        }
        None => {}
    }
    let algorithm = if tls.verify_hostname { "https" } else { "none" };
    let key = "ssl.endpoint.identification.algorithm";
    taken.set(out, key, algorithm, &[key]);
    if let Some(suites) = &tls.cipher_suites {
        // Those of TLS 1.3 can't be chosen in librdkafka.
        let older: Vec<_> = suites.iter().filter(|name| !name.starts_with("TLS_")).map(String::as_str).collect();
        if !older.is_empty() {
            taken.set(out, "ssl.cipher.suites", &older.join(":"), &["ssl.cipher.suites"]);
        }
    }
}

const MECHANISM: &[&str] = &["sasl.mechanism", "sasl.mechanisms"];
const JAAS: &[&str] = &["sasl.jaas.config"];

fn sasl(taken: &Taken, out: &mut Out, login: &Sasl) -> Result<(), ClientError> {
    taken.set(out, "sasl.mechanism", login.mechanism(), MECHANISM);
    match login {
        Sasl::Plain { username, password } | Sasl::Scram { username, password, .. } => {
            taken.set(out, "sasl.username", username, &["sasl.jaas.config", "sasl.username"]);
            taken.set(out, "sasl.password", &password.0, &["sasl.jaas.config", "sasl.password"]);
        }
        Sasl::OAuthBearer(Some(token)) => {
            taken.set(out, "enable.sasl.oauthbearer.unsecure.jwt", "true", JAAS);
            taken.set(out, "sasl.oauthbearer.config", &unsecured(token), JAAS);
        }
        Sasl::OAuthBearer(None) => {
            let problem = "OAUTHBEARER is supported with unsecured tokens only (unsecuredLoginStringClaim_sub)";
            return Err(match taken.first(JAAS).or_else(|| taken.first(MECHANISM)) {
                Some(entry) => entry.wrong(problem),
                None => ClientError(format!("configuration `sasl.mechanism`: {problem}")),
            });
        }
    }
    Ok(())
}

/// In librdkafka's own notation; the model has seen to it that no part holds white space.
fn unsecured(token: &UnsecuredToken) -> String {
    let UnsecuredToken { principal_claim, principal, lifetime_seconds, extensions } = token;
    let extensions = extensions.iter().map(|(name, value)| format!(" extension_{name}={value}"));
    format!("principalClaimName={principal_claim} principal={principal} lifeSeconds={lifetime_seconds}")
        + &extensions.collect::<String>()
}
