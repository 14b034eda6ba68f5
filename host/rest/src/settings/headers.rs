//! `response.http.headers.config`: headers that every answer gets.

use std::time::{Duration, SystemTime};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::SettingsError;

const KEY: &str = "response.http.headers.config";

/// One entry: `action name: value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHeader {
    action: Action,
    name: HeaderName,
    value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// In place of what the answer has.
    Set,
    /// Beside what the answer has.
    Add,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Text(HeaderValue),
    /// The date so much after the answer.
    After(Duration),
}

impl ResponseHeader {
    /// Reads a comma list of `set`, `add`, `setDate` and `addDate`; an entry with a comma of its own
    /// stands in double quotes.
    pub(super) fn parse_list(text: &str) -> Result<Vec<Self>, SettingsError> {
        entries(text).into_iter().map(|entry| Self::parse(&entry).ok_or_else(|| invalid(entry))).collect()
    }

    fn parse(entry: &str) -> Option<Self> {
        let (action, header) = entry.split_once(char::is_whitespace)?;
        let (name, value) = header.split_once(':')?;
        let value = value.trim();
        let text = || HeaderValue::from_str(value).ok().map(Value::Text);
        let after = || value.parse().ok().map(|millis| Value::After(Duration::from_millis(millis)));
        let (action, value) = match action.to_ascii_lowercase().as_str() {
            "set" => (Action::Set, text()?),
            "add" => (Action::Add, text()?),
            "setdate" => (Action::Set, after()?),
            "adddate" => (Action::Add, after()?),
            _ => return None,
        };
        Some(Self { action, name: name.trim().parse().ok()?, value })
    }

    pub(crate) fn apply(&self, now: SystemTime, headers: &mut HeaderMap) {
        let value = match &self.value {
            Value::Text(value) => Some(value.clone()),
            Value::After(time) => now.checked_add(*time).and_then(date),
        };
        let Some(value) = value else { return };
        match self.action {
            Action::Set => headers.insert(&self.name, value).is_some(),
            Action::Add => headers.append(&self.name, value),
        };
    }
}

/// None for a date that HTTP can't write, later than the year 9999.
fn date(time: SystemTime) -> Option<HeaderValue> {
    const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);
    let writable = time.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|since| since < YEAR_10000);
    writable.then(|| HeaderValue::try_from(httpdate::fmt_http_date(time)).ok()).flatten()
}

/// Splits at commas outside of double quotes, which are dropped.
fn entries(text: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    let mut quoted = false;
    for character in text.chars() {
        match (character, entries.last_mut()) {
            ('"', _) => quoted = !quoted,
            (',', _) if !quoted => entries.push(String::new()),
            (_, Some(entry)) => entry.push(character),
            (_, None) => {}
        }
    }
    entries.iter().map(|entry| entry.trim().to_owned()).filter(|entry| !entry.is_empty()).collect()
}

fn invalid(value: String) -> SettingsError {
    let wanted = "`set name: value`, `add name: value`, `setDate name: milliseconds` or `addDate name: milliseconds`";
    SettingsError::Invalid { key: KEY, value, wanted }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        let mut headers = HeaderMap::from_iter([(HeaderName::from_static("x"), HeaderValue::from_static("old"))]);
        for header in ResponseHeader::parse_list(text).unwrap() {
            header.apply(SystemTime::UNIX_EPOCH, &mut headers);
        }
        headers.iter().map(|(name, value)| format!("{name}={};", value.to_str().unwrap())).collect()
    }

    #[test]
    fn headers_are_set_or_added() {
        assert_eq!(check("set X: new"), "x=new;");
        assert_eq!(
            check(r#"add x:new, "add Cache-Control: no-cache, no-store""#),
            "x=old;x=new;cache-control=no-cache, no-store;"
        );
    }

    #[test]
    fn dates_are_so_many_milliseconds_after_the_answer() {
        assert_eq!(check("setDate x: 86400000"), "x=Fri, 02 Jan 1970 00:00:00 GMT;");
        assert_eq!(check("setDate x: 18446744073709551615"), "x=old;");
    }

    #[test]
    fn entries_of_another_form_are_refused() {
        for text in ["set", "set x", "drop x: y", "set a b: c", "setDate x: soon", "set x: \u{1}"] {
            assert!(ResponseHeader::parse_list(text).is_err(), "{text}");
        }
    }
}
