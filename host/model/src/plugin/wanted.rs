//! Which versions a configuration asks for (KIP-891).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::version::Version;

/// `latest`, a version, or ranges in Maven's notation: `1.2`, `[1.0,2.0)`, `(,1.0],[1.2,)`.
#[derive(Clone, Debug)]
pub enum WantedVersion {
    Latest,
    /// Within one of these, which are in ascending order.
    Within(Vec<Range>),
}

/// From one version to another; without a bound it is open.
#[derive(Clone, Debug)]
pub struct Range {
    from: Option<Bound>,
    to: Option<Bound>,
}

#[derive(Clone, Debug)]
struct Bound {
    version: Version,
    included: bool,
}

/// Why a text is neither a version nor ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    Empty,
    TooLong,
    /// Neither `]` nor `)` follows.
    Open,
    /// One version stands between other brackets than `[]`.
    Single,
    /// It ends before it begins.
    Backwards,
    /// A range begins before the one in front of it ends.
    Overlapping,
    /// Something stands before, between or after ranges.
    Stray,
}

impl FromStr for WantedVersion {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let text = text.trim();
        match text.chars().next() {
            None => Err(Malformed::Empty),
            Some(_) if text.len() > Version::MAX_LENGTH => Err(Malformed::TooLong),
            Some('[' | '(') => ranges(text).map(Self::Within),
            Some(_) if text.contains(['[', ']', '(', ')']) => Err(Malformed::Stray),
            Some(_) if text == "latest" => Ok(Self::Latest),
            Some(_) => Ok(Self::Within(vec![Range::only(text)])),
        }
    }
}

impl WantedVersion {
    /// A plugin without version is only ever the latest.
    pub fn includes(&self, version: Option<&Version>) -> bool {
        match self {
            Self::Latest => true,
            Self::Within(ranges) => version.is_some_and(|version| ranges.iter().any(|range| range.includes(version))),
        }
    }
}

fn ranges(text: &str) -> Result<Vec<Range>, Malformed> {
    let (mut ranges, mut rest): (Vec<Range>, _) = (Vec::new(), text);
    while !rest.is_empty() {
        let inner = rest.strip_prefix(['[', '(']).ok_or(Malformed::Stray)?;
        let length = inner.find([']', ')']).ok_or(Malformed::Open)?;
        let range = Range::parse(&rest[..length + 2])?;
        if ranges.last().is_some_and(|before| !before.ends_before(&range)) {
            return Err(Malformed::Overlapping);
        }
        ranges.push(range);
        let after = inner[length + 1..].trim_start();
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    Ok(ranges)
}

impl Range {
    fn only(version: &str) -> Self {
        let bound = Some(Bound { version: Version::new(version), included: true });
        Self { from: bound.clone(), to: bound }
    }

    /// Brackets included.
    fn parse(text: &str) -> Result<Self, Malformed> {
        let (from_included, to_included) = (text.starts_with('['), text.ends_with(']'));
        let inner = &text[1..text.len() - 1];
        if inner.contains(['[', '(']) {
            return Err(Malformed::Stray);
        }
        let Some((from, to)) = inner.split_once(',') else {
            return match inner.trim() {
                "" => Err(Malformed::Empty),
                version if from_included && to_included => Ok(Self::only(version)),
                _ => Err(Malformed::Single),
            };
        };
        if to.contains(',') {
            return Err(Malformed::Stray);
        }
        let range = Self { from: Bound::parse(from, from_included), to: Bound::parse(to, to_included) };
        if range.is_backwards() { Err(Malformed::Backwards) } else { Ok(range) }
    }

    fn is_backwards(&self) -> bool {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => match from.version.compare(&to.version) {
                Ordering::Less => false,
                Ordering::Equal => !(from.included && to.included),
                Ordering::Greater => true,
            },
            (_, None) | (None, _) => false,
        }
    }

    fn ends_before(&self, next: &Self) -> bool {
        match (&self.to, &next.from) {
            (Some(to), Some(from)) => to.version.compare(&from.version).is_le(),
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }

    fn includes(&self, version: &Version) -> bool {
        let lies = |bound: &Option<Bound>, side| {
            bound.as_ref().is_none_or(|bound| match version.compare(&bound.version) {
                Ordering::Equal => bound.included,
                ordering => ordering == side,
            })
        };
        lies(&self.from, Ordering::Greater) && lies(&self.to, Ordering::Less)
    }
}

impl Bound {
    fn parse(text: &str, included: bool) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self { version: Version::new(text), included })
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty",
            Self::TooLong => "it is too long",
            Self::Open => "a range ends in `]` or `)`",
            Self::Single => "a single version stands between `[` and `]`",
            Self::Backwards => "a range ends after its beginning",
            Self::Overlapping => "ranges overlap",
            Self::Stray => "there is something beside ranges",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSIONS: [&str; 8] = ["0.9", "1.0", "1.1", "1.2", "1.5", "2.0", "2.5", "3.0"];

    fn check(wanted: &str, expected: &str) {
        let found = match wanted.parse::<WantedVersion>() {
            Ok(wanted) => {
                let included = VERSIONS.iter().filter(|version| wanted.includes(Some(&Version::new(version))));
                included.copied().collect::<Vec<_>>().join(" ")
            }
            Err(malformed) => malformed.to_string(),
        };
        assert_eq!(found, expected, "{wanted}");
    }

    /// As Maven's own library says of the same versions.
    #[test]
    fn ranges_include_what_they_do_in_maven() {
        let all = VERSIONS.join(" ");
        for (wanted, expected) in [
            ("1.0", "1.0"),
            ("1", "1.0"),
            (" 1.0 ", "1.0"),
            ("[1.0]", "1.0"),
            ("[1.0,1.0]", "1.0"),
            ("[1.0,2.0)", "1.0 1.1 1.2 1.5"),
            (" [1.0 , 2.0 ) ", "1.0 1.1 1.2 1.5"),
            ("[1.0,2.0),", "1.0 1.1 1.2 1.5"),
            ("(1.0,2.0]", "1.1 1.2 1.5 2.0"),
            ("(,1.0]", "0.9 1.0"),
            ("[2.5,)", "2.5 3.0"),
            ("(,)", all.as_str()),
            ("[,]", &all),
            ("(,1.0],[1.2,)", "0.9 1.0 1.2 1.5 2.0 2.5 3.0"),
            ("[1.0] , [2.0]", "1.0 2.0"),
            ("[1,2],[2,3]", "1.0 1.1 1.2 1.5 2.0 2.5 3.0"),
            ("(,1),(1,)", "0.9 1.1 1.2 1.5 2.0 2.5 3.0"),
            ("latest", &all),
            ("nonsense", ""),
            ("9999.1", ""),
        ] {
            check(wanted, expected);
        }
    }

    #[test]
    fn what_is_no_range_says_why() {
        for (wanted, expected) in [
            ("", "it is empty"),
            ("  ", "it is empty"),
            ("[]", "it is empty"),
            ("[1.0", "a range ends in `]` or `)`"),
            ("(1.0)", "a single version stands between `[` and `]`"),
            ("[1.0)", "a single version stands between `[` and `]`"),
            ("[2.0,1.0]", "a range ends after its beginning"),
            ("[1.0,1.0)", "a range ends after its beginning"),
            ("[1,2),(1.5,3]", "ranges overlap"),
            ("[3,4],[1,2]", "ranges overlap"),
            ("(,1],(,3)", "ranges overlap"),
            ("[1.0],1.2", "there is something beside ranges"),
            ("[1.0]x", "there is something beside ranges"),
            ("1]", "there is something beside ranges"),
            ("[[1,2]", "there is something beside ranges"),
            ("[1,2]]", "there is something beside ranges"),
            ("[1,2,3]", "there is something beside ranges"),
            (&"1".repeat(300), "it is too long"),
        ] {
            check(wanted, expected);
        }
    }

    #[test]
    fn a_plugin_without_version_is_the_latest_only() {
        assert!(WantedVersion::Latest.includes(None));
        assert!(!"(,)".parse::<WantedVersion>().unwrap().includes(None));
    }
}
