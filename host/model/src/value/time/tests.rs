//! Answers are those of Java 17.

use super::{DateFormat, DateTime};

const NOW: i64 = 1_700_000_000_123;

fn parse(pattern: &str, text: &str) -> Option<i64> {
    DateFormat::new(pattern).unwrap().parse(text, NOW)
}

#[test]
fn texts_are_read_as_in_java() {
    for (pattern, text, expected) in [
        ("yyyy-MM-dd", "2019-08-23", Some(1_566_518_400_000)),
        ("yyyy-MM-dd", "0000-00-00", Some(-62_170_156_800_000)),
        ("yyyy-MM-dd", "12-345-678", Some(-60_825_513_600_000)),
        ("yyyy-MM-dd", "2019-08-2a", Some(1_564_704_000_000)),
        ("yyyy-MM-dd", "23-1-4", Some(-61_441_286_400_000)),
        ("yyyy-MM-dd", "nope", None),
        ("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "2020-02-30T25:61:61.999Z", Some(1_583_114_521_999)),
        ("HH:mm:ss.SSS'Z'", "99:99:99.999Z", Some(362_439_999)),
        ("EEE, d MMM yyyy HH:mm:ss Z", "Tue, 14 Nov 2023 22:13:20 +0000", Some(1_700_000_000_000)),
        ("yy/M/d", "23/1/4", Some(1_672_790_400_000)),
        ("h:mm a", "1:05 PM", Some(47_100_000)),
        ("k:mm", "24:30", Some(1_800_000)),
        ("u yyyy-MM-dd", "2 2023-11-14", Some(1_699_920_000_000)),
        ("yyyy-MM-dd HH:mm z", "2023-11-14 10:00 PST", Some(1_699_984_800_000)),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2023-11-14T22:13:20+02:00", Some(1_699_992_800_000)),
        ("yyyy.MM.dd G", "2023.11.14 AD", Some(1_699_920_000_000)),
        ("yyyyMMddHHmmss", "20231114221320", Some(1_700_000_000_000)),
        ("u", "61", Some(0)),
        ("D yyyy", "296 1582", Some(-12_217_737_600_000)),
        ("yyyy-MM-dd", "1512-909-29", Some(-12_062_044_800_000)),
        ("dd MMM yyyy", "13  Nov 1999", None),
        ("dd M yyyy", "13  11 1999", Some(942_451_200_000)),
    ] {
        assert_eq!(parse(pattern, text), expected, "{pattern} {text}");
    }
}

#[test]
fn moments_are_written_as_in_java() {
    for (pattern, millis, expected) in [
        ("''yyyy''", NOW, "'2023'"),
        ("EEE d MMM yy", NOW, "Tue 14 Nov 23"),
        ("EEEE d MMMM yyyy", NOW, "Tuesday 14 November 2023"),
        ("F L W w u D", NOW, "2 11 3 46 2 318"),
        ("YYYY-'W'ww-u", NOW, "2023-W46-2"),
        ("h:mm a k K", NOW, "10:13 PM 22 10"),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX z Z", NOW, "2023-11-14T22:13:20.123Z UTC +0000"),
        ("yyyy-MM-dd HH:mm:ss.SSS", -62_135_596_800_001, "0001-01-02 23:59:59.999"),
        ("YYYY-'W'ww-u", -88_256_878_917_027, "-0827-W15-1"),
    ] {
        assert_eq!(DateFormat::new(pattern).unwrap().format(millis), expected);
    }
}

#[test]
fn ten_days_are_missing_in_october_1582() {
    let last_julian = DateTime::from_millis(-141_428 * 86_400_000);
    let first_gregorian = DateTime::from_millis(-141_427 * 86_400_000);
    assert_eq!((last_julian.year, last_julian.month, last_julian.day), (1582, 10, 4));
    assert_eq!((first_gregorian.year, first_gregorian.month, first_gregorian.day), (1582, 10, 15));
}

#[test]
fn every_day_is_read_back_as_itself() {
    let format = DateFormat::new("yyyy-MM-dd G").unwrap();
    for day in (-1_000_000..1_000_000).step_by(97) {
        let millis = day * 86_400_000;
        assert_eq!(format.parse(&format.format(millis), NOW), Some(millis), "{}", format.format(millis));
    }
}

#[test]
fn unknown_letters_are_refused() {
    assert!(DateFormat::new("bad{").is_err());
    assert!(DateFormat::new("'open").is_err());
    assert!(DateFormat::new("XXXX").is_err());
}

#[test]
fn years_that_no_moment_is_in_do_no_harm() {
    for text in ["2147483647", "-2147483647"] {
        assert!(parse("y", text).is_some());
    }
}

#[test]
fn a_quoted_text_may_have_quotes_without_end() {
    let quotes = "''".repeat(1_000_000);
    let format = DateFormat::new(&format!("'x{quotes}'")).unwrap();
    assert_eq!(format.format(NOW).len(), 1_000_001);
}
