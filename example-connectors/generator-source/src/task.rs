use bulkhead_sdk::prelude::*;

use crate::connector::Settings;
use crate::stream::Stream;
use crate::template::Template;

/// A task: gives out the numbers of its streams in turn.
#[derive(Debug)]
pub struct GeneratorTask {
    topic: String,
    /// Records a second of this task; 0 for no limit.
    rate: u32,
    template: Template,
    streams: Vec<Stream>,
    /// Whose turn it is.
    turn: usize,
}

impl SourceTask for GeneratorTask {
    type Config = Settings;

    async fn start(settings: Settings, offsets: &Offsets) -> Result<Self> {
        let streams = streams(&settings, offsets)?;
        let share = u64::from(settings.rate) * streams.len() as u64;
        Ok(Self {
            rate: u32::try_from(share.div_ceil(settings.streams.into())).map_err(Error::config("rate"))?,
            template: Template::new(&settings)?,
            topic: settings.topic,
            streams,
            turn: 0,
        })
    }

    async fn poll(&mut self, batch: &mut Batch, wait: Wait) -> Result<()> {
        if self.streams.iter().all(Stream::is_over) {
            wait.rest().await;
            return Ok(());
        }
        if self.rate > 0 {
            wait.pace(self.rate).await?;
        }
        while batch.has_room()
            && let Some(stream) = self.next_stream()
        {
            self.push(batch, stream);
        }
        Ok(())
    }
}

impl GeneratorTask {
    /// The next stream, in turn, that isn't over.
    fn next_stream(&mut self) -> Option<usize> {
        let count = self.streams.len();
        let stream = (self.turn..self.turn + count).map(|turn| turn % count).find(|&at| !self.streams[at].is_over())?;
        self.turn = stream + 1;
        Some(stream)
    }

    fn push(&mut self, batch: &mut Batch, stream: usize) {
        let stream = &mut self.streams[stream];
        if let Some((number, next)) = stream.advance() {
            self.template.fill(batch.push(&self.topic), number).offset(&stream.source, [("next", next)]);
        }
    }
}

/// The task's streams, each where it was.
fn streams(settings: &Settings, offsets: &Offsets) -> Result<Vec<Stream>> {
    let numbers: Vec<u32> = settings
        .task_streams
        .iter()
        .map(|number| number.parse().map_err(Error::config("task.streams")))
        .collect::<Result<_>>()?;
    let partitions: Vec<Partition> = numbers.iter().map(|&number| Stream::partition(number)).collect();
    let found = offsets.read_all(&partitions)?;
    let resume = |(number, offset): (u32, JsonMap)| {
        Ok(Stream::new(number, settings.streams, offset.get_u64("next")?.unwrap_or(0), settings.count))
    };
    numbers.into_iter().zip(found).map(resume).collect()
}

#[cfg(test)]
mod tests {
    use bulkhead_sdk::test::SourceRun;

    use super::*;

    fn config(more: &[(&str, &str)]) -> RawConfig {
        let base = [("topic", "t"), ("rate", "1000"), ("value.size", "0"), ("streams", "2"), ("task.streams", "0,1")];
        base.iter().chain(more).copied().collect()
    }

    #[test]
    fn numbers_come_in_turn_and_go_on_after_a_crash_at_any_record() {
        let mut run = SourceRun::<GeneratorTask>::start(config(&[]));
        for number in 0..20 {
            assert_eq!(run.take(1).texts(), [format!("{number} ")]);
            if number % 2 == 1 {
                run.restart_from_committed();
            }
        }
    }

    #[test]
    fn it_ends_after_so_many_records() {
        let mut run = SourceRun::<GeneratorTask>::start(config(&[("count", "7")]));
        assert_eq!(run.take_all().len(), 7);
        run.restart_from_committed();
        assert!(run.take_all().is_empty());
    }

    #[test]
    fn the_rate_is_shared_by_streams() {
        let mut run =
            SourceRun::<GeneratorTask>::start(config(&[("rate", "100"), ("streams", "4"), ("task.streams", "1")]));
        run.take(100);
        let seconds = bulkhead_sdk::test::elapsed().as_secs_f64();
        assert!((3.8..=4.2).contains(&seconds), "{seconds}");
    }

    #[test]
    fn keys_repeat() {
        let taken = SourceRun::<GeneratorTask>::start(config(&[("key.space", "3")])).take(4);
        let keys: Vec<String> = taken.0.iter().map(|record| record.key.to_string()).collect();
        assert_eq!(keys, ["key-0", "key-1", "key-2", "key-0"]);
    }

    #[test]
    fn a_struct_has_its_schema_and_a_map_has_none() {
        let taken = SourceRun::<GeneratorTask>::start(config(&[("format", "struct")])).take(1);
        assert_eq!(taken.texts(), ["Struct{id=0,filler=}"]);
        assert_eq!(taken.0[0].schema.as_ref().and_then(Schema::get_name), Some("io.bulkhead.Generated"));
        let taken = SourceRun::<GeneratorTask>::start(config(&[("format", "map")])).take(1);
        assert_eq!((taken.texts(), &taken.0[0].schema), (vec!["{id=0, filler=}".to_owned()], &None));
    }
}
