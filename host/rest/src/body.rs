//! Bodies of requests: JSON, read so that numbers keep their digits and mistakes are named.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::header;
use bulkhead_model::{ConfigPatch, RawConfig};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::error::Error;
use crate::forward::ReadBody;
use crate::negotiation::JSON;

/// Largest body. A configuration has to fit into one record of the config topic, which is 1 MB unless the
/// broker was told otherwise; this leaves room for that, and keeps a client from filling the memory.
pub(crate) const MAX_BODY: usize = 8 * 1024 * 1024;

/// Largest body of task configurations, each of which is a record of its own in the config topic.
pub(crate) const MAX_LARGE_BODY: usize = 64 * 1024 * 1024;

/// How much of a body is taken in at most, kept or not.
const MAX_DISCARDED: usize = 2 * MAX_LARGE_BODY;

/// Time in which a body has to arrive, so that slow clients don't pile up.
const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// A body that was declared as JSON; whether it is shows when it is read.
pub(crate) struct Body(Bytes);

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let declared = request.headers().contains_key(header::CONTENT_TYPE);
        let bytes = bytes(request, MAX_BODY).await?;
        if !declared && !bytes.is_empty() {
            return Err(Error::MissingMediaType { wanted: JSON });
        }
        Ok(Self(bytes))
    }
}

/// A body of whatever type, of up to [`MAX_LARGE_BODY`].
pub(crate) struct LargeBody(pub(crate) Body);

impl<S: Send + Sync> FromRequest<S> for LargeBody {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        bytes(request, MAX_LARGE_BODY).await.map(|bytes| Self(Body(bytes)))
    }
}

/// Reads a whole body. What is beyond the limit is read too, though not kept: whoever is cut off while it
/// still sends sees a broken connection and no answer.
async fn bytes(request: Request, limit: usize) -> Result<Bytes, Error> {
    let kept = request.extensions().get::<ReadBody>().cloned().unwrap_or_default();
    let asks_first = request.headers().contains_key(header::EXPECT);
    let mut body = request.into_body();
    let declared = body.size_hint().lower();
    let too_large = || Error::BodyTooLarge { limit: limit as u64 };
    if asks_first && declared > limit as u64 {
        return Err(too_large());
    }
    let read = timeout(BODY_DEADLINE, read(&mut body, limit)).await;
    let read = read.map_err(|_| Error::BodyTooSlow { seconds: BODY_DEADLINE.as_secs() })?;
    let bytes = read.map_err(|error| Error::bad_request(format!("the body could not be read: {error}")))?;
    let bytes = bytes.ok_or_else(too_large)?;
    Ok(kept.0.get_or_init(|| bytes).clone())
}

/// A body that is taken piece by piece.
pub(crate) struct Pieces {
    body: axum::body::Body,
    /// The client waits for leave to send it.
    asks_first: bool,
}

impl Pieces {
    pub(crate) fn of(request: Request) -> Self {
        let asks_first = request.headers().contains_key(header::EXPECT);
        Self { body: request.into_body(), asks_first }
    }

    /// How long it is at least.
    pub(crate) fn declared(&self) -> u64 {
        self.body.size_hint().lower()
    }

    /// None at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let read = timeout(BODY_DEADLINE, data(&mut self.body)).await;
        let read = read.map_err(|_| Error::BodyTooSlow { seconds: BODY_DEADLINE.as_secs() })?;
        read.map_err(|error| Error::bad_request(format!("the body could not be read: {error}")))
    }

    /// Takes in the rest of a body that is refused, as far as it comes soon, so that the client sees the answer.
    pub(crate) async fn discard(mut self) {
        if !self.asks_first {
            let _ = timeout(BODY_DEADLINE, read(&mut self.body, 0)).await;
        }
    }
}

/// None if there is more than the limit.
async fn read(body: &mut axum::body::Body, limit: usize) -> Result<Option<Bytes>, axum::Error> {
    let (mut bytes, mut length) = (Vec::new(), 0_usize);
    while let Some(data) = data(body).await? {
        length = length.saturating_add(data.len());
        if length > MAX_DISCARDED {
            return Ok(None);
        }
        if length <= limit {
            bytes.extend_from_slice(&data);
        } else {
            bytes = Vec::new();
        }
    }
    Ok((length <= limit).then(|| bytes.into()))
}

/// The next piece; none at the end.
async fn data(body: &mut axum::body::Body) -> Result<Option<Bytes>, axum::Error> {
    while let Some(frame) = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
        if let Ok(data) = frame?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

impl Body {
    /// The one JSON value that the body is.
    pub(crate) fn json(&self) -> Result<Piece<'_>, Error> {
        let text = self.0.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&self.0);
        if text.trim_ascii().is_empty() {
            return Err(Error::bad_request("the body is empty; it must be JSON"));
        }
        let text = std::str::from_utf8(text).map_err(|error| {
            Error::bad_request(format!("the body is no UTF-8 from byte {} on; send JSON in UTF-8", error.valid_up_to()))
        })?;
        serde_json::from_str(text)
            .map(|raw| Piece { place: "the body".to_owned(), raw })
            .map_err(|error| Error::bad_request(format!("the body is no valid JSON: {error}")))
    }

    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.0.into()
    }

    /// How many members and items the body has at most, all levels together; from the bytes alone, so that
    /// it costs no memory to know.
    pub(crate) fn items(&self) -> usize {
        let (mut commas, mut in_text, mut escaped) = (0, false, false);
        for byte in self.0.iter() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = in_text,
                b'"' => in_text = !in_text,
                b',' if !in_text => commas += 1,
                _ => {}
            }
        }
        commas + 1
    }

    /// The body as a configuration.
    pub(crate) fn config(&self) -> Result<ConfigPatch, Error> {
        self.json()?.config()
    }
}

/// A piece of JSON that is syntactically right, and where it stands.
pub(crate) struct Piece<'a> {
    place: String,
    raw: &'a RawValue,
}

/// The members of an object that were not taken yet; of a repeated one, the last.
pub(crate) struct Members<'a> {
    place: String,
    rest: IndexMap<String, &'a RawValue>,
}

impl<'a> Piece<'a> {
    pub(crate) fn is_null(&self) -> bool {
        self.raw.get() == "null"
    }

    /// None for `null`.
    pub(crate) fn or_null(self) -> Option<Self> {
        (!self.is_null()).then_some(self)
    }

    pub(crate) fn object(self) -> Result<Members<'a>, Error> {
        let rest = self.read("an object")?;
        Ok(Members { place: self.place, rest })
    }

    pub(crate) fn list(self) -> Result<Vec<Piece<'a>>, Error> {
        let items: Vec<&RawValue> = self.read("a list")?;
        let item = |(index, raw)| Piece { place: format!("item {index} of {}", self.place), raw };
        Ok(items.into_iter().enumerate().map(item).collect())
    }

    /// An object as ordinary JSON.
    pub(crate) fn plain_object(self) -> Result<serde_json::Map<String, serde_json::Value>, Error> {
        self.read("an object")
    }

    /// A text; numbers and booleans are taken as they are written (`1.50` stays `1.50`). None for `null`.
    pub(crate) fn text(self) -> Result<Option<String>, Error> {
        match self.raw.get().as_bytes().first() {
            Some(b'"') => self.read("a text").map(Some),
            Some(b'n') => Ok(None),
            Some(b'{' | b'[') => Err(self.mismatch("a text, a number or a boolean")),
            _ => Ok(Some(self.raw.get().to_owned())),
        }
    }

    /// An object of texts. A key that says `null` is kept, without a text.
    pub(crate) fn config(self) -> Result<ConfigPatch, Error> {
        let members = self.object()?;
        let place = members.place;
        let entry = |(key, raw)| {
            let value = Piece { place: format!("`{key}` in {place}"), raw };
            Ok((key, value.text()?))
        };
        members.rest.into_iter().map(entry).collect()
    }

    /// An object of texts, all of which are there.
    pub(crate) fn raw_config(self) -> Result<RawConfig, Error> {
        let place = self.place.clone();
        let present = |(key, value): (String, Option<String>)| match value {
            Some(value) => Ok((key, value)),
            None => Err(Error::bad_request(format!("`{key}` in {place} is null, but must be a text"))),
        };
        self.config()?.into_iter().map(present).collect()
    }

    fn read<T: Deserialize<'a>>(&self, wanted: &str) -> Result<T, Error> {
        let shaped_so = self.shape() == wanted;
        serde_json::from_str(self.raw.get()).map_err(|error| match shaped_so {
            true => Error::bad_request(format!("{} can't be read: {error}", self.place)),
            false => self.mismatch(wanted),
        })
    }

    pub(crate) fn mismatch(&self, wanted: &str) -> Error {
        Error::bad_request(format!("{} is {}, but must be {wanted}", self.place, self.shape()))
    }

    fn shape(&self) -> &'static str {
        match self.raw.get().as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b'"') => "a text",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }
}

impl<'a> Members<'a> {
    /// Takes a member out; one that is `null` is as good as absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<Piece<'a>> {
        let raw = self.rest.swap_remove(name)?;
        Piece { place: format!("`{name}` in {}", self.place), raw }.or_null()
    }

    /// Refuses members that nobody took.
    pub(crate) fn finish(self, known: &str) -> Result<(), Error> {
        match self.rest.keys().next() {
            Some(unknown) => {
                Err(Error::bad_request(format!("{} has the unknown member `{unknown}`; known are {known}", self.place)))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::testing::Client;

    fn body(text: &str) -> Body {
        Body(Bytes::copy_from_slice(text.as_bytes()))
    }

    fn check(text: &str, expected: &str) {
        let read = match body(text).config() {
            Ok(config) => config.iter().map(|(key, value)| format!("{key}={value:?};")).collect(),
            Err(error) => error.to_string(),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn scalars_become_texts_as_they_are_written() {
        check(
            r#"{"a": 1.50, "b": 1e3, "c": 123456789012345678901234567890, "d": true, "e": "x", "f": null}"#,
            r#"a=Some("1.50");b=Some("1e3");c=Some("123456789012345678901234567890");d=Some("true");e=Some("x");f=None;"#,
        );
    }

    #[test]
    fn the_last_of_repeated_keys_wins_and_a_byte_order_mark_is_skipped() {
        check("\u{FEFF}{\"a\": \"1\", \"b\": \"2\", \"a\": \"3\"}", r#"a=Some("3");b=Some("2");"#);
    }

    #[test]
    fn mistakes_are_named() {
        check("", "the body is empty; it must be JSON");
        check("null", "the body is null, but must be an object");
        check("[]", "the body is a list, but must be an object");
        check("{} x", "the body is no valid JSON: trailing characters at line 1 column 4");
        check("{'a': 1}", "the body is no valid JSON: key must be a string at line 1 column 2");
        check(r#"{"a": NaN}"#, "the body is no valid JSON: expected value at line 1 column 7");
        check(r#"{"a": {}}"#, "`a` in the body is an object, but must be a text, a number or a boolean");
        check(r#"{"a": "\ud800"}"#, "`a` in the body can't be read: unexpected end of hex escape at line 1 column 8");
    }

    #[test]
    fn items_are_counted_without_those_inside_texts() {
        for (text, items) in [("[]", 1), ("[1,2]", 2), (r#"{"a,\",": "b,", "c": "\\", "d": ","}"#, 3), ("\\,,", 3)] {
            assert_eq!(body(text).items(), items, "{text}");
        }
    }

    #[test]
    fn hostile_bodies_are_refused_without_harm() {
        let deep = "[".repeat(100_000);
        for text in [deep.as_str(), &format!("{{\"a\":{deep}"), "{\"a\":\"\\", "\u{0}", "{\"\\ud800\": 1}"] {
            assert!(body(text).config().is_err());
        }
    }

    #[tokio::test]
    async fn who_sends_too_much_without_listening_gets_the_answer_all_the_same() {
        let url = Client::new().listen().await;
        let mut socket = TcpStream::connect(url.trim_start_matches("http://").trim_end_matches('/')).await.unwrap();
        let too_much = 3 * MAX_BODY;
        let head = "PUT /connectors/a/config HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n";
        socket.write_all(format!("{head}Content-Length: {too_much}\r\n\r\n").as_bytes()).await.unwrap();
        socket.write_all(&vec![b' '; too_much]).await.unwrap();
        let mut answer = [0; 1024];
        let length = socket.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..length]);
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.ends_with("a request may have\"}"), "{answer}");
    }

    #[test]
    fn another_encoding_than_utf_8_is_named() {
        let error = Body(Bytes::from_static(b"{\"a\": \"\xff\"}")).config().unwrap_err();
        assert_eq!(error.to_string(), "the body is no UTF-8 from byte 7 on; send JSON in UTF-8");
    }
}
