//! The process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use crate::apache::free_ports;
use crate::{Rest, binary, eventually, plugins};

/// How long a worker may take until it answers, on a machine that compiles plugins at the same time.
const START: Duration = Duration::from_secs(60);

/// Which Kafka a worker uses.
#[derive(Clone, Debug)]
pub enum Kafka {
    /// The one inside the worker's process.
    Embedded,
    At(String),
}

/// What a worker is started with.
#[derive(Clone, Debug)]
pub struct Setup {
    pub kafka: Kafka,
    /// Holds everything that the worker reads and writes; granted to its plugins.
    pub folder: PathBuf,
    /// Beside those that every test needs; the last one of a key counts.
    pub properties: Vec<(String, String)>,
    pub connectors: Vec<PathBuf>,
    /// Topics with one partition, if Kafka is the embedded one.
    pub topics: Vec<String>,
    port: u16,
}

/// A worker that runs; killed when dropped.
#[derive(Debug)]
pub struct Worker {
    pub rest: Rest,
    child: Child,
    log: PathBuf,
}

impl Setup {
    /// A standalone worker in this folder, on a free port that stays the same over restarts.
    pub fn new(kafka: Kafka, folder: &Path) -> anyhow::Result<Self> {
        let [port] = free_ports()?;
        let folder = folder.canonicalize()?;
        Ok(Self { kafka, folder, properties: Vec::new(), connectors: Vec::new(), topics: Vec::new(), port })
    }

    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.properties.push((key.to_owned(), value.to_owned()));
        self
    }

    /// The text of `worker.properties`.
    fn properties(&self) -> String {
        let folder = self.folder.display();
        let bootstrap = match &self.kafka {
            Kafka::Embedded => "127.0.0.1:9",
            Kafka::At(address) => address,
        };
        let mut text = format!(
            "bootstrap.servers={bootstrap}\n\
             key.converter=org.apache.kafka.connect.json.JsonConverter\n\
             value.converter=org.apache.kafka.connect.json.JsonConverter\n\
             offset.storage.file.filename={folder}/offsets.jsonl\n\
             offset.flush.interval.ms=1000\n\
             listeners=http://127.0.0.1:{port}\n\
             plugin.path={plugins}\n\
             sandbox.default.files={folder}:rw\n",
            port = self.port,
            plugins = plugins().display(),
        );
        for (key, value) in &self.properties {
            text += &format!("{key}={value}\n");
        }
        text
    }

    /// The command that runs the worker, its files written.
    pub fn command(&self) -> anyhow::Result<Command> {
        let properties = self.folder.join("worker.properties");
        fs::write(&properties, self.properties())?;
        let mut command = Command::new(binary()?);
        command.arg("connect-standalone");
        if let Kafka::Embedded = self.kafka {
            command.arg("--embedded-kafka");
            for topic in &self.topics {
                command.args(["--embedded-topic", topic]);
            }
        }
        command.arg(properties).args(&self.connectors).stdin(Stdio::null());
        Ok(command)
    }

    /// Starts the worker and waits until it answers.
    pub fn start(&self) -> anyhow::Result<Worker> {
        let mut worker = Worker::spawn(self.command()?, self.port, &self.folder)?;
        worker.wait_until_it_answers()?;
        Ok(worker)
    }
}

/// What a process can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// End, as an operator asks for it.
    Term,
    /// Stand still: connections stay open, nothing answers.
    Freeze,
    Thaw,
}

impl Signal {
    pub(crate) fn send(self, process: u32) -> anyhow::Result<()> {
        let name = match self {
            Self::Term => "-TERM",
            Self::Freeze => "-STOP",
            Self::Thaw => "-CONT",
        };
        let sent = Command::new("kill").args([name, &process.to_string()]).status()?;
        ensure!(sent.success(), "kill {name} failed");
        Ok(())
    }
}

impl Worker {
    /// Starts the process of a worker that will listen on this port, and keeps what it says in this folder.
    pub(crate) fn spawn(mut command: Command, port: u16, folder: &Path) -> anyhow::Result<Self> {
        let log = folder.join("worker.log");
        let output = File::options().create(true).append(true).open(&log)?;
        let child = command.stdout(output.try_clone()?).stderr(output).spawn()?;
        Ok(Self { rest: Rest::new(&format!("http://127.0.0.1:{port}")), child, log })
    }

    fn wait_until_it_answers(&mut self) -> anyhow::Result<()> {
        self.wait_for("/")
    }

    /// Until it is a member of its group as well.
    pub(crate) fn wait_until_it_is_up(&mut self) -> anyhow::Result<()> {
        self.wait_for("/health")
    }

    fn wait_for(&mut self, path: &str) -> anyhow::Result<()> {
        let rest = self.rest.clone();
        let answered = eventually(&format!("GET {path} is 200"), START, || match self.child.try_wait() {
            Ok(None) => (rest.status("GET", path).ok()? == 200).then_some(Ok(())),
            ended => Some(Err(ended)),
        })?;
        match answered {
            Ok(()) => Ok(()),
            Err(ended) => bail!("the worker ended with {ended:?}:\n{}", self.log_tail()),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        signal.send(self.pid())
    }

    /// As `kill -9` does.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end, as an operator would, and waits.
    pub fn terminate(mut self) -> anyhow::Result<ExitStatus> {
        self.signal(Signal::Term)?;
        eventually("the worker ends", Duration::from_secs(30), || self.child.try_wait().ok().flatten())
    }

    /// Resident memory in bytes.
    pub fn memory(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib * 1024)
    }

    /// CPU time used so far by all its threads.
    pub fn cpu(&self) -> anyhow::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid()))?;
        let (_, fields) = stat.rsplit_once(')').context("no process name")?;
        let fields: Vec<_> = fields.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
        // Linux counts in hundredths of a second.
        Ok(Duration::from_millis(ticks * 10))
    }

    /// The end of its log.
    pub fn log_tail(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// The whole log.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.kill();
        if std::thread::panicking() {
            eprintln!("--- the log of {} ends with ---\n{}", self.rest.base(), self.log_tail());
        }
    }
}
