//! Offsets by REST (KIP-875): reads them, and alters or resets them after the connector has agreed.

use bulkhead_model::config::Resolution;
use bulkhead_model::offset::{OffsetEntry, SourceOffset, SourcePartition, TopicOffset, TopicPartition};
use bulkhead_model::plugin::PluginKind;
use bulkhead_model::work::{OffsetsError, OffsetsOutcome};
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::ports::{AlteredOffset, Clients, Connector, PluginError, Plugins};
use serde_json::{Map, Value, json};

use crate::Shared;
use crate::missing::missing;

type Object = Map<String, Value>;

pub(crate) async fn read<S: Plugins, C: Clients>(
    shared: &Shared<S, C>,
    name: &ConnectorName,
    config: &RawConfig,
) -> Result<Vec<OffsetEntry>, OffsetsError> {
    let resolution = shared.resolve(config).await.map_err(OffsetsError::Refused)?;
    read_resolved(shared, name, &resolution.apply(config)).await.map_err(|error| masked(&resolution, error))
}

/// With no offsets: forgets all.
pub(crate) async fn alter<S: Plugins, C: Clients>(
    shared: &Shared<S, C>,
    name: &ConnectorName,
    config: &RawConfig,
    offsets: Option<Vec<OffsetEntry>>,
) -> Result<OffsetsOutcome, OffsetsError> {
    let resolution = shared.resolve(config).await.map_err(OffsetsError::Refused)?;
    let altered = alter_resolved(shared, name, &resolution.apply(config), offsets).await;
    altered.map_err(|error| masked(&resolution, error))
}

fn masked(resolution: &Resolution, error: OffsetsError) -> OffsetsError {
    match error {
        OffsetsError::Refused(message) => OffsetsError::Refused(resolution.mask(&message).into_owned()),
        OffsetsError::Failed(message) => OffsetsError::Failed(resolution.mask(&message).into_owned()),
    }
}

async fn read_resolved<S: Plugins, C: Clients>(
    shared: &Shared<S, C>,
    name: &ConnectorName,
    config: &RawConfig,
) -> Result<Vec<OffsetEntry>, OffsetsError> {
    match shared.kind(config)? {
        PluginKind::Sink => {
            let offsets = shared.clients.group_offsets(name, config).await.map_err(failed)?;
            Ok(offsets.iter().map(sink_entry).collect())
        }
        _ => {
            shared.offsets.configure(name, config).await.map_err(failed)?;
            let offsets = shared.offsets.all(name).await.map_err(failed)?;
            Ok(offsets.iter().filter_map(source_entry).collect())
        }
    }
}

async fn alter_resolved<S: Plugins, C: Clients>(
    shared: &Shared<S, C>,
    name: &ConnectorName,
    config: &RawConfig,
    offsets: Option<Vec<OffsetEntry>>,
) -> Result<OffsetsOutcome, OffsetsError> {
    match shared.kind(config)? {
        PluginKind::Sink => alter_sink(shared, name, config, offsets).await,
        _ => {
            shared.offsets.configure(name, config).await.map_err(failed)?;
            alter_source(shared, name, config, offsets).await
        }
    }
}

async fn alter_source<S: Plugins, C: Clients>(
    shared: &Shared<S, C>,
    name: &ConnectorName,
    config: &RawConfig,
    offsets: Option<Vec<OffsetEntry>>,
) -> Result<OffsetsOutcome, OffsetsError> {
    let wanted = match offsets {
        Some(entries) => source_offsets(entries)?,
        None => {
            let all = shared.offsets.all(name).await.map_err(failed)?;
            all.iter().filter_map(|(partition, _)| Some((object(&partition.0)?, None))).collect()
        }
    };
    let instance = shared.plugins.connector(name, config).await.map_err(refused)?;
    let agreed = instance.alter_source_offsets(config, &wanted).await.map_err(refused)?;
    let _ = instance.stop().await;
    let writes = wanted.into_iter().map(|(partition, offset)| {
        let offset = offset.map(|offset| SourceOffset(Value::Object(offset).to_string().into()));
        (SourcePartition(Value::Object(partition).to_string().into()), offset)
    });
    shared.offsets.write(name, writes.collect()).await.map_err(failed)?;
    Ok(outcome(agreed))
}

/// An entry that says nothing is nothing to do; of entries with the same partition the last one wins.
fn source_offsets(entries: Vec<OffsetEntry>) -> Result<Vec<AlteredOffset>, OffsetsError> {
    let mut wanted: Vec<AlteredOffset> = Vec::new();
    for OffsetEntry { partition, offset } in entries {
        match (partition, offset) {
            (None, None) => {}
            (None, Some(offset)) => {
                let offset = Value::Object(offset);
                return Err(OffsetsError::Refused(format!("the entry with offset {offset} has no partition")));
            }
            (Some(partition), offset) => {
                wanted.retain(|(known, _)| *known != partition);
                wanted.push((partition, offset));
            }
        }
    }
    Ok(wanted)
}

async fn alter_sink<S: Plugins, C: Clients>(
    shared: &Shared<S, C>,
    name: &ConnectorName,
    config: &RawConfig,
    offsets: Option<Vec<OffsetEntry>>,
) -> Result<OffsetsOutcome, OffsetsError> {
    let reset = offsets.is_none();
    let wanted = match offsets {
        Some(entries) => entries.into_iter().map(sink_offset).collect::<Result<Vec<_>, _>>()?,
        None => {
            let current = shared.clients.group_offsets(name, config).await.map_err(failed)?;
            current.into_iter().map(|offset| (offset.partition, None)).collect()
        }
    };
    let instance = shared.plugins.connector(name, config).await.map_err(refused)?;
    let agreed = instance.alter_sink_offsets(config, &wanted).await.map_err(refused)?;
    let _ = instance.stop().await;
    if reset {
        shared.clients.delete_group(name, config).await.map_err(failed)?;
    } else {
        shared.clients.alter_group_offsets(name, config, wanted).await.map_err(failed)?;
    }
    Ok(outcome(agreed))
}

/// `{"kafka_topic", "kafka_partition"}` to `{"kafka_offset"}`; numbers may be texts.
fn sink_offset(entry: OffsetEntry) -> Result<(TopicPartition, Option<i64>), OffsetsError> {
    let bad = |what: &str| OffsetsError::Refused(format!("an entry of a sink's offsets needs {what}"));
    let partition = entry.partition.ok_or_else(|| bad("a `partition`"))?;
    let topic = partition.get("kafka_topic").and_then(Value::as_str);
    let topic = topic.ok_or_else(|| bad("the text `kafka_topic` in its partition"))?;
    let number = partition.get("kafka_partition").and_then(integer).and_then(|number| i32::try_from(number).ok());
    let number = number.filter(|number| *number >= 0);
    let number = number.ok_or_else(|| bad("the whole number `kafka_partition`, not below 0, in its partition"))?;
    let offset = match entry.offset {
        None => None,
        Some(offset) => {
            let offset = offset.get("kafka_offset").and_then(integer).filter(|offset| *offset >= 0);
            Some(offset.ok_or_else(|| bad("the whole number `kafka_offset`, not below 0, in its offset"))?)
        }
    };
    Ok((TopicPartition::new(topic, number), offset))
}

fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn source_entry((partition, offset): &(SourcePartition, SourceOffset)) -> Option<OffsetEntry> {
    Some(OffsetEntry { partition: Some(object(&partition.0)?), offset: Some(object(&offset.0)?) })
}

fn sink_entry(offset: &TopicOffset) -> OffsetEntry {
    let TopicOffset { partition: TopicPartition { topic, partition }, offset } = offset;
    let to_object = |value: Value| match value {
        Value::Object(members) => Some(members),
        _ => None,
    };
    OffsetEntry {
        partition: to_object(json!({"kafka_partition": partition, "kafka_topic": &**topic})),
        offset: to_object(json!({"kafka_offset": offset})),
    }
}

fn object(text: &str) -> Option<Object> {
    serde_json::from_str(text).ok()
}

fn outcome(agreed: bool) -> OffsetsOutcome {
    if agreed { OffsetsOutcome::Confirmed } else { OffsetsOutcome::FrameworkOnly }
}

fn failed(error: impl std::fmt::Display) -> OffsetsError {
    OffsetsError::Failed(error.to_string())
}

/// What a plugin says against a request is the client's mistake; a crash isn't.
fn refused(error: PluginError) -> OffsetsError {
    match error {
        PluginError::Crashed(crash) => OffsetsError::Failed(crash.trace),
        PluginError::Retriable(_) | PluginError::Failed(_) | PluginError::Config { .. } | PluginError::Data(_) => {
            OffsetsError::Refused(error.to_string())
        }
    }
}

impl<S: Plugins, C> Shared<S, C> {
    fn kind(&self, config: &RawConfig) -> Result<PluginKind, OffsetsError> {
        match self.plugins.catalog().connector_of(config) {
            Ok(plugin) => Ok(plugin.kind),
            Err(unresolved) => Err(OffsetsError::Failed(missing(config, &unresolved))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(partition: Value, offset: Value) -> OffsetEntry {
        let to_object = |value: Value| match value {
            Value::Object(members) => Some(members),
            _ => None,
        };
        OffsetEntry { partition: to_object(partition), offset: to_object(offset) }
    }

    #[test]
    fn sink_offsets_take_numbers_as_texts_and_refuse_the_rest() {
        let partition = json!({"kafka_topic": "t", "kafka_partition": "1"});
        let good = sink_offset(entry(partition.clone(), json!({"kafka_offset": "2"})));
        assert_eq!(good, Ok((TopicPartition::new("t", 1), Some(2))));
        assert_eq!(sink_offset(entry(partition.clone(), Value::Null)), Ok((TopicPartition::new("t", 1), None)));
        for (partition, offset) in [
            (Value::Null, Value::Null),
            (json!({"kafka_partition": 0}), json!({"kafka_offset": 1})),
            (json!({"kafka_topic": "t"}), json!({"kafka_offset": 1})),
            (json!({"kafka_topic": "t", "kafka_partition": 1.5}), json!({"kafka_offset": 1})),
            (json!({"kafka_topic": "t", "kafka_partition": -1}), json!({"kafka_offset": 1})),
            (partition.clone(), json!({})),
            (partition.clone(), json!({"kafka_offset": null})),
            (partition, json!({"kafka_offset": -1})),
        ] {
            assert!(sink_offset(entry(partition.clone(), offset.clone())).is_err(), "{partition} {offset}");
        }
    }

    #[test]
    fn of_entries_with_one_partition_the_last_wins_and_empty_ones_say_nothing() {
        let entries = vec![
            entry(json!({"filename": "a"}), json!({"position": 1})),
            entry(Value::Null, Value::Null),
            entry(json!({"filename": "a"}), json!({"position": 2})),
        ];
        let wanted = source_offsets(entries).unwrap();
        assert_eq!(wanted.len(), 1);
        assert_eq!(wanted[0].1.as_ref().unwrap()["position"], 2);
        assert!(source_offsets(vec![entry(Value::Null, json!({"position": 1}))]).is_err());
    }
}
