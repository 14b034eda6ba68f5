//! Which version of each request both sides know (KIP-35, KIP-511).

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::{Message, Request, StrBytes, VersionRange};

use super::{Connection, frame};
use crate::Error;

/// First version whose request tells the client's name.
const NAMED: i16 = 3;

/// What a broker offers, by the key of the request.
#[derive(Debug, Default)]
pub(super) struct Versions(BTreeMap<i16, VersionRange>);

impl Versions {
    pub(super) fn choose<R: Request>(&self, address: &str) -> Result<i16, Error> {
        let known = R::VERSIONS;
        let offered = self.0.get(&R::KEY);
        match offered.map(|offered| offered.intersect(&known)) {
            Some(common) if !common.is_empty() => Ok(common.max),
            Some(_) | None => Err(Error::Unsupported {
                address: address.to_owned(),
                what: name(R::KEY),
                offered: offered.map_or("none".to_owned(), VersionRange::to_string),
                known: known.to_string(),
            }),
        }
    }
}

/// Asks the broker what it offers; one that doesn't know this version of the question answers in the oldest form.
pub(super) async fn negotiate(connection: &mut Connection, limit: Duration) -> Result<(), Error> {
    let request = ApiVersionsRequest::default()
        .with_client_software_name(StrBytes::from_static_str("bulkhead"))
        .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
    let mut answer = ask(connection, &request, NAMED, limit).await?;
    if answer.error_code == ResponseError::UnsupportedVersion.code() {
        answer = ask(connection, &ApiVersionsRequest::default(), 0, limit).await?;
    }
    if let Some(code) = ResponseError::try_from_code(answer.error_code) {
        return Err(Error::Refused { what: "asking for the offered versions".to_owned(), code, message: None });
    }
    let range = |min, max| VersionRange { min, max };
    let offered = answer.api_keys.iter().map(|api| (api.api_key, range(api.min_version, api.max_version)));
    connection.versions = Versions(offered.collect());
    Ok(())
}

async fn ask(
    connection: &mut Connection,
    request: &ApiVersionsRequest,
    version: i16,
    limit: Duration,
) -> Result<ApiVersionsResponse, Error> {
    let mut body = connection.exchange(request, version, limit).await?;
    let refused = body.starts_with(&ResponseError::UnsupportedVersion.code().to_be_bytes());
    let form = if refused { 0 } else { version };
    frame::decode::<ApiVersionsRequest>(&mut body, form).map_err(|problem| connection.malformed(problem))
}

/// For messages.
pub(super) fn name(key: i16) -> &'static str {
    match ApiKey::try_from(key) {
        Ok(ApiKey::ApiVersions) => "ApiVersions",
        Ok(ApiKey::SaslHandshake) => "SaslHandshake",
        Ok(ApiKey::SaslAuthenticate) => "SaslAuthenticate",
        Ok(ApiKey::FindCoordinator) => "FindCoordinator",
        Ok(ApiKey::JoinGroup) => "JoinGroup",
        Ok(ApiKey::SyncGroup) => "SyncGroup",
        Ok(ApiKey::Heartbeat) => "Heartbeat",
        Ok(ApiKey::LeaveGroup) => "LeaveGroup",
        Ok(ApiKey::ListOffsets) => "ListOffsets",
        Ok(ApiKey::Metadata) => "Metadata",
        Ok(ApiKey::InitProducerId) => "InitProducerId",
        Ok(ApiKey::DescribeCluster) => "DescribeCluster",
        Ok(_) | Err(_) => "a request",
    }
}

const _: () = assert!(ApiVersionsRequest::VERSIONS.max >= NAMED, "the message library knows the version used here");
