//! Files that the command line reads, and what workers answer. Only fuzzing and tests see this module.

use crate::arguments::{Change, OffsetArgument};
use crate::bundle::Bundle;
use crate::{answers, files};

/// A letter for the kind of document, then the document.
pub fn files(bytes: &[u8]) {
    match bytes {
        [b'b', text @ ..] => bundle(text),
        [b'c', text @ ..] => drop(files::from_json(files::text(text))),
        [b'a', text @ ..] => answers(text),
        [b'w', text @ ..] => words(&String::from_utf8_lossy(text)),
        _ => {}
    }
}

/// Written, it is read the same.
fn bundle(text: &[u8]) {
    let Ok(bundle) = Bundle::parse(files::text(text)) else { return };
    let written = bundle.text();
    let again = Bundle::parse(written.as_bytes()).map(|bundle| bundle.text());
    assert_eq!(again, Ok(written));
}

fn answers(text: &[u8]) {
    let _ = serde_json::from_slice::<answers::Listing>(text);
    if let Ok(status) = serde_json::from_slice::<answers::Status>(text) {
        let _ = (status.wanted(), status.is_at_rest());
    }
    let _ = serde_json::from_slice::<answers::Offsets>(text);
    let _ = serde_json::from_slice::<answers::Validated>(text);
    let _ = serde_json::from_slice::<answers::Sandboxes>(text);
    let _ = std::str::from_utf8(text).map(answers::Complaint::read);
}

fn words(text: &str) {
    let _ = text.parse::<Change>();
    let _ = text.parse::<OffsetArgument>();
}

#[cfg(test)]
mod tests {
    #[test]
    fn inputs_that_are_kept_pass() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/corpus/bundles");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            println!("{}", path.display());
            super::files(&std::fs::read(&path).unwrap());
        }
    }
}
