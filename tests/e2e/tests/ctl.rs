//! `bulkhead ctl` as a process: bundles that move a pipe between workers of both kinds, and every command against a
//! worker.

#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use bulkhead_e2e::{Cluster, Kafka, Kind, Record, Rest, Setup, Topics, eventually, real_kafka, root};
use serde_json::{Value, json};

/// For the last line to come out at the other end.
const LIMIT: Duration = Duration::from_secs(60);

/// Seconds for a rebalance, or for a connector to stop.
const PATIENCE: &str = "120";

/// Each name has its place in a plugin path of Apache's as well.
const SOURCE: &str = "org.apache.kafka.connect.file.FileStreamSourceConnector";
const SINK: &str = "org.apache.kafka.connect.file.FileStreamSinkConnector";
const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";

/// How a command ended.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

fn ctl(rest: &Rest, words: &[&str]) -> Said {
    let mut command = Command::new(root().join("target/release/bulkhead"));
    command.args(["ctl", "--wait", PATIENCE]).args(words).env("BULKHEAD_URL", rest.base());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let [out, err] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    Said { code: status.code(), out, err }
}

/// What it printed; it has to be a success.
fn done(rest: &Rest, words: &[&str]) -> String {
    let said = ctl(rest, words);
    assert_eq!(said.code, Some(0), "{words:?}: {said:?}");
    said.out
}

/// The one line that says why not.
fn refused(rest: &Rest, words: &[&str]) -> String {
    let said = ctl(rest, words);
    assert_eq!((said.code, said.err.lines().count()), (Some(1), 1), "{words:?}: {said:?}");
    said.err
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A file with the request that creates a connector.
fn request(folder: &Path, name: &str, config: &Value) -> String {
    let file = folder.join(format!("{name}.json"));
    fs::write(&file, json!({ "name": name, "config": config }).to_string()).unwrap();
    text(&file)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Lines that go through a topic into a file, and the bundles of what moves them.
struct Pipe<'a> {
    folder: &'a Path,
    topic: String,
    input: File,
    lines: Vec<String>,
}

impl<'a> Pipe<'a> {
    fn new(folder: &'a Path, topic: String) -> Self {
        let input = File::create(folder.join("in.txt")).unwrap();
        Self { folder, topic, input, lines: Vec::new() }
    }

    fn write(&mut self, count: usize) {
        for _ in 0..count {
            let line = format!("{:08}", self.lines.len());
            writeln!(self.input, "{line}").unwrap();
            self.lines.push(line);
        }
    }

    fn source(&self) -> Value {
        json!({ "connector.class": SOURCE, "topic": self.topic, "file": self.folder.join("in.txt") })
    }

    fn sink(&self) -> Value {
        json!({ "connector.class": SINK, "topics": self.topic, "file": self.folder.join("out.txt") })
    }

    fn arrived(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("out.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Both connectors, under new names, so that no group or offset of the old ones is found by chance.
    fn move_over(&mut self, from: (&Rest, &str), to: (&Rest, &str)) {
        let [(from, old), (to, new)] = [from, to];
        for end in ["source", "sink"] {
            let bundle = text(&self.folder.join("bundle.json"));
            done(from, &["export", &format!("{old}-{end}"), "--stop", "-o", &bundle]);
            // What comes between is for those who go on.
            self.write(100);
            let state = &parsed(&fs::read_to_string(&bundle).unwrap())["state"];
            assert_eq!(state, "RUNNING", "it is the state to go on with");
            from.wait(&format!("{old}-{end}"), "STOPPED", 0).unwrap();
            done(to, &["import", &bundle, "--name", &format!("{new}-{end}")]);
            to.wait(&format!("{new}-{end}"), "RUNNING", 1).unwrap();
        }
    }

    /// Waits until all has arrived, and checks that it did so once and in order.
    fn check(&self, topics: &Topics) {
        let complete = || self.arrived().last().filter(|last| Some(*last) == self.lines.last()).map(drop);
        eventually("the last line arrives", LIMIT, complete).unwrap();
        let passed: Vec<_> = topics.read(&self.topic).unwrap().iter().map(Record::value_text).collect();
        for (place, lines) in [("topic", passed), ("file", self.arrived())] {
            let same = lines.iter().zip(&self.lines).take_while(|(found, due)| found == due).count();
            assert!(lines == self.lines, "{place}: {} of {}, right up to {same}", lines.len(), self.lines.len());
        }
    }
}

#[test]
fn a_pipe_goes_on_at_the_right_record_wherever_its_bundles_are_imported() {
    let Some(kafka) = real_kafka("ctl-move") else { return };
    let Kafka::At(address) = &kafka else { panic!("real Kafka has an address") };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let own = tempfile::tempdir().unwrap();
    let grant = format!("{}:rw", path.display());
    let alone = Setup::new(kafka.clone(), own.path()).unwrap().with("sandbox.default.files", &grant);
    let alone = alone.with("key.converter", STRING).with("value.converter", STRING).start().unwrap();
    let mut theirs = Cluster::new(&kafka, "ctl-theirs").unwrap();
    let peer = theirs.add(Kind::Apache).unwrap();
    let ours = Cluster::new(&kafka, "ctl-ours").unwrap().with("sandbox.default.files", &grant).with_workers(2).unwrap();
    ours.wait_for_members(2, LIMIT).unwrap();

    let topic = theirs.topic("lines");
    let topics = Topics::at(address);
    topics.create(&topic, 1, &[]).unwrap();
    let mut pipe = Pipe::new(&path, topic);
    pipe.write(5000);
    let name = |stage: &str| format!("{}-{stage}", theirs.group);
    let [first, second, third] = ["a", "b", "c"].map(name);
    done(&alone.rest, &["create", &request(&path, &format!("{first}-source"), &pipe.source())]);
    done(&alone.rest, &["create", &request(&path, &format!("{first}-sink"), &pipe.sink())]);
    eventually("the first lines arrive", LIMIT, || pipe.arrived().first().cloned()).unwrap();
    let follower = ours.rest(ours.follower().unwrap());
    let peer = theirs.rest(peer);
    pipe.move_over((&alone.rest, &first), (&peer, &second));
    pipe.check(&topics);
    pipe.write(5000);
    pipe.move_over((&peer, &second), (&follower, &third));
    pipe.check(&topics);
}

#[test]
fn a_running_sink_is_set_back() {
    let Some(kafka) = real_kafka("ctl-back") else { return };
    let Kafka::At(address) = &kafka else { panic!("real Kafka has an address") };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let worker = Setup::new(kafka.clone(), &path).unwrap();
    let worker = worker.with("key.converter", STRING).with("value.converter", STRING).start().unwrap();
    let name = format!("ctl-back-{}", std::process::id());
    let topics = Topics::at(address);
    topics.create(&name, 1, &[]).unwrap();
    topics.write(&name, 0, &["one", "two", "three"].map(|text| (None, Some(text.as_bytes())))).unwrap();
    let out = path.join("out.txt");
    let sink = json!({ "connector.class": SINK, "topics": name, "file": out });
    done(&worker.rest, &["create", &request(&path, &name, &sink)]);
    let arrived = |text: &str| {
        let complete = || (fs::read_to_string(&out).ok()? == text).then_some(());
        eventually("all has arrived", LIMIT, complete).unwrap();
    };
    arrived("one\ntwo\nthree\n");
    let back = format!("{name}:0=1");
    let error = refused(&worker.rest, &["offsets", "set", &name, &back]);
    assert!(error.contains("--stop-and-resume") && error.ends_with("(HTTP 400)\n"), "{error}");
    let set = done(&worker.rest, &["offsets", "set", &name, &back, "--stop-and-resume"]);
    assert!(set.starts_with("The offsets for this connector have been altered"), "{set}");
    arrived("one\ntwo\nthree\ntwo\nthree\n");
    let committed = || {
        let table = done(&worker.rest, &["offsets", "get", &name]);
        let row = table.lines().nth(1)?.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        (row == [format!("{name}:0"), "3".to_owned()]).then_some(())
    };
    eventually("it is committed, and shown as it can be set", LIMIT, committed).unwrap();
}

#[test]
fn every_command_does_to_a_worker_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let worker = Setup::new(Kafka::Embedded, &path).unwrap().start().unwrap();
    let rest = &worker.rest;
    fs::write(path.join("in.txt"), "one\ntwo\n").unwrap();
    let properties = path.join("s.properties");
    let source = format!("name=s\nconnector.class={SOURCE}\ntopic=t\nfile={}\n", path.join("in.txt").display());
    fs::write(&properties, source).unwrap();
    let properties = text(&properties);

    assert_eq!(done(rest, &["validate", &properties]), "valid\n");
    assert_eq!(done(rest, &["create", &properties, "--state", "stopped"]), "s: created\n");
    rest.wait("s", "STOPPED", 0).unwrap();
    assert_eq!(refused(rest, &["create", &properties]), "error: Connector s already exists (HTTP 409)\n");
    assert_eq!(done(rest, &["resume", "s"]), "s: resuming\n");
    rest.wait("s", "RUNNING", 1).unwrap();
    assert_eq!(done(rest, &["list"]), "NAME  TYPE    STATE    TASKS\ns     source  RUNNING  1 RUNNING\n");
    let list = parsed(&done(rest, &["list", "--json"]));
    assert_eq!(list, rest.must("GET", "/connectors?expand=status&expand=info", None).unwrap());
    assert_eq!(done(rest, &["status", "s"]).lines().count(), 3);

    for words in [&["restart", "s"][..], &["restart", "s", "--task", "0"], &["restart", "s", "--include-tasks"]] {
        done(rest, words);
        rest.wait("s", "RUNNING", 1).unwrap();
    }
    assert_eq!(done(rest, &["pause", "s"]), "s: pausing\n");
    rest.wait("s", "PAUSED", 1).unwrap();
    assert_eq!(done(rest, &["patch", "s", "batch.size=7", "tasks.max=1"]), "s: configured\n");
    assert_eq!(done(rest, &["patch", "s", "tasks.max-", "--json"]).lines().count(), 1);
    let config = parsed(&done(rest, &["config", "s", "--json"]));
    assert_eq!((&config["batch.size"], &config["tasks.max"]), (&json!("7"), &Value::Null));
    assert!(done(rest, &["config", "s"]).contains("batch.size       7\n"));
    let error = refused(rest, &["patch", "s", "connector.class-"]);
    assert!(error.starts_with("error: ") && error.ends_with("(HTTP 400)\n"), "{error}");
    done(rest, &["resume", "s"]);

    let read = || done(rest, &["offsets", "get", "s"]).contains("{\"position\":8}").then_some(());
    eventually("all is read", LIMIT, read).unwrap();
    assert_eq!(done(rest, &["topics", "s"]), "t\n");
    assert!(done(rest, &["sandbox", "s"]).contains(" MiB"));
    assert!(done(rest, &["plugins"]).contains("FileStreamSourceConnector "));
    assert!(done(rest, &["loggers"]).starts_with("LOGGER"));
    done(rest, &["loggers", "root", "warn"]);
    assert_eq!(done(rest, &["loggers", "root"]), "LOGGER  LEVEL\nroot    WARN\n");

    let offsets = path.join("offsets.json");
    fs::write(&offsets, done(rest, &["offsets", "get", "s", "--json"]).replace('8', "4")).unwrap();
    done(rest, &["stop", "s"]);
    rest.wait("s", "STOPPED", 0).unwrap();
    done(rest, &["offsets", "set", "s", &text(&offsets)]);
    let bundle = path.join("bundle.json");
    fs::write(&bundle, done(rest, &["export", "s"])).unwrap();
    assert_eq!(done(rest, &["import", &text(&bundle), "--name", "i"]), "i: imported\n");
    rest.wait("i", "STOPPED", 0).unwrap();
    let [old, new] = ["s", "i"].map(|name| done(rest, &["offsets", "get", name]));
    assert_eq!(old, new);
    assert!(old.contains("{\"position\":4}"), "{old}");
    done(rest, &["offsets", "reset", "s"]);
    assert_eq!(done(rest, &["offsets", "get", "s", "--json"]), "{\"offsets\":[]}\n");

    assert_eq!(done(rest, &["delete", "s"]), "s: deleted\n");
    assert!(refused(rest, &["delete", "s"]).ends_with("(HTTP 404)\n"));
    assert!(refused(rest, &["import", &properties]).contains("it is no bundle"));
    assert!(done(rest, &["completions", "bash"]).contains("--stop-and-resume"));
    let said = ctl(rest, &["restart", "i", "--task", "x"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
    let gone = ctl(&Rest::new("http://127.0.0.1:1"), &["list"]);
    assert!(gone.code == Some(1) && gone.err.contains("http://127.0.0.1:1 can't be asked"), "{gone:?}");
}
