//! How often a request was passed on, and how the next worker is told.

use axum::http::Uri;
use percent_encoding::percent_decode_str;

use crate::query::{Parameters, is_true};

const FORWARD: &str = "forward";

/// Where a request stands, by its parameter `forward`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    /// It comes from a client: absent.
    First,
    /// It was passed on once: `true`.
    Second,
    /// It must be carried out here: `false`.
    Last,
}

impl Hop {
    pub(super) fn of(query: &Parameters) -> Self {
        match query.get(FORWARD) {
            None => Self::First,
            Some(value) if is_true(value) => Self::Second,
            Some(_) => Self::Last,
        }
    }

    /// None if there must be no further hop.
    pub(super) fn next(self) -> Option<Self> {
        match self {
            Self::First => Some(Self::Second),
            Self::Second => Some(Self::Last),
            Self::Last => None,
        }
    }

    /// What to ask of the worker at this hop: the original, `forward` replaced.
    pub(super) fn path_and_query(self, original: &Uri) -> String {
        let forward = self != Self::Last;
        let mut text = format!("{}?{FORWARD}={forward}", original.path());
        let others =
            original.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty() && !is_forward(pair));
        for pair in others {
            text.push('&');
            text.push_str(pair);
        }
        text
    }
}

fn is_forward(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or_default();
    percent_decode_str(name).eq(FORWARD.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(uri: &str, expected: Option<&str>) {
        let uri: Uri = uri.parse().unwrap();
        let next = Hop::of(&Parameters::of(&uri)).next().map(|hop| hop.path_and_query(&uri));
        assert_eq!(next.as_deref(), expected, "{uri}");
    }

    #[test]
    fn there_are_two_hops_and_no_third() {
        check("/a", Some("/a?forward=true"));
        check("/a?forward=TRUE", Some("/a?forward=false"));
        check("/a?forward=false", None);
        check("/a?forward=", None);
        check("/a?forward=1", None);
    }

    #[test]
    fn the_path_and_other_parameters_stay_as_they_were_written() {
        check(
            "/connectors/a%2Fb/restart?includeTasks=true&&x=%20y&forward=true&onlyFailed",
            Some("/connectors/a%2Fb/restart?forward=false&includeTasks=true&x=%20y&onlyFailed"),
        );
        check("/a?f%6Frward=true&Forward=true", Some("/a?forward=false&Forward=true"));
    }
}
