use bulkhead_sdk::ErrorKind;
use bulkhead_sdk::prelude::*;
use bulkhead_sdk::sink::Payload;

use crate::output::Output;

/// Writes each record's value as a line of a file.
#[derive(Debug, Config)]
pub struct Settings {
    /// The file to append to; its folder must be granted by `sandbox.files`. Without one, lines go to the log.
    #[config(importance = "high")]
    pub file: Option<String>,
}

/// A task: several may write to the same file.
#[derive(Debug)]
pub struct FileSinkTask {
    output: Output,
}

impl SinkTask for FileSinkTask {
    type Config = Settings;

    async fn start(settings: Settings) -> Result<Self> {
        Ok(Self { output: Output::open(settings.file.as_deref())? })
    }

    async fn put(&mut self, batch: &SinkBatch) -> Result<Rejections> {
        let mut refused = Rejections::none();
        for record in batch {
            match self.write(&record.value()) {
                Err(error) if *error.kind() == ErrorKind::Data => refused.add(&record, error.to_string()),
                outcome => outcome?,
            }
        }
        // Whoever watches the file sees lines as they come, as with FileStreamSink.
        self.output.flush()?;
        Ok(refused)
    }

    async fn flush(&mut self) -> Result<()> {
        Ok(self.output.flush()?)
    }

    async fn stop(&mut self) -> Result<()> {
        self.flush().await
    }
}

impl FileSinkTask {
    /// Texts and bytes as they are, anything else as Java would print it.
    fn write(&mut self, value: &Payload<'_>) -> Result<()> {
        match value.as_text_or_bytes() {
            Some(line) => self.output.line(line)?,
            None => self.output.line(value.decode()?.shown(value.schema()).to_string().as_bytes())?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bulkhead_sdk::test::{SinkRun, logged};

    use super::*;

    fn run(path: &std::path::Path) -> SinkRun<FileSinkTask> {
        SinkRun::start([("file", path.to_str().unwrap())])
    }

    #[test]
    fn values_are_lines_as_soon_as_they_are_put() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let mut run = run(&path);
        assert!(run.put_texts("t", ["one", "two"]).unwrap().is_empty());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        let committed = run.commit().unwrap();
        assert_eq!(committed, [TopicOffset { topic: "t".into(), partition: 0, offset: 2 }]);
    }

    #[test]
    fn what_is_in_the_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "before\n").unwrap();
        let mut run = run(&path);
        run.put_texts("t", ["after"]).unwrap();
        run.stop().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nafter\n");
    }

    #[test]
    fn a_line_that_a_crash_cut_short_spoils_none_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "whole\nhal").unwrap();
        let mut run = run(&path);
        run.put_texts("t", ["half"]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\nhal\nhalf\n");
    }

    #[test]
    fn other_values_are_written_as_java_prints_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let point = Schema::record("P").field("x", Schema::int32()).field("y", Schema::int32().optional());
        let mut run = run(&path);
        run.put(|batch| {
            batch.push("t").value_struct(&point, [("x", 1.into())]);
            batch.push("t").value_bytes(b"bytes");
            batch.push("t").value_of(None, 7_i64);
            batch.push("t").key("a tombstone");
        })
        .unwrap();
        run.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "Struct{x=1}\nbytes\n7\nnull\n");
    }

    #[test]
    fn a_file_that_cannot_be_made_fails_the_start_and_says_what_to_do() {
        let error = SinkRun::<FileSinkTask>::try_start([("file", "/no/such/folder/out.txt")]).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Config(Some("file".into())));
        assert!(error.to_string().contains("sandbox.files"), "{error}");
    }

    #[test]
    fn without_a_file_lines_go_to_the_log() {
        let mut run = SinkRun::<FileSinkTask>::start(RawConfig::new());
        run.put_texts("t", ["to the log"]).unwrap();
        assert_eq!(logged(), ["to the log"]);
    }
}
