//! Apache Kafka and Apache Kafka Connect for tests and comparisons: fetched from Maven Central once,
//! started on free ports of the loopback, ended with the value that stands for them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cache::cached;
use crate::worker::Signal;

const VERSION: &str = "4.3.1";

/// Log4j of the same series as Kafka's own distribution ships.
const LOG4J: &str = "2.25.1";

/// A JVM on a busy machine takes its time.
const START: Duration = Duration::from_secs(180);

/// Kafka's jars on this machine.
#[derive(Clone, Debug)]
pub struct Kafka {
    home: PathBuf,
}

/// A broker of one node, without a password, that creates topics on demand.
#[derive(Debug)]
pub struct Broker {
    port: u16,
    kafka: Kafka,
    dir: PathBuf,
    process: Process,
}

/// A worker of Apache Kafka Connect.
#[derive(Debug)]
pub struct Peer {
    port: u16,
    _process: Process,
}

impl Kafka {
    /// Finds the jars in the cache, or has Maven fetch them (about 55 MB).
    pub fn fetch() -> Result<Self> {
        let home = cached(&format!("kafka-{VERSION}"), download);
        Ok(Self { home: home.with_context(|| format!("Kafka {VERSION} could not be fetched with Maven"))? })
    }

    /// The folder with its jars, in `lib`.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Starts a broker that keeps its data and its log in `dir`, and waits until it serves.
    pub fn start_broker(&self, dir: &Path) -> Result<Broker> {
        let [port, controller] = free_ports()?;
        fs::create_dir_all(dir)?;
        let properties = dir.join("server.properties");
        fs::write(&properties, broker_properties(dir, port, controller))?;
        self.format(&properties, &dir.join("format.log"))?;
        let process = self.run_broker(dir)?;
        Ok(Broker { port, kafka: self.clone(), dir: dir.to_owned(), process })
    }

    fn run_broker(&self, dir: &Path) -> Result<Process> {
        let mut process = self.java(&dir.join("broker.log"), "kafka.Kafka", &[&dir.join("server.properties")])?;
        process.wait_until("the broker", |log| Ok(fs::read_to_string(log)?.contains("Kafka Server started")))?;
        Ok(process)
    }

    /// Starts a standalone worker of Apache's that keeps what it keeps in `dir`, and waits until its REST interface
    /// answers. `extra` are lines of properties; the last of equal keys counts.
    pub fn start_connect(&self, bootstrap: &str, dir: &Path, extra: &str) -> Result<Peer> {
        let [port] = free_ports()?;
        fs::create_dir_all(dir)?;
        let properties = dir.join("worker.properties");
        fs::write(&properties, self.worker_properties(bootstrap, dir, port) + extra)?;
        let class = "org.apache.kafka.connect.cli.ConnectStandalone";
        let mut process = self.java(&dir.join("connect.log"), class, &[&properties])?;
        process.wait_until("Kafka Connect", |_| Ok(answers(port)))?;
        Ok(Peer { port, _process: process })
    }

    /// The command of a worker of a cluster, with these properties.
    pub(crate) fn distributed(&self, properties: &Path) -> Command {
        let mut command = self.jvm();
        // It is up sooner, and runs for seconds only.
        command.arg("-XX:TieredStopAtLevel=1").arg("org.apache.kafka.connect.cli.ConnectDistributed").arg(properties);
        command
    }

    /// What `plugin.path` has to be for the file connectors.
    pub fn plugins(&self) -> PathBuf {
        self.home.join("plugins")
    }

    /// Prepares the data folder, which the broker insists on.
    fn format(&self, properties: &Path, log: &Path) -> Result<()> {
        let cluster = "MkU3OEVBNTcwNTJENDM2Qg";
        let arguments: [&Path; 5] = ["format".as_ref(), "-t".as_ref(), cluster.as_ref(), "-c".as_ref(), properties];
        let status = self.java(log, "kafka.tools.StorageTool", &arguments)?.child.wait()?;
        ensure!(status.success(), "the data folder could not be formatted; see {}", log.display());
        Ok(())
    }

    fn java(&self, log: &Path, class: &str, arguments: &[&Path]) -> Result<Process> {
        let mut command = self.jvm();
        command.arg(class).args(arguments);
        Process::start(command, log)
    }

    fn jvm(&self) -> Command {
        let mut command = Command::new("java");
        command
            .arg("-Xmx512m")
            .arg(format!("-Dlog4j2.configurationFile={}", self.home.join("log4j2.properties").display()))
            .arg("-cp")
            .arg(self.home.join("lib").join("*"))
            .stdin(Stdio::null());
        command
    }

    fn worker_properties(&self, bootstrap: &str, dir: &Path, port: u16) -> String {
        format!(
            "\
bootstrap.servers={bootstrap}
listeners=HTTP://127.0.0.1:{port}
plugin.path={}
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
offset.flush.interval.ms=5000
offset.storage.file.filename={}
",
            self.plugins().display(),
            dir.join("offsets").display(),
        )
    }
}

impl Broker {
    /// What to put into `bootstrap.servers`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// As if its machine hung: connections stay open, nothing answers.
    pub fn freeze(&self) -> Result<()> {
        Signal::Freeze.send(self.process.child.id())
    }

    pub fn thaw(&self) -> Result<()> {
        Signal::Thaw.send(self.process.child.id())
    }

    /// As `kill -9` does. What it has acknowledged is there after [`Broker::start`].
    pub fn kill(&mut self) -> Result<()> {
        self.process.child.kill()?;
        self.process.child.wait()?;
        Ok(())
    }

    /// Starts it again after [`Broker::kill`], with its data, at the same address.
    pub fn start(&mut self) -> Result<()> {
        self.process = self.kafka.run_broker(&self.dir)?;
        Ok(())
    }
}

impl Peer {
    /// Where its REST interface is, e.g. `http://127.0.0.1:41234`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// A JVM of ours; killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts it, with everything that it says going to `log`.
    pub(crate) fn start(mut command: Command, log: &Path) -> Result<Self> {
        let out = File::create(log)?;
        command.stderr(out.try_clone()?).stdout(out);
        let child = command.spawn().context("`java` could not be started; Java 17 is needed")?;
        Ok(Self { child, log: log.to_owned() })
    }

    /// Looks until `ready`, given the log's path, says so; gives up when the process ends.
    pub(crate) fn wait_until(&mut self, what: &str, ready: impl Fn(&Path) -> Result<bool>) -> Result<()> {
        let deadline = Instant::now() + START;
        while !ready(&self.log)? {
            if let Some(status) = self.child.try_wait()? {
                bail!("{what} ended at its start ({status}); see {}\n{}", self.log.display(), tail(&self.log));
            }
            ensure!(Instant::now() < deadline, "{what} did not start within {START:?}; see {}", self.log.display());
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of a log.
fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().rev().take(15).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

fn download(home: &Path) -> Result<()> {
    fs::create_dir_all(home.join("plugins"))?;
    fs::write(home.join("log4j2.properties"), LOGGING)?;
    eprintln!("Fetching Kafka {VERSION} from Maven Central (about 55 MB, once).");
    fetch_jars(home, &pom())?;
    // Connectors have to be found by plugin.path alone.
    let connector = format!("connect-file-{VERSION}.jar");
    fs::rename(home.join("lib").join(&connector), home.join("plugins").join(&connector))?;
    Ok(())
}

/// Has Maven put what a project depends on into `home/lib`.
pub fn fetch_jars(home: &Path, pom: &str) -> Result<()> {
    maven(home, pom, &["dependency:copy-dependencies", "-DoutputDirectory=lib"])
}

/// Runs Maven in `home`, on this project.
pub(crate) fn maven(home: &Path, pom: &str, arguments: &[&str]) -> Result<()> {
    fs::write(home.join("pom.xml"), pom)?;
    let status = Command::new("mvn")
        .args(["--quiet", "--batch-mode"])
        .args(arguments)
        .current_dir(home)
        .stdin(Stdio::null())
        .status()
        .context("`mvn` could not be started; Maven is needed")?;
    ensure!(status.success(), "mvn ended with {status} in {}", home.display());
    Ok(())
}

fn pom() -> String {
    let kafka = ["kafka_2.13", "kafka-tools", "connect-runtime", "connect-json", "connect-file", "connect-transforms"]
        .map(|artifact| dependency("org.apache.kafka", artifact, VERSION));
    let logging =
        ["log4j-slf4j-impl", "log4j-core"].map(|artifact| dependency("org.apache.logging.log4j", artifact, LOG4J));
    project(&(kafka.concat() + &logging.concat()))
}

/// A project that is only there to depend on something.
pub(crate) fn project(dependencies: &str) -> String {
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n\
         <modelVersion>4.0.0</modelVersion>\n\
         <groupId>bulkhead</groupId><artifactId>for-tests</artifactId><version>1</version>\n\
         <dependencies>\n{dependencies}</dependencies>\n</project>\n"
    )
}

pub(crate) fn dependency(group: &str, artifact: &str, version: &str) -> String {
    format!(
        "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
         <version>{version}</version></dependency>\n"
    )
}

const LOGGING: &str = "\
rootLogger.level=INFO
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d] %p %m (%c)%n
";

fn broker_properties(dir: &Path, port: u16, controller: u16) -> String {
    format!(
        "\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={}
num.partitions=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
offsets.topic.num.partitions=5
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=5
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
",
        dir.join("data").display()
    )
}

/// Ports that were free a moment ago, all different, and not handed out before. They are below those that systems give
/// to outgoing connections, so that a worker gets its own back after a restart.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N]> {
    const FIRST: u32 = 20_000;
    const COUNT: u32 = 12_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Processes that run side by side begin at different places.
    let start = std::process::id().wrapping_mul(101);
    let mut ports = [0; N];
    for port in &mut ports {
        let mut candidates =
            (0..COUNT).map(|_| start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT + FIRST);
        let free = candidates.find_map(|candidate| {
            let candidate = u16::try_from(candidate).ok()?;
            TcpListener::bind(("127.0.0.1", candidate)).ok().map(|_| candidate)
        });
        *port = free.context("no free port")?;
    }
    Ok(ports)
}

/// Whether `GET /` gets a 200.
fn answers(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        let mut answer = [0; 64];
        let read = stream.read(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer[..read]).into_owned())
    };
    ask().is_ok_and(|answer| answer.split(' ').nth(1) == Some("200"))
}
