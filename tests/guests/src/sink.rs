//! The hostile sink.

use bulkhead_sdk::metrics::Counter;
use bulkhead_sdk::prelude::*;

use crate::{modes, stuck};

modes! {
    /// What the sink does in `put`.
    Mode {
        /// Counts.
        Ok = "ok",
        /// Looks at every value and does nothing: for measurements.
        Bench = "bench",
        /// Refuses records at odd offsets.
        RejectOdd = "reject-odd",
        /// `times` retriable errors, then well.
        Retriable = "retriable",
        Fail = "fail",
        PanicPut = "panic-put",
        SpinPut = "spin-put",
        BlockPut = "block-put",
        PanicCommit = "panic-commit",
    }
}

/// A sink that misbehaves on request.
#[derive(Clone, Debug, Config)]
pub(crate) struct Settings {
    /// What it does.
    #[config(default = "ok")]
    mode: Mode,
    /// How often, for modes that stop misbehaving.
    #[config(default = 3)]
    times: u32,
}

/// A task.
#[derive(Debug)]
pub(crate) struct HostileSink {
    settings: Settings,
    puts: u32,
    records: u64,
    counter: Counter,
}

impl SinkTask for HostileSink {
    type Config = Settings;

    async fn start(settings: Settings) -> Result<Self> {
        let counter = Counter::new("hostile-records", "Records that the sink has taken.");
        Ok(Self { settings, puts: 0, records: 0, counter })
    }

    async fn put(&mut self, batch: &SinkBatch) -> Result<Rejections> {
        if batch.is_empty() {
            return Ok(Rejections::none());
        }
        self.puts += 1;
        match self.settings.mode {
            Mode::Bench => return Ok(self.look(batch)),
            Mode::RejectOdd => return Ok(reject_odd(batch)),
            Mode::Retriable if self.puts <= self.settings.times => {
                return Err(Error::retriable(format!("not yet, at the {}. try", self.puts)));
            }
            Mode::Fail => return Err(Error::failed("the sink fails, as it was asked to")),
            Mode::PanicPut => panic!("a panic in put"),
            Mode::SpinPut => stuck::spin(),
            Mode::BlockPut => stuck::block(),
            Mode::Ok | Mode::Retriable | Mode::PanicCommit => {}
        }
        self.records += batch.len() as u64;
        self.counter.add(batch.len() as f64);
        info!("Took {} records, {} so far.", batch.len(), self.records);
        Ok(Rejections::none())
    }

    async fn flush(&mut self) -> Result<()> {
        match self.settings.mode {
            Mode::PanicCommit => panic!("a panic in pre-commit"),
            _ => Ok(()),
        }
    }
}

impl HostileSink {
    fn look(&mut self, batch: &SinkBatch) -> Rejections {
        let looked_at = batch.iter().filter_map(|record| record.value().as_text_or_bytes()).map(<[u8]>::len);
        self.records += std::hint::black_box(looked_at.sum::<usize>()) as u64;
        Rejections::none()
    }
}

fn reject_odd(batch: &SinkBatch) -> Rejections {
    let mut refused = Rejections::none();
    for record in batch.iter().filter(|record| record.offset() % 2 == 1) {
        refused.add(&record, format!("offset {} is odd", record.offset()));
    }
    refused
}
