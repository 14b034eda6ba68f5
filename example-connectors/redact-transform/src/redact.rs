use bulkhead_sdk::prelude::*;
use regex_lite::Regex;

use crate::texts;

/// Replaces whatever matches a regular expression in the texts of a record's value.
#[derive(Config)]
pub struct Settings {
    /// A regular expression for what is replaced.
    #[config(non_empty)]
    pattern: String,
    /// What is put in its place; `$1` and `${name}` stand for groups of the expression.
    #[config(default = "***", importance = "medium")]
    replacement: String,
}

/// The transformation.
#[derive(Debug)]
pub struct Redact {
    pattern: Regex,
    replacement: String,
}

impl Transform for Redact {
    type Config = Settings;

    async fn start(settings: Settings) -> Result<Self> {
        let Settings { pattern, replacement } = settings;
        Ok(Self { pattern: texts::pattern(&pattern)?, replacement })
    }

    async fn apply(&mut self, record: &mut TransformRecord<'_>) -> Result<Outcome> {
        let value = record.value().decode()?;
        if texts::any(&value, &|text| self.pattern.is_match(text)) {
            let mask = |text: &str| self.pattern.replace_all(text, self.replacement.as_str()).into_owned();
            record.replace_value(texts::map(value, &mask)?)?;
        }
        Ok(Outcome::Keep)
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_sdk::ErrorKind;
    use bulkhead_sdk::test::{Fate, TransformRun};

    use super::*;

    const CARD: &str = r"\b\d{4}-\d{4}-\d{4}-(\d{4})\b";

    fn card() -> TransformRun<Redact> {
        TransformRun::start([("pattern", CARD), ("replacement", "card ending in $1")])
    }

    #[test]
    fn texts_are_masked_and_others_left_alone() {
        let masked = card().apply_texts(["paid with 1111-2222-3333-4444, thanks", "nothing here"]);
        assert_eq!(masked, ["paid with card ending in 4444, thanks", "nothing here"]);
        assert_eq!(TransformRun::<Redact>::start([("pattern", "s.")]).apply_texts(["sesame"]), ["******me"]);
    }

    #[test]
    fn fields_are_masked_at_any_depth_and_schemas_stay() {
        let person = Schema::record("Person").field("name", Schema::text()).field("card", Schema::text().optional());
        let order = Schema::record("Order").field("id", Schema::int64()).field("buyers", Schema::array(person.clone()));
        let buyer = Struct::new(&person).with("name", "A").unwrap().with("card", "1111-2222-3333-4444").unwrap();
        let fates = card().apply(|batch| {
            let fields = [("id", 7_i64.into()), ("buyers", Value::Array(vec![buyer.into()]))];
            batch.push("orders").value_struct(&order, fields);
            batch.push("orders").value_of(None, Value::Map(vec![("a".into(), "1111-2222-3333-4444".into())]));
            batch.push("orders");
        });
        let kept = fates.unwrap().into_iter().map(|fate| match fate {
            Fate::Kept(record) => record,
            Fate::Dropped | Fate::Failed(_) => panic!("{fate:?}"),
        });
        let kept: Vec<_> = kept.collect();
        assert_eq!(kept[0].schema.as_ref(), Some(&order));
        let Value::Struct(value) = &kept[0].value else { panic!("{:?}", kept[0]) };
        let Some(Value::Array(buyers)) = value.get("buyers") else { panic!("{value:?}") };
        let Value::Struct(buyer) = &buyers[0] else { panic!("{buyers:?}") };
        assert_eq!(buyer.get("card"), Some(&"card ending in 4444".into()));
        assert_eq!(kept[1].value, Value::Map(vec![("a".into(), "card ending in 4444".into())]));
        assert_eq!(kept[2].value, Value::Null);
    }

    #[test]
    fn a_pattern_that_is_none_is_refused() {
        let error = TransformRun::<Redact>::try_start([("pattern", "(")]).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Config(Some("pattern".to_owned())));
    }
}
