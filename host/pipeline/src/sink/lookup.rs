//! A fetch whose schemas the registry has to be asked for first.

use super::decode::Cursor;
use super::run::SinkLoop;
use crate::control::Observer;
use crate::convert::Lookups;
use crate::lookup::{Asked, ask};
use crate::ports::{Consumed, Consumer, SinkTask};

impl<T: SinkTask, C: Consumer, O: Observer> SinkLoop<T, C, O> {
    /// Asks for every schema that isn't known yet.
    pub(super) async fn look_up_schemas(&mut self, consumed: &Consumed) -> Asked {
        let converters = &self.decoder.converters;
        let (keys, values) = (converters.key.lookups(), converters.value.lookups());
        if keys.is_none() && values.is_none() {
            return Asked::Settled;
        }
        [keys, values].into_iter().flatten().for_each(Lookups::begin);
        let mut cursor = Cursor::default();
        for index in 0..consumed.count() {
            let mut place = cursor;
            cursor = cursor.past_record(consumed, index);
            let topic = &consumed.topics[consumed.topic[index] as usize];
            for (lookups, len) in [(keys, consumed.key_len[index]), (values, consumed.value_len[index])] {
                let bytes = place.take(len).map(|(start, len)| &consumed.data[start..start + len]);
                if let (Some(lookups), Some(bytes)) = (lookups, bytes)
                    && let Some(lookup) = lookups.missing(topic, bytes)
                    && ask(lookups, lookup, &self.tolerance, &self.wanted).await == Asked::Interrupted
                {
                    return Asked::Interrupted;
                }
            }
        }
        Asked::Settled
    }
}
