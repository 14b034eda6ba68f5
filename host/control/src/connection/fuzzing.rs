//! What brokers answer, as bytes. Only fuzzing and tests see this module.

use bytes::Bytes;
use kafka_protocol::messages::{
    ApiVersionsRequest, DescribeClusterRequest, FindCoordinatorRequest, HeartbeatRequest, InitProducerIdRequest,
    JoinGroupRequest, LeaveGroupRequest, ListOffsetsRequest, MetadataRequest, SaslAuthenticateRequest,
    SaslHandshakeRequest, SyncGroupRequest,
};
use kafka_protocol::protocol::Request;

use bulkhead_model::security::ScramHash;

use super::frame;
use super::scram::Scram;

/// A byte for the request that is answered or the login that goes on, one for the version of the answer, the answer.
pub fn answers(bytes: &[u8]) {
    let [which, version, answer @ ..] = bytes else { return };
    if *which == b's' {
        return login(*version, answer);
    }
    let version = i16::from(*version);
    let decoders = [
        decode::<ApiVersionsRequest>,
        decode::<DescribeClusterRequest>,
        decode::<FindCoordinatorRequest>,
        decode::<HeartbeatRequest>,
        decode::<InitProducerIdRequest>,
        decode::<JoinGroupRequest>,
        decode::<LeaveGroupRequest>,
        decode::<ListOffsetsRequest>,
        decode::<MetadataRequest>,
        decode::<SaslAuthenticateRequest>,
        decode::<SaslHandshakeRequest>,
        decode::<SyncGroupRequest>,
    ];
    decoders[usize::from(*which) % decoders.len()](version, Bytes::copy_from_slice(answer));
}

/// In any of the versions that are spoken.
fn decode<R: Request>(version: i16, answer: Bytes) {
    let versions = R::VERSIONS.max - R::VERSIONS.min + 1;
    let version = R::VERSIONS.min + version % versions;
    if let Ok(mut body) = frame::body::<R>(answer, version, 1) {
        let _ = frame::decode::<R>(&mut body, version);
    }
}

/// Challenge and signature, a line each.
fn login(hash: u8, messages: &[u8]) {
    let hash = if hash.is_multiple_of(2) { ScramHash::Sha256 } else { ScramHash::Sha512 };
    let mut scram = Scram::new(hash, "user", "password", "nonce".to_owned());
    let mut messages = messages.splitn(2, |byte| *byte == b'\n');
    let (challenge, signature) = (messages.next().unwrap_or_default(), messages.next().unwrap_or_default());
    if scram.answer(challenge).is_ok() {
        // Nobody finds the signature without the password.
        assert!(scram.verify(signature).is_err());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn inputs_that_are_kept_pass() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/corpus/kafka");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            println!("{}", path.display());
            super::answers(&std::fs::read(&path).unwrap());
        }
    }
}
