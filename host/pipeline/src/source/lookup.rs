//! A record whose schema the registry has to be asked for first.

use super::encode::Encoder;
use super::run::{Progress, SourceLoop};
use super::send::Flow;
use crate::control::{Observer, TaskFailure, Wanted, wait_while_paused};
use crate::convert::{Lookup, Lookups};
use crate::lookup::{Asked, ask};
use crate::ports::{Producer, SourceTask};
use crate::tolerance::Stage;

impl Encoder {
    /// What was given up for the batch before may be asked for again.
    pub(super) fn begin(&self) {
        [&self.converters.key, &self.converters.value]
            .iter()
            .filter_map(|converter| converter.lookups())
            .for_each(Lookups::begin);
    }

    /// The registry of the converter of a stage, if it has one.
    pub(super) fn lookups(&self, stage: Stage) -> Option<&dyn Lookups> {
        match stage {
            Stage::KeyConverter => self.converters.key.lookups(),
            Stage::ValueConverter => self.converters.value.lookups(),
            Stage::Transformation | Stage::HeaderConverter | Stage::TaskPut | Stage::TaskPoll | Stage::KafkaProduce => {
                None
            }
        }
    }
}

impl<T: SourceTask, P: Producer, O: Observer> SourceLoop<T, P, O> {
    /// Asks; afterwards the record is tried again, whatever the answer was.
    pub(super) async fn look_up(
        &mut self,
        progress: &mut Progress,
        stage: Stage,
        lookup: Lookup,
    ) -> Result<Flow, TaskFailure> {
        let Some(lookups) = self.encoder.lookups(stage) else { return Ok(Flow::GiveUp) };
        match ask(lookups, lookup, &self.tolerance, &self.wanted).await {
            Asked::Settled => Ok(Flow::Next),
            Asked::Interrupted => self.pause_in_a_batch(progress).await,
        }
    }

    /// The rest of the batch waits as long as the pause lasts; what was acknowledged is committed.
    async fn pause_in_a_batch(&mut self, progress: &mut Progress) -> Result<Flow, TaskFailure> {
        if *self.wanted.borrow() != Wanted::Paused {
            return Ok(Flow::GiveUp);
        }
        self.take_deliveries(progress).await?;
        self.commit(progress).await?;
        self.observer.paused();
        if wait_while_paused(&mut self.wanted).await == Wanted::Stop {
            return Ok(Flow::GiveUp);
        }
        self.observer.resumed();
        Ok(Flow::Next)
    }
}
