//! Chains of transforms over any records.

use arbitrary::{Result, Unstructured};
use bulkhead_model::RawConfig;
use bulkhead_model::config::ConfigKey;
use bulkhead_model::plugin::{PluginDesc, PluginKind};
use bulkhead_pipeline::transform::{Chain, Header, Record, builtin_plugins};

use crate::data;

/// Words that mean something to one transform or another.
const WORDS: [&str; 24] = [
    "a",
    "b",
    "a.b",
    "a:b",
    "a:int8",
    "a:string,b:boolean",
    "string",
    "int32",
    "float64",
    "ts",
    "unix",
    "Timestamp",
    "Date",
    "Time",
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    "yyyyMMdd",
    "true",
    "false",
    "0",
    "copy",
    "move",
    "(.*)",
    "$1-x",
    "V2",
];

pub fn transforms(bytes: &[u8]) {
    // What is too short for a record is no case.
    let _ = case(&mut Unstructured::new(bytes));
}

fn case(from: &mut Unstructured<'_>) -> Result<()> {
    let config = config(from)?;
    let Ok(chain) = Chain::new(&config) else { return Ok(()) };
    let record = record(from)?;
    let first = chain.apply(record.clone());
    // The second time, schemas come from a memory.
    assert_eq!(format!("{:?}", chain.apply(record)), format!("{first:?}"), "{config:?}");
    Ok(())
}

fn config(from: &mut Unstructured<'_>) -> Result<RawConfig> {
    let plugins = builtin_plugins();
    let aliases: Vec<_> = (0..from.int_in_range(1..=3)?).map(|index: usize| format!("s{index}")).collect();
    let mut config = RawConfig::from([("transforms", aliases.join(",")), ("predicates", "p".to_owned())]);
    let of_kind = |kind| plugins.iter().filter(|plugin| plugin.kind == kind).collect::<Vec<_>>();
    add(from, &mut config, "predicates.p.", &of_kind(PluginKind::Predicate))?;
    for alias in aliases {
        let prefix = format!("transforms.{alias}.");
        add(from, &mut config, &prefix, &of_kind(PluginKind::Transformation))?;
        if from.ratio(1, 4)? {
            config.set(format!("{prefix}predicate"), "p");
            config.set(format!("{prefix}negate"), from.arbitrary::<bool>()?.to_string());
        }
    }
    Ok(config)
}

fn add(from: &mut Unstructured<'_>, config: &mut RawConfig, prefix: &str, plugins: &[&PluginDesc]) -> Result<()> {
    let plugin = from.choose(plugins)?;
    config.set(format!("{prefix}type"), &plugin.class);
    for ConfigKey { name, .. } in &plugin.config.keys {
        match from.int_in_range(0..=7)? {
            0..=2 => {}
            3 => config.set(format!("{prefix}{name}"), data::text(from)?),
            _ => config.set(format!("{prefix}{name}"), *from.choose(&WORDS)?),
        }
    }
    Ok(())
}

fn record(from: &mut Unstructured<'_>) -> Result<Record> {
    let header = |from: &mut Unstructured<'_>| {
        Ok(Header { key: data::word(from)?.into(), value: data::schema_and_value(from)? })
    };
    Ok(Record {
        topic: data::word(from)?.into(),
        partition: from.arbitrary()?,
        timestamp: from.arbitrary()?,
        offset: from.arbitrary()?,
        key: data::schema_and_value(from)?,
        value: data::schema_and_value(from)?,
        headers: (0..from.int_in_range(0..=2)?).map(|_| header(from)).collect::<Result<_>>()?,
    })
}
