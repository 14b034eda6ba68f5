//! Records per second of any worker that speaks Connect's REST: a file of lines into a topic, and the
//! topic into a file. Two workers measured in one run on one machine can be compared; nothing else can.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use bulkhead_e2e::Rest;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::consumer::{BaseConsumer, Consumer};

const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";
const LIMIT: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(5);

/// What is measured where.
#[derive(Clone, Debug)]
pub struct Measurement {
    pub url: String,
    pub bootstrap: String,
    pub records: usize,
    /// Length of a line without its end.
    pub line: usize,
    /// For files that the worker reads and writes.
    pub folder: PathBuf,
}

/// Figures of one worker.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub source_per_s: f64,
    pub sink_per_s: f64,
}

impl Measurement {
    pub fn run(&self) -> anyhow::Result<Rates> {
        let rest = Rest::new(&self.url);
        let topic = format!("bench-{}", SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis());
        self.make_topic(&topic)?;
        let source_per_s = self.source(&rest, &topic)?;
        let sink_per_s = self.sink(&rest, &topic)?;
        Ok(Rates { source_per_s, sink_per_s })
    }

    /// From the request that creates the source until the topic holds all records.
    fn source(&self, rest: &Rest, topic: &str) -> anyhow::Result<f64> {
        // A name of its own: under a known one the source would go on where it was.
        let lines = self.folder.join(format!("{topic}-in.txt"));
        self.write_lines(&lines)?;
        let watch: BaseConsumer = ClientConfig::new().set("bootstrap.servers", &self.bootstrap).create()?;
        let started = Instant::now();
        let connector = format!("{topic}-source");
        rest.create(
            &connector,
            &[
                ("connector.class", "FileStreamSource"),
                ("tasks.max", "1"),
                ("file", text(&lines)?),
                ("topic", topic),
                ("key.converter", STRING),
                ("value.converter", STRING),
                ("batch.size", "2000"),
            ],
        )?;
        loop {
            let (_, end) = watch.fetch_watermarks(topic, 0, Duration::from_secs(10))?;
            if end >= self.records as i64 {
                break;
            }
            ensure!(started.elapsed() < LIMIT, "only {end} records after {LIMIT:?}");
            std::thread::sleep(LOOK);
        }
        let rate = self.records as f64 / started.elapsed().as_secs_f64();
        rest.delete(&connector)?;
        fs::remove_file(&lines)?;
        Ok(rate)
    }

    /// From the request that creates the sink until the file holds all records.
    fn sink(&self, rest: &Rest, topic: &str) -> anyhow::Result<f64> {
        let out = self.folder.join(format!("{topic}-out.txt"));
        File::create(&out)?;
        let want = (self.records * (self.line + 1)) as u64;
        let started = Instant::now();
        // A group of its own, so that no worker waits for members of another to leave.
        let connector = format!("{topic}-sink");
        rest.create(
            &connector,
            &[
                ("connector.class", "FileStreamSink"),
                ("tasks.max", "1"),
                ("file", text(&out)?),
                ("topics", topic),
                ("key.converter", STRING),
                ("value.converter", STRING),
            ],
        )?;
        while fs::metadata(&out)?.len() < want {
            ensure!(started.elapsed() < LIMIT, "the file isn't complete after {LIMIT:?}");
            std::thread::sleep(LOOK);
        }
        let rate = self.records as f64 / started.elapsed().as_secs_f64();
        rest.delete(&connector)?;
        ensure!(fs::metadata(&out)?.len() == want, "the file has more bytes than were sent");
        Ok(rate)
    }

    fn write_lines(&self, path: &Path) -> anyhow::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        let filler = "x".repeat(self.line - 12);
        for number in 0..self.records {
            writeln!(file, "{number:012}{filler}")?;
        }
        Ok(file.flush()?)
    }

    fn make_topic(&self, topic: &str) -> anyhow::Result<()> {
        let admin: AdminClient<_> = ClientConfig::new().set("bootstrap.servers", &self.bootstrap).create()?;
        let new = NewTopic::new(topic, 1, TopicReplication::Fixed(1));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let made = runtime.block_on(admin.create_topics([&new], &AdminOptions::new()))?;
        for outcome in made {
            outcome.map_err(|(topic, error)| anyhow::anyhow!("topic {topic}: {error}"))?;
        }
        Ok(())
    }
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("the folder's path is not UTF-8")
}
