//! A million lines from a file through real Kafka to a file: byte for byte when nothing happens, and
//! without a loss when the worker is killed ten times on the way.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bulkhead_e2e::{Kafka, Setup, eventually, real_kafka};

const LINES: usize = 1_000_000;
const KILLS: usize = 10;
const LIMIT: Duration = Duration::from_secs(300);
const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";

/// A worker with a file source and a file sink on its command line, around a topic of its own.
struct Pipe {
    setup: Setup,
    topic: String,
    from: PathBuf,
    to: PathBuf,
    _folder: tempfile::TempDir,
}

impl Pipe {
    fn new(kafka: Kafka, topic: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let topic = format!("{topic}-{}", std::process::id());
        let [from, to] = [path.join("in.txt"), path.join("out.txt")];
        let mut setup = Setup::new(kafka, &path).unwrap().with("offset.flush.interval.ms", "200");
        // A member that was killed holds its partitions until its session is over.
        setup = setup.with("consumer.session.timeout.ms", "6000").with("consumer.heartbeat.interval.ms", "1000");
        let source = format!(
            "name=in-{topic}\nconnector.class=FileStreamSource\nfile={}\ntopic={topic}\nvalue.converter={STRING}\n",
            from.display()
        );
        let sink = format!(
            "name=out-{topic}\nconnector.class=FileStreamSink\nfile={}\ntopics={topic}\nvalue.converter={STRING}\n",
            to.display()
        );
        for (name, text) in [("source.properties", source), ("sink.properties", sink)] {
            fs::write(path.join(name), text).unwrap();
            setup.connectors.push(path.join(name));
        }
        Self { setup, topic, from, to, _folder: folder }
    }

    fn write_input(&self) {
        let mut text = String::with_capacity(LINES * 60);
        (0..LINES).for_each(|number| text += &line(number));
        fs::write(&self.from, text).unwrap();
    }
}

fn line(number: usize) -> String {
    format!("{number:09} the quick brown fox jumps over the lazy dog\n")
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Numbers of the lines, in order. A line that a kill cut short has none.
fn numbers(path: &Path) -> impl Iterator<Item = usize> {
    let lines = BufReader::new(File::open(path).unwrap()).lines();
    lines.filter_map(|found| {
        let found = found.unwrap();
        let number = found.get(..9)?.parse().ok()?;
        (line(number).trim_end() == found).then_some(number)
    })
}

#[test]
fn a_million_lines_arrive_byte_for_byte() {
    let Some(kafka) = real_kafka("a million lines") else { return };
    let pipe = Pipe::new(kafka, "undisturbed");
    pipe.write_input();
    let _worker = pipe.setup.start().unwrap();
    let want = size(&pipe.from);
    eventually("all lines arrive", LIMIT, || (size(&pipe.to) >= want).then_some(())).unwrap();
    assert!(fs::read(&pipe.from).unwrap() == fs::read(&pipe.to).unwrap(), "the files differ");
}

/// At least once: after a kill the source may repeat what was not committed, so the topic jumps back to
/// an earlier line, but never forward over one. A sink of its own shows the topic as it is; the sink that
/// was killed as well has at least every line.
#[test]
fn a_worker_killed_ten_times_loses_no_line() {
    let Some(kafka) = real_kafka("ten kills") else { return };
    let pipe = Pipe::new(kafka, "killed");
    pipe.write_input();
    let total = size(&pipe.from);
    for kill in 1..=KILLS as u64 {
        let mut worker = pipe.setup.start().unwrap();
        let reached = size(&pipe.to).max(total * kill / (KILLS as u64 + 2));
        eventually("it gets further", LIMIT, || (size(&pipe.to) >= reached).then_some(())).unwrap();
        worker.kill().unwrap();
    }
    let worker = pipe.setup.start().unwrap();
    let topic = pipe.to.with_file_name("topic.txt");
    let audit = [
        ("connector.class", "FileStreamSink"),
        ("file", topic.to_str().unwrap()),
        ("topics", pipe.topic.as_str()),
        ("value.converter", STRING),
    ];
    worker.rest.create(&format!("audit-{}", pipe.topic), &audit).unwrap();
    for file in [&topic, &pipe.to] {
        eventually("the last line arrives", LIMIT, || ends_with_the_last_line(file)).unwrap();
    }

    let mut jumps_back = 0;
    let mut due = 0;
    for number in numbers(&topic) {
        assert!(number <= due, "line {due} is due, but {number} comes");
        jumps_back += usize::from(number < due);
        due = number + 1;
    }
    assert_eq!(due, LINES);
    assert!(jumps_back <= KILLS, "{jumps_back} times back");
    let written: HashSet<_> = numbers(&pipe.to).collect();
    assert_eq!(written.len(), LINES);
}

fn ends_with_the_last_line(file: &Path) -> Option<()> {
    let last = line(LINES - 1);
    let mut end = vec![0; last.len()];
    let mut file = File::open(file).ok()?;
    file.seek(SeekFrom::End(-(last.len() as i64))).ok()?;
    file.read_exact(&mut end).ok()?;
    (end == last.as_bytes()).then_some(())
}
