//! Do programs that were written for Kafka Connect get from our worker what they get from Apache's?
//!
//! Walks (`tests/clients`) go through all calls of a client and note what each gave. What they noted at a worker of
//! Apache's is kept beside them; `--record` notes it anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use bulkhead_e2e::apache::{self, fetch_jars};
use bulkhead_e2e::{Cluster, Kafka, Kind, cached, root};

use crate::python;

const REQUIREMENTS: &str = include_str!("../../clients/requirements.txt");
const REQUIREMENTS_CLI: &str = include_str!("../../clients/requirements-cli.txt");
const POM: &str = include_str!("../../clients/pom.xml");

/// The folder of the jars that [`POM`] asks for.
const JAVA_CLIENT: &str = "kafka-connect-client-4.0.5";

/// What to do with what the walks note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Walk at our worker, and compare.
    Compare,
    /// Walk at Apache's, and keep it.
    Record,
}

impl Goal {
    fn kind(self) -> Kind {
        match self {
            Self::Compare => Kind::Bulkhead,
            Self::Record => Kind::Apache,
        }
    }

    /// What `transcript.py` calls the worker.
    fn worker(self) -> &'static str {
        match self {
            Self::Compare => "bulkhead",
            Self::Record => "apache",
        }
    }
}

/// The programs that walks are written in.
struct Programs {
    python: PathBuf,
    /// With `kafka-connect-cli`, which can't be where the other Python clients are.
    python_cli: PathBuf,
    jars: PathBuf,
}

impl Programs {
    fn fetch() -> anyhow::Result<Self> {
        Ok(Self {
            python: python::environment("connect-clients", REQUIREMENTS)?,
            python_cli: python::environment("connect-cli", REQUIREMENTS_CLI)?,
            jars: cached(JAVA_CLIENT, |home| fetch_jars(home, POM)).context("the Java client could not be fetched")?,
        })
    }

    fn walks(&self) -> [(&'static str, Command); 6] {
        [
            ("kafka-connect-py", walk(&self.python, "kafka_connect_py_walk.py")),
            ("kafka-connect-healthcheck", walk(&self.python, "kafka_connect_healthcheck_walk.py")),
            ("kafka-connect-watcher", walk(&self.python, "kafka_connect_watcher_walk.py")),
            ("kafkaconnect", walk(&self.python, "kafkaconnect_walk.py")),
            ("kafka-connect-cli", walk(&self.python_cli, "kafka_connect_cli_walk.py")),
            ("sourcelab-kafka-connect-client", self.java_walk("SourcelabClient.java")),
        ]
    }

    fn java_walk(&self, file: &str) -> Command {
        let mut command = Command::new("java");
        command.arg("-cp").arg(self.jars.join("lib/*")).arg(folder().join("walks").join(file));
        command
    }
}

fn walk(python: &Path, file: &str) -> Command {
    let mut command = Command::new(python);
    // No compiled files beside the walks.
    command.arg("-B").arg(folder().join("walks").join(file));
    command
}

fn folder() -> PathBuf {
    root().join("tests/clients")
}

/// All walks, one after the other, at a worker that has nothing to do but that.
pub fn run(goal: Goal) -> anyhow::Result<()> {
    let programs = Programs::fetch()?;
    let data = tempfile::tempdir()?;
    let kafka = apache::Kafka::fetch()?;
    let broker = kafka.start_broker(data.path()).context("Kafka could not be started")?;
    let mut cluster = Cluster::new(&Kafka::At(broker.address()), "clients")?;
    let worker = cluster.add(goal.kind())?;
    let rest = cluster.rest(worker);
    let mut different = Vec::new();
    for (client, walk) in programs.walks() {
        let work = cluster.path().join(client);
        fs::create_dir_all(&work)?;
        let notes = notes(walk, rest.base(), &work).with_context(|| format!("the walk of {client} ended early"))?;
        let mut transcript = Command::new(&programs.python);
        transcript.arg(folder().join("transcript.py")).arg(goal.worker()).arg(notes).arg(rest.base()).arg(&work);
        if !settle(goal, client, &work, &output(&mut transcript)?)? {
            different.push(client);
        }
    }
    if !different.is_empty() {
        bail!("our worker (+) isn't to {} what Apache's (-) was", different.join(", "));
    }
    Ok(())
}

/// Has a client walk, and returns the file with what it noted.
fn notes(mut walk: Command, url: &str, work: &Path) -> anyhow::Result<PathBuf> {
    let notes = work.join("notes.jsonl");
    output(walk.env("CONNECT_URL", url).env("CONNECT_WORK", work).env("CONNECT_NOTES", &notes))?;
    Ok(notes)
}

fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

/// Keeps a transcript, or says whether it is the one that was kept.
fn settle(goal: Goal, client: &str, work: &Path, transcript: &[u8]) -> anyhow::Result<bool> {
    let kept = folder().join("apache").join(format!("{client}.txt"));
    let steps = String::from_utf8_lossy(transcript).lines().filter(|line| line.starts_with("## ")).count();
    println!("{client}: {steps} steps");
    match goal {
        Goal::Record => fs::write(&kept, transcript).map(|()| true).context("it could not be kept"),
        Goal::Compare => {
            let seen = work.join("transcript.txt");
            fs::write(&seen, transcript)?;
            Ok(Command::new("diff").arg("-u").args([kept, seen]).status()?.success())
        }
    }
}
