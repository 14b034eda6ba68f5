//! What counts of a record in a comparison.

use bulkhead_e2e::Record;

/// What counts of a record; in its headers, only that there is a trace.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    key: Option<String>,
    value: Option<String>,
    headers: Vec<(String, Option<String>)>,
}

impl Seen {
    pub fn of(record: &Record) -> Self {
        let text = |bytes: Option<&[u8]>| bytes.map(|bytes| bytes.escape_ascii().to_string());
        let header = |(name, value): &(String, Option<_>)| match name.as_str() {
            "__connect.errors.exception.stacktrace" => (name.clone(), None),
            _ => (name.clone(), text(value.as_deref())),
        };
        Self {
            key: text(record.key.as_deref()),
            value: text(record.value.as_deref()),
            headers: record.headers().iter().map(header).collect(),
        }
    }

    /// The same, with messages as our worker words them.
    pub fn in_our_words(mut self) -> Self {
        let messages = self.headers.iter_mut().filter(|(name, _)| name == MESSAGE);
        for (_, message) in messages {
            let ours = |text: String| WORDS.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours));
            *message = message.take().map(ours);
        }
        self
    }

    /// The same without the message.
    pub fn without_message(mut self) -> Self {
        self.headers.retain(|(name, _)| name != MESSAGE);
        self
    }
}

const MESSAGE: &str = "__connect.errors.exception.message";

/// Messages that say the same in other words, Apache's first.
const WORDS: [(&str, &str); 3] = [
    ("Value (no number) was out of range", "field `a`: Value (no number) was out of range"),
    ("Cannot list fields on non-struct type", "INT32 is no struct"),
    ("Invalid null value for required INT32 field", "field `a`: null was found where INT32 is required"),
];
