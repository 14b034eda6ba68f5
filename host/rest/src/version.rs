//! Which version of a plugin is meant (KIP-891): `latest`, a version, or a range as Maven writes them.

use std::cmp::Ordering;

/// What the `version` of a request asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Requirement {
    Latest,
    /// Within one of them.
    Ranges(Vec<Range>),
}

/// `[1.0,2.0)` and the like. An end that is absent is open.
#[derive(Debug, PartialEq)]
pub(crate) struct Range {
    lower: Option<Bound>,
    upper: Option<Bound>,
}

#[derive(Debug, PartialEq)]
struct Bound {
    version: String,
    inclusive: bool,
}

impl Requirement {
    /// None if the text is empty or no well-formed range.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        match text.chars().next()? {
            _ if text == "latest" => Some(Self::Latest),
            '[' | '(' => ranges(text).map(Self::Ranges),
            _ => Some(Self::Ranges(vec![Range::exactly(text)])),
        }
    }

    /// Whether a plugin of this version is meant; one without a version is only ever the latest.
    pub(crate) fn allows(&self, version: Option<&str>) -> bool {
        match self {
            Self::Latest => true,
            Self::Ranges(ranges) => version.is_some_and(|version| ranges.iter().any(|range| range.contains(version))),
        }
    }
}

impl Range {
    fn exactly(version: &str) -> Self {
        let bound = || {
            Some(Bound {
                version: version.to_owned(),
                inclusive: true,
            })
        };
        Self {
            lower: bound(),
            upper: bound(),
        }
    }

    fn contains(&self, version: &str) -> bool {
        let above = |bound: &Bound| match compare(version, &bound.version) {
            Ordering::Greater => true,
            Ordering::Equal => bound.inclusive,
            Ordering::Less => false,
        };
        let below = |bound: &Bound| match compare(version, &bound.version) {
            Ordering::Less => true,
            Ordering::Equal => bound.inclusive,
            Ordering::Greater => false,
        };
        self.lower.as_ref().is_none_or(above) && self.upper.as_ref().is_none_or(below)
    }
}

/// `(,1.0],[1.2,)`: each range up to its closing bracket, commas between them.
fn ranges(text: &str) -> Option<Vec<Range>> {
    let mut ranges = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find([']', ')'])? + 1;
        ranges.push(range(&rest[..end])?);
        let after = rest[end..].trim_start();
        rest = after.strip_prefix(',').unwrap_or(after).trim_start();
    }
    Some(ranges)
}

fn range(text: &str) -> Option<Range> {
    let (opens_closed, closes_closed) = (text.starts_with('['), text.ends_with(']'));
    let inside = text.strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
    let Some((lower, upper)) = inside.split_once(',') else {
        let single = inside.trim();
        return (opens_closed && closes_closed && !single.is_empty()).then(|| Range::exactly(single));
    };
    if upper.contains(',') {
        return None;
    }
    Some(Range {
        lower: bound(lower, opens_closed),
        upper: bound(upper, closes_closed),
    })
}

fn bound(text: &str, inclusive: bool) -> Option<Bound> {
    let version = text.trim();
    (!version.is_empty()).then(|| Bound {
        version: version.to_owned(),
        inclusive,
    })
}

/// A number, or a word by its place in the life of a release.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Word(u8, String),
    Number(u128),
}

/// The order of versions: part by part, numbers by value, and `alpha < beta < rc < the release < sp`.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (parts(left), parts(right));
    (0..left.len().max(right.len()))
        .map(|index| compare_parts(left.get(index), right.get(index)))
        .find(|ordering| ordering.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Against a part, its absence is a zero or the release itself.
fn compare_parts(left: Option<&Part>, right: Option<&Part>) -> Ordering {
    let absent = |other: &Part| match other {
        Part::Number(_) => Part::Number(0),
        Part::Word(..) => word(""),
    };
    match (left, right) {
        (Some(left), Some(right)) => left.cmp(right),
        (Some(left), None) => left.cmp(&absent(left)),
        (None, Some(right)) => absent(right).cmp(right),
        (None, None) => Ordering::Equal,
    }
}

fn parts(version: &str) -> Vec<Part> {
    let mut texts: Vec<String> = vec![String::new()];
    let mut before: Option<char> = None;
    for character in version.chars() {
        let separator = matches!(character, '.' | '-' | '_' | '+');
        let turns = before.is_some_and(|before| before.is_ascii_digit() != character.is_ascii_digit());
        if separator || turns {
            texts.push(String::new());
        }
        if let (false, Some(text)) = (separator, texts.last_mut()) {
            text.extend(character.to_lowercase());
        }
        before = (!separator).then_some(character);
    }
    texts
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| part(text))
        .collect()
}

/// A number too large to compare counts as the largest.
fn part(text: &str) -> Part {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Part::Number(text.parse().unwrap_or(u128::MAX)),
        false => word(text),
    }
}

fn word(text: &str) -> Part {
    let rank = match text {
        "alpha" | "a" => 0,
        "beta" | "b" => 1,
        "milestone" | "m" => 2,
        "rc" | "cr" => 3,
        "snapshot" => 4,
        "" | "ga" | "final" | "release" => return Part::Word(5, String::new()),
        "sp" => 6,
        _ => 7,
    };
    Part::Word(rank, if rank == 7 { text.to_owned() } else { String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_releases_follow_each_other() {
        let ordered = [
            "0.9",
            "1.0-alpha",
            "1.0-beta2",
            "1.0-rc1",
            "1.0-SNAPSHOT",
            "1.0",
            "1.0-sp",
            "1.0.1",
            "1.10",
        ];
        for pair in ordered.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
        assert_eq!(compare("1", "1.0.0"), Ordering::Equal);
        assert_eq!(compare("1.0-GA", "1.0"), Ordering::Equal);
    }

    #[test]
    fn a_requirement_allows_the_versions_it_spans() {
        for (requirement, allowed, refused) in [
            ("4.4.0", "4.4.0", "4.4.1"),
            ("[4.4.0]", "4.4.0", "4.4.1"),
            ("[1.0,2.0)", "1.0", "2.0"),
            ("(1.0,2.0]", "2.0", "1.0"),
            ("[0.0.1,)", "99", "0.0.0"),
            ("(,1.0],[1.2,)", "1.2", "1.1"),
            ("latest", "0", "-"),
        ] {
            let requirement = Requirement::parse(requirement).unwrap();
            assert!(requirement.allows(Some(allowed)), "{requirement:?}");
            assert!(
                requirement == Requirement::Latest || !requirement.allows(Some(refused)),
                "{requirement:?}"
            );
        }
    }

    #[test]
    fn what_is_no_range_is_not_understood() {
        for text in ["", " ", "[1.0", "(1.0)", "[]", "[1,2,3]", "[1,2)x"] {
            assert_eq!(Requirement::parse(text), None, "{text}");
        }
        assert!(!Requirement::parse("nonsense").unwrap().allows(Some("1.0")));
    }
}
