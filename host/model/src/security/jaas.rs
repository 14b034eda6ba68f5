//! `sasl.jaas.config`: one login module with its options.

use std::collections::BTreeMap;

/// `org.apache.….PlainLoginModule required username="a" password="b";`
#[derive(PartialEq, Eq)]
pub(super) struct Login {
    /// Class name without its package.
    pub(super) module: String,
    pub(super) options: BTreeMap<String, String>,
}

/// Reads the text, or says what is wrong with it. Neither answer repeats a value: they are secrets.
pub(super) fn parse(text: &str) -> Result<Login, String> {
    let text = text.trim();
    let body = text.strip_suffix(';').ok_or("it has to end with `;`")?;
    let mut words = words(body)?.into_iter();
    let module = words.next().ok_or("it names no login module")?;
    words.next().ok_or("the control flag (`required`) is missing")?;
    let mut options = BTreeMap::new();
    for word in words {
        let (key, value) =
            word.split_once('=').ok_or("after the control flag only options like `username=\"…\"` may come")?;
        options.insert(key.to_owned(), value.to_owned());
    }
    let module = module.rsplit('.').next().unwrap_or_default().to_owned();
    Ok(Login { module, options })
}

/// Splits at white space outside of quotes; quotes are dropped, a backslash inside takes the next
/// character as it is.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(_), '\\') => word.extend(chars.next()),
            (Some(open), _) if char == open => quote = None,
            (None, '"' | '\'') => quote = Some(char),
            (None, _) if char.is_whitespace() => words.extend(finished(&mut word)),
            (_, _) => word.push(char),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    words.extend(finished(&mut word));
    Ok(words)
}

fn finished(word: &mut String) -> Option<String> {
    (!word.is_empty()).then(|| std::mem::take(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match parse(text) {
            Ok(login) => format!("{} {:?}", login.module, login.options),
            Err(error) => error,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn options_are_read_with_any_quotes_and_spacing() {
        check(
            "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"me\" password='it''s';",
            r#"PlainLoginModule {"password": "its", "username": "me"}"#,
        );
        check(
            "  ScramLoginModule required\n  username=me\n  password=\"a \\\"b\\\" ;=c\" ;  ",
            r#"ScramLoginModule {"password": "a \"b\" ;=c", "username": "me"}"#,
        );
    }

    #[test]
    fn what_is_wrong_is_said_without_the_secret() {
        check("PlainLoginModule required password=\"s\"", "it has to end with `;`");
        check(";", "it names no login module");
        check("PlainLoginModule;", "the control flag (`required`) is missing");
        check("PlainLoginModule required password=\"s;", "a quote is not closed");
        check(
            "PlainLoginModule required secret;",
            "after the control flag only options like `username=\"…\"` may come",
        );
    }
}
