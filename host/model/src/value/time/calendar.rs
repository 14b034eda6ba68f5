//! Days and dates, Julian before 15 October 1582 and Gregorian from then on.

/// The first Gregorian day, counted from 1970-01-01.
const CUTOVER: i64 = -141_427;

const MILLIS_PER_DAY: i64 = 86_400_000;

/// A moment in UTC, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTime {
    /// 0 is 1 BC.
    pub year: i64,
    /// From 1.
    pub month: u8,
    /// From 1.
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub milli: u16,
    /// Days since 1970-01-01.
    pub epoch_day: i64,
}

impl DateTime {
    /// From milliseconds since 1970-01-01T00:00:00Z.
    pub fn from_millis(millis: i64) -> Self {
        let epoch_day = millis.div_euclid(MILLIS_PER_DAY);
        let of_day = millis.rem_euclid(MILLIS_PER_DAY);
        let (year, month, day) = date_of(epoch_day);
        Self {
            year,
            month,
            day,
            hour: (of_day / 3_600_000) as u8,
            minute: (of_day / 60_000 % 60) as u8,
            second: (of_day / 1000 % 60) as u8,
            milli: (of_day % 1000) as u16,
            epoch_day,
        }
    }

    pub fn is_before_christ(&self) -> bool {
        self.year <= 0
    }

    /// The year as people count it, 1 BC being 1.
    pub fn year_of_era(&self) -> i64 {
        if self.is_before_christ() { 1 - self.year } else { self.year }
    }

    /// From 0, Sunday.
    pub fn weekday(&self) -> usize {
        weekday(self.epoch_day)
    }

    /// From 1.
    pub fn day_of_year(&self) -> i64 {
        self.epoch_day - day_of(self.year, 1, 1) + 1
    }

    /// From 1; the last days of December may be in the first week of the next year.
    pub fn week_of_year(&self) -> i64 {
        self.weeks_since(day_of(self.week_year(), 1, 1))
    }

    /// The year that the week is counted in.
    pub fn week_year(&self) -> i64 {
        let week = week_start(self.epoch_day);
        if week_start(day_of(self.year + 1, 1, 1)) == week { self.year + 1 } else { self.year }
    }

    /// From 1; weeks begin on Sunday.
    pub fn week_of_month(&self) -> i64 {
        self.weeks_since(day_of(self.year, self.month.into(), 1))
    }

    fn weeks_since(&self, first: i64) -> i64 {
        (week_start(self.epoch_day) - week_start(first)) / 7 + 1
    }
}

/// From 0, Sunday; the first of January 1970 was a Thursday.
pub(super) fn weekday(epoch_day: i64) -> usize {
    (epoch_day + 4).rem_euclid(7) as usize
}

/// The last day with this weekday that is not after `epoch_day`.
pub(super) fn weekday_on_or_before(epoch_day: i64, wanted: i64) -> i64 {
    epoch_day - (epoch_day + 4 - wanted).rem_euclid(7)
}

/// The Sunday that a day's week begins with.
pub(super) fn week_start(epoch_day: i64) -> i64 {
    weekday_on_or_before(epoch_day, 0)
}

/// The day of a date that exists.
pub(super) fn day_of(year: i64, month: i64, day: i64) -> i64 {
    let gregorian = gregorian_day(year, month, day);
    if gregorian >= CUTOVER { gregorian } else { julian_day(year, month, day) }
}

/// Which of two candidate days, reckoned by either calendar, is meant. In the ten days that were left
/// out it is the Julian one, as in Java.
pub(super) fn choose(gregorian: i64, julian: i64) -> i64 {
    if gregorian >= CUTOVER { gregorian } else { julian }
}

/// Years begin in March here, so that the leap day is the last one of a year.
fn march_based(year: i64, month: i64) -> (i64, i64) {
    if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) }
}

/// Days from 1 March to the first of a month, counted from March.
fn days_before_month(month_from_march: i64) -> i64 {
    (153 * month_from_march + 2) / 5
}

pub(super) fn gregorian_day(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = march_based(year, month);
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + days_before_month(month) + day - 1 - 719_468
}

pub(super) fn julian_day(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = march_based(year, month);
    year * 365 + year.div_euclid(4) + days_before_month(month) + day - 1 - 719_470
}

fn date_of(epoch_day: i64) -> (i64, u8, u8) {
    let (year, day_of_year) =
        if epoch_day >= CUTOVER { gregorian_year(epoch_day + 719_468) } else { julian_year(epoch_day + 719_470) };
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - days_before_month(month_from_march) + 1;
    let (year, month) = match month_from_march {
        0..10 => (year, month_from_march + 3),
        _ => (year + 1, month_from_march - 9),
    };
    (year, month as u8, day as u8)
}

/// Year, beginning in March, and day of it, from days since 1 March of year 0.
fn gregorian_year(day: i64) -> (i64, i64) {
    const DAYS_IN_400_YEARS: i64 = 146_097;
    let era = day.div_euclid(DAYS_IN_400_YEARS);
    let day_of_era = day.rem_euclid(DAYS_IN_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    (year_of_era + era * 400, day_of_year)
}

fn julian_year(day: i64) -> (i64, i64) {
    const DAYS_IN_4_YEARS: i64 = 1461;
    let era = day.div_euclid(DAYS_IN_4_YEARS);
    let day_of_era = day.rem_euclid(DAYS_IN_4_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1460) / 365;
    (year_of_era + era * 4, day_of_era - 365 * year_of_era)
}
