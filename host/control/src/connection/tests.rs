//! A broker at the other end of a pipe.

use bytes::{Buf, BufMut, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{ApiKey, ApiVersionsResponse, HeartbeatRequest, HeartbeatResponse};
use kafka_protocol::protocol::{Encodable, Message, VersionRange};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

const LIMIT: Duration = Duration::from_secs(5);

/// A connection, and the broker's end of it.
fn pair() -> (Connection, Broker) {
    let (ours, theirs) = duplex(1 << 16);
    (Connection::new(Box::new(ours), "broker:9092".to_owned(), "me"), Broker(theirs))
}

struct Broker(DuplexStream);

impl Broker {
    /// Key, version and correlation number of the next request.
    async fn asked(&mut self) -> (i16, i16, i32) {
        let length = self.0.read_u32().await.unwrap();
        let mut frame = vec![0; length as usize];
        self.0.read_exact(&mut frame).await.unwrap();
        let mut frame = frame.as_slice();
        (frame.get_i16(), frame.get_i16(), frame.get_i32())
    }

    async fn answer(&mut self, correlation: i32, with_tags: bool, body: &impl Encodable, version: i16) {
        let mut frame = BytesMut::new();
        frame.put_i32(correlation);
        if with_tags {
            frame.put_u8(0);
        }
        body.encode(&mut frame, version).unwrap();
        self.0.write_u32(u32::try_from(frame.len()).unwrap()).await.unwrap();
        self.0.write_all(&frame).await.unwrap();
    }

    /// Offers heartbeats up to this version.
    async fn offer(&mut self, max_version: i16) {
        let (key, version, correlation) = self.asked().await;
        assert_eq!((key, version), (ApiKey::ApiVersions as i16, 3));
        let heartbeat = ApiVersion::default().with_api_key(ApiKey::Heartbeat as i16).with_max_version(max_version);
        let body = ApiVersionsResponse::default().with_api_keys(vec![heartbeat]);
        self.answer(correlation, false, &body, 3).await;
    }
}

#[tokio::test]
async fn the_newest_common_version_is_spoken() {
    for (theirs, spoken) in [(2, 2), (9, HeartbeatRequest::VERSIONS.max)] {
        let (mut connection, mut broker) = pair();
        let serve = async {
            broker.offer(theirs).await;
            let (key, version, correlation) = broker.asked().await;
            assert_eq!((key, version), (ApiKey::Heartbeat as i16, spoken));
            broker.answer(correlation, version >= 4, &HeartbeatResponse::default().with_error_code(27), version).await;
        };
        let ask = async {
            versions::negotiate(&mut connection, LIMIT).await.unwrap();
            connection.call(&HeartbeatRequest::default(), LIMIT).await.unwrap()
        };
        let (answer, ()) = tokio::join!(ask, serve);
        assert_eq!(answer.error_code, 27);
    }
}

#[tokio::test]
async fn a_broker_that_is_too_old_for_the_question_is_asked_in_the_oldest_form() {
    let (mut connection, mut broker) = pair();
    let serve = async {
        let (_, version, correlation) = broker.asked().await;
        assert_eq!(version, 3);
        broker.answer(correlation, false, &ApiVersionsResponse::default().with_error_code(35), 0).await;
        let (_, version, correlation) = broker.asked().await;
        assert_eq!(version, 0);
        broker.answer(correlation, false, &ApiVersionsResponse::default(), 0).await;
    };
    let (outcome, ()) = tokio::join!(versions::negotiate(&mut connection, LIMIT), serve);
    outcome.unwrap();
    let range: VersionRange = HeartbeatRequest::VERSIONS;
    assert_eq!(
        connection.version::<HeartbeatRequest>().unwrap_err().to_string(),
        format!("broker:9092 doesn't offer a version of Heartbeat that is known here (it has none, known are {range})")
    );
}

#[tokio::test]
async fn what_is_not_kafka_is_told_from_it() {
    let (mut connection, mut broker) = pair();
    let serve = async {
        broker.asked().await;
        broker.0.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    };
    let (outcome, ()) = tokio::join!(versions::negotiate(&mut connection, LIMIT), serve);
    assert!(outcome.unwrap_err().explain().ends_with("is this a Kafka broker?"));
}

#[tokio::test]
async fn answers_to_something_else_and_garbage_are_refused() {
    for (shift, told) in [(1, "the answer to request 2, where 1 was asked"), (0, "can't be read")] {
        let (mut connection, mut broker) = pair();
        let serve = async {
            let (_, _, correlation) = broker.asked().await;
            broker.0.write_all(&[0, 0, 0, 5]).await.unwrap();
            broker.0.write_i32(correlation + shift).await.unwrap();
            broker.0.write_all(&[7]).await.unwrap();
        };
        let (outcome, ()) = tokio::join!(versions::negotiate(&mut connection, LIMIT), serve);
        let error = outcome.unwrap_err().explain();
        assert!(error.contains(told), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_does_not_answer_is_not_waited_for() {
    let (mut connection, broker) = pair();
    let error = versions::negotiate(&mut connection, LIMIT).await.unwrap_err();
    assert_eq!(error.to_string(), "broker:9092 didn't answer ApiVersions within 5s");
    drop(broker);
    let error = versions::negotiate(&mut connection, LIMIT).await.unwrap_err();
    assert_eq!(error.to_string(), "the connection to broker:9092 is lost");
}
