//! How workers know each other's requests (KIP-507): a MAC of the body, with a key that the leader makes and
//! that only readers of the config topic know.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

use crate::api::{Proof, Refusal, SessionKey, Signature};
use crate::settings::KeySettings;

/// The MACs that are known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    HmacSha1,
    HmacSha224,
    HmacSha256,
    HmacSha384,
    HmacSha512,
}

/// Why a request is not taken for one of the cluster's workers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    #[error("Algorithm {0} not available")]
    UnknownAlgorithm(String),
    #[error("The signature of the internal request is not base64: {0}")]
    NotBase64(#[from] base64::DecodeError),
    #[error("Internal request missing required signature")]
    Unsigned,
    #[error(
        "This worker does not support the '{algorithm}' key signing algorithm used by other workers. It accepts \
         [{}]: set inter.worker.verification.algorithms to the same on all workers.", accepted.join(", ")
    )]
    NotAccepted { algorithm: String, accepted: Vec<String> },
    #[error("This worker has not yet read a session key from the config topic, as it is still starting.")]
    NoKey,
    #[error("Internal request contained invalid signature.")]
    Wrong,
}

impl Algorithm {
    const ALL: [Self; 5] = [Self::HmacSha1, Self::HmacSha224, Self::HmacSha256, Self::HmacSha384, Self::HmacSha512];

    /// By Java's name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::HmacSha1 => "HmacSHA1",
            Self::HmacSha224 => "HmacSHA224",
            Self::HmacSha256 => "HmacSHA256",
            Self::HmacSha384 => "HmacSHA384",
            Self::HmacSha512 => "HmacSHA512",
        }
    }

    /// How many bytes Java gives a key of this algorithm.
    fn key_size(self) -> usize {
        match self {
            Self::HmacSha224 => 28,
            Self::HmacSha256 => 32,
            Self::HmacSha384 => 48,
            Self::HmacSha1 | Self::HmacSha512 => 64,
        }
    }

    fn mac(self, key: &[u8], body: &[u8]) -> Vec<u8> {
        match self {
            Self::HmacSha1 => mac::<Hmac<Sha1>>(key, body),
            Self::HmacSha224 => mac::<Hmac<Sha224>>(key, body),
            Self::HmacSha256 => mac::<Hmac<Sha256>>(key, body),
            Self::HmacSha384 => mac::<Hmac<Sha384>>(key, body),
            Self::HmacSha512 => mac::<Hmac<Sha512>>(key, body),
        }
    }

    /// Takes as long wherever the two differ.
    fn verify(self, key: &[u8], body: &[u8], claimed: &[u8]) -> bool {
        match self {
            Self::HmacSha1 => verify_mac::<Hmac<Sha1>>(key, body, claimed),
            Self::HmacSha224 => verify_mac::<Hmac<Sha224>>(key, body, claimed),
            Self::HmacSha256 => verify_mac::<Hmac<Sha256>>(key, body, claimed),
            Self::HmacSha384 => verify_mac::<Hmac<Sha384>>(key, body, claimed),
            Self::HmacSha512 => verify_mac::<Hmac<Sha512>>(key, body, claimed),
        }
    }
}

fn started<M: Mac + KeyInit>(key: &[u8], body: &[u8]) -> M {
    let mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.chain_update(body)
}

fn mac<M: Mac + KeyInit>(key: &[u8], body: &[u8]) -> Vec<u8> {
    started::<M>(key, body).finalize().into_bytes().to_vec()
}

fn verify_mac<M: Mac + KeyInit>(key: &[u8], body: &[u8], claimed: &[u8]) -> bool {
    started::<M>(key, body).verify_slice(claimed).is_ok()
}

/// Signs the body of a request to another worker.
pub fn sign(key: &SessionKey, algorithm: &str, body: &[u8]) -> Result<Signature, Unproven> {
    let known = Algorithm::from_name(algorithm).ok_or_else(|| Unproven::UnknownAlgorithm(algorithm.to_owned()))?;
    Ok(Signature { algorithm: algorithm.to_owned(), mac: STANDARD.encode(known.mac(&key.key.0, body)) })
}

/// Whether a request comes from a worker that can read the config topic.
pub fn verify(proof: &Proof, key: Option<&SessionKey>, accepted: &[String]) -> Result<(), Unproven> {
    let (Some(algorithm), Some(claimed)) = (&proof.algorithm, &proof.mac) else {
        return Err(Unproven::Unsigned);
    };
    let known = Algorithm::from_name(algorithm).ok_or_else(|| Unproven::UnknownAlgorithm(algorithm.clone()))?;
    let claimed = STANDARD.decode(claimed)?;
    if !accepted.contains(algorithm) {
        return Err(Unproven::NotAccepted { algorithm: algorithm.clone(), accepted: accepted.to_vec() });
    }
    let key = key.ok_or(Unproven::NoKey)?;
    if known.verify(&key.key.0, &proof.body, &claimed) { Ok(()) } else { Err(Unproven::Wrong) }
}

/// How many random bytes a new key takes.
pub fn key_size(settings: &KeySettings) -> usize {
    let suggested = || Algorithm::from_name(&settings.algorithm).map_or(32, Algorithm::key_size);
    settings.size.map_or_else(suggested, |bits| bits.div_ceil(8))
}

/// Whether a key is one that this worker would make.
pub fn suits(key: &SessionKey, settings: &KeySettings) -> bool {
    key.algorithm == settings.algorithm && key.key.0.len() == key_size(settings)
}

impl From<Unproven> for Refusal {
    fn from(unproven: Unproven) -> Self {
        let text = unproven.to_string();
        match unproven {
            Unproven::UnknownAlgorithm(_)
            | Unproven::NotBase64(_)
            | Unproven::Unsigned
            | Unproven::NotAccepted { .. } => Self::BadRequest(text),
            Unproven::NoKey => Self::Unavailable(text),
            Unproven::Wrong => Self::Forbidden(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Secret;
    use crate::vectors::load;

    fn key(bytes: &[u8]) -> SessionKey {
        SessionKey { key: Secret(bytes.to_vec()), algorithm: "HmacSHA256".to_owned(), created: 0 }
    }

    fn proof(algorithm: Option<&str>, mac: Option<&str>) -> Proof {
        Proof { algorithm: algorithm.map(str::to_owned), mac: mac.map(str::to_owned), body: b"body".to_vec() }
    }

    fn accepted() -> Vec<String> {
        vec!["HmacSHA256".to_owned(), "HmacSHA512".to_owned()]
    }

    #[test]
    fn requests_of_real_workers_are_signed_and_believed_alike() {
        let vectors = load("group-protocol.json");
        for vector in vectors["request_signatures"].as_array().unwrap() {
            let key = key(&STANDARD.decode(vector["session_key_base64"].as_str().unwrap()).unwrap());
            let body = vector["body"].as_str().unwrap().as_bytes();
            let header = |name: &str| vector["headers"][name].as_str().unwrap().to_owned();
            let (algorithm, mac) = (header("X-Connect-Request-Signature-Algorithm"), header("X-Connect-Authorization"));
            let signature = sign(&key, &algorithm, body).unwrap();
            assert_eq!(signature, Signature { algorithm: algorithm.clone(), mac: mac.clone() });
            let proof = Proof { algorithm: Some(algorithm), mac: Some(mac), body: body.to_vec() };
            assert_eq!(verify(&proof, Some(&key), &accepted()), Ok(()));
            let changed = Proof { body: [body, b" "].concat(), ..proof };
            assert_eq!(verify(&changed, Some(&key), &accepted()), Err(Unproven::Wrong));
        }
    }

    #[test]
    fn what_is_wrong_first_is_said_with_connects_status() {
        let refusal = |proof: Proof, key: Option<&SessionKey>| {
            let refusal = Refusal::from(verify(&proof, key, &accepted()).unwrap_err());
            format!("{} {refusal}", refusal.status())
        };
        let known = &key(b"k");
        assert_eq!(refusal(proof(Some("Foo"), Some("!")), None), "400 Algorithm Foo not available");
        assert!(refusal(proof(Some("HmacSHA1"), Some("!")), None).starts_with("400 The signature of the internal"));
        for missing in [proof(None, Some("!")), proof(Some("Foo"), None), Proof::default()] {
            assert_eq!(refusal(missing, None), "400 Internal request missing required signature");
        }
        let other = refusal(proof(Some("HmacSHA1"), Some("AAAA")), None);
        assert!(other.starts_with("400 This worker does not support the 'HmacSHA1' key signing algorithm"), "{other}");
        assert!(refusal(proof(Some("HmacSHA256"), Some("AAAA")), None).starts_with("503 "));
        let wrong = refusal(proof(Some("HmacSHA256"), Some("AAAA")), Some(known));
        assert_eq!(wrong, "403 Internal request contained invalid signature.");
    }

    #[test]
    fn every_algorithm_believes_its_own_signature_only() {
        let key = key(b"key");
        for algorithm in Algorithm::ALL {
            let Signature { algorithm, mac } = sign(&key, algorithm.name(), b"body").unwrap();
            let proof = proof(Some(&algorithm), Some(&mac));
            assert_eq!(verify(&proof, Some(&key), std::slice::from_ref(&algorithm)), Ok(()));
            let short = Proof { mac: Some(STANDARD.encode(&STANDARD.decode(&mac).unwrap()[1..])), ..proof };
            assert_eq!(verify(&short, Some(&key), &[algorithm]), Err(Unproven::Wrong));
        }
        // HMAC of `body` with the key `key`, as any other tool works it out.
        let known = "cLv2gZ0QN6qUyn5/U3y+ol/kkoM=";
        assert_eq!(sign(&key, "HmacSHA1", b"body").unwrap().mac, known);
    }

    #[test]
    fn a_key_has_the_size_that_is_set_in_bits_or_that_of_its_algorithm() {
        let settings = |algorithm: &str, size| KeySettings {
            algorithm: algorithm.to_owned(),
            size,
            ttl: 0,
            signature: String::new(),
            verification: Vec::new(),
        };
        assert_eq!(key_size(&settings("HmacSHA256", None)), 32);
        assert_eq!(key_size(&settings("HmacSHA512", None)), 64);
        assert_eq!(key_size(&settings("HmacSHA256", Some(129))), 17);
        assert!(suits(&key(&[0; 32]), &settings("HmacSHA256", None)));
        assert!(!suits(&key(&[0; 32]), &settings("HmacSHA512", Some(256))));
        assert!(!suits(&key(&[0; 16]), &settings("HmacSHA256", None)));
    }
}
