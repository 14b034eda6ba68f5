use bulkhead_sdk::prelude::*;
use regex_lite::Regex;

use crate::texts;

/// True of records whose value has a text that matches a regular expression.
#[derive(Config)]
pub struct Settings {
    /// A regular expression for what is looked for.
    #[config(non_empty)]
    pattern: String,
}

/// The predicate.
#[derive(Debug)]
pub struct Mentions(Regex);

impl Predicate for Mentions {
    type Config = Settings;

    async fn start(settings: Settings) -> Result<Self> {
        Ok(Self(texts::pattern(&settings.pattern)?))
    }

    async fn test(&mut self, record: &TransformRecord<'_>) -> Result<bool> {
        Ok(texts::any(&record.value().decode()?, &|text| self.0.is_match(text)))
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_sdk::test::PredicateRun;

    use super::*;

    #[test]
    fn texts_at_any_depth_count() {
        let mut run = PredicateRun::<Mentions>::start([("pattern", "^se.ret$")]);
        assert_eq!(run.test_texts(["secret", "secrets", ""]), [true, false, false]);
        let deep = run.test(|batch| {
            let list = Value::Array(vec![1_i64.into(), "secret".into()]);
            batch.push("t").value_of(None, Value::Map(vec![("list".into(), list)]));
            batch.push("t");
        });
        assert_eq!(deep.unwrap(), [Ok(true), Ok(false)]);
    }
}
