use bulkhead_sdk::prelude::*;

/// Makes records up, for demonstrations, load and tests.
#[derive(Clone, Debug, Config)]
pub struct Settings {
    /// Topic to write to.
    #[config(non_empty)]
    pub topic: String,
    /// Records a second, of all tasks together; 0 for as many as the worker takes.
    #[config(default = 10, importance = "medium")]
    pub rate: u32,
    /// Records in all; the connector then idles. Without it there is no end.
    #[config(importance = "medium")]
    pub count: Option<u64>,
    /// What a value is: a text, a map without a schema, or a struct with one.
    #[config(default = "text", one_of("text", "map", "struct"), importance = "medium")]
    pub format: String,
    /// Bytes of filler in each value.
    #[config(default = 100, range(0..=1_000_000), importance = "medium")]
    pub value_size: u32,
    /// Number of different keys; 0 for records without one.
    #[config(default = 0, importance = "medium")]
    pub key_space: u32,
    /// Independent sequences into which the work is divided, each with an offset of its own. No more tasks than this have
    /// anything to do. A change makes other numbers.
    #[config(default = 8, range(1..=1_000), importance = "low")]
    pub streams: u32,
    /// The streams of one task.
    #[config(default = "", internal, importance = "low")]
    pub task_streams: Vec<String>,
}

/// The connector: deals the streams out to the tasks, like cards.
#[derive(Debug)]
pub struct Generator {
    streams: u32,
}

impl SourceConnector for Generator {
    type Config = Settings;

    async fn start(settings: Settings) -> Result<Self> {
        Ok(Self { streams: settings.streams })
    }

    async fn task_configs(&mut self, max_tasks: u32) -> Result<Vec<RawConfig>> {
        let tasks = self.streams.min(max_tasks);
        Ok((0..tasks).map(|task| RawConfig::new().with("task.streams", self.hand(task, tasks))).collect())
    }

    fn exactly_once(_config: &RawConfig) -> ExactlyOnce {
        ExactlyOnce::Supported
    }

    async fn alter_offsets(_config: &RawConfig, offsets: &[(JsonMap, JsonMap)]) -> Result<bool> {
        for (partition, offset) in offsets {
            if partition.get_u64("stream")?.is_none() || (!offset.is_none() && offset.get_u64("next")?.is_none()) {
                return Err(Error::data(format!(
                    "an offset is {{\"stream\": n}} with {{\"next\": n}}, not {partition}, {offset}"
                )));
            }
        }
        Ok(true)
    }
}

impl Generator {
    /// The streams of one task of so many.
    fn hand(&self, task: u32, tasks: u32) -> String {
        let numbers = (task..self.streams).step_by(tasks as usize).map(|stream| stream.to_string());
        numbers.collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_sdk::test::{alter_offsets, task_configs};

    use super::*;

    fn hands(streams: u32, max_tasks: u32) -> Vec<String> {
        let config = RawConfig::from([("topic", "t")]).with("streams", streams);
        let tasks = task_configs::<Generator>(config, max_tasks).unwrap();
        tasks.iter().map(|task| task.get("task.streams").unwrap().to_owned()).collect()
    }

    #[test]
    fn every_stream_has_one_task() {
        assert_eq!(hands(8, 3), ["0,3,6", "1,4,7", "2,5"]);
        assert_eq!(hands(2, 3), ["0", "1"]);
        assert_eq!(hands(3, 1), ["0,1,2"]);
    }

    #[test]
    fn only_its_own_offsets_are_accepted() {
        let alter = |partition, offset| alter_offsets::<Generator>([("topic", "t")], &[(partition, offset)]);
        assert_eq!(alter(r#"{"stream":0}"#, Some(r#"{"next":7}"#)), Ok(true));
        assert_eq!(alter(r#"{"stream":0}"#, None), Ok(true));
        assert!(alter(r#"{"stream":0}"#, Some("{}")).is_err());
        assert!(alter("null", None).is_err());
    }
}
