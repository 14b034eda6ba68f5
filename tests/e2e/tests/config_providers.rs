//! FC-07: secrets that must stay secret. Config providers in a worker as a process.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bulkhead_e2e::{Kafka, Rest, Setup, Worker, eventually};
use serde_json::{Value, json};

const SECRET: &str = "S3CRET-VALUE-42";
const SOON: Duration = Duration::from_secs(30);
const TEXTS: &str = "org.apache.kafka.connect.storage.StringConverter";

/// A worker whose provider `f` may read the folder `allowed` only, with all that it says in its log.
struct Case {
    worker: Worker,
    folder: tempfile::TempDir,
}

impl Case {
    fn start() -> Self {
        Self::with(&[])
    }

    fn with(properties: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["allowed", "outside"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join("outside/secrets.properties"), "secret=never\n").unwrap();
        let mut setup = Setup::new(Kafka::Embedded, folder.path())
            .unwrap()
            .with("config.providers", "f")
            .with("config.providers.f.class", "org.apache.kafka.common.config.provider.FileConfigProvider")
            .with("config.providers.f.param.allowed.paths", root.join("allowed").to_str().unwrap());
        for (key, value) in properties {
            setup = setup.with(key, value);
        }
        let case = Self { worker: setup.start().unwrap(), folder };
        case.secrets("out-1.txt");
        case.rest().must("PUT", "/admin/loggers/root", Some(&json!({"level": "TRACE"}))).unwrap();
        case
    }

    fn rest(&self) -> &Rest {
        &self.worker.rest
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes the file of secrets; the sink's file is one of them.
    fn secrets(&self, out: &str) {
        let text = format!("secret={SECRET}\nout={}\n", self.path(out).display());
        fs::write(self.path("allowed/secrets.properties"), text).unwrap();
    }

    fn reference(&self, file: &str, key: &str) -> String {
        format!("${{f:{}:{key}}}", self.path(file).display())
    }

    fn secret(&self) -> String {
        self.reference("allowed/secrets.properties", "secret")
    }

    /// A source of lines that has the secret in a password and in a plain text.
    fn source(&self, more: &[(&str, &str)]) -> Value {
        let input = self.path("in.txt");
        fs::write(&input, "one\n").unwrap();
        let mut config = json!({
            "connector.class": "FileStreamSource",
            "file": input,
            "topic": "lines",
            "db.password": self.secret(),
            "note": format!("with {} inside", self.secret()),
            "key.converter": TEXTS,
            "value.converter": TEXTS,
        });
        for (key, value) in more {
            config[*key] = json!(value);
        }
        config
    }

    fn create(&self, name: &str, config: &Value) -> (u16, Value) {
        self.rest().ask("POST", "/connectors", Some(&json!({"name": name, "config": config}))).unwrap()
    }

    /// The message of a refusal.
    fn refused(&self, config: &Value) -> String {
        let (status, answer) = self.create("refused", config);
        assert_eq!(status, 400, "{answer}");
        answer["message"].as_str().unwrap().to_owned()
    }
}

fn has_secret(text: &str) -> bool {
    text.contains(SECRET)
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

#[test]
fn fc_07_a_secret_is_in_no_answer_and_in_no_log_line() {
    let case = Case::start();
    let (status, created) = case.create("source", &case.source(&[]));
    assert_eq!(status, 201, "{created}");
    assert_eq!(created["config"]["db.password"], case.secret());
    let (_, validated) = {
        let path = "/connector-plugins/FileStreamSource/config/validate";
        case.rest().ask("PUT", path, Some(&case.source(&[("name", "v"), ("batch.size", &case.secret())]))).unwrap()
    };
    assert_eq!(validated["error_count"], 1, "{validated}");
    assert!(!has_secret(&validated.to_string()), "{validated}");

    let message = case.refused(&case.source(&[("batch.size", &case.secret())]));
    assert!(message.contains("batch.size") && message.contains(&case.secret()) && !has_secret(&message), "{message}");

    // A sink that says which file it can't write to.
    let failing =
        json!({"connector.class": "FileStreamSink", "topics": "lines", "file": format!("/no/{}", case.secret())});
    assert_eq!(case.create("sink", &failing).0, 201);
    let trace = case.rest().failure("sink", 0).unwrap();
    assert!(trace.contains(&case.secret()) && !has_secret(&trace), "{trace}");

    case.rest().wait("source", "RUNNING", 1).unwrap();
    let of_connector = ["", "/config", "/status", "/tasks", "/tasks/0/status", "/topics", "/offsets", "/sandbox"];
    let of_all = ["/", "/connectors?expand=info&expand=status", "/connector-plugins", "/admin/loggers", "/metrics"];
    let connectors = ["source", "sink"]
        .iter()
        .flat_map(|name| of_connector.iter().map(move |rest| format!("/connectors/{name}{rest}")));
    for path in connectors.chain(of_all.iter().map(|path| (*path).to_owned())) {
        let answer = case.rest().text(&path).unwrap();
        assert!(!has_secret(&answer), "{path}: {answer}");
    }
    let tasks = case.rest().must("GET", "/connectors/source/tasks", None).unwrap();
    assert!(!tasks.as_array().unwrap().is_empty(), "{tasks}");
    let log = case.worker.log();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log has no details");
    assert!(!has_secret(&log), "{}", log.lines().find(|line| has_secret(line)).unwrap());
}

#[test]
fn fc_07_what_can_not_be_resolved_is_a_mistake_in_the_request() {
    let case = Case::start();
    let refused = |file: &str, key: &str| {
        let reference = case.reference(file, key);
        let message = case.refused(&case.source(&[("extra", &reference)]));
        assert!(message.contains(&reference), "{message}");
        message.replace(&reference, "REFERENCE")
    };
    let outside = refused("outside/secrets.properties", "secret");
    assert_eq!(outside, refused("outside/nothing.properties", "secret"));
    assert_eq!(outside, refused("allowed/../outside/secrets.properties", "secret"));
    refused("allowed/nothing.properties", "secret");
    refused("allowed/secrets.properties", "nothing");
    let (status, _) = case.create("other", &case.source(&[("extra", "${topic} ${unknown:x}")]));
    assert_eq!(status, 201);
}

/// A sink gets another file while it runs.
fn rotate(case: &Case, have_it_told: impl FnOnce()) {
    assert_eq!(case.create("source", &case.source(&[])).0, 201);
    let file = case.reference("allowed/secrets.properties", "out");
    let sink = json!({
        "connector.class": "FileStreamSink", "topics": "lines", "file": file,
        "key.converter": TEXTS, "value.converter": TEXTS,
    });
    assert_eq!(case.create("sink", &sink).0, 201);
    let (first, second) = (case.path("out-1.txt"), case.path("out-2.txt"));
    eventually("a line is in the first file", SOON, || (lines(&first) == 1).then_some(())).unwrap();

    case.secrets("out-2.txt");
    have_it_told();
    eventually("the sink has the second file", SOON, || second.exists().then_some(())).unwrap();
    fs::write(case.path("in.txt"), "one\ntwo\n").unwrap();
    eventually("a line is in the second file", SOON, || (lines(&second) >= 1).then_some(())).unwrap();
    assert_eq!(lines(&first), 1);
    let config = case.rest().must("GET", "/connectors/sink/config", None).unwrap();
    assert_eq!(config["file"], file);
}

#[test]
fn fc_07_a_restart_uses_the_new_value() {
    let case = Case::start();
    let restart = || drop(case.rest().must("POST", "/connectors/sink/restart?includeTasks=true", None).unwrap());
    rotate(&case, restart);
}

#[test]
fn a_value_whose_time_has_run_out_is_read_again_and_who_had_it_restarted() {
    let case = Case::with(&[("config.providers.f.param.ttl.ms", "200")]);
    rotate(&case, || ());
}
