//! Connectors whose records tell which instance made them, so that two owners of one task can't hide.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bulkhead_e2e::{Cluster, Rest, eventually};

use crate::SOON;

/// One instance of a task, as its records tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    pub id: String,
    /// When its records were made, in milliseconds since 1970.
    pub times: Vec<i64>,
    /// Its first and its last count.
    pub counts: (u64, u64),
}

impl Life {
    pub fn from(&self) -> i64 {
        self.times.first().copied().unwrap_or_default()
    }

    pub fn to(&self) -> i64 {
        self.times.last().copied().unwrap_or_default()
    }

    /// For how long both made records.
    pub fn overlap(&self, other: &Self) -> Duration {
        let (from, to) = (self.from().max(other.from()), self.to().min(other.to()));
        let within = |life: &Self| {
            let mut times = life.times.iter().filter(|time| (from..=to).contains(*time));
            let first = times.next()?;
            Some(times.next_back().unwrap_or(first) - first)
        };
        // One that stood still for a while has made nothing meanwhile.
        let shorter = within(self).unwrap_or_default().min(within(other).unwrap_or_default());
        Duration::from_millis(shorter.unsigned_abs())
    }
}

pub fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// A source that makes a record each 50 ms.
pub fn config<'a>(topic: &'a str, mode: &'a str, tasks: &'a str) -> [(&'a str, &'a str); 5] {
    [
        ("connector.class", "io.bulkhead.test.Hostile"),
        ("mode", mode),
        ("topic", topic),
        ("tasks.max", tasks),
        ("interval.ms", "50"),
    ]
}

/// Creates so many connectors with one task each: `w0`, `w1`, … Each has a topic of its own.
pub fn create(cluster: &Cluster, rest: &Rest, count: u32) -> Vec<(String, u32)> {
    let names: Vec<_> = (0..count).map(|number| format!("w{number}")).collect();
    for name in &names {
        rest.create(name, &config(&cluster.topic(name), "ok", "1")).unwrap();
    }
    names.into_iter().map(|name| (name, 1)).collect()
}

pub fn borrowed(connectors: &[(String, u32)]) -> Vec<(&str, u32)> {
    connectors.iter().map(|(name, tasks)| (name.as_str(), *tasks)).collect()
}

/// All instances that ever wrote to the topic of this name, in the order of their first records.
pub fn lives(cluster: &Cluster, name: &str) -> Vec<Life> {
    let mut lives: Vec<Life> = Vec::new();
    for record in cluster.topics.read(&cluster.topic(name)).unwrap_or_default() {
        let text = record.value_text();
        let Some((id, count)) = text.split_once(' ') else { panic!("not a witness: {text}") };
        let count = count.parse().unwrap();
        match lives.iter_mut().find(|life| life.id == id) {
            Some(life) => {
                assert_eq!(count, life.counts.1 + 1, "{name}: an instance counts without a gap");
                life.times.push(record.timestamp);
                life.counts.1 = count;
            }
            None => lives.push(Life { id: id.to_owned(), times: vec![record.timestamp], counts: (count, count) }),
        }
    }
    lives
}

/// Of a connector with one task: each instance goes on where one before it was, or before that, never further on;
/// and no two of them made records at the same time for longer than this.
pub fn check_succession(name: &str, lives: &[Life], overlap: Duration) {
    for (number, life) in lives.iter().enumerate() {
        let before = &lives[..number];
        let due = before.iter().map(|life| life.counts.1 + 1).max().unwrap_or_default();
        assert!(life.counts.0 <= due, "{name}: {due} is due, but an instance begins at {}: {lives:#?}", life.counts.0);
        for earlier in before {
            let together = earlier.overlap(life);
            assert!(together <= overlap, "{name}: two instances made records for {together:?}: {lives:?}");
        }
    }
}

/// [`check_succession`] of each of these.
pub fn check_successions(cluster: &Cluster, connectors: &[(String, u32)], overlap: Duration) {
    for (name, _) in connectors {
        check_succession(name, &lives(cluster, name), overlap);
    }
}

/// Watches until every task has made ten more records, and checks that one instance made them.
pub fn check_single(cluster: &Cluster, connectors: &[(String, u32)]) {
    let since = now();
    for (name, _) in connectors {
        let far_enough = || {
            let records = cluster.topics.read(&cluster.topic(name)).ok()?;
            let late: Vec<_> = records.into_iter().filter(|record| record.timestamp > since).collect();
            (late.len() >= 10).then_some(late)
        };
        let late = eventually(&format!("{name} makes records"), SOON, far_enough).unwrap();
        let id = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        let mut ids: Vec<_> = late.iter().map(|record| id(&record.value_text())).collect();
        ids.dedup();
        assert_eq!(ids.len(), 1, "{name}: more than one instance: {ids:?}");
    }
}

/// Ids of the instances that have made records since then, once so many have.
pub fn writing(cluster: &Cluster, name: &str, count: usize) -> BTreeSet<String> {
    let since = now();
    let ids = || {
        let lives = lives(cluster, name);
        let ids: BTreeSet<_> = lives.into_iter().filter(|life| life.to() > since).map(|life| life.id).collect();
        (ids.len() >= count).then_some(ids)
    };
    eventually(&format!("{count} instances of {name} make records"), SOON, ids).unwrap()
}
