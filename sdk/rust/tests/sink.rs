//! A sink task against the test kit: what it sees of records, and what becomes of its answers.

use bulkhead_sdk::ErrorKind;
use bulkhead_sdk::prelude::*;
use bulkhead_sdk::test::SinkRun;

/// Notes what it is given.
#[derive(Config)]
struct Settings {}

thread_local! {
    /// What all instances together have noted.
    static NOTES: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
}

struct Notes {
    puts: u32,
}

impl SinkTask for Notes {
    type Config = Settings;

    async fn start(_settings: Settings) -> Result<Self> {
        Ok(Self { puts: 0 })
    }

    async fn put(&mut self, batch: &SinkBatch) -> Result<Rejections> {
        self.puts += 1;
        let mut refused = Rejections::none();
        for record in batch {
            match record.value().as_text() {
                Some("again") if self.puts == 1 => return Err(Error::retriable("not yet")),
                Some("bad") => refused.add(&record, "a bad text"),
                _ => {}
            }
            let headers: Vec<String> = record
                .headers()
                .map(|(name, value)| Ok(format!("{name}={}", value.decode()?)))
                .collect::<Result<_>>()?;
            let (key, value) = (record.key().decode()?, record.value().decode()?);
            let place = format!("{}-{}@{}", record.topic(), record.partition(), record.offset());
            NOTES.with_borrow_mut(|notes| notes.push(format!("{place} {key} {value} {headers:?}")));
        }
        Ok(refused)
    }
}

fn notes() -> Vec<String> {
    NOTES.take()
}

#[test]
fn records_are_seen_with_all_their_parts() {
    let order = Schema::record("Order").field("id", Schema::int64()).field("note", Schema::text().optional());
    let mut run = SinkRun::<Notes>::start(RawConfig::new());
    let refused = run.put(|batch| {
        batch.push("a").key("k").value("v").header("h", "x").header_bytes("h", b"y").partition(2);
        batch.push("b").value_struct(&order, [("id", 7_i64.into())]);
        batch.push("a").key_of(None, 5_i32).partition(2);
    });
    assert!(refused.unwrap().is_empty());
    assert_eq!(notes(), [r#"a-2@0 k v ["h=x", "h=y"]"#, "b-0@0 null Struct{id=7} []", "a-2@1 5 null []"]);
}

#[test]
fn refused_records_are_named_by_their_place() {
    let mut run = SinkRun::<Notes>::start(RawConfig::new());
    let refused = run.put_texts("t", ["good", "bad", "good"]).unwrap();
    assert_eq!(refused.iter().collect::<Vec<_>>(), [(1, "a bad text")]);
}

#[test]
fn a_batch_comes_again_after_a_retriable_error_and_after_a_crash() {
    let mut run = SinkRun::<Notes>::start(RawConfig::new());
    assert_eq!(run.put_texts("t", ["again"]).unwrap_err().kind(), &ErrorKind::Retriable);
    run.put_again().unwrap();
    assert_eq!(notes(), ["t-0@0 null again []"]);

    run.commit().unwrap();
    run.put_texts("t", ["lost"]).unwrap();
    run.restart_from_committed().unwrap();
    assert_eq!(notes(), ["t-0@1 null lost []"; 2]);
}

#[test]
fn by_default_all_that_is_offered_may_be_committed() {
    let mut run = SinkRun::<Notes>::start(RawConfig::new());
    run.put_texts("t", ["one", "two"]).unwrap();
    assert_eq!(run.commit().unwrap(), [TopicOffset { topic: "t".into(), partition: 0, offset: 2 }]);
}
