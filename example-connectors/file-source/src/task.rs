use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bulkhead_sdk::prelude::*;

use crate::connector::{Settings, path};
use crate::lines::Lines;

/// How often to look whether the file has grown, or is there at all.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The task: reads the file from the committed position on.
#[derive(Debug)]
pub struct FileSourceTask {
    path: String,
    topic: String,
    batch_size: usize,
    /// The source partition.
    source: Partition,
    /// Connect's STRING, which each line has as its schema.
    line: Schema,
    lines: Lines,
    /// None while the file isn't there.
    file: Option<File>,
    /// True once it was said that the file isn't there.
    missed: bool,
}

impl SourceTask for FileSourceTask {
    type Config = Settings;

    async fn start(settings: Settings, offsets: &Offsets) -> Result<Self> {
        let path = path(&settings)?.to_owned();
        let source = Partition::new([("filename", &path)]);
        let position = offsets.read(&source)?.get_u64("position")?.unwrap_or(0);
        Ok(Self {
            path,
            topic: settings.topic,
            batch_size: usize::try_from(settings.batch_size.max(1)).map_err(Error::config("batch.size"))?,
            source,
            line: Schema::text(),
            lines: Lines::from_position(position),
            file: None,
            missed: false,
        })
    }

    async fn poll(&mut self, batch: &mut Batch, wait: Wait) -> Result<()> {
        loop {
            self.read(batch)?;
            if !batch.is_empty() || wait.is_over() {
                return Ok(());
            }
            wait.sleep(LOOK_AGAIN).await;
        }
    }
}

impl FileSourceTask {
    /// Pushes lines until the batch is full or the file gives no more for now.
    fn read(&mut self, batch: &mut Batch) -> Result<()> {
        if !self.opened()? {
            return Ok(());
        }
        loop {
            self.push_lines(batch);
            if self.is_full(batch) || self.fill()? == 0 {
                return Ok(());
            }
        }
    }

    fn push_lines(&mut self, batch: &mut Batch) {
        let now = now();
        while !self.is_full(batch)
            && let Some(line) = self.lines.next_line()
        {
            batch
                .push(&self.topic)
                .value_utf8(line.text)
                .value_schema(&self.line)
                .timestamp(now)
                .offset(&self.source, [("position", line.next)]);
        }
    }

    fn is_full(&self, batch: &Batch) -> bool {
        batch.len() >= self.batch_size || !batch.has_room()
    }

    fn fill(&mut self) -> Result<usize> {
        let Some(file) = &mut self.file else { return Ok(0) };
        let failed = |error| Error::failed(error).context(format!("cannot read `{}`", self.path));
        let count = self.lines.fill(file).map_err(failed)?;
        if count == 0 {
            // WASI reads through a stream, and a stream that has ended stays so when the file grows: a seek makes a new one.
            file.seek(SeekFrom::Start(self.lines.read_to())).map_err(failed)?;
        }
        Ok(count)
    }

    /// Opens the file at the position reached, unless that was done. False: it isn't there yet.
    fn opened(&mut self) -> Result<bool> {
        if self.file.is_some() {
            return Ok(true);
        }
        match File::open(&self.path) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(self.lines.position()))?;
                info!("Reading `{}` from position {}.", self.path, self.lines.position());
                self.file = Some(file);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !std::mem::replace(&mut self.missed, true) {
                    warn!("Waiting for `{}`: it isn't there, or its folder isn't granted by sandbox.files.", self.path);
                }
                Ok(false)
            }
            Err(error) => Err(Error::config("file")(error).context(format!("cannot open `{}`", self.path))),
        }
    }
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;

    use bulkhead_sdk::test::{SourceRun, logged};
    use tempfile::TempDir;

    use super::*;

    struct Fixture {
        _folder: TempDir,
        path: PathBuf,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("in.txt");
            Self { _folder: folder, path }
        }

        fn with(text: &str) -> Self {
            let fixture = Self::new();
            fixture.append(text);
            fixture
        }

        fn append(&self, text: &str) {
            let mut file = File::options().create(true).append(true).open(&self.path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        fn config(&self) -> RawConfig {
            RawConfig::from([("file", self.path.to_str().unwrap()), ("topic", "t")])
        }
    }

    #[test]
    fn each_line_is_a_record_with_the_position_behind_it() {
        let fixture = Fixture::with("one\ntwo\r\nthree\n");
        let taken = SourceRun::<FileSourceTask>::start(fixture.config()).take(3);
        assert_eq!(taken.texts(), ["one", "two", "three"]);
        assert_eq!(taken.offsets(), [r#"{"position":4}"#, r#"{"position":9}"#, r#"{"position":15}"#]);
        let first = &taken.0[0];
        assert_eq!((first.topic.as_str(), &first.key, first.schema.clone()), ("t", &Value::Null, Some(Schema::text())));
        assert_eq!(first.offset.as_ref().unwrap().0, format!(r#"{{"filename":"{}"}}"#, fixture.path.display()));
    }

    #[test]
    fn the_time_of_a_record_is_when_its_line_was_read() {
        let before = now();
        let taken = SourceRun::<FileSourceTask>::start(Fixture::with("one\n").config()).take(1);
        let read = taken.0[0].timestamp.unwrap();
        assert!((before..=now()).contains(&read), "{read}");
    }

    #[test]
    fn a_restart_at_any_line_loses_and_repeats_nothing() {
        let fixture = Fixture::with("0\n1\n2\n3\n4\n5\n");
        let mut run = SourceRun::<FileSourceTask>::start(fixture.config());
        for line in 0..6 {
            assert_eq!(run.take(1).texts(), [line.to_string()]);
            run.restart_from_committed();
        }
        assert!(run.take_all().is_empty());
    }

    #[test]
    fn a_line_that_is_being_written_comes_when_it_is_finished() {
        let fixture = Fixture::with("one\ntw");
        let mut run = SourceRun::<FileSourceTask>::start(fixture.config());
        assert_eq!(run.take_all().texts(), ["one"]);
        fixture.append("o\nthree\n");
        assert_eq!(run.take_all().texts(), ["two", "three"]);
    }

    #[test]
    fn the_file_may_appear_later_and_that_is_said_once() {
        let fixture = Fixture::new();
        let mut run = SourceRun::<FileSourceTask>::start(fixture.config());
        assert!(run.take_all().is_empty() && run.take_all().is_empty());
        assert_eq!(logged().iter().filter(|line| line.starts_with("Waiting for")).count(), 1);
        fixture.append("here\n");
        assert_eq!(run.take(1).texts(), ["here"]);
    }

    #[test]
    fn a_batch_has_no_more_lines_than_asked_for() {
        let fixture = Fixture::with(&"line\n".repeat(10));
        let mut run = SourceRun::<FileSourceTask>::start(fixture.config().with("batch.size", 3));
        assert_eq!(run.poll().unwrap().len(), 3);
    }

    #[test]
    fn a_folder_is_no_file() {
        let fixture = Fixture::new();
        let folder = fixture.path.parent().unwrap().to_str().unwrap();
        let mut run = SourceRun::<FileSourceTask>::start([("file", folder), ("topic", "t")]);
        assert!(run.poll().unwrap_err().to_string().starts_with("cannot read"));
    }

    #[test]
    fn stop_is_heard_while_waiting() {
        let fixture = Fixture::with("");
        let mut run = SourceRun::<FileSourceTask>::start(fixture.config());
        run.stop_after(Duration::from_millis(300));
        assert!(run.poll().unwrap().is_empty());
        assert_eq!(bulkhead_sdk::test::elapsed(), Duration::from_millis(300));
        run.stop().unwrap();
    }
}
