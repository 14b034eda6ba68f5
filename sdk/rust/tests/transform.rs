//! A transformation and a predicate as authors write them.

#![allow(clippy::unwrap_used)]

use bulkhead_sdk::prelude::*;
use bulkhead_sdk::test::{Fate, PredicateRun, TransformRun};

/// Raises prices.
#[derive(Config)]
struct Settings {
    /// How much is added.
    by: i64,
}

struct Raise(Settings);

impl Transform for Raise {
    type Config = Settings;

    async fn start(settings: Settings) -> Result<Self> {
        Ok(Self(settings))
    }

    async fn apply(&mut self, record: &mut TransformRecord<'_>) -> Result<Outcome> {
        match record.value().decode()? {
            Value::Null => return Ok(Outcome::Drop),
            Value::Struct(order) => {
                let Some(&Value::Int64(price)) = order.get("price") else {
                    return Err(Error::data("there is no price"));
                };
                record.replace_value(order.with("price", price + self.0.by)?)?;
            }
            Value::Text(text) if text == "end" => return Err(Error::failed("enough")),
            _ => {}
        }
        if record.key().is_null() {
            record.set_key(&Schema::text(), "none")?;
        }
        record.remove_headers("old");
        record.add_header("raised", None, true)?;
        record.set_topic(format!("{}-raised", record.topic()));
        Ok(Outcome::Keep)
    }
}

/// True of records whose price was raised.
#[derive(Config)]
struct Nothing {}

struct IsRaised;

impl Predicate for IsRaised {
    type Config = Nothing;

    async fn start(_: Nothing) -> Result<Self> {
        Ok(Self)
    }

    async fn test(&mut self, record: &TransformRecord<'_>) -> Result<bool> {
        if record.value().as_text() == Some("what?") {
            return Err(Error::data("no idea"));
        }
        Ok(record.topic().ends_with("-raised"))
    }
}

bulkhead_sdk::export! {
    transform "org.example.Raise" => Raise aliases ["com.other.Raise"],
    predicate "org.example.IsRaised" => IsRaised,
}

fn kept(fate: &Fate) -> &bulkhead_sdk::test::Seen {
    match fate {
        Fate::Kept(record) => record,
        Fate::Dropped | Fate::Failed(_) => panic!("{fate:?}"),
    }
}

#[test]
fn what_is_set_changes_and_everything_else_stays() {
    let schema = Schema::record("Order").field("price", Schema::int64()).field("note", Schema::text().optional());
    let mut run = TransformRun::<Raise>::start([("by", "5")]);
    let fates = run
        .apply(|batch| {
            let order = batch.push("orders").value_struct(&schema, [("price", 7_i64.into()), ("note", "x".into())]);
            order.header("old", "1").header("kept", "2").timestamp(99).partition(3);
            batch.push("orders");
            batch.push("orders").key("k").value_struct(&Schema::record("Other"), []);
            batch.push("orders").key("k").value_bytes(b"abc");
        })
        .unwrap();
    let order = kept(&fates[0]);
    assert_eq!((order.topic.as_str(), order.partition, order.timestamp), ("orders-raised", Some(3), Some(99)));
    assert_eq!(order.key, Value::from("none"));
    assert_eq!(order.schema.as_ref(), Some(&schema));
    let Value::Struct(value) = &order.value else { panic!("{order:?}") };
    assert_eq!((value.get("price"), value.get("note")), (Some(&Value::Int64(12)), Some(&"x".into())));
    let headers: Vec<_> = order.headers.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    assert_eq!(headers, [("kept", "2".into()), ("raised", true.into())]);

    assert_eq!(fates[1..3], [Fate::Dropped, Fate::Failed("there is no price".to_owned())]);
    let other = kept(&fates[3]);
    assert_eq!((&other.key, &other.value), (&"k".into(), &Value::from(&b"abc"[..])));
}

#[test]
fn an_error_that_is_not_about_data_ends_the_transformation() {
    let mut run = TransformRun::<Raise>::start([("by", "5")]);
    let put_end = |batch: &mut Batch| {
        batch.push("t").value("end");
    };
    let error = run.apply(put_end).unwrap_err();
    assert!(error.to_string().starts_with("record 0 of the batch"), "{error}");
    let missing = TransformRun::<Raise>::try_start([("x", "y")]).unwrap_err();
    assert!(missing.to_string().contains("by"), "{missing}");
}

#[test]
fn a_predicate_answers_for_each_record() {
    let mut run = PredicateRun::<IsRaised>::start([("by", "unheard of")]);
    let answers = run
        .test(|batch| {
            batch.push("a").value("1");
            batch.push("a-raised").value("2");
            batch.push("a").value("what?");
        })
        .unwrap();
    assert_eq!(answers, [Ok(false), Ok(true), Err("no idea".to_owned())]);
    assert_eq!(run.test_texts(["x"]), [false]);
}

#[test]
fn schemas_stay_known_from_one_batch_to_the_next() {
    let schema = Schema::record("Order").field("price", Schema::int64());
    let mut run = TransformRun::<Raise>::start([("by", "1")]);
    for price in 0..3_i64 {
        let fates = run.apply(|batch| {
            batch.push("t").value_struct(&schema, [("price", price.into())]);
        });
        assert_eq!(kept(&fates.unwrap()[0]).schema.as_ref(), Some(&schema));
    }
}
