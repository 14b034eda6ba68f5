//! References to secrets in texts: `${provider:path:key}` or `${provider:key}` (KIP-297).

use std::collections::{BTreeMap, BTreeSet};

use super::raw::RawConfig;

/// One reference, as it stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// All of it, from `${` to `}`.
    pub text: &'a str,
    pub provider: &'a str,
    /// Empty if it has none.
    pub path: &'a str,
    /// The rest, which may hold colons.
    pub key: &'a str,
}

/// What is asked at once: a provider and a path in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    pub provider: String,
    pub path: String,
}

/// Part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Text(&'a str),
    Reference(Reference<'a>),
}

/// A text in pieces, in order. Whatever has no colon between its braces (`${topic}`) is text.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut from = 0;
    while let Some((opening, end)) = braces(text, from) {
        from = end;
        if let Some(reference) = parse(&text[opening..end]) {
            if start < opening {
                pieces.push(Piece::Text(&text[start..opening]));
            }
            pieces.push(Piece::Reference(reference));
            start = end;
        }
    }
    if start < text.len() {
        pieces.push(Piece::Text(&text[start..]));
    }
    pieces
}

/// The references of a text, in order.
pub fn references(text: &str) -> impl Iterator<Item = Reference<'_>> {
    pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Text(_) => None,
        Piece::Reference(reference) => Some(reference),
    })
}

/// What has to be asked for a configuration, of the providers there are: keys by source.
pub fn wanted(config: &RawConfig, is_provider: impl Fn(&str) -> bool) -> BTreeMap<Source, BTreeSet<String>> {
    let mut wanted: BTreeMap<Source, BTreeSet<String>> = BTreeMap::new();
    let all = config.iter().flat_map(|(_, value)| references(value));
    for reference in all.filter(|reference| is_provider(reference.provider)) {
        wanted.entry(reference.source()).or_default().insert(reference.key.to_owned());
    }
    wanted
}

impl Reference<'_> {
    pub fn source(&self) -> Source {
        Source { provider: self.provider.to_owned(), path: self.path.to_owned() }
    }
}

/// The next `${` and what follows the `}` after it.
fn braces(text: &str, from: usize) -> Option<(usize, usize)> {
    let opening = from + text[from..].find("${")?;
    let closing = opening + text[opening..].find('}')?;
    Some((opening, closing + 1))
}

fn parse(text: &str) -> Option<Reference<'_>> {
    let (provider, rest) = text.strip_prefix("${")?.strip_suffix('}')?.split_once(':')?;
    let (path, key) = rest.split_once(':').unwrap_or(("", rest));
    Some(Reference { text, provider, path, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        let piece = |piece: &Piece<'_>| match piece {
            Piece::Text(text) => format!("<{text}>"),
            Piece::Reference(Reference { provider, path, key, .. }) => format!("[{provider}|{path}|{key}]"),
        };
        pieces(text).iter().map(piece).collect()
    }

    #[test]
    fn a_text_falls_into_references_and_what_is_between() {
        for (text, expected) in [
            ("", ""),
            ("plain", "<plain>"),
            ("${a:b}", "[a||b]"),
            ("${a::b}", "[a||b]"),
            ("x${a:p:k}y${b:k}", "<x>[a|p|k]<y>[b||k]"),
            ("${a:p:k:l}", "[a|p|k:l]"),
            ("${topic}-${a:b}", "<${topic}->[a||b]"),
            ("${a:${b:c}}", "[a|${b|c]<}>"),
            ("$${a:b}", "<$>[a||b]"),
            ("${:x}", "[||x]"),
            ("${a:b", "<${a:b>"),
            ("${ä:é\n:ö}", "[ä|é\n|ö]"),
            ("}${", "<}${>"),
        ] {
            assert_eq!(check(text), expected, "{text}");
        }
    }

    #[test]
    fn one_question_is_asked_for_each_path_of_a_known_provider() {
        let config = RawConfig::from([("a", "${f:p:x}${f:p:y}"), ("b", "${f:q:x}${unknown:z}")]);
        let wanted = wanted(&config, |provider| provider == "f");
        let shown: Vec<_> = wanted.iter().map(|(source, keys)| format!("{} {keys:?}", source.path)).collect();
        assert_eq!(shown, [r#"p {"x", "y"}"#, r#"q {"x"}"#]);
    }
}
