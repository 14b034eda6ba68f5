//! Kafka's framing: a length, a header with a correlation number, a message.

use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::shape::Shape;

/// Largest answer that is read. Groups of thousands of members stay far below; what isn't Kafka at all (an HTTP
/// server's text, read as a length) is far above.
const MAX_FRAME: u32 = 64 << 20;

/// The whole frame of a request.
pub(super) fn encode<R: Request>(
    request: &R,
    version: i16,
    correlation: i32,
    client_id: &StrBytes,
) -> Result<Bytes, String> {
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation)
        .with_client_id(Some(client_id.clone()));
    let mut frame = BytesMut::new();
    frame.put_u32(0);
    header.encode(&mut frame, R::header_version(version)).map_err(|error| error.to_string())?;
    request.encode(&mut frame, version).map_err(|error| error.to_string())?;
    let length = u32::try_from(frame.len() - 4).map_err(|_| "the request is too long".to_owned())?;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    Ok(frame.freeze())
}

/// Writes one frame and reads one; memory is taken as bytes arrive, not as they are announced.
pub(super) async fn exchange(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), frame: &[u8]) -> io::Result<Bytes> {
    stream.write_all(frame).await?;
    stream.flush().await?;
    let length = stream.read_u32().await?;
    if length > MAX_FRAME {
        let problem =
            format!("an answer of {length} bytes, where at most {MAX_FRAME} are read; is this a Kafka broker?");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    let mut answer = Vec::new();
    stream.take(u64::from(length)).read_to_end(&mut answer).await?;
    if answer.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(answer.into())
}

/// Takes the header off an answer; the answer has to be for the request `correlation`.
pub(super) fn body<R: Request>(mut answer: Bytes, version: i16, correlation: i32) -> Result<Bytes, String> {
    let header_version = R::Response::header_version(version);
    let header = ResponseHeader::decode(&mut answer, header_version).map_err(|error| error.to_string())?;
    if header.correlation_id != correlation {
        return Err(format!("the answer to request {}, where {correlation} was asked", header.correlation_id));
    }
    Ok(answer)
}

pub(super) fn decode<R: Request>(body: &mut Bytes, version: i16) -> Result<R::Response, String> {
    if let Some(shape) = Shape::of_answer(R::KEY) {
        shape.check(body, version)?;
    }
    R::Response::decode(body, version).map_err(|error| error.to_string())
}
