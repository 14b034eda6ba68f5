//! A connector as one document: what is needed to go on with it elsewhere.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::arguments::State;
use crate::error::Error;
use crate::files;

/// Which members there are. A reader refuses every other text.
pub const FORMAT: &str = "bulkhead.connector/1";

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    pub format: String,
    pub name: String,
    /// `source` or `sink`, for whoever reads the bundle.
    #[serde(rename = "type")]
    pub kind: String,
    pub state: State,
    /// As it was submitted: references to secrets are references.
    pub config: Map<String, Value>,
    /// As `GET …/offsets` answers them, number for number.
    pub offsets: Vec<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exported_at: Option<String>,
}

/// What every format has.
#[derive(Deserialize)]
struct Header {
    format: Option<String>,
}

impl Bundle {
    /// The text of a file. There is one line for each offset.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a bundle has texts as keys") + "\n"
    }

    pub fn read(file: &Path) -> Result<Self, Error> {
        let bytes = files::read(file)?;
        Self::parse(files::text(&bytes)).map_err(|message| files::unusable(file, message))
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let header: Header = serde_json::from_slice(text).map_err(|error| format!("it is no bundle: {error}"))?;
        match header.format.as_deref() {
            Some(FORMAT) => serde_json::from_slice(text).map_err(|error| error.to_string()),
            Some(other) => Err(format!("its format is `{other}`, and this version reads `{FORMAT}` only")),
            None => Err(format!("it is no bundle: it has no `format`, which should be `{FORMAT}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
  "format": "bulkhead.connector/1",
  "name": "orders",
  "type": "sink",
  "state": "RUNNING",
  "config": {
    "connector.class": "x",
    "password": "${file:/x:y}"
  },
  "offsets": [
    {"partition":{"p":1.50},"offset":{"o":123456789012345678901234567890}}
  ],
  "exported_at": "2026-11-30T02:00:00Z"
}
"#;

    fn refused(text: &str, message: &str) {
        assert_eq!(Bundle::parse(text.as_bytes()).unwrap_err(), message);
    }

    #[test]
    fn what_was_written_is_read_to_the_last_digit() {
        assert_eq!(Bundle::parse(TEXT.as_bytes()).unwrap().text(), TEXT);
    }

    #[test]
    fn another_format_is_refused_whatever_its_members() {
        refused(
            r#"{"format": "bulkhead.connector/2", "names": []}"#,
            "its format is `bulkhead.connector/2`, and this version reads `bulkhead.connector/1` only",
        );
        refused("{}", "it is no bundle: it has no `format`, which should be `bulkhead.connector/1`");
        refused("7", "it is no bundle: invalid type: integer `7`, expected struct Header at line 1 column 1");
    }

    #[test]
    fn members_that_are_missing_unknown_or_wrong_are_named() {
        refused(
            &TEXT.replace("\"name\"", "\"nam\""),
            "unknown field `nam`, expected one of `format`, `name`, `type`, `state`, `config`, `offsets`, `exported_at` at line 3 column 7",
        );
        refused(&TEXT.replace("\"state\": \"RUNNING\",", ""), "missing field `state` at line 14 column 1");
        refused(&TEXT.replace("RUNNING", "ASLEEP"), "`ASLEEP` is not RUNNING, PAUSED or STOPPED at line 5 column 19");
    }
}
