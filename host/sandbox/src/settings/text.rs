//! How sizes, times and lists are written in properties and configurations.

use std::time::Duration;

/// Bytes as a plain number, or with `k`, `m`, `g` (also `KiB`, `MiB`, `GiB`), in powers of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" => Some(1),
        "k" | "kb" | "kib" => Some(1 << 10),
        "m" | "mb" | "mib" => Some(1 << 20),
        "g" | "gb" | "gib" => Some(1 << 30),
        _ => None,
    };
    let size = number.parse::<u64>().ok().zip(factor);
    size.and_then(|(number, factor)| number.checked_mul(factor))
        .ok_or_else(|| "is no size (bytes, or a number with KiB, MiB or GiB)".to_owned())
}

pub(crate) fn milliseconds(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<u32>() {
        Ok(number) if number > 0 => Ok(Duration::from_millis(number.into())),
        Ok(_) | Err(_) => Err("is no number of milliseconds above 0".to_owned()),
    }
}

pub(super) fn count(text: &str) -> Result<usize, String> {
    match text.trim().parse::<u32>() {
        Ok(number) if number > 0 => Ok(number as usize),
        Ok(_) | Err(_) => Err("is no number above 0".to_owned()),
    }
}

/// The entries of a comma-separated list.
pub(crate) fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_plain_or_in_powers_of_1024() {
        for (text, size) in [
            ("67108864", Ok(64 << 20)),
            ("64MiB", Ok(64 << 20)),
            ("64 m", Ok(64 << 20)),
            ("1g", Ok(1 << 30)),
            ("2 KB", Ok(2048)),
            ("-1", Err(())),
            ("", Err(())),
            ("1TiB", Err(())),
            ("99999999999999999999", Err(())),
            ("18446744073709551615g", Err(())),
        ] {
            assert_eq!(bytes(text).map_err(drop), size, "{text}");
        }
    }

    #[test]
    fn lists_may_have_spaces_and_empty_entries() {
        assert_eq!(list(" a, b ,,c").collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(list("").count(), 0);
    }
}
