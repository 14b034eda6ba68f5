//! English names of months, days and the time zones that texts mention.

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

pub(super) const HALF_DAYS: [&str; 2] = ["AM", "PM"];

pub(super) const ERAS: [&str; 2] = ["BC", "AD"];

/// The first three letters.
pub(super) fn short(name: &'static str) -> &'static str {
    &name[..3]
}

/// Abbreviations with their distance from UTC in minutes. Java knows hundreds; these are the ones that
/// mean one thing everywhere.
pub(super) const ZONES: [(&str, i32); 19] = [
    ("UTC", 0),
    ("GMT", 0),
    ("WEST", 60),
    ("WET", 0),
    ("CEST", 120),
    ("CET", 60),
    ("EEST", 180),
    ("EET", 120),
    ("MSK", 180),
    ("JST", 540),
    ("EST", -300),
    ("EDT", -240),
    ("CST", -360),
    ("CDT", -300),
    ("MST", -420),
    ("MDT", -360),
    ("PST", -480),
    ("PDT", -420),
    ("HST", -600),
];
