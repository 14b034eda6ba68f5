//! SCRAM (RFC 5802, RFC 7677), the client's side, without channel binding.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bulkhead_model::security::ScramHash;
use openssl::hash::{MessageDigest, hash};
use openssl::memcmp;
use openssl::pkcs5::pbkdf2_hmac;
use openssl::pkey::PKey;
use openssl::sign::Signer;

/// Below this many rounds a password can be guessed (RFC 7677); brokers refuse it too.
const MIN_ITERATIONS: usize = 4096;
/// Several times what brokers allow; more would only burn our time.
const MAX_ITERATIONS: usize = 1 << 17;

/// One login.
pub(super) struct Scram {
    digest: MessageDigest,
    password: String,
    nonce: String,
    /// Our first message without its header.
    bare: String,
    /// What the server has to prove that it knows.
    signature: Vec<u8>,
}

impl Scram {
    pub(super) fn nonce() -> Result<String, String> {
        let mut bytes = [0; 24];
        openssl::rand::rand_bytes(&mut bytes).map_err(|error| error.to_string())?;
        Ok(BASE64.encode(bytes))
    }

    pub(super) fn new(hash: ScramHash, username: &str, password: &str, nonce: String) -> Self {
        let digest = match hash {
            ScramHash::Sha256 => MessageDigest::sha256(),
            ScramHash::Sha512 => MessageDigest::sha512(),
        };
        let bare = format!("n={},r={nonce}", username.replace('=', "=3D").replace(',', "=2C"));
        Self { digest, password: password.to_owned(), nonce, bare, signature: Vec::new() }
    }

    pub(super) fn first(&self) -> Vec<u8> {
        format!("n,,{}", self.bare).into_bytes()
    }

    /// Answers the server's challenge with the proof that we know the password.
    pub(super) fn answer(&mut self, challenge: &[u8]) -> Result<Vec<u8>, String> {
        let challenge = std::str::from_utf8(challenge).map_err(|_| "the challenge is no text")?;
        let nonce = attribute(challenge, 'r')?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("the challenge is for someone else".to_owned());
        }
        let salt = BASE64.decode(attribute(challenge, 's')?).map_err(|_| "the salt can't be read")?;
        let iterations: usize = attribute(challenge, 'i')?.parse().map_err(|_| "the iterations are no number")?;
        if !(MIN_ITERATIONS..=MAX_ITERATIONS).contains(&iterations) {
            return Err(format!("{iterations} iterations, where {MIN_ITERATIONS} to {MAX_ITERATIONS} are taken"));
        }
        let without_proof = format!("c=biws,r={nonce}");
        let signed = format!("{},{challenge},{without_proof}", self.bare);
        let proof = self.prove(&salt, iterations, &signed).map_err(|error| error.to_string())?;
        Ok(format!("{without_proof},p={}", BASE64.encode(proof)).into_bytes())
    }

    fn prove(&mut self, salt: &[u8], iterations: usize, signed: &str) -> Result<Vec<u8>, openssl::error::ErrorStack> {
        let mut salted = vec![0; self.digest.size()];
        pbkdf2_hmac(self.password.as_bytes(), salt, iterations, self.digest, &mut salted)?;
        let client_key = self.hmac(&salted, b"Client Key")?;
        let stored_key = hash(self.digest, &client_key)?;
        let client_signature = self.hmac(&stored_key, signed.as_bytes())?;
        let server_key = self.hmac(&salted, b"Server Key")?;
        self.signature = self.hmac(&server_key, signed.as_bytes())?;
        Ok(client_key.iter().zip(client_signature).map(|(key, signature)| key ^ signature).collect())
    }

    fn hmac(&self, key: &[u8], data: &[u8]) -> Result<Vec<u8>, openssl::error::ErrorStack> {
        let key = PKey::hmac(key)?;
        let mut signer = Signer::new(self.digest, &key)?;
        signer.update(data)?;
        signer.sign_to_vec()
    }

    /// Whether the server knows the password too.
    pub(super) fn verify(&self, last: &[u8]) -> Result<(), String> {
        let last = std::str::from_utf8(last).map_err(|_| "the last message is no text")?;
        if let Ok(problem) = attribute(last, 'e') {
            return Err(problem.to_owned());
        }
        let signature = BASE64.decode(attribute(last, 'v')?).map_err(|_| "the server's signature can't be read")?;
        if signature.len() != self.signature.len() || !memcmp::eq(&signature, &self.signature) {
            return Err("the server doesn't know the password: its signature is wrong".to_owned());
        }
        Ok(())
    }
}

fn attribute(message: &str, name: char) -> Result<&str, String> {
    let found = message.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    found.ok_or_else(|| format!("`{name}=` is missing in the server's message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7677, section 3.
    fn example() -> Scram {
        Scram::new(ScramHash::Sha256, "user", "pencil", "rOprNGfwEbeRWgbNEkqO".to_owned())
    }

    const CHALLENGE: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    #[test]
    fn the_example_of_rfc_7677_is_followed() {
        let mut scram = example();
        assert_eq!(scram.first(), b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let answer = scram.answer(CHALLENGE.as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8(answer).unwrap(),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        scram.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").unwrap();
    }

    #[test]
    fn a_server_that_does_not_know_the_password_is_found_out() {
        let mut scram = example();
        scram.answer(CHALLENGE.as_bytes()).unwrap();
        let wrong = scram.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=").unwrap_err();
        assert!(wrong.contains("signature"), "{wrong}");
        assert!(scram.verify(b"v=").unwrap_err().contains("its signature is wrong"));
        assert_eq!(scram.verify(b"e=unknown-user").unwrap_err(), "unknown-user");
    }

    #[test]
    fn challenges_that_are_not_right_are_refused() {
        for (challenge, problem) in [
            ("r=someone-else,s=W22Z,i=4096", "the challenge is for someone else"),
            ("r=rOprNGfwEbeRWgbNEkqO,s=W22Z,i=4096", "the challenge is for someone else"),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=1", "1 iterations, where 4096 to 131072 are taken"),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=99999999", "99999999 iterations, where 4096 to 131072 are taken"),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=!,i=4096", "the salt can't be read"),
            ("r=rOprNGfwEbeRWgbNEkqOx,i=4096", "`s=` is missing in the server's message"),
        ] {
            assert_eq!(example().answer(challenge.as_bytes()).unwrap_err(), problem);
        }
    }

    #[test]
    fn names_are_escaped() {
        let scram = Scram::new(ScramHash::Sha512, "a=b,c", "", "n".to_owned());
        assert_eq!(scram.first(), b"n,,n=a=3Db=2Cc,r=n");
    }
}
