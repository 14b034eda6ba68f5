//! Errors in one line.

use std::error::Error;
use std::fmt::Write as _;

/// The message and those of all causes: the first of them often says little more than that there are others.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Link(&'static str, #[source] Option<Box<Link>>);

    #[test]
    fn causes_come_in_their_order() {
        let inner = Link("no such file", None);
        let outer =
            Link("the worker can't start", Some(Box::new(Link("its plugins are missing", Some(Box::new(inner))))));
        assert_eq!(with_causes(&outer), "the worker can't start: its plugins are missing: no such file");
        assert_eq!(with_causes(&Link("alone", None)), "alone");
    }
}
