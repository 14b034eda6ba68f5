//! A pipe that runs moves to other workers, which have other topics of their own: no line is lost, none comes twice.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bulkhead_e2e::eventually;
use serde_json::json;

use crate::fleet::{Fleet, Mode};
use crate::{SINK, SOON, SOURCE};

/// For the last line to come out at the other end.
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_running_pipe_moves_from_cluster_to_cluster() {
    check("move-clusters", Mode::Cluster, Mode::Cluster);
}

#[test]
fn a_running_pipe_moves_from_a_standalone_worker_to_a_cluster() {
    check("move-up", Mode::Standalone, Mode::Cluster);
}

#[test]
fn a_running_pipe_moves_from_a_cluster_to_a_standalone_worker() {
    check("move-down", Mode::Cluster, Mode::Standalone);
}

fn check(test: &str, from: Mode, to: Mode) {
    let folder = tempfile::tempdir().unwrap();
    let Some(old) = Fleet::new(&format!("{test}-old"), from, folder.path()) else { return };
    let Some(new) = Fleet::new(&format!("{test}-new"), to, folder.path()) else { return };
    let topic = old.topic("lines");
    let [input, output] = ["in.txt", "out.txt"].map(|name| old.file(name));
    let [source, sink] = ["in", "out"].map(|end| old.topic(end));
    let file = File::create(&input).unwrap();
    let no_more = json!({});
    old.created(&source, &json!({ "connector.class": SOURCE, "topic": topic, "file": input }), &no_more);
    old.created(&sink, &json!({ "connector.class": SINK, "topics": topic, "file": output }), &no_more);
    let enough = AtomicBool::new(false);
    thread::scope(|scope| {
        let feeder = scope.spawn(|| feed(file, &enough));
        let _ends = OnDrop(&enough);
        grows(&output);
        move_over(&source, &old, &new);
        move_over(&sink, &old, &new);
        grows(&output);
        enough.store(true, Ordering::Relaxed);
        feeder.join().unwrap();
    });
    let expected = fs::read_to_string(&input).unwrap();
    let complete = || (size(&output) >= expected.len()).then_some(());
    eventually("the last line arrives", LIMIT, complete).unwrap();
    let expected: Vec<_> = expected.lines().collect();
    let passed: Vec<_> = new.topics.read(&topic).unwrap().iter().map(bulkhead_e2e::Record::value_text).collect();
    assert!(passed == expected, "lines of the topic: {}", difference(&passed, &expected));
    let arrived = fs::read_to_string(&output).unwrap();
    let arrived: Vec<_> = arrived.lines().map(str::to_owned).collect();
    assert!(arrived == expected, "lines of the file: {}", difference(&arrived, &expected));
}

/// As an operator would: stopped here with its offsets, created there without running, given the offsets, deleted
/// here, resumed there.
fn move_over(name: &str, old: &Fleet, new: &Fleet) {
    old.put(name, "stop");
    old.wait(name, "STOPPED", 0);
    let offsets = old.offsets(name);
    assert_ne!(offsets, json!({ "offsets": [] }));
    let config = old.must("GET", &format!("/connectors/{name}/config"), None);
    new.created(name, &config, &json!({ "initial_state": "STOPPED" }));
    new.wait(name, "STOPPED", 0);
    new.must("PATCH", &format!("/connectors/{name}/offsets"), Some(&offsets));
    assert_eq!(new.offsets(name), offsets);
    old.delete(name);
    new.put(name, "resume");
    new.wait(name, "RUNNING", 1);
}

/// Waits until a hundred more lines have arrived.
fn grows(output: &Path) {
    let before = size(output);
    eventually("lines arrive", SOON, || (size(output) > before + 100 * LINE).then_some(())).unwrap();
}

fn size(file: &Path) -> usize {
    fs::metadata(file).map_or(0, |found| usize::try_from(found.len()).unwrap())
}

/// Bytes of a line with its end.
const LINE: usize = 9;

fn feed(mut input: File, enough: &AtomicBool) {
    for number in 0.. {
        if enough.load(Ordering::Relaxed) {
            return;
        }
        writeln!(input, "{number:08}").unwrap();
        thread::sleep(Duration::from_millis(3));
    }
}

/// Ends the feeder when a check fails.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The first line that isn't as it should be.
fn difference(found: &[String], expected: &[&str]) -> String {
    let at = found.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
    let (is, due) = (found.get(at), expected.get(at));
    format!("number {at} is {is:?}, but {due:?} is due; {} instead of {}", found.len(), expected.len())
}
