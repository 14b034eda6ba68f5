//! Versions in Maven's order, by which Connect compares those of plugins (KIP-891).

use std::cmp::Ordering;

/// A version as Maven reads it: numbers and words between dots, where a hyphen, or a change between digits and
/// letters, begins a list of lower rank. Any text is a version.
///
/// It isn't [`Ord`], as Maven's order goes round in circles for odd texts (`1-alpha` < `1` < `1.foo-bar2baz` <
/// `1-alpha`), which the standard library's `sort` may answer with a panic.
#[derive(Clone, Debug)]
pub struct Version(Vec<Item>);

#[derive(Clone, Debug)]
enum Item {
    Number(Number),
    Word(Word),
    /// Always the last of its list.
    List(Vec<Item>),
}

/// Digits without leading zeros: longer ones are larger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Number {
    length: usize,
    digits: String,
}

/// The known words in their order; of others the text decides, and all come after the known ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Alpha,
    Beta,
    Milestone,
    Candidate,
    Snapshot,
    Release,
    ServicePack,
    Other(String),
}

impl Version {
    /// Longer texts aren't versions. The lists of a version are nested as deeply as it has hyphens.
    pub const MAX_LENGTH: usize = 256;

    /// What is beyond [`Self::MAX_LENGTH`] is cut off.
    pub fn new(text: &str) -> Self {
        let text: String = text.chars().take(Self::MAX_LENGTH).flat_map(char::to_lowercase).collect();
        let mut items = nest(split(&text));
        drop_nothing(&mut items);
        Self(items)
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        compare_lists(&self.0, &other.0)
    }
}

/// The lists of a version, outermost first.
fn split(text: &str) -> Vec<Vec<Item>> {
    let mut lists = vec![Vec::new()];
    let mut token = String::new();
    for c in text.chars() {
        let changes = !token.is_empty() && is_digit(c) != token.ends_with(is_digit);
        match c {
            '.' => push(&mut lists, Item::of(&std::mem::take(&mut token))),
            '-' => {
                push(&mut lists, Item::of(&std::mem::take(&mut token)));
                lists.push(Vec::new());
            }
            digit if changes && is_digit(digit) => {
                begin_list(&mut lists);
                push(&mut lists, Item::Word(Word::before_number(&token)));
                lists.push(Vec::new());
                token = digit.into();
            }
            letter if changes => {
                push(&mut lists, Item::of(&token));
                lists.push(Vec::new());
                token = letter.into();
            }
            c => token.push(c),
        }
    }
    if !token.is_empty() {
        if !token.ends_with(is_digit) {
            begin_list(&mut lists);
        }
        push(&mut lists, Item::of(&token));
    }
    lists
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn push(lists: &mut [Vec<Item>], item: Item) {
    if let Some(list) = lists.last_mut() {
        list.push(item);
    }
}

/// Unless one has just begun.
fn begin_list(lists: &mut Vec<Vec<Item>>) {
    if lists.last().is_some_and(|list| !list.is_empty()) {
        lists.push(Vec::new());
    }
}

fn nest(lists: Vec<Vec<Item>>) -> Vec<Item> {
    let inner_first = lists.into_iter().rev();
    let nested = inner_first.reduce(|inner, mut outer| {
        outer.push(Item::List(inner));
        outer
    });
    nested.unwrap_or_default()
}

/// What stands for nothing is dropped from the end of a list, and from before the list in it.
fn drop_nothing(list: &mut Vec<Item>) {
    if let Some(Item::List(inner)) = list.last_mut() {
        drop_nothing(inner);
    }
    for index in (0..list.len()).rev() {
        match &list[index] {
            item if item.is_nothing() => drop(list.remove(index)),
            Item::List(_) => {}
            Item::Number(_) | Item::Word(_) => return,
        }
    }
}

impl Item {
    /// Digits or letters; nothing counts as zero.
    fn of(token: &str) -> Self {
        if token.chars().all(is_digit) { Self::Number(Number::new(token)) } else { Self::Word(Word::new(token)) }
    }

    fn is_nothing(&self) -> bool {
        match self {
            Self::Number(number) => number.digits.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Word(word) => *word == Word::Release,
        }
    }

    /// Against a version that ends before this.
    fn compare_to_nothing(&self) -> Ordering {
        match self {
            Self::Number(_) if self.is_nothing() => Ordering::Equal,
            Self::Number(_) => Ordering::Greater,
            Self::Word(word) => word.cmp(&Word::Release),
            Self::List(items) => {
                items.iter().map(Self::compare_to_nothing).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
            }
        }
    }

    /// Numbers are above lists, and lists above words.
    fn rank(&self) -> u8 {
        match self {
            Self::Word(_) => 0,
            Self::List(_) => 1,
            Self::Number(_) => 2,
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::Word(a), Self::Word(b)) => a.cmp(b),
            (Self::List(a), Self::List(b)) => compare_lists(a, b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

fn compare_lists(a: &[Item], b: &[Item]) -> Ordering {
    let item = |index: usize| match (a.get(index), b.get(index)) {
        (Some(a), Some(b)) => a.compare(b),
        (Some(a), None) => a.compare_to_nothing(),
        (None, Some(b)) => b.compare_to_nothing().reverse(),
        (None, None) => Ordering::Equal,
    };
    (0..a.len().max(b.len())).map(item).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
}

impl Number {
    fn new(digits: &str) -> Self {
        let digits = digits.trim_start_matches('0');
        Self { length: digits.len(), digits: digits.to_owned() }
    }
}

impl Word {
    fn new(text: &str) -> Self {
        match text {
            "alpha" => Self::Alpha,
            "beta" => Self::Beta,
            "milestone" => Self::Milestone,
            "rc" | "cr" => Self::Candidate,
            "snapshot" => Self::Snapshot,
            "ga" | "final" | "release" => Self::Release,
            "sp" => Self::ServicePack,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Single letters stand for words if a number follows.
    fn before_number(text: &str) -> Self {
        match text {
            "a" => Self::Alpha,
            "b" => Self::Beta,
            "m" => Self::Milestone,
            text => Self::new(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the lowest to the highest, with equal ones in a line, as Maven's own library compares them.
    const ASCENDING: &[&[&str]] = &[
        &["", "0", "0.0", "final"],
        &["abc"],
        &["v1"],
        &["1-alpha", "1alpha"],
        &["1-alpha-1", "1-a1"],
        &["1-alpha2"],
        &["1-alpha.1"],
        &["1-beta"],
        &["1-b2"],
        &["1-milestone"],
        &["1-m3"],
        &["1-rc", "1-cr"],
        &["1-rc1"],
        &["1-rc2"],
        &["1-SNAPSHOT"],
        &["1", "1.0", "1.0.0", "1-ga", "1-final", "1-release", "01", "1.0.Final", "1.0.0.RELEASE", "1-0"],
        &["1-sp"],
        &["1-sp1"],
        &["1.0+build"],
        &["1.0_1"],
        &["1.a", "1a", "1-a"],
        &["1-abc"],
        &["1.x", "1-x"],
        &["1.0-x1"],
        &["1-xyz"],
        &["1.ä"],
        &["1.0ga1", "1.0.0-final1"],
        &["1-0.1"],
        &["1-1", "1.-1"],
        &["1.0-1-1"],
        &["1-2a"],
        &["1.0.1", "1..1"],
        &["1.1-SNAPSHOT"],
        &["1.1"],
        &["1.2.3.4.5"],
        &["1.9"],
        &["1.10"],
        &["2"],
        &["4.4.0-SNAPSHOT"],
        &["4.4.0", "4.4"],
        &["99999999999999999999"],
    ];

    #[test]
    fn versions_have_mavens_order() {
        let ranked = ASCENDING.iter().enumerate().flat_map(|(rank, equal)| equal.iter().map(move |text| (rank, *text)));
        let ranked: Vec<_> = ranked.collect();
        for (rank_a, a) in &ranked {
            for (rank_b, b) in &ranked {
                assert_eq!(Version::new(a).compare(&Version::new(b)), rank_a.cmp(rank_b), "{a} {b}");
            }
        }
    }

    #[test]
    fn where_mavens_order_goes_round_in_circles_so_does_this() {
        for (lower, higher) in [("1-alpha", "1"), ("1", "1.foo-bar2baz"), ("1.foo-bar2baz", "1-alpha")] {
            assert_eq!(Version::new(lower).compare(&Version::new(higher)), Ordering::Less, "{lower} {higher}");
        }
    }

    #[test]
    fn a_text_without_end_does_no_harm() {
        let deep = Version::new(&"1-".repeat(1_000_000));
        assert_eq!(deep.compare(&Version::new("1")), Ordering::Greater);
    }
}
