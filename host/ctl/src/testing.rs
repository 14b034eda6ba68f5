//! A worker that answers what it is told to, and the command line as a person types it.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;

use clap::{Args, FromArgMatches};

use crate::arguments::Ctl;
use crate::terminal::Terminal;
use crate::{Host, run_on};

/// Answers its requests in order and keeps them.
pub struct Worker {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

struct Seen {
    head: String,
    body: String,
}

pub struct Reply {
    status: u16,
    headers: String,
    body: String,
}

impl Reply {
    pub fn new(status: u16, body: &str) -> Self {
        Self { status, headers: String::new(), body: body.to_owned() }
    }

    pub fn with(mut self, header: &str, value: &str) -> Self {
        self.headers += &format!("{header}: {value}\r\n");
        self
    }

    /// Whatever was asked once there are no more replies.
    fn none_left() -> Self {
        Self::new(418, r#"{"error_code": 418, "message": "nothing more was expected"}"#)
    }
}

impl Worker {
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies: VecDeque<_> = replies.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                kept.lock().unwrap().push(receive(&stream));
                let Reply { status, headers, body } = replies.pop_front().unwrap_or_else(Reply::none_left);
                let length = body.len();
                let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n");
                write!(stream, "{head}\r\n{body}").unwrap();
            }
        });
        Self { url, seen }
    }

    /// Runs `bulkhead ctl` with these arguments, in which blanks stand between words. Standard output, standard error
    /// and, unless it is 0, the exit code.
    pub fn run(&self, arguments: &str) -> String {
        let words: Vec<_> = arguments.split(' ').collect();
        self.run_words(&words)
    }

    pub fn run_words(&self, words: &[&str]) -> String {
        let mut all = vec!["bulkhead", "--url", &self.url];
        // The last of equal options counts.
        let own_url = words.contains(&"--url");
        all.truncate(if own_url { 1 } else { 3 });
        all.extend(words);
        let matches = match host().command.try_get_matches_from(all) {
            Ok(matches) => matches,
            Err(error) => return format!("{}{}", error.to_string().lines().next().unwrap(), error.exit_code()),
        };
        let arguments = Ctl::from_arg_matches(&matches).unwrap();
        let (mut out, mut notes) = (Vec::new(), Vec::new());
        let code = run_on(&mut Terminal::new(arguments.options.json, &mut out, &mut notes), arguments, host());
        let code = [(ExitCode::SUCCESS, ""), (ExitCode::FAILURE, "1"), (ExitCode::from(2), "2")]
            .iter()
            .find(|(known, _)| *known == code)
            .unwrap()
            .1;
        String::from_utf8([out, notes].concat()).unwrap() + code
    }

    /// E.g. `PUT /connectors/a/pause`, with the body behind it if there is one.
    pub fn requests(&self) -> Vec<String> {
        let line = |seen: &Seen| {
            let line = seen.head.lines().next().unwrap().trim_end_matches(" HTTP/1.1");
            format!("{line} {}", seen.body).trim_end().to_owned()
        };
        self.seen.lock().unwrap().iter().map(line).collect()
    }

    pub fn heads(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|seen| seen.head.clone()).collect()
    }
}

fn receive(stream: &TcpStream) -> Seen {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "the request is cut short");
    }
    let lowered = head.to_lowercase();
    let length = lowered.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Seen { head, body: String::from_utf8(body).unwrap() }
}

/// Properties are lines of `key=value`.
pub fn host() -> Host {
    Host { command: Ctl::augment_args(clap::Command::new("bulkhead")), properties }
}

fn properties(bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    let pair = |(number, line): (usize, &str)| match line.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        Some(_) | None => Err(format!("line {}: no key", number + 1)),
    };
    String::from_utf8_lossy(bytes).lines().enumerate().map(pair).collect()
}

/// A file with this text.
pub fn written(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    file
}

/// Connector `a` and so many tasks, all in one state.
pub fn status(state: &str, tasks: u32) -> Reply {
    let state = format!(r#""state": "{state}", "worker_id": "w:1""#);
    let tasks: Vec<_> = (0..tasks).map(|id| format!(r#"{{"id": {id}, {state}}}"#)).collect();
    let tasks = tasks.join(",");
    Reply::new(200, &format!(r#"{{"name": "a", "connector": {{{state}}}, "tasks": [{tasks}], "type": "source"}}"#))
}
