//! Plugin versions (KIP-891): `latest`, a version, or a range in Maven's notation.

use std::cmp::Ordering;

/// Whether an installed version is one that was asked for.
pub fn matches(wanted: &str, installed: &str) -> bool {
    let wanted = wanted.trim();
    if wanted == "latest" {
        return true;
    }
    match parse_range(wanted) {
        Some(range) => range.contains(installed),
        None => !wanted.is_empty() && compare(wanted, installed) == Ordering::Equal,
    }
}

/// `[1.0,2.0)` and its like; a missing bound is open.
struct Range<'a> {
    from: &'a str,
    from_included: bool,
    to: &'a str,
    to_included: bool,
}

fn parse_range(text: &str) -> Option<Range<'_>> {
    let from_included = text.starts_with('[');
    let to_included = text.ends_with(']');
    let inner = text.strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
    let (from, to) = inner.split_once(',').unwrap_or((inner, inner));
    Some(Range { from: from.trim(), from_included, to: to.trim(), to_included })
}

impl Range<'_> {
    fn contains(&self, version: &str) -> bool {
        let above = match compare(self.from, version) {
            _ if self.from.is_empty() => true,
            Ordering::Less => true,
            Ordering::Equal => self.from_included,
            Ordering::Greater => false,
        };
        let below = match compare(version, self.to) {
            _ if self.to.is_empty() => true,
            Ordering::Less => true,
            Ordering::Equal => self.to_included,
            Ordering::Greater => false,
        };
        above && below
    }
}

/// Part by part: numbers as numbers, and what has fewer parts is padded with zeros.
fn compare(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split(['.', '-']), b.split(['.', '-']));
    loop {
        let ordering = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (a, b) => compare_part(a.unwrap_or("0"), b.unwrap_or("0")),
        };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
}

/// A word (`rc1`, `SNAPSHOT`) comes before any number: it marks something that is not yet released.
fn compare_part(a: &str, b: &str) -> Ordering {
    match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Ok(_), Err(_)) => Ordering::Greater,
        (Err(_), Ok(_)) => Ordering::Less,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_ranges_match_as_in_maven() {
        let table = [
            ("latest", "0.1", true),
            ("4.4.0", "4.4.0", true),
            ("4.4", "4.4.0", true),
            ("4.4.0", "4.4.1", false),
            ("", "4.4.0", false),
            ("[4.0,5.0)", "4.4.0", true),
            ("[4.0,4.4)", "4.4.0", false),
            ("(4.4,)", "4.4.0", false),
            ("[4.4,)", "4.4.0", true),
            ("(,4.3]", "4.4.0", false),
            ("[4.4]", "4.4.0", true),
            ("[4.4,)", "4.4.0-rc1", false),
            ("[4.9,)", "4.10", true),
            ("nonsense", "4.4.0", false),
        ];
        for (wanted, installed, expected) in table {
            assert_eq!(matches(wanted, installed), expected, "{wanted} {installed}");
        }
    }
}
