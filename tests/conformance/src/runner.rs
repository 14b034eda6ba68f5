//! Driving a worker through scenarios.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

use crate::Observations;
use crate::http::{Answer, Request, Worker};
use crate::normalise::Normaliser;
use crate::placeholders::{FileConnectors, Placeholders};
use crate::scenario::Scenario;

/// Between two looks at something that is waited for.
const POLL: Duration = Duration::from_millis(250);
/// How long a wait lasts unless the step says otherwise.
const WAIT: Duration = Duration::from_secs(90);
/// How long a request is repeated that a rebalance refuses: that is timing, not behaviour.
const SETTLING: Duration = Duration::from_secs(45);

/// The worker to drive, and what it has to offer.
#[derive(Clone, Debug)]
pub struct Target {
    /// `http://host:port`
    pub url: String,
    /// For data files; the worker must see it under the same path.
    pub work: PathBuf,
    pub connectors: FileConnectors,
}

/// Runs scenarios one after the other and notes the answers. Connectors of this run have names of their
/// own and are deleted before and after each scenario.
pub fn run<'a>(target: &Target, scenarios: impl IntoIterator<Item = &'a Scenario>) -> anyhow::Result<Observations> {
    let worker = Worker::at(&target.url)?;
    if worker.get("/").status == 0 {
        bail!("no worker answers at {}", target.url);
    }
    std::fs::create_dir_all(&target.work).with_context(|| format!("cannot create {}", target.work.display()))?;
    let work = target.work.canonicalize()?;
    let run = format!("r{:08x}", RandomState::new().build_hasher().finish() as u32);
    let placeholders = Placeholders::new(&run, &work, target.connectors.clone());
    let normaliser = Normaliser { placeholders: &placeholders, prefix: format!("cf-{run}-") };
    let runner = Runner { worker, normaliser };
    scenarios.into_iter().map(|scenario| Ok((scenario.name.clone(), runner.scenario(scenario)?))).collect()
}

struct Runner<'a> {
    worker: Worker,
    normaliser: Normaliser<'a>,
}

impl Runner<'_> {
    fn scenario(&self, scenario: &Scenario) -> anyhow::Result<BTreeMap<String, Value>> {
        let mut observations = BTreeMap::new();
        self.cleanup();
        for (index, step) in scenario.steps().enumerate() {
            let step = self.normaliser.placeholders.fill(step);
            let number = index + 1;
            let observed = self.step(&step).with_context(|| format!("step {number} of {}", scenario.name))?;
            if let Some((name, mut observed)) = observed {
                if step.get("quirk") == Some(&Value::Bool(true)) {
                    observed.insert("quirk".to_owned(), Value::Bool(true));
                }
                let name = self.normaliser.placeholders.strip(&name);
                observations.insert(format!("{number:02} {name}"), Value::Object(observed));
            }
        }
        self.cleanup();
        Ok(observations)
    }

    /// What a step is called and what it saw, if it looks at anything.
    fn step(&self, step: &Value) -> anyhow::Result<Option<(String, Map<String, Value>)>> {
        if let Some(path) = text(step, "wait") {
            return Ok(Some((format!("wait {path}"), self.wait(path, step))));
        }
        if let Some(file) = text(step, "write") {
            write(Path::new(file), step)?;
            return Ok(None);
        }
        if let Some(time) = seconds(step, "sleep") {
            thread::sleep(time);
            return Ok(None);
        }
        let (Some(method), Some(path)) = (text(step, "method"), text(step, "path")) else {
            bail!("{step} is no request, wait, write or sleep");
        };
        Ok(Some((format!("{method} {path}"), self.request(method, path, step))))
    }

    fn request(&self, method: &str, path: &str, step: &Value) -> Map<String, Value> {
        let body = match (step.get("json"), text(step, "body")) {
            (Some(json), _) => Some(json.to_string().into_bytes()),
            (None, body) => body.map(|body| body.as_bytes().to_vec()),
        };
        let headers = step.get("headers").and_then(Value::as_object).into_iter().flatten();
        let mut headers: Vec<_> =
            headers.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
        let default_type = body.as_ref().map(|_| "application/json");
        let content_type = step.get("type").map_or(default_type, Value::as_str);
        headers.extend(content_type.map(|content_type| ("Content-Type".to_owned(), content_type.to_owned())));
        let request = Request { method, path, headers, body };
        let answer = match step.get("retry") {
            Some(Value::Bool(false)) => self.worker.send(&request),
            _ => self.settled(&request),
        };
        self.normaliser.observe(&answer, text(step, "view"))
    }

    /// Polls until every condition holds, and goes on holding as long as the step asks.
    fn wait(&self, path: &str, step: &Value) -> Map<String, Value> {
        let deadline = Instant::now() + seconds(step, "timeout").unwrap_or(WAIT);
        let hold = seconds(step, "hold").unwrap_or_default();
        let conditions: Vec<_> = step.get("until").and_then(Value::as_object).into_iter().flatten().collect();
        let mut held_since = None;
        loop {
            let answer = self.worker.get(path);
            let now = Instant::now();
            let document = json!({"status": answer.status, "body": answer.body});
            if conditions.iter().all(|(place, wanted)| lookup(&document, place).as_ref() == Some(*wanted)) {
                if now - *held_since.get_or_insert(now) >= hold {
                    return Map::from_iter([("reached".to_owned(), json!(true))]);
                }
            } else {
                held_since = None;
            }
            if now > deadline {
                let last = self.normaliser.observe(&answer, None);
                return Map::from_iter([
                    ("reached".to_owned(), json!(false)),
                    ("last".to_owned(), Value::Object(last)),
                ]);
            }
            thread::sleep(POLL);
        }
    }

    /// Sends a request, and again while a rebalance is in its way.
    fn settled(&self, request: &Request<'_>) -> Answer {
        let deadline = Instant::now() + SETTLING;
        loop {
            let answer = self.worker.send(request);
            if !is_transient(&answer) || Instant::now() > deadline {
                return answer;
            }
            thread::sleep(POLL);
        }
    }

    /// Deletes the connectors that this run has created.
    fn cleanup(&self) {
        let listed = self.settled(&Request { method: "GET", path: "/connectors", ..Request::default() });
        let names = listed.body.as_ref().and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in names.filter(|name| name.starts_with(&self.normaliser.prefix)) {
            let path = format!("/connectors/{}", encoded(name));
            self.settled(&Request { method: "DELETE", path: &path, ..Request::default() });
        }
    }
}

fn is_transient(answer: &Answer) -> bool {
    let message = answer.message().to_lowercase();
    matches!(answer.status, 409 | 500 | 503)
        && (message.contains("rebalance") || message.contains("stale configuration"))
}

/// Follows a path such as `body.tasks.0.state`; `#` is the length of a list or an object.
fn lookup(document: &Value, path: &str) -> Option<Value> {
    let (part, rest) = path.split_once('.').map_or((path, None), |(part, rest)| (part, Some(rest)));
    let place = match (part, document) {
        ("#", Value::Array(items)) => return Some(json!(items.len())),
        ("#", Value::Object(members)) => return Some(json!(members.len())),
        (_, Value::Array(items)) => items.get(part.parse::<usize>().ok()?)?,
        _ => document.get(part)?,
    };
    rest.map_or_else(|| Some(place.clone()), |rest| lookup(place, rest))
}

fn write(file: &Path, step: &Value) -> anyhow::Result<()> {
    let lines = step.get("lines").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

fn text<'a>(step: &'a Value, name: &str) -> Option<&'a str> {
    step.get(name)?.as_str()
}

fn seconds(step: &Value, name: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(step.get(name)?.as_f64()?).ok()
}

/// Percent-encodes all but letters and digits.
fn encoded(name: &str) -> String {
    let byte = |byte: u8| match byte {
        b'-' => "-".to_owned(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn places_are_looked_up_by_dots_numbers_and_lengths() {
        let document = json!({"status": 200, "body": {"tasks": [{"state": "RUNNING"}], "o": {"a": null}}});
        for (path, expected) in [
            ("status", Some(json!(200))),
            ("body.tasks.0.state", Some(json!("RUNNING"))),
            ("body.tasks.#", Some(json!(1))),
            ("body.o.#", Some(json!(1))),
            ("body.o.a", Some(Value::Null)),
            ("body.tasks.1.state", None),
            ("body.tasks.x", None),
            ("status.x", None),
        ] {
            assert_eq!(lookup(&document, path), expected, "{path}");
        }
    }

    #[test]
    fn a_name_is_encoded_byte_by_byte() {
        assert_eq!(encoded("cf-r1-a ü/%"), "cf-r1-a%20%C3%BC%2F%25");
    }

    /// Answers every request alike, until the test ends.
    fn worker_that_answers(body: &'static str) -> String {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", server.local_addr().unwrap());
        thread::spawn(move || {
            while let Ok((mut stream, _)) = server.accept() {
                let _ = stream.read(&mut [0; 1024]);
                let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{body}");
            }
        });
        url
    }

    #[test]
    fn steps_are_carried_out_in_order_and_noted_by_number_and_name() {
        let text = r#"{"steps": [
            {"write": "{work}/in.txt", "lines": ["one", "two"]},
            {"method": "PUT", "path": "/cf-{run}-a%zz", "json": {}, "quirk": true},
            {"wait": "/status", "until": {"body.tasks.#": 1}},
            {"wait": "/status", "until": {"status": 404}, "timeout": 0}
        ]}"#;
        let scenario = Scenario::parse("s", text).unwrap();
        let work = std::env::temp_dir().join(format!("conformance-runner-{}", std::process::id()));
        let url = worker_that_answers(r#"{"tasks": [{"trace": "x"}]}"#);
        let target = Target { url, work: work.clone(), connectors: FileConnectors::default() };
        let observed = run(&target, [&scenario]).unwrap();
        let answer = json!({
            "status": 200, "content_type": "application/json", "body": {"tasks": [{"trace": "<trace>"}]},
        });
        let mut quirk = answer.clone();
        quirk["quirk"] = json!(true);
        let expected = BTreeMap::from([
            ("02 PUT /cf-{run}-a%zz".to_owned(), quirk),
            ("03 wait /status".to_owned(), json!({"reached": true})),
            ("04 wait /status".to_owned(), json!({"reached": false, "last": answer})),
        ]);
        assert_eq!(observed, Observations::from([("s".to_owned(), expected)]));
        assert_eq!(std::fs::read_to_string(work.join("in.txt")).unwrap(), "one\ntwo\n");
        std::fs::remove_dir_all(work).unwrap();
    }
}
