use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_pipeline::ports::{Aliased, Fate, Plugins, PredicateTask, TransformTask, Transformed};

use crate::sink::records;
use crate::{Failure, Inner, name};

/// One transformation, in an instance of its own.
pub struct TransformRun {
    kit: Arc<Inner>,
    transform: Arc<dyn TransformTask>,
}

impl TransformRun {
    pub(crate) fn start(kit: Arc<Inner>, config: RawConfig) -> Result<Self, Failure> {
        let (task, transform, connector) = (name().task(0), aliased(config), RawConfig::new());
        let transform = kit.runtime.block_on(kit.sandbox.transform(&task, &transform, &connector))?;
        Ok(Self { kit, transform })
    }

    /// Takes one batch of text values through it. The answer has the value of each record that was kept, as text, and
    /// `dropped` or the reason of each that wasn't.
    pub fn apply_texts(&mut self, texts: &[&str]) -> Result<Vec<String>, Failure> {
        let batch = Arc::new(records(&"topic".into(), texts));
        let Transformed { fates, records } = self.kit.runtime.block_on(self.transform.apply(batch, Vec::new()))?;
        let mut kept = records.records();
        let shown = fates.into_iter().map(|fate| match fate {
            Fate::Kept => kept.next().map_or_else(String::new, |record| text(record.value.bytes)),
            Fate::Dropped => "dropped".to_owned(),
            Fate::Failed(why) => why,
        });
        Ok(shown.collect())
    }
}

/// One predicate, in an instance of its own.
pub struct PredicateRun {
    kit: Arc<Inner>,
    predicate: Arc<dyn PredicateTask>,
}

impl PredicateRun {
    pub(crate) fn start(kit: Arc<Inner>, config: RawConfig) -> Result<Self, Failure> {
        let (task, predicate, connector) = (name().task(0), aliased(config), RawConfig::new());
        let predicate = kit.runtime.block_on(kit.sandbox.predicate(&task, &predicate, &connector))?;
        Ok(Self { kit, predicate })
    }

    /// Asks about one batch of text values; an answer for each, or why there is none.
    pub fn test_texts(&mut self, texts: &[&str]) -> Result<Vec<Result<bool, String>>, Failure> {
        let batch = Arc::new(records(&"topic".into(), texts));
        Ok(self.kit.runtime.block_on(self.predicate.test(batch, Vec::new()))?)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn aliased(mut config: RawConfig) -> Aliased {
    let class = config.remove("type").unwrap_or_default();
    Aliased { alias: "test".to_owned(), class, config }
}
