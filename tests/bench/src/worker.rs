//! Records per second of any worker that speaks Connect's REST: a file of lines into a topic, the topic
//! into a file, and lines that transforms make structs of into a topic, as JSON with schemas. Two workers measured in one run on one machine can be compared; nothing else can.

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
    pub structured_per_s: f64,
}

/// Length of a line that becomes a field of a struct; with the other fields, a record has 1 KB.
const STRUCTURED_LINE: usize = 600;
/// One in so many of the records that are measured as plain lines.
const STRUCTURED_PART: usize = 5;

impl Measurement {
    pub fn run(&self) -> anyhow::Result<Rates> {
        let rest = Rest::new(&self.url);
        let topic = format!("bench-{}", SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis());
        let strings = [("key.converter", STRING), ("value.converter", STRING)];
        let source_per_s = self.source(&rest, &topic, &strings)?;
        let sink_per_s = self.sink(&rest, &topic)?;
        let structured_per_s = self.structured(&rest, &format!("{topic}-structured"))?;
        Ok(Rates { source_per_s, sink_per_s, structured_per_s })
    }

    /// A source whose lines become one field of five.
    fn structured(&self, rest: &Rest, topic: &str) -> anyhow::Result<f64> {
        const TRANSFORMS: &str = "org.apache.kafka.connect.transforms";
        let (hoist, insert) = (format!("{TRANSFORMS}.HoistField$Value"), format!("{TRANSFORMS}.InsertField$Value"));
        let text = |length| "y".repeat(length);
        let (site, note, origin) = (text(100), text(200), text(100));
        let config = [
            ("key.converter", STRING),
            ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
            ("value.converter.schemas.enable", "true"),
            ("transforms", "line,site,note,origin,topic"),
            ("transforms.line.type", &hoist),
            ("transforms.line.field", "line"),
            ("transforms.site.type", &insert),
            ("transforms.site.static.field", "site"),
            ("transforms.site.static.value", &site),
            ("transforms.note.type", &insert),
            ("transforms.note.static.field", "note"),
            ("transforms.note.static.value", &note),
            ("transforms.origin.type", &insert),
            ("transforms.origin.static.field", "origin"),
            ("transforms.origin.static.value", &origin),
            ("transforms.topic.type", &insert),
            ("transforms.topic.topic.field", "topic"),
        ];
        let records = self.records / STRUCTURED_PART;
        Self { records, line: STRUCTURED_LINE, ..self.clone() }.source(rest, topic, &config)
    }

    /// From the request that creates the source until the topic holds all records.
    fn source(&self, rest: &Rest, topic: &str, more: &[(&str, &str)]) -> anyhow::Result<f64> {
        self.make_topic(topic)?;
        // A name of its own: under a known one the source would go on where it was.
        let lines = self.folder.join(format!("{topic}-in.txt"));
        self.write_lines(&lines)?;
        let watch: BaseConsumer = ClientConfig::new().set("bootstrap.servers", &self.bootstrap).create()?;
        let started = Instant::now();
        let connector = format!("{topic}-source");
        let source = [
            ("connector.class", "FileStreamSource"),
            ("tasks.max", "1"),
            ("file", text(&lines)?),
            ("topic", topic),
            ("batch.size", "2000"),
        ];
        rest.create(&connector, &[&source, more].concat())?;
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
