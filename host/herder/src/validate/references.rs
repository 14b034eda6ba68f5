//! The answer of a validation, without what references stand for.

use bulkhead_model::ConfigPatch;
use bulkhead_model::config::Resolution;

use super::infos::{ConfigInfo, ConfigInfos, ConfigValueInfo, Entry};

const HIDDEN: &str = "[hidden]";

/// Puts the references back, and says which of them have no value.
pub(super) fn with_references(mut infos: ConfigInfos, config: &ConfigPatch, resolution: &Resolution) -> ConfigInfos {
    if resolution.is_empty() {
        return infos;
    }
    for value in infos.configs.iter_mut().filter_map(|info| info.value.as_mut()) {
        let raw = config.get(&value.name).and_then(Option::as_deref);
        show(value, raw.filter(|raw| resolution.concerns(raw)), resolution);
    }
    let texts = config.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_deref()?)));
    for (key, problem) in resolution.problems(texts) {
        infos.error_count += 1;
        value_of(&mut infos, key, problem);
    }
    infos
}

/// `raw` is what was given, if that has references.
fn show(value: &mut ConfigValueInfo, raw: Option<&str>, resolution: &Resolution) {
    let shown = value.value.take();
    value.value = shown.map(|shown| match raw {
        _ if shown == HIDDEN => shown,
        Some(raw) => raw.to_owned(),
        None => resolution.mask_value(&shown),
    });
    for recommended in &mut value.recommended_values {
        *recommended = resolution.mask_value(recommended);
    }
    for error in &mut value.errors {
        *error = resolution.mask(error).into_owned();
    }
}

fn value_of(infos: &mut ConfigInfos, key: &str, problem: String) {
    let mut values = infos.configs.iter_mut().filter_map(|info| info.value.as_mut());
    match values.find(|value| value.name == key) {
        Some(value) => value.errors.push(problem),
        None => {
            let mut entry = Entry::undefined(key);
            entry.error(problem);
            infos.configs.insert(0, ConfigInfo::from(entry));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bulkhead_model::RawConfig;
    use bulkhead_model::config::Answer;
    use bulkhead_model::config::references::Source;

    use super::*;

    fn value(name: &str, value: Option<&str>, errors: &[&str]) -> ConfigInfo {
        let mut entry = Entry::undefined(name);
        entry.value.value = value.map(str::to_owned);
        errors.iter().for_each(|error| entry.error(*error));
        entry.into()
    }

    fn shown(configs: Vec<ConfigInfo>) -> String {
        let raw = RawConfig::from([("a", "${f:a}"), ("gone", "${f:gone}"), ("b", "3")]);
        let answer = Answer { values: [("a".to_owned(), "S3CRET-42".to_owned())].into(), ttl: None };
        let source = Source { provider: "f".to_owned(), path: String::new() };
        let resolution = Resolution::new(&raw, &BTreeMap::from([(source, Ok(answer))]));
        let config = raw.into_iter().map(|(key, value)| (key, Some(value))).collect();
        let infos = ConfigInfos { name: String::new(), error_count: 0, groups: Vec::new(), configs };
        let infos = with_references(infos, &config, &resolution);
        let values = infos.configs.iter().filter_map(|info| info.value.as_ref());
        let values: Vec<_> =
            values.map(|value| format!("{}={:?} {:?}", value.name, value.value, value.errors)).collect();
        format!("{} {}", infos.error_count, values.join("; "))
    }

    #[test]
    fn values_and_errors_show_references() {
        let configs = vec![
            value("a", Some("S3CRET-42"), &["Invalid value S3CRET-42"]),
            value("b", Some("3"), &["like S3CRET-42"]),
            value("c", Some("of S3CRET-42"), &[]),
            value("gone", None, &[]),
        ];
        let gone = "Reference ${f:gone} in configuration gone can't be resolved: \
                    config provider f has no such value, or may not give it";
        let expected = format!(
            "1 a=Some(\"${{f:a}}\") [\"Invalid value ${{f:a}}\"]; b=Some(\"3\") [\"like ${{f:a}}\"]; \
             c=Some(\"of ${{f:a}}\") []; gone=None [{gone:?}]"
        );
        assert_eq!(shown(configs), expected);
    }

    #[test]
    fn a_key_that_nobody_knows_is_there_if_its_reference_has_no_value() {
        assert!(shown(Vec::new()).starts_with("1 gone=None [\"Reference ${f:gone} in"));
    }

    #[test]
    fn a_password_stays_hidden() {
        assert!(shown(vec![value("a", Some(HIDDEN), &[])]).contains("a=Some(\"[hidden]\")"));
    }
}
