//! A client for HTTP/1.1 that sends paths and bodies exactly as they are given.
//!
//! Common clients clean a path before they send it; here it is part of what is tested.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::bail;
use serde_json::Value;

/// Longer than the 90 s after which a worker itself gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// The worker under test.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    /// `host:port`
    address: String,
}

/// One request.
#[derive(Debug, Default)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

/// What came back. Status 0 stands for no HTTP answer at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) text: String,
    /// None if the text isn't JSON.
    pub(crate) body: Option<Value>,
}

impl Worker {
    /// By its base URL, `http://host:port`.
    pub(crate) fn at(url: &str) -> anyhow::Result<Self> {
        let Some(authority) = url.strip_prefix("http://") else { bail!("`{url}` doesn't begin with http://") };
        let authority = authority.trim_end_matches('/');
        let address = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
        Ok(Self { address })
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(&Request { method: "GET", path, ..Request::default() })
    }

    /// Sends a request on a connection of its own.
    pub(crate) fn send(&self, request: &Request<'_>) -> Answer {
        self.exchange(request).ok().and_then(|bytes| Answer::parse(&bytes)).unwrap_or_default()
    }

    fn exchange(&self, request: &Request<'_>) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(&self.encode(request))?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn encode(&self, request: &Request<'_>) -> Vec<u8> {
        let Request { method, path, headers, body } = request;
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let takes_body = matches!(*method, "POST" | "PUT" | "PATCH");
        if takes_body || body.is_some() {
            head += &format!("Content-Length: {}\r\n", body.as_ref().map_or(0, Vec::len));
        }
        [(head + "\r\n").as_bytes(), body.as_deref().unwrap_or_default()].concat()
    }
}

impl Answer {
    /// Takes all that came before the connection was closed.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        if (100..200).contains(&status) {
            return Self::parse(&bytes[end + 4..]);
        }
        let header =
            |line: &str| line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
        let headers: Vec<_> = lines.filter_map(header).collect();
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = &bytes[end + 4..];
        let body = if chunked { joined(body) } else { body.to_vec() };
        let text = String::from_utf8_lossy(&body).into_owned();
        Some(Self { status, headers, body: serde_json::from_str(&text).ok(), text })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().rfind(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The message of an error, or nothing.
    pub(crate) fn message(&self) -> &str {
        self.body.as_ref().and_then(|body| body.get("message")?.as_str()).unwrap_or_default()
    }
}

/// Joins chunks; what is incomplete at the end is left out.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(chunk) = next_chunk(&mut chunks) {
        body.extend_from_slice(chunk);
    }
    body
}

fn next_chunk<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.windows(2).position(|window| window == b"\r\n")?;
    let size = std::str::from_utf8(&rest[..end]).ok()?.split(';').next()?;
    let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
    let (chunk, after) = rest[end + 2..].split_at_checked(size)?;
    *rest = after.get(2..)?;
    Some(chunk)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn a_request_is_sent_as_given_and_the_answer_read_to_its_end() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let worker = Worker::at(&format!("http://{}/", server.local_addr().unwrap())).unwrap();
        let answering = thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            let mut request = [0; 1024];
            let read = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.1 201 Created\r\nALLOW: GET\r\nContent-Length: 2\r\n\r\n{}").unwrap();
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        let headers = vec![("X".to_owned(), "y".to_owned())];
        let answer = worker.send(&Request { method: "PUT", path: "/a%zz//..", headers, body: None });
        assert_eq!((answer.status, answer.header("allow"), answer.text.as_str()), (201, Some("GET"), "{}"));
        let request = answering.join().unwrap();
        assert!(request.starts_with("PUT /a%zz//.. HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
        assert!(request.ends_with("Connection: close\r\nX: y\r\nContent-Length: 0\r\n\r\n"), "{request}");
    }

    #[test]
    fn chunks_are_joined_and_interim_answers_skipped() {
        let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
            3\r\n[1,\r\n2;x=y\r\n2]\r\n0\r\n\r\n";
        let answer = Answer::parse(bytes).unwrap();
        assert_eq!((answer.status, answer.text.as_str()), (200, "[1,2]"));
        assert_eq!(answer.body, Some(serde_json::json!([1, 2])));
    }

    #[test]
    fn no_answer_at_all_is_status_0() {
        let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(Worker::at(&format!("http://{unused}")).unwrap().get("/"), Answer::default());
    }
}
