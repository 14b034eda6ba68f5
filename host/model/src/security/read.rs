//! From property names to [`ClientSecurity`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::jaas::{self, Login};
use super::{ClientSecurity, Identity, Pem, Sasl, ScramHash, SecurityProtocol, Tls, UnsecuredToken, WrongProperty};
use crate::config::{Password, RawConfig};

pub(super) const KEYS: &[&str] = &[
    "sasl.jaas.config",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.cipher.suites",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
];

type Result<T> = std::result::Result<T, WrongProperty>;

pub(super) fn read(given: &RawConfig) -> Result<ClientSecurity> {
    let protocol = protocol(given)?;
    let trust = trust(given)?;
    let identity = identity(given)?;
    let tls = Tls { trust, identity, verify_hostname: verify_hostname(given)?, cipher_suites: cipher_suites(given)? };
    Ok(ClientSecurity { protocol, tls, sasl: sasl(given, protocol)? })
}

fn protocol(given: &RawConfig) -> Result<SecurityProtocol> {
    const KEY: &str = "security.protocol";
    let Some(name) = text(given, KEY) else { return Ok(SecurityProtocol::default()) };
    match name.to_ascii_uppercase().as_str() {
        "PLAINTEXT" => Ok(SecurityProtocol::Plaintext),
        "SSL" => Ok(SecurityProtocol::Ssl),
        "SASL_PLAINTEXT" => Ok(SecurityProtocol::SaslPlaintext),
        "SASL_SSL" => Ok(SecurityProtocol::SaslSsl),
        _ => Err(wrong(KEY, "it has to be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")),
    }
}

fn verify_hostname(given: &RawConfig) -> Result<bool> {
    const KEY: &str = "ssl.endpoint.identification.algorithm";
    match given.get(KEY).map(|name| name.trim().to_ascii_lowercase()).as_deref() {
        None | Some("https") => Ok(true),
        Some("" | "none") => Ok(false),
        Some(_) => Err(wrong(KEY, "it has to be https, or empty to take any name")),
    }
}

/// Commas as in Java, or colons as in OpenSSL.
fn cipher_suites(given: &RawConfig) -> Result<Option<Vec<String>>> {
    const KEY: &str = "ssl.cipher.suites";
    let Some(list) = text(given, KEY) else { return Ok(None) };
    let suites: Vec<_> = list.split([',', ':']).map(str::trim).filter(|name| !name.is_empty()).collect();
    match suites.iter().find(|name| name.contains("_WITH_")) {
        Some(name) => {
            let like = "suites before TLS 1.3 are named as OpenSSL does it, like ECDHE-RSA-AES128-GCM-SHA256";
            Err(wrong(KEY, &format!("`{name}`: {like}")))
        }
        None => Ok(Some(suites.into_iter().map(str::to_owned).collect())),
    }
}

fn trust(given: &RawConfig) -> Result<Option<Pem>> {
    if let Some(certificates) = pem_text(given, &["ssl.truststore.certificates", "ssl.ca.pem"]) {
        return Ok(Some(certificates));
    }
    if let Some(location) = text(given, "ssl.ca.location") {
        return Ok(Some(Pem::File(location.into())));
    }
    const KEY: &str = "ssl.truststore.location";
    let Some(location) = text(given, KEY) else { return Ok(None) };
    match Format::of(given, "ssl.truststore", location) {
        Format::Pem => Ok(Some(Pem::File(location.into()))),
        Format::Pkcs12 | Format::Jks => Err(wrong(
            KEY,
            &format!(
                "a trust store has to be PEM (ssl.truststore.type=PEM); \
                 `keytool -exportcert -rfc -keystore {location} -alias …` writes its certificates in that form"
            ),
        )),
    }
}

fn identity(given: &RawConfig) -> Result<Option<Identity>> {
    let key = pem_text(given, &["ssl.keystore.key", "ssl.key.pem"]).or_else(|| pem_file(given, "ssl.key.location"));
    let chain = pem_text(given, &["ssl.keystore.certificate.chain", "ssl.certificate.pem"])
        .or_else(|| pem_file(given, "ssl.certificate.location"));
    let password = password(given, "ssl.key.password");
    match (key, chain) {
        (Some(key), Some(chain)) => return Ok(Some(Identity::Pem { key, chain, password })),
        (Some(_), None) => return Err(wrong("ssl.keystore.certificate.chain", "it is missing beside the key")),
        (None, Some(_)) => return Err(wrong("ssl.keystore.key", "it is missing beside its certificate")),
        (None, None) => {}
    }
    const KEY: &str = "ssl.keystore.location";
    let Some(location) = text(given, KEY) else { return Ok(None) };
    match Format::of(given, "ssl.keystore", location) {
        Format::Pem => {
            let file = Pem::File(location.into());
            Ok(Some(Identity::Pem { key: file.clone(), chain: file, password }))
        }
        Format::Pkcs12 => {
            let password = self::password(given, "ssl.keystore.password");
            Ok(Some(Identity::Pkcs12 { location: PathBuf::from(location), password }))
        }
        Format::Jks => Err(wrong(
            KEY,
            &format!(
                "a key store has to be PEM or PKCS12; `keytool -importkeystore -srckeystore {location} \
                 -destkeystore keystore.p12 -deststoretype PKCS12` makes one"
            ),
        )),
    }
}

fn sasl(given: &RawConfig, protocol: SecurityProtocol) -> Result<Option<Sasl>> {
    let login = match text(given, JAAS) {
        Some(text) => Some(jaas::parse(text).map_err(|problem| wrong(JAAS, &problem))?),
        None => None,
    };
    let mechanism = text(given, "sasl.mechanism").or_else(|| text(given, "sasl.mechanisms"));
    let is_used = matches!(protocol, SecurityProtocol::SaslPlaintext | SecurityProtocol::SaslSsl);
    let Some(mechanism) = mechanism.or(is_used.then_some("GSSAPI")) else {
        return login.as_ref().map_or(Ok(()), check_module).map(|()| None);
    };
    match mechanism.to_ascii_uppercase().as_str() {
        "PLAIN" => {
            let account = account(given, login.as_ref(), is_used)?;
            Ok(account.map(|(username, password)| Sasl::Plain { username, password }))
        }
        name @ ("SCRAM-SHA-256" | "SCRAM-SHA-512") => {
            let hash = if name.ends_with("256") { ScramHash::Sha256 } else { ScramHash::Sha512 };
            let account = account(given, login.as_ref(), is_used)?;
            Ok(account.map(|(username, password)| Sasl::Scram { hash, username, password }))
        }
        "OAUTHBEARER" => Ok(Some(Sasl::OAuthBearer(login.as_ref().map(unsecured_token).transpose()?.flatten()))),
        _ if is_used => Err(wrong(
            "sasl.mechanism",
            "of the mechanisms PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER are supported; \
             without this key it is GSSAPI, which is not",
        )),
        _ => Ok(None),
    }
}

const JAAS: &str = "sasl.jaas.config";

fn check_module(login: &Login) -> Result<()> {
    match login.module.as_str() {
        "PlainLoginModule" | "ScramLoginModule" | "OAuthBearerLoginModule" => Ok(()),
        module => {
            let known = "PlainLoginModule, ScramLoginModule and OAuthBearerLoginModule are";
            Err(wrong(JAAS, &format!("login module `{module}` is not supported ({known})")))
        }
    }
}

/// Name and password; there need be none while SASL isn't in use.
fn account(given: &RawConfig, login: Option<&Login>, is_used: bool) -> Result<Option<(String, Password)>> {
    if let Some(login) = login {
        check_module(login)?;
        let option = |name: &str| {
            let value = login.options.get(name).cloned();
            value.ok_or_else(|| wrong(JAAS, &format!("`{name}` is missing")))
        };
        return Ok(Some((option("username")?, Password(option("password")?))));
    }
    match (text(given, "sasl.username"), given.get("sasl.password")) {
        (Some(username), Some(password)) => Ok(Some((username.to_owned(), Password(password.to_owned())))),
        _ if is_used => Err(wrong(JAAS, "it is missing, so there is neither name nor password to log in with")),
        _ => Ok(None),
    }
}

/// None if the options are about something else than unsecured tokens.
fn unsecured_token(login: &Login) -> Result<Option<UnsecuredToken>> {
    check_module(login)?;
    const LIFETIME: u64 = 3600;
    let mut options = login.options.clone();
    let claim_name = options.remove("unsecuredLoginPrincipalClaimName");
    let principal_claim = claim_name.unwrap_or_else(|| "sub".to_owned());
    let Some(principal) = options.remove(&format!("unsecuredLoginStringClaim_{principal_claim}")) else {
        return Ok(None);
    };
    let lifetime = options.remove("unsecuredLoginLifetimeSeconds");
    let lifetime_seconds = lifetime.map_or(Ok(LIFETIME), |text| text.trim().parse());
    let lifetime_seconds =
        lifetime_seconds.map_err(|_| wrong(JAAS, "`unsecuredLoginLifetimeSeconds` has to be a number"))?;
    let mut extensions = BTreeMap::new();
    for (option, value) in options {
        match option.strip_prefix("unsecuredLoginExtension_") {
            Some(name) => extensions.insert(name.to_owned(), value),
            None => return Err(wrong(JAAS, &format!("option `{option}` is not supported"))),
        };
    }
    let token = UnsecuredToken { principal_claim, principal, lifetime_seconds, extensions };
    if token.words().any(|word| word.is_empty() || word.contains(|c: char| c.is_whitespace() || c.is_control())) {
        return Err(wrong(JAAS, "the parts of an unsecured token may be neither empty nor hold white space"));
    }
    Ok(Some(token))
}

impl UnsecuredToken {
    fn words(&self) -> impl Iterator<Item = &String> {
        let extensions = self.extensions.iter().flat_map(|(name, value)| [name, value]);
        [&self.principal_claim, &self.principal].into_iter().chain(extensions)
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
    fn of(given: &RawConfig, store: &str, location: &str) -> Self {
        let kind = text(given, &format!("{store}.type")).map(str::to_ascii_uppercase);
        match kind.as_deref() {
            Some("PEM") => Self::Pem,
            Some("PKCS12") => Self::Pkcs12,
            Some(_) => Self::Jks,
            None if location.ends_with(".pem") => Self::Pem,
            None if location.ends_with(".p12") || location.ends_with(".pfx") => Self::Pkcs12,
            None => Self::Jks,
        }
    }
}

/// A value that isn't empty, without white space around it.
fn text<'a>(given: &'a RawConfig, key: &str) -> Option<&'a str> {
    given.get(key).map(str::trim).filter(|text| !text.is_empty())
}

fn pem_text(given: &RawConfig, keys: &[&str]) -> Option<Pem> {
    let found = keys.iter().find_map(|key| text(given, key));
    found.map(|text| Pem::Text(Password(text.to_owned())))
}

fn pem_file(given: &RawConfig, key: &str) -> Option<Pem> {
    text(given, key).map(|location| Pem::File(location.into()))
}

fn password(given: &RawConfig, key: &str) -> Option<Password> {
    given.get(key).filter(|text| !text.is_empty()).map(|text| Password(text.to_owned()))
}

fn wrong(key: &str, problem: &str) -> WrongProperty {
    WrongProperty { key: key.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests;
