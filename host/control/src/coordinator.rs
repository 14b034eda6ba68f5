//! Which broker looks after a group or a transactional id.

use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::{FindCoordinatorRequest, FindCoordinatorResponse};
use kafka_protocol::protocol::StrBytes;

use crate::Error;
use crate::connection::{Address, Connection};

/// FindCoordinator for several keys at once (KIP-699).
const BATCHED: i16 = 4;

/// What a key names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyKind {
    Group = 0,
    Transaction = 1,
}

/// The coordinator of each key, in the order in which the broker answers. An old broker is asked once for each.
pub(crate) async fn find_coordinators(
    connection: &mut Connection,
    kind: KeyKind,
    keys: &[StrBytes],
    limit: Duration,
) -> Result<Vec<(StrBytes, Result<Address, Error>)>, Error> {
    let version = connection.version::<FindCoordinatorRequest>()?;
    let request = FindCoordinatorRequest::default();
    let request = if version >= 1 { request.with_key_type(kind as i8) } else { request };
    if version >= BATCHED {
        let answer = connection.call(&request.with_coordinator_keys(keys.to_vec()), limit).await?;
        return Ok(answer.coordinators.into_iter().map(|found| (found.key.clone(), address(found))).collect());
    }
    let mut all = Vec::new();
    for key in keys {
        let answer = connection.call(&request.clone().with_key(key.clone()), limit).await?;
        all.push((key.clone(), address(single(answer))));
    }
    Ok(all)
}

/// The answer's older form as the newer one.
fn single(answer: FindCoordinatorResponse) -> Coordinator {
    Coordinator::default()
        .with_host(answer.host)
        .with_port(answer.port)
        .with_error_code(answer.error_code)
        .with_error_message(answer.error_message)
}

fn address(found: Coordinator) -> Result<Address, Error> {
    let message = found.error_message.map(|text| text.to_string());
    if let Some(code) = ResponseError::try_from_code(found.error_code) {
        return Err(Error::refused("FindCoordinator", code, message));
    }
    match u16::try_from(found.port) {
        Ok(port) => Ok(Address { host: found.host.to_string(), port }),
        Err(_) => Err(Error::refused("FindCoordinator", ResponseError::CoordinatorNotAvailable, message)),
    }
}
