use std::pin::Pin;

use bulkhead_model::config::Password;
use bulkhead_model::security::{Pem, Tls};
use bulkhead_pipeline::ports::{RegistryError, RegistrySettings, SchemaRegistry, SubjectSchema};
use bulkhead_registry::Registry;
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::ssl::{Ssl, SslAcceptor, SslMethod};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_openssl::SslStream;

use crate::fake::settings;

/// A certificate for `localhost` that is its own authority.
fn certificate() -> (PKey<Private>, X509) {
    let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", "registry").unwrap();
    let name = name.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(&name).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
    builder.append_extension(BasicConstraints::new().ca().build().unwrap()).unwrap();
    let names = SubjectAlternativeName::new().dns("localhost").build(&builder.x509v3_context(None, None)).unwrap();
    builder.append_extension(names).unwrap();
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    (key, builder.build())
}

/// Answers every request with an id. The port it listens on.
async fn serve(key: &PKey<Private>, certificate: &X509) -> u16 {
    let mut acceptor = SslAcceptor::mozilla_intermediate(SslMethod::tls_server()).unwrap();
    acceptor.set_private_key(key).unwrap();
    acceptor.set_certificate(certificate).unwrap();
    let acceptor = acceptor.build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            let mut stream = SslStream::new(Ssl::new(acceptor.context()).unwrap(), tcp).unwrap();
            if Pin::new(&mut stream).accept().await.is_ok() {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"id\":7}").await;
            }
        }
    });
    port
}

async fn register(url: &str, tls: Tls) -> Result<u32, RegistryError> {
    let schema = SubjectSchema { subject: "s".into(), schema: r#""string""#.into(), normalize: false };
    let settings = RegistrySettings { tls, retries: 0, ..settings(&[url]) };
    Registry::new(settings).unwrap().register(schema).await
}

#[tokio::test]
async fn only_a_trusted_registry_of_the_right_name_is_talked_to() {
    let (key, certificate) = certificate();
    let port = serve(&key, &certificate).await;
    let pem = String::from_utf8(certificate.to_pem().unwrap()).unwrap();
    let trusting = Tls { trust: Some(Pem::Text(Password(pem))), ..Tls::default() };
    let (named, numbered) = (format!("https://localhost:{port}"), format!("https://127.0.0.1:{port}"));
    assert_eq!(register(&named, trusting.clone()).await, Ok(7));
    for (url, tls) in [(&named, Tls::default()), (&numbered, trusting.clone())] {
        let Err(RegistryError::Retriable(message)) = register(url, tls).await else { panic!("{url}") };
        assert!(message.contains("certificate verify failed"), "{message}");
    }
    assert_eq!(register(&numbered, Tls { verify_hostname: false, ..trusting }).await, Ok(7));
}

#[test]
fn a_trust_store_without_certificates_is_refused() {
    let tls = Tls { trust: Some(Pem::Text(Password("nothing".to_owned()))), ..Tls::default() };
    let settings = RegistrySettings { tls, ..settings(&["https://r"]) };
    let message = Registry::new(settings).map(|_| ()).unwrap_err().to_string();
    assert!(message.starts_with("configuration `schema.registry.ssl.truststore.location`: "), "{message}");
}
