//! Connections to registries, with TLS by OpenSSL where the URL asks for it.

use bulkhead_model::config::Password;
use bulkhead_model::security::{Identity, Pem, Tls};
use bulkhead_pipeline::ports::ClientError;
use hyper_openssl::client::legacy::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use openssl::error::ErrorStack;
use openssl::pkcs12::Pkcs12;
use openssl::pkey::PKey;
use openssl::ssl::{SslConnector, SslConnectorBuilder, SslMethod};
use openssl::x509::X509;
use openssl::x509::store::X509StoreBuilder;

type Result<T> = std::result::Result<T, ClientError>;

const TRUST: &str = "ssl.truststore.location";
const IDENTITY: &str = "ssl.keystore.location";

pub(crate) fn connector(mut http: HttpConnector, tls: &Tls) -> Result<HttpsConnector<HttpConnector>> {
    http.enforce_http(false);
    let mut builder = SslConnector::builder(SslMethod::tls_client()).map_err(wrong(TRUST))?;
    if let Some(authorities) = &tls.trust {
        trust(&mut builder, authorities)?;
    }
    if let Some(identity) = &tls.identity {
        present(&mut builder, identity)?;
    }
    let mut connector = HttpsConnector::with_connector(http, builder).map_err(wrong(TRUST))?;
    let verify_hostname = tls.verify_hostname;
    connector.set_callback(move |connection, _| {
        connection.set_verify_hostname(verify_hostname);
        Ok(())
    });
    Ok(connector)
}

/// Instead of the system's authorities, those that are given.
fn trust(builder: &mut SslConnectorBuilder, authorities: &Pem) -> Result<()> {
    let certificates = X509::stack_from_pem(&bytes(TRUST, authorities)?).map_err(wrong(TRUST))?;
    if certificates.is_empty() {
        return Err(problem(TRUST, "it holds no certificate in PEM form"));
    }
    let mut store = X509StoreBuilder::new().map_err(wrong(TRUST))?;
    for certificate in certificates {
        store.add_cert(certificate).map_err(wrong(TRUST))?;
    }
    builder.set_cert_store(store.build());
    Ok(())
}

fn present(builder: &mut SslConnectorBuilder, identity: &Identity) -> Result<()> {
    let text = |password: &Option<Password>| password.as_ref().map(|password| password.0.clone()).unwrap_or_default();
    let (key, chain) = match identity {
        Identity::Pem { key, chain, password } => {
            // An empty password keeps OpenSSL from asking at the terminal.
            let key = PKey::private_key_from_pem_passphrase(&bytes(IDENTITY, key)?, text(password).as_bytes());
            let chain = X509::stack_from_pem(&bytes(IDENTITY, chain)?);
            (key.map_err(wrong(IDENTITY))?, chain.map_err(wrong(IDENTITY))?)
        }
        Identity::Pkcs12 { location, password } => {
            let der = bytes(IDENTITY, &Pem::File(location.clone()))?;
            let store = Pkcs12::from_der(&der).and_then(|store| store.parse2(&text(password)));
            let store = store.map_err(wrong(IDENTITY))?;
            let key = store.pkey.ok_or_else(|| problem(IDENTITY, "it holds no private key"))?;
            let chain = store.cert.into_iter().chain(store.ca.into_iter().flatten());
            (key, chain.collect())
        }
    };
    let mut chain = chain.into_iter();
    let own = chain.next().ok_or_else(|| problem(IDENTITY, "it holds no certificate"))?;
    builder.set_private_key(&key).map_err(wrong(IDENTITY))?;
    builder.set_certificate(&own).map_err(wrong(IDENTITY))?;
    for above in chain {
        builder.add_extra_chain_cert(above).map_err(wrong(IDENTITY))?;
    }
    builder.check_private_key().map_err(wrong(IDENTITY))
}

fn bytes(key: &str, pem: &Pem) -> Result<Vec<u8>> {
    match pem {
        Pem::Text(text) => Ok(text.0.clone().into_bytes()),
        Pem::File(location) => {
            std::fs::read(location).map_err(|error| problem(key, &format!("{}: {error}", location.display())))
        }
    }
}

fn wrong(key: &str) -> impl Fn(ErrorStack) -> ClientError + use<'_> {
    move |error| problem(key, &error.to_string())
}

fn problem(key: &str, problem: &str) -> ClientError {
    ClientError(format!("configuration `schema.registry.{key}`: {problem}"))
}
