use bulkhead_sdk::prelude::*;

/// Reads a file line by line, and goes on as it grows.
#[derive(Clone, Debug, Config)]
pub struct Settings {
    /// The file to read. It may appear later; the folder that holds it must be granted by `sandbox.files`.
    #[config(importance = "high")]
    pub file: Option<String>,
    /// Topic that each line becomes a record of.
    #[config(importance = "high", non_empty)]
    pub topic: String,
    /// How many lines the task hands over at a time, at most.
    #[config(default = 2000, importance = "low")]
    pub batch_size: i32,
}

/// The connector: one file, one task.
#[derive(Debug)]
pub struct FileSource;

impl SourceConnector for FileSource {
    type Config = Settings;

    async fn start(settings: Settings) -> Result<Self> {
        path(&settings).map(|_| Self)
    }

    async fn task_configs(&mut self, _max_tasks: u32) -> Result<Vec<RawConfig>> {
        Ok(vec![RawConfig::new()])
    }

    /// A position is behind the last line handed over, so nothing is read twice or left out.
    fn exactly_once(_config: &RawConfig) -> ExactlyOnce {
        ExactlyOnce::Supported
    }

    async fn alter_offsets(_config: &RawConfig, offsets: &[(JsonMap, JsonMap)]) -> Result<bool> {
        offsets.iter().try_for_each(|(partition, offset)| check_altered(partition, offset))?;
        Ok(true)
    }
}

/// The file to read. Connect reads its standard input if none is named; here there is none to read.
pub(crate) fn path(settings: &Settings) -> Result<&str> {
    let missing = || Error::config("file")("a file must be named: a connector in a sandbox has no standard input");
    settings.file.as_deref().filter(|path| !path.is_empty()).ok_or_else(missing)
}

/// Only `{"filename": text}` with `{"position": whole number from 0}` can be an offset of this connector.
fn check_altered(partition: &JsonMap, offset: &JsonMap) -> Result<()> {
    if partition.is_none() {
        return Err(Error::data("a partition can't be null"));
    }
    if partition.get_text("filename")?.is_none() {
        return Err(Error::data(format!("the partition {partition} doesn't name its `filename`")));
    }
    if !offset.is_none() && offset.get_u64("position")?.is_none() {
        return Err(Error::data(format!("the offset {offset} has no `position`")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bulkhead_sdk::test::{alter_offsets, task_configs};

    use super::*;

    fn alter(partition: &str, offset: &str) -> Result<bool> {
        alter_offsets::<FileSource>([("topic", "t")], &[(partition, Some(offset))])
    }

    #[test]
    fn there_is_one_task_however_many_are_allowed() {
        let tasks = task_configs::<FileSource>([("file", "/f"), ("topic", "t")], 5).unwrap();
        assert_eq!(tasks, [RawConfig::from([("file", "/f"), ("topic", "t")])]);
    }

    #[test]
    fn without_a_file_the_connector_says_why_it_cannot_start() {
        let error = task_configs::<FileSource>([("topic", "t")], 1).unwrap_err();
        assert_eq!(error.kind(), &bulkhead_sdk::ErrorKind::Config(Some("file".into())));
    }

    #[test]
    fn offsets_of_this_form_are_accepted_and_null_deletes() {
        assert_eq!(alter(r#"{"filename":"f"}"#, r#"{"position":4}"#), Ok(true));
        assert_eq!(alter(r#"{"filename":"f"}"#, "null"), Ok(true));
        assert_eq!(alter_offsets::<FileSource>([("topic", "t")], &[(r#"{"filename":"f"}"#, None)]), Ok(true));
    }

    #[test]
    fn any_other_offset_is_refused() {
        for (partition, offset) in [
            ("null", r#"{"position":1}"#),
            (r#"{"other":"f"}"#, r#"{"position":1}"#),
            (r#"{"filename":null}"#, r#"{"position":1}"#),
            (r#"{"filename":"f"}"#, r#"{}"#),
            (r#"{"filename":"f"}"#, r#"{"position":null}"#),
            (r#"{"filename":"f"}"#, r#"{"position":"x"}"#),
            (r#"{"filename":"f"}"#, r#"{"position":-1}"#),
            (r#"{"filename":"f"}"#, r#"{"position":1.5}"#),
        ] {
            assert!(alter(partition, offset).is_err(), "{partition} {offset}");
        }
    }
}
