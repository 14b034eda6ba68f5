//! Workers that share their work: ours, and Apache's in the same group on the same topics.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::apache::{self, free_ports};
use crate::{Kafka, Rest, Signal, Topics, Worker, binary, eventually, plugins};

/// `session.timeout.ms` of these workers: the coordinator notices a dead one after this time.
pub const SESSION: Duration = Duration::from_secs(3);

/// `heartbeat.interval.ms` of these workers.
pub const HEARTBEAT: Duration = Duration::from_millis(300);

/// `scheduled.rebalance.max.delay.ms` of these workers.
pub const DELAY: Duration = Duration::from_secs(2);

/// How long a cluster may take until everybody agrees, beyond session and delay.
const SETTLE: Duration = Duration::from_secs(30);

/// How long a state has to last: members learn of a rebalance from their next heartbeat.
const QUIET: Duration = Duration::from_millis(500);

/// How many clusters there are at the same time, whatever the number of test threads: they watch the time.
const AT_ONCE: usize = 4;

static TAKEN: Mutex<usize> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

/// One of [`AT_ONCE`]; given back when dropped.
#[derive(Debug)]
struct Place;

impl Place {
    fn take() -> Self {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = GIVEN_BACK.wait_while(taken, |taken| *taken == AT_ONCE).unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        GIVEN_BACK.notify_one();
    }
}

/// Whose worker it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bulkhead,
    Apache,
}

/// A connector, or one of its tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instance {
    pub connector: String,
    pub task: Option<u32>,
}

/// What a worker says of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub state: String,
    pub worker: String,
    /// Why it failed.
    pub trace: Option<String>,
}

/// What a worker says of all instances.
pub type Owners = BTreeMap<Instance, Owner>;

/// Workers of one group, with topics of their own; all killed when dropped.
#[derive(Debug)]
pub struct Cluster {
    pub topics: Topics,
    pub group: String,
    address: String,
    properties: Vec<(String, String)>,
    members: Vec<Member>,
    path: PathBuf,
    _folder: tempfile::TempDir,
    _place: Place,
}

#[derive(Debug)]
struct Member {
    kind: Kind,
    port: u16,
    /// Beside those of the cluster.
    properties: Vec<(String, String)>,
    frozen: bool,
    worker: Option<Worker>,
}

impl Cluster {
    /// Without workers yet. The group and its topics are named after the test.
    pub fn new(kafka: &Kafka, test: &str) -> anyhow::Result<Self> {
        let Kafka::At(address) = kafka else { bail!("a cluster needs a broker") };
        let folder = tempfile::tempdir()?;
        let path = folder.path().canonicalize()?;
        let group = format!("{test}-{}", std::process::id());
        Ok(Self {
            topics: Topics::at(address),
            group,
            address: address.clone(),
            properties: Vec::new(),
            members: Vec::new(),
            path,
            _folder: folder,
            _place: Place::take(),
        })
    }

    /// For workers that are started from now on; the last one of a key counts.
    #[must_use]
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.properties.push((key.to_owned(), value.to_owned()));
        self
    }

    /// So many workers of ours, which start side by side.
    pub fn with_workers(mut self, count: usize) -> anyhow::Result<Self> {
        let numbers: Vec<_> = (0..count).map(|_| self.enlist(Kind::Bulkhead, &[])).collect::<Result<_, _>>()?;
        numbers.iter().try_for_each(|number| self.spawn(*number))?;
        numbers.iter().try_for_each(|number| self.wait_until_it_is_up(*number))?;
        Ok(self)
    }

    /// Starts one more worker and waits until it is a member. Returns its number.
    pub fn add(&mut self, kind: Kind) -> anyhow::Result<usize> {
        self.add_with(kind, &[])
    }

    /// As [`Cluster::add`], with properties of its own.
    pub fn add_with(&mut self, kind: Kind, properties: &[(&str, &str)]) -> anyhow::Result<usize> {
        let number = self.enlist(kind, properties)?;
        self.start(number)?;
        Ok(number)
    }

    /// Takes up a worker without starting it. Returns its number.
    pub fn enlist(&mut self, kind: Kind, properties: &[(&str, &str)]) -> anyhow::Result<usize> {
        let [port] = free_ports()?;
        let properties = properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        self.members.push(Member { kind, port, properties, frozen: false, worker: None });
        Ok(self.members.len() - 1)
    }

    /// Starts a worker again, at the same port, and waits until it is a member.
    pub fn start(&mut self, number: usize) -> anyhow::Result<()> {
        self.spawn(number)?;
        self.wait_until_it_is_up(number)
    }

    /// Starts a worker again without waiting.
    pub fn spawn(&mut self, number: usize) -> anyhow::Result<()> {
        let command = self.command(number)?;
        let (port, folder) = (self.members[number].port, self.member_folder(number));
        self.members[number].worker = Some(Worker::spawn(command, port, &folder)?);
        Ok(())
    }

    pub fn wait_until_it_is_up(&mut self, number: usize) -> anyhow::Result<()> {
        self.members[number].worker.as_mut().context("the worker wasn't started")?.wait_until_it_is_up()
    }

    /// The command that runs a worker, its files written.
    pub fn command(&self, number: usize) -> anyhow::Result<Command> {
        let folder = self.member_folder(number);
        fs::create_dir_all(&folder)?;
        let file = folder.join("worker.properties");
        let mut text = self.common_properties(number);
        let mut command = match self.members[number].kind {
            Kind::Bulkhead => {
                text += &format!("plugin.path={}\n", plugins().display());
                text += &format!("sandbox.default.files={}:rw\n", self.path.display());
                let mut command = Command::new(binary()?);
                command.arg("connect-distributed").arg(&file);
                command
            }
            Kind::Apache => {
                let kafka = apache::Kafka::fetch()?;
                text += &format!("plugin.path={}\nplugin.discovery=service_load\n", kafka.plugins().display());
                kafka.distributed(&file)
            }
        };
        for (key, value) in self.properties.iter().chain(&self.members[number].properties) {
            text += &format!("{key}={value}\n");
        }
        fs::write(&file, text)?;
        command.stdin(Stdio::null());
        Ok(command)
    }

    fn common_properties(&self, number: usize) -> String {
        format!(
            "bootstrap.servers={address}\n\
             group.id={group}\n\
             listeners=http://127.0.0.1:{port}\n\
             config.storage.topic={group}-configs\n\
             offset.storage.topic={group}-offsets\n\
             status.storage.topic={group}-status\n\
             config.storage.replication.factor=1\n\
             offset.storage.replication.factor=1\n\
             status.storage.replication.factor=1\n\
             offset.storage.partitions=2\n\
             status.storage.partitions=2\n\
             key.converter={STRING}\n\
             value.converter={STRING}\n\
             offset.flush.interval.ms=500\n\
             session.timeout.ms={session}\n\
             heartbeat.interval.ms={heartbeat}\n\
             scheduled.rebalance.max.delay.ms={delay}\n\
             task.shutdown.graceful.timeout.ms=2000\n\
             consumer.session.timeout.ms={session}\n\
             consumer.heartbeat.interval.ms={heartbeat}\n\
             consumer.fetch.max.wait.ms=100\n\
             consumer.metadata.max.age.ms=1000\n",
            address = self.address,
            group = self.group,
            port = self.members[number].port,
            session = SESSION.as_millis(),
            heartbeat = HEARTBEAT.as_millis(),
            delay = DELAY.as_millis(),
        )
    }

    fn member_folder(&self, number: usize) -> PathBuf {
        self.path.join(format!("worker-{number}"))
    }

    /// Where connectors may read and write.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `group`, `-`, and what the topic is for.
    pub fn topic(&self, purpose: &str) -> String {
        format!("{}-{purpose}", self.group)
    }

    pub fn rest(&self, number: usize) -> Rest {
        Rest::new(&format!("http://{}", self.id(number)))
    }

    /// How a worker calls itself in statuses.
    pub fn id(&self, number: usize) -> String {
        format!("127.0.0.1:{}", self.members[number].port)
    }

    /// The process of a worker that was started and not ended.
    pub fn worker(&self, number: usize) -> anyhow::Result<&Worker> {
        self.members[number].worker.as_ref().with_context(|| format!("worker {number} doesn't run"))
    }

    /// As `kill -9` does.
    pub fn kill(&mut self, number: usize) -> anyhow::Result<()> {
        let mut worker = self.members[number].worker.take().context("the worker doesn't run")?;
        worker.kill()
    }

    /// SIGTERM; waits for a good end.
    pub fn terminate(&mut self, number: usize) -> anyhow::Result<()> {
        let worker = self.members[number].worker.take().context("the worker doesn't run")?;
        let kind = self.members[number].kind;
        let status = worker.terminate()?;
        // A JVM that was told to end says so by its status.
        ensure!(status.success() || kind == Kind::Apache, "worker {number} ended with {status}");
        Ok(())
    }

    /// SIGSTOP: its connections stay open, its heartbeats stop.
    pub fn freeze(&mut self, number: usize) -> anyhow::Result<()> {
        self.members[number].frozen = true;
        self.worker(number)?.signal(Signal::Freeze)
    }

    pub fn thaw(&mut self, number: usize) -> anyhow::Result<()> {
        self.members[number].frozen = false;
        self.worker(number)?.signal(Signal::Thaw)
    }

    /// Numbers of the workers that can answer.
    pub fn awake(&self) -> Vec<usize> {
        let awake = |member: &Member| member.worker.is_some() && !member.frozen;
        (0..self.members.len()).filter(|number| awake(&self.members[*number])).collect()
    }

    /// The number of the worker that leads, by what the coordinator has handed out.
    pub fn leader(&self) -> anyhow::Result<usize> {
        let leads = || self.topics.group(&self.group).ok()?.leader;
        let url = eventually("somebody leads", SETTLE, leads)?;
        let leads = |number: &usize| url == format!("http://{}/", self.id(*number));
        (0..self.members.len()).find(leads).with_context(|| format!("{url} leads, which is none of ours"))
    }

    /// A worker that answers and doesn't lead.
    pub fn follower(&self) -> anyhow::Result<usize> {
        let leader = self.leader()?;
        self.awake().into_iter().find(|number| *number != leader).context("there is no follower")
    }

    /// The generation of the group that a worker of ours is in.
    pub fn generation(&self, number: usize) -> anyhow::Result<u64> {
        let metrics = self.rest(number).text("/metrics")?;
        let value = metrics.lines().find_map(|line| line.strip_prefix("bulkhead_generation "));
        Ok(value.context("the worker is in no group")?.parse()?)
    }

    /// What a worker says of all instances.
    pub fn owners(&self, number: usize) -> anyhow::Result<Owners> {
        let answer = self.rest(number).must("GET", "/connectors?expand=status", None)?;
        let mut owners = Owners::new();
        for (connector, parts) in answer.as_object().into_iter().flatten() {
            let mut add = |part: &Value, task: Option<u32>| {
                let text = |key: &str| part[key].as_str().unwrap_or_default().to_owned();
                let trace = part["trace"].as_str().map(str::to_owned);
                let owner = Owner { state: text("state"), worker: text("worker_id"), trace };
                owners.insert(Instance { connector: connector.clone(), task }, owner);
            };
            let status = &parts["status"];
            add(&status["connector"], None);
            for task in status["tasks"].as_array().into_iter().flatten() {
                add(task, task["id"].as_u64().and_then(|id| u32::try_from(id).ok()));
            }
        }
        Ok(owners)
    }

    /// Waits until all workers that answer say the same and go on saying it: exactly these connectors, each with so
    /// many tasks, all RUNNING, shared out among those workers as evenly as can be.
    pub fn settled(&self, connectors: &[(&str, u32)]) -> anyhow::Result<Owners> {
        self.settled_within(SETTLE, connectors)
    }

    pub fn settled_within(&self, limit: Duration, connectors: &[(&str, u32)]) -> anyhow::Result<Owners> {
        let expected: BTreeSet<_> = connectors
            .iter()
            .flat_map(|(name, tasks)| {
                std::iter::once(None)
                    .chain((0..*tasks).map(Some))
                    .map(|task| Instance { connector: (*name).to_owned(), task })
            })
            .collect();
        let mut last = String::new();
        let mut since: Option<(Owners, Instant)> = None;
        let settled = eventually("the cluster settles", limit, || match self.agreed(&expected) {
            Ok(owners) => match &since {
                Some((before, since)) if *before == owners => (since.elapsed() > QUIET).then_some(owners),
                Some(_) | None => {
                    since = Some((owners, Instant::now()));
                    None
                }
            },
            Err(error) => {
                last = format!("{error:#}");
                since = None;
                None
            }
        });
        settled.with_context(|| last)
    }

    /// Waits until the coordinator counts so many members.
    pub fn wait_for_members(&self, count: usize, limit: Duration) -> anyhow::Result<()> {
        let reached = || (self.topics.group(&self.group).ok()?.members == count).then_some(());
        eventually(&format!("the group has {count} members"), limit, reached)
    }

    fn agreed(&self, expected: &BTreeSet<Instance>) -> anyhow::Result<Owners> {
        let awake = self.awake();
        let group = self.topics.group(&self.group)?;
        ensure!(group.state == "Stable" && group.members == awake.len(), "the group is {group:?}");
        let mut said = awake.iter().map(|number| self.owners(*number)).collect::<anyhow::Result<Vec<_>>>()?.into_iter();
        let owners = said.next().context("nobody is awake")?;
        ensure!(owners.keys().eq(expected), "not as many as expected: {}", Shown(&owners));
        ensure!(owners.values().all(|owner| owner.state == "RUNNING"), "not all are RUNNING: {}", Shown(&owners));
        for other in said {
            ensure!(owners == other, "they disagree: {} and {}", Shown(&owners), Shown(&other));
        }
        for of_tasks in [false, true] {
            let loads: Vec<_> = awake
                .iter()
                .map(|number| {
                    let id = self.id(*number);
                    owners.iter().filter(|(part, owner)| part.task.is_some() == of_tasks && owner.worker == id).count()
                })
                .collect();
            let total = expected.iter().filter(|part| part.task.is_some() == of_tasks).count();
            ensure!(loads.iter().sum::<usize>() == total, "some belong to nobody who is awake: {}", Shown(&owners));
            let (least, most) = (loads.iter().min(), loads.iter().max());
            ensure!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "not even: {}", Shown(&owners));
        }
        Ok(owners)
    }
}

/// Converter of keys and values, unless a connector has its own.
const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task {
            None => write!(f, "{}", self.connector),
            Some(task) => write!(f, "{}-{task}", self.connector),
        }
    }
}

/// In one line, but for failures.
struct Shown<'a>(&'a Owners);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (instance, owner) in self.0 {
            write!(f, "{instance} {} at {}; ", owner.state, owner.worker)?;
            if let Some(trace) = &owner.trace {
                writeln!(f, "{trace}")?;
            }
        }
        Ok(())
    }
}
