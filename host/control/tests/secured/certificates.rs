//! An authority, a broker's certificate and a client's, made afresh.

use std::path::Path;

use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::hash::MessageDigest;
use openssl::pkcs12::Pkcs12;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::symm::Cipher;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Name};

struct Party {
    key: PKey<Private>,
    certificate: X509,
}

/// Everything as files into `folder`; the password of what has one is `geheim`.
pub fn write(folder: &Path) {
    let authority = make("authority", None);
    let broker = make("broker", Some(&authority));
    let client = make("client", Some(&authority));
    let write = |name: &str, parts: &[&[u8]]| std::fs::write(folder.join(name), parts.concat()).unwrap();
    let ca = authority.certificate.to_pem().unwrap();
    write("ca.pem", &[&ca]);
    for (name, party) in [("broker.pem", &broker), ("client.pem", &client)] {
        let key = party.key.private_key_to_pem_pkcs8().unwrap();
        write(name, &[&key, &party.certificate.to_pem().unwrap(), &ca]);
    }
    let encrypted = client.key.private_key_to_pem_pkcs8_passphrase(Cipher::aes_256_cbc(), b"geheim").unwrap();
    write("client-encrypted.pem", &[&encrypted, &client.certificate.to_pem().unwrap()]);
    let store = Pkcs12::builder().pkey(&client.key).cert(&client.certificate).name("client").build2("geheim").unwrap();
    write("client.p12", &[&store.to_der().unwrap()]);
}

fn make(name: &str, issuer: Option<&Party>) -> Party {
    let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let mut subject = X509Name::builder().unwrap();
    subject.append_entry_by_text("CN", name).unwrap();
    let subject = subject.build();
    let mut serial = BigNum::new().unwrap();
    serial.rand(100, MsbOption::MAYBE_ZERO, false).unwrap();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&serial.to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder.set_issuer_name(issuer.map_or(&subject, |issuer| issuer.certificate.subject_name())).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
    builder.set_pubkey(&key).unwrap();
    if issuer.is_none() {
        builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
    } else {
        let context = builder.x509v3_context(issuer.map(|issuer| &*issuer.certificate), None);
        let names = SubjectAlternativeName::new().ip("127.0.0.1").build(&context).unwrap();
        builder.append_extension(names).unwrap();
    }
    builder.sign(issuer.map_or(&key, |issuer| &issuer.key), MessageDigest::sha256()).unwrap();
    Party { certificate: builder.build(), key }
}
