//! A worker's REST interface, as a test sees it.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Request;

use crate::eventually;

/// How long states may take to settle.
const SETTLE: Duration = Duration::from_secs(30);

/// A client of one worker.
#[derive(Clone, Debug)]
pub struct Rest {
    base: String,
    agent: Agent,
}

impl Rest {
    /// By base URL, e.g. `http://127.0.0.1:8083`.
    pub fn new(base: &str) -> Self {
        let config = Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(100)));
        Self { base: base.trim_end_matches('/').to_owned(), agent: config.build().into() }
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// Status and JSON body of the answer; null for an empty body.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<(u16, Value)> {
        self.ask_with(method, path, body, &[])
    }

    /// As [`Rest::ask`], with headers of its own.
    pub fn ask_with(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> anyhow::Result<(u16, Value)> {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let answer = match body {
            Some(body) => {
                let request = request.header("Content-Type", "application/json").body(body.to_string())?;
                self.agent.run(request)
            }
            None => self.agent.run(request.body(())?),
        };
        let mut answer = answer.with_context(|| format!("{method} {path}"))?;
        let text = answer.body_mut().read_to_string()?;
        let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text)? };
        Ok((answer.status().as_u16(), body))
    }

    /// As [`Rest::ask`], where anything but success is an error. Asks again while a rebalance is in the way.
    pub fn must(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let settled = || match self.ask(method, path, body) {
            Ok((409, answer)) if answer["message"].as_str()?.starts_with("Cannot complete request") => None,
            answer => Some(answer),
        };
        let (status, answer) = eventually(&format!("{method} {path} is not 409"), SETTLE, settled)??;
        ensure!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        Ok(answer)
    }

    pub fn create(&self, name: &str, config: &[(&str, &str)]) -> anyhow::Result<()> {
        let config: serde_json::Map<_, _> =
            config.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        self.must("POST", "/connectors", Some(&json!({ "name": name, "config": config }))).map(drop)
    }

    pub fn delete(&self, name: &str) -> anyhow::Result<()> {
        self.must("DELETE", &format!("/connectors/{name}"), None).map(drop)
    }

    /// State of the connector, then of its tasks; empty while there is no status.
    pub fn states(&self, name: &str) -> anyhow::Result<Vec<String>> {
        let (status, body) = self.ask("GET", &format!("/connectors/{name}/status"), None)?;
        if status == 404 {
            return Ok(Vec::new());
        }
        ensure!(status == 200, "status of {name}: {status} {body}");
        let tasks = body["tasks"].as_array().into_iter().flatten();
        let all = std::iter::once(&body["connector"]).chain(tasks);
        Ok(all.map(|part| part["state"].as_str().unwrap_or_default().to_owned()).collect())
    }

    /// The body of a good answer that isn't JSON.
    pub fn text(&self, path: &str) -> anyhow::Result<String> {
        let mut answer = self.agent.get(format!("{}{path}", self.base)).call()?;
        ensure!(answer.status().is_success(), "GET {path}: {}", answer.status());
        Ok(answer.body_mut().read_to_string()?)
    }

    /// Status of the answer alone; for requests that may be refused.
    pub fn status(&self, method: &str, path: &str) -> anyhow::Result<u16> {
        Ok(self.ask(method, path, None)?.0)
    }

    /// Waits until connector and tasks are in this state.
    pub fn wait(&self, name: &str, state: &str, tasks: usize) -> anyhow::Result<()> {
        let reached = || {
            let states = self.states(name).ok()?;
            (states.len() == tasks + 1 && states.iter().all(|found| found == state)).then_some(())
        };
        let outcome = eventually(&format!("{name} is {state} with {tasks} tasks"), SETTLE, reached);
        if let Err(error) = outcome {
            bail!("{error}; it is {:?}", self.ask("GET", &format!("/connectors/{name}/status"), None));
        }
        Ok(())
    }

    /// Waits until the task is FAILED and returns its trace.
    pub fn failure(&self, name: &str, task: u32) -> anyhow::Result<String> {
        let path = format!("/connectors/{name}/tasks/{task}/status");
        let failed = || {
            let (_, body) = self.ask("GET", &path, None).ok()?;
            (body["state"] == "FAILED").then(|| body["trace"].as_str().unwrap_or_default().to_owned())
        };
        eventually(&format!("task {name}-{task} is FAILED"), SETTLE, failed)
    }
}
