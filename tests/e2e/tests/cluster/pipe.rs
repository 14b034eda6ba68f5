//! A file that grows, a source that reads it into a topic, a sink that writes the topic to a file.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bulkhead_e2e::{Cluster, Rest, eventually};

/// For the last line to come out at the other end.
const LIMIT: Duration = Duration::from_secs(60);

/// What a worker that is killed makes another one repeat at most, with offsets that are committed each half second.
pub const A_SECOND: usize = 200;

/// Both connectors have names that Apache's worker knows as well.
pub const SOURCE: &str = "org.apache.kafka.connect.file.FileStreamSourceConnector";
pub const SINK: &str = "org.apache.kafka.connect.file.FileStreamSinkConnector";

/// Connectors `in-NAME` and `out-NAME`; lines are added until the end.
#[derive(Debug)]
pub struct Pipe {
    pub source: String,
    pub sink: String,
    topic: String,
    to: PathBuf,
    enough: Arc<AtomicBool>,
    feeder: Option<JoinHandle<u64>>,
}

impl Pipe {
    pub fn create(cluster: &Cluster, rest: &Rest, name: &str) -> Self {
        let [from, to] = ["in", "out"].map(|end| cluster.path().join(format!("{name}.{end}.txt")));
        // Sinks of the same name are in the same consumer group.
        let [source, sink] = ["in", "out"].map(|end| format!("{end}-{}", cluster.topic(name)));
        let topic = cluster.topic(name);
        let input = File::create(&from).unwrap();
        let file = from.to_str().unwrap();
        rest.create(&source, &[("connector.class", SOURCE), ("topic", &topic), ("file", file)]).unwrap();
        let file = to.to_str().unwrap();
        rest.create(&sink, &[("connector.class", SINK), ("topics", &topic), ("file", file)]).unwrap();
        let enough = Arc::new(AtomicBool::new(false));
        let feeder = thread::spawn({
            let enough = Arc::clone(&enough);
            move || feed(input, &enough)
        });
        Self { source, sink, topic, to, enough, feeder: Some(feeder) }
    }

    /// Its connectors with the number of their tasks.
    pub fn connectors(&self) -> [(&str, u32); 2] {
        [(&self.source, 1), (&self.sink, 1)]
    }

    /// Waits until as many lines are out as this.
    pub fn flows(&self, more: usize) {
        let before = self.written();
        eventually("lines arrive", LIMIT, || (self.written() >= before + more).then_some(())).unwrap();
    }

    fn written(&self) -> usize {
        fs::read(&self.to).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count()
    }

    /// Ends the input and checks that all of it came out, the topic never skipping a line, and repeating at most so
    /// many.
    pub fn check(mut self, cluster: &Cluster, most_repeated: usize) {
        self.enough.store(true, Ordering::Relaxed);
        let lines = self.feeder.take().unwrap().join().unwrap();
        let all = |seen: &HashSet<u64>| (0..lines).all(|line| seen.contains(&line));
        eventually("every line arrives", LIMIT, || all(&self.seen()).then_some(())).unwrap();
        let (mut due, mut repeated) = (0, 0);
        for record in cluster.topics.read(&self.topic).unwrap() {
            let line = number(&record.value_text()).unwrap();
            assert!(line <= due, "{}: line {due} is due, but {line} comes", self.topic);
            repeated += usize::from(line < due);
            due = due.max(line + 1);
        }
        assert_eq!(due, lines, "{}: the last line is there", self.topic);
        assert!(repeated <= most_repeated, "{}: {repeated} lines repeated", self.topic);
    }

    fn seen(&self) -> HashSet<u64> {
        let text = fs::read(&self.to).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().filter_map(number).collect()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.enough.store(true, Ordering::Relaxed);
    }
}

/// Lines without end; returns how many.
fn feed(mut input: File, enough: &AtomicBool) -> u64 {
    for number in 0.. {
        if enough.load(Ordering::Relaxed) {
            return number;
        }
        writeln!(input, "{number:08} of many lines").unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    unreachable!("a test takes less than 2^64 lines")
}

/// None for a line that a kill cut short.
fn number(line: &str) -> Option<u64> {
    line.strip_suffix(" of many lines").and_then(|number| number.parse().ok())
}
