//! TLS by OpenSSL, so that this client and librdkafka take the same files and fail alike.

use std::io;
use std::path::Path;
use std::pin::Pin;

use bulkhead_model::security::{Identity, Pem, Tls};
use openssl::error::ErrorStack;
use openssl::pkcs12::Pkcs12;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslConnector, SslConnectorBuilder, SslMethod};
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::{X509, X509VerifyResult};
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

use super::Address;
use crate::Error;

/// What every handshake of a client has in common.
pub(super) struct Connector {
    openssl: SslConnector,
    verify_hostname: bool,
}

impl Connector {
    /// Reads the files that the settings name.
    pub(super) fn new(tls: &Tls) -> Result<Self, Error> {
        let mut builder = SslConnector::builder(SslMethod::tls_client()).map_err(wrong("security.protocol"))?;
        if let Some(authorities) = &tls.trust {
            trust(&mut builder, authorities)?;
        }
        if let Some(identity) = &tls.identity {
            present(&mut builder, identity)?;
        }
        if let Some(suites) = &tls.cipher_suites {
            let (new, old): (Vec<_>, Vec<_>) = suites.iter().partition(|suite| suite.starts_with("TLS_"));
            let list = |suites: Vec<&String>| suites.into_iter().map(String::as_str).collect::<Vec<_>>().join(":");
            if !old.is_empty() {
                builder.set_cipher_list(&list(old)).map_err(wrong("ssl.cipher.suites"))?;
            }
            if !new.is_empty() {
                builder.set_ciphersuites(&list(new)).map_err(wrong("ssl.cipher.suites"))?;
            }
        }
        Ok(Self { openssl: builder.build(), verify_hostname: tls.verify_hostname })
    }

    pub(super) async fn handshake(&self, address: &Address, tcp: TcpStream) -> Result<SslStream<TcpStream>, Error> {
        let failed = |problem: String| Error::Tls { address: address.to_string(), problem };
        let configuration = self.openssl.configure().map_err(|error| failed(error.to_string()))?;
        let ssl = configuration.verify_hostname(self.verify_hostname).into_ssl(&address.host);
        let ssl = ssl.map_err(|error| failed(error.to_string()))?;
        let mut stream = SslStream::new(ssl, tcp).map_err(|error| failed(error.to_string()))?;
        match Pin::new(&mut stream).connect().await {
            Ok(()) => Ok(stream),
            Err(error) if error.ssl_error().is_none() => {
                let source = error.into_io_error().unwrap_or_else(|_| io::ErrorKind::UnexpectedEof.into());
                Err(Error::Lost { address: address.to_string(), source })
            }
            Err(error) => Err(failed(match stream.ssl().verify_result() {
                X509VerifyResult::OK => error.to_string(),
                refused => refused.error_string().to_owned(),
            })),
        }
    }
}

/// A failed read or write. With TLS 1.3 a broker refuses our certificate only after the handshake.
pub(super) fn lost(address: &str, error: io::Error) -> Error {
    let address = address.to_owned();
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<openssl::ssl::Error>());
    match inner {
        Some(refusal) if refusal.ssl_error().is_some() => Error::Tls { address, problem: refusal.to_string() },
        Some(_) | None => Error::Lost { address, source: error },
    }
}

/// Instead of the system's authorities, those that are given.
fn trust(builder: &mut SslConnectorBuilder, authorities: &Pem) -> Result<(), Error> {
    const KEY: &str = "ssl.truststore.location";
    let certificates = X509::stack_from_pem(&bytes(KEY, authorities)?).map_err(wrong(KEY))?;
    if certificates.is_empty() {
        return Err(Error::Settings { key: KEY, problem: "it holds no certificate in PEM form".to_owned() });
    }
    let mut store = X509StoreBuilder::new().map_err(wrong(KEY))?;
    for certificate in certificates {
        store.add_cert(certificate).map_err(wrong(KEY))?;
    }
    builder.set_cert_store(store.build());
    Ok(())
}

fn present(builder: &mut SslConnectorBuilder, identity: &Identity) -> Result<(), Error> {
    const KEY: &str = "ssl.keystore.location";
    let (key, chain) = match identity {
        Identity::Pem { key, chain, password } => {
            let password = password.as_ref().map_or("", |password| &password.0);
            // An empty password keeps OpenSSL from asking at the terminal.
            let key = PKey::private_key_from_pem_passphrase(&bytes(KEY, key)?, password.as_bytes());
            let chain = X509::stack_from_pem(&bytes(KEY, chain)?);
            (key.map_err(wrong(KEY))?, chain.map_err(wrong(KEY))?)
        }
        Identity::Pkcs12 { location, password } => {
            let password = password.as_ref().map_or("", |password| &password.0);
            pkcs12(KEY, location, password)?
        }
    };
    let mut chain = chain.into_iter();
    let own = chain.next();
    let own = own.ok_or_else(|| Error::Settings { key: KEY, problem: "it holds no certificate".to_owned() })?;
    builder.set_private_key(&key).map_err(wrong(KEY))?;
    builder.set_certificate(&own).map_err(wrong(KEY))?;
    for above in chain {
        builder.add_extra_chain_cert(above).map_err(wrong(KEY))?;
    }
    builder.check_private_key().map_err(wrong(KEY))
}

/// The key and the chain, our own certificate first.
fn pkcs12(key: &'static str, location: &Path, password: &str) -> Result<(PKey<Private>, Vec<X509>), Error> {
    let der = read(key, location)?;
    let parsed = Pkcs12::from_der(&der).and_then(|store| store.parse2(password)).map_err(wrong(key))?;
    let missing = |what: &str| Error::Settings { key, problem: format!("it holds no {what}") };
    let private = parsed.pkey.ok_or_else(|| missing("private key"))?;
    let own = parsed.cert.ok_or_else(|| missing("certificate"))?;
    let above = parsed.ca.into_iter().flatten();
    Ok((private, std::iter::once(own).chain(above).collect()))
}

fn bytes(key: &'static str, pem: &Pem) -> Result<Vec<u8>, Error> {
    match pem {
        Pem::File(location) => read(key, location),
        Pem::Text(text) => Ok(text.0.clone().into_bytes()),
    }
}

fn read(key: &'static str, location: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(location)
        .map_err(|error| Error::Settings { key, problem: format!("{}: {error}", location.display()) })
}

fn wrong(key: &'static str) -> impl Fn(ErrorStack) -> Error {
    move |error| Error::Settings { key, problem: error.to_string() }
}
