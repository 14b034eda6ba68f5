//! `offset-reader`.

use std::sync::Arc;

use bulkhead_model::offset::SourcePartition;

use super::failed;
use crate::tenant::Tenant;
use crate::v0_1::wit::offset_reader::Host;
use crate::v0_1::wit::types::{Error, JsonMap};

impl Host for Tenant {
    async fn offsets(&mut self, partitions: Vec<JsonMap>) -> Result<Vec<Option<JsonMap>>, Error> {
        let connector = self.shared.instance.connector();
        let partitions = partitions.into_iter().map(|text| SourcePartition(Arc::from(text)));
        let found = self.offsets.read(connector, partitions.collect()).await;
        let found = found.map_err(|error| failed(format!("the worker cannot read its offsets: {error}")))?;
        let stored = found.iter().flatten().count();
        if stored > 0 && !std::mem::replace(&mut self.told_of_offsets, true) {
            // Of interest to whoever creates a connector under the name of a former one.
            tracing::info!(instance = %self.shared.instance, partitions = stored, "There are stored offsets to go on from.");
        }
        let texts = found.into_iter().map(|offset| offset.map(|offset| offset.0.to_string()));
        Ok(texts.collect())
    }
}
