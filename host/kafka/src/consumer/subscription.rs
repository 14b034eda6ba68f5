//! `topics` and `topics.regex` of a sink.

use bulkhead_model::RawConfig;
use bulkhead_pipeline::ports::ClientError;

/// What to subscribe to, in librdkafka's terms: names, or one expression that begins with `^`.
pub(super) fn topics(connector: &RawConfig) -> Result<Vec<String>, ClientError> {
    let given = |key| connector.get(key).map(str::trim).filter(|text| !text.is_empty());
    match (given("topics"), given("topics.regex")) {
        (Some(names), None) => Ok(names.split(',').map(|name| name.trim().to_owned()).collect()),
        (None, Some(regex)) => match posix(regex) {
            Ok(regex) => Ok(vec![format!("^({regex})$")]),
            Err(problem) => Err(ClientError(format!("configuration `topics.regex` = `{regex}`: {problem}"))),
        },
        (Some(_), Some(_)) => Err(ClientError("only one of `topics` and `topics.regex` may be given".to_owned())),
        (None, None) => Err(ClientError("one of `topics` and `topics.regex` has to be given".to_owned())),
    }
}

/// Whether the subscription is an expression, which could match Kafka's own topics.
pub(crate) fn is_pattern(connector: &RawConfig) -> bool {
    connector.get("topics.regex").is_some_and(|regex| !regex.trim().is_empty())
}

/// A Java expression as a POSIX extended one, which is what librdkafka takes. What can't be said in
/// POSIX is refused rather than misread.
fn posix(java: &str) -> Result<String, String> {
    let mut out = String::with_capacity(java.len());
    let mut chars = java.chars().peekable();
    let mut in_class = false;
    while let Some(char) = chars.next() {
        match char {
            '\\' => out.push_str(&escape(chars.next(), in_class)?),
            '[' if in_class => return Err("classes inside of classes are not supported".to_owned()),
            '&' if in_class && chars.peek() == Some(&'&') => {
                return Err("intersections of classes are not supported".to_owned());
            }
            '[' => {
                in_class = true;
                out.push('[');
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '(' if !in_class && chars.peek() == Some(&'?') => {
                chars.next();
                if chars.next() != Some(':') {
                    return Err("groups that begin with `(?` are not supported, except `(?:`".to_owned());
                }
                out.push('(');
            }
            '*' | '+' | '?' | '}' if !in_class => {
                out.push(char);
                match chars.peek() {
                    // A whole name matches or doesn't, so how eagerly makes no difference.
                    Some('?') => {
                        chars.next();
                    }
                    Some('+') => return Err("possessive quantifiers are not supported".to_owned()),
                    Some(_) | None => {}
                }
            }
            char => out.push(char),
        }
    }
    Ok(out)
}

/// What a backslash and the character behind it become.
fn escape(escaped: Option<char>, in_class: bool) -> Result<String, String> {
    let Some(escaped) = escaped else {
        return Err("it ends with a backslash".to_owned());
    };
    let set = match escaped {
        'd' => "0-9",
        'w' => "a-zA-Z0-9_",
        'D' | 'W' | 's' | 'S' if in_class => return Err(format!("`\\{escaped}` inside of a class is not supported")),
        'D' => return Ok("[^0-9]".to_owned()),
        'W' => return Ok("[^a-zA-Z0-9_]".to_owned()),
        letter if letter.is_ascii_alphanumeric() => return Err(format!("`\\{letter}` is not supported")),
        '-' | ']' | '[' | '^' if in_class => return Err(format!("`\\{escaped}` inside of a class is not supported")),
        // A backslash has no meaning inside of a POSIX class.
        mark if in_class => return Ok(mark.to_string()),
        mark => return Ok(format!("\\{mark}")),
    };
    Ok(if in_class { set.to_owned() } else { format!("[{set}]") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(java: &str, expected: &str) {
        assert_eq!(posix(java).unwrap_or_else(|error| error), expected);
    }

    #[test]
    fn an_expression_has_to_match_the_whole_name() {
        let config = RawConfig::from([("topics.regex", "a|b.*")]);
        assert_eq!(topics(&config), Ok(vec!["^(a|b.*)$".to_owned()]));
    }

    #[test]
    fn names_are_split_at_commas() {
        let config = RawConfig::from([("topics", "a, b ,c")]);
        assert_eq!(topics(&config), Ok(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]));
    }

    #[test]
    fn exactly_one_of_the_keys_is_given() {
        assert!(topics(&RawConfig::new()).is_err());
        assert!(topics(&RawConfig::from([("topics", "a"), ("topics.regex", "b")])).is_err());
        assert!(topics(&RawConfig::from([("topics", "a"), ("topics.regex", "")])).is_ok());
    }

    #[test]
    fn what_posix_writes_differently_is_rewritten() {
        check(r"orders\..*", r"orders\..*");
        check(r"(?:a|b)-\d+", "(a|b)-[0-9]+");
        check(r"[\w.\d\.]+?", "[a-zA-Z0-9_.0-9.]+");
        check(r"a\Db\W", "a[^0-9]b[^a-zA-Z0-9_]");
        check("x{2,3}?y*", "x{2,3}y*");
    }

    #[test]
    fn what_posix_cannot_say_is_refused() {
        check("(?!a).*", "groups that begin with `(?` are not supported, except `(?:`");
        check("a++", "possessive quantifiers are not supported");
        check("[a-z&&[^b]]", "intersections of classes are not supported");
        check(r"\p{Alpha}", r"`\p` is not supported");
        check("a\\", "it ends with a backslash");
    }
}
