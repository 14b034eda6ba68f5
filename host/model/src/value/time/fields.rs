//! Fields that were read from a text, and the moment they mean.

use super::calendar::{choose, gregorian_day, julian_day, week_start, weekday_on_or_before};

/// The year in which the calendar changed.
const CUTOVER_YEAR: i64 = 1582;

/// Fields in the order in which they were set. Where two contradict each other, the later one counts.
#[derive(Debug, Default)]
pub(super) struct Fields {
    set: Vec<(Field, i64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// 0 for BC.
    Era,
    Year,
    WeekYear,
    /// From 0.
    Month,
    WeekOfYear,
    WeekOfMonth,
    DayOfYear,
    DayOfMonth,
    WeekdayInMonth,
    /// From 0, Sunday.
    Weekday,
    /// 0 for the morning.
    HalfDay,
    /// Of the half day.
    Hour,
    HourOfDay,
    Minute,
    Second,
    Milli,
    /// Minutes east of Greenwich.
    Zone,
}

/// Which fields make up the day within the year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DayBy {
    DayOfMonth,
    WeekOfMonth,
    WeekdayInMonth,
    DayOfYear,
    WeekOfYear,
}

/// A calendar's way from year, month and day to the day since 1970.
type Reckoning = fn(i64, i64, i64) -> i64;

impl Fields {
    pub(super) fn set(&mut self, field: Field, value: i64) {
        self.set.retain(|(other, _)| *other != field);
        self.set.push((field, value));
    }

    pub(super) fn get(&self, field: Field) -> Option<i64> {
        self.set.iter().find(|(other, _)| *other == field).map(|(_, value)| *value)
    }

    /// How late a field was set; none if it wasn't.
    fn age(&self, field: Field) -> Option<usize> {
        self.set.iter().position(|(other, _)| *other == field)
    }

    /// Milliseconds since 1970. What is not set is that of 1970-01-01T00:00:00Z. Beyond what 64 bits hold it goes round,
    /// as in Java.
    pub(super) fn millis(&self) -> i64 {
        let minutes = self.hour() * 60 + self.get(Field::Minute).unwrap_or(0) - self.get(Field::Zone).unwrap_or(0);
        let seconds = minutes * 60 + self.get(Field::Second).unwrap_or(0);
        self.day().wrapping_mul(86_400_000).wrapping_add(seconds * 1000 + self.get(Field::Milli).unwrap_or(0))
    }

    fn hour(&self) -> i64 {
        let half = self.age(Field::Hour).and_then(|hour| Some(hour.max(self.age(Field::HalfDay)?)));
        match self.get(Field::HourOfDay) {
            Some(hour) if self.age(Field::HourOfDay) > half => hour,
            _ => self.get(Field::Hour).unwrap_or(0) + 12 * self.get(Field::HalfDay).unwrap_or(0),
        }
    }

    fn day(&self) -> i64 {
        if self.age(Field::WeekYear) > self.age(Field::Year) {
            return self.day_of_week_year();
        }
        // The year as it was given decides, however far the other fields lead.
        match self.year() {
            ..CUTOVER_YEAR => self.reckon(julian_day),
            CUTOVER_YEAR if matches!(self.day_by(), DayBy::DayOfYear | DayBy::WeekOfYear) => self.reckon(julian_day),
            _ => choose(self.reckon(gregorian_day), self.reckon(julian_day)),
        }
    }

    fn day_of_week_year(&self) -> i64 {
        let first = |reckon: Reckoning| week_start(reckon(self.get(Field::WeekYear).unwrap_or(1970), 1, 1));
        let week = self.get(Field::WeekOfYear).unwrap_or(1) - 1;
        choose(first(gregorian_day), first(julian_day)) + 7 * week + self.get(Field::Weekday).unwrap_or(0)
    }

    fn reckon(&self, day_of: Reckoning) -> i64 {
        let year = self.year();
        let by = self.day_by();
        let month = self.get(Field::Month).unwrap_or(0);
        let of_month = |number: i64| day_of(year + number.div_euclid(12), number.rem_euclid(12) + 1, 1);
        match by {
            DayBy::DayOfMonth => of_month(month) + self.get(Field::DayOfMonth).unwrap_or(1) - 1,
            DayBy::WeekOfMonth => self.in_week(of_month(month), Field::WeekOfMonth),
            DayBy::WeekdayInMonth => self.weekday_in_month(of_month(month), of_month(month + 1)),
            DayBy::DayOfYear => day_of(year, 1, 1) + self.get(Field::DayOfYear).unwrap_or(1) - 1,
            DayBy::WeekOfYear => self.in_week(day_of(year, 1, 1), Field::WeekOfYear),
        }
    }

    fn year(&self) -> i64 {
        let year = self.get(Field::Year).unwrap_or(1970);
        if self.get(Field::Era) == Some(0) { 1 - year } else { year }
    }

    /// The weekday in the week of a month or year whose first day is given.
    fn in_week(&self, first: i64, week: Field) -> i64 {
        let weekday = self.get(Field::Weekday).unwrap_or(0).rem_euclid(7);
        week_start(first) + 7 * (self.get(week).unwrap_or(1) - 1) + weekday
    }

    /// The n-th such weekday of a month; negative ones count from the end.
    fn weekday_in_month(&self, first: i64, next_month: i64) -> i64 {
        let weekday = self.get(Field::Weekday).unwrap_or(0);
        match self.get(Field::WeekdayInMonth).unwrap_or(1) {
            number @ 0.. => weekday_on_or_before(first + 7 * number - 1, weekday),
            number => weekday_on_or_before(next_month + 7 * (number + 1) - 1, weekday),
        }
    }

    /// The group of fields that was set last decides; groups that go by weeks need their weekday.
    fn day_by(&self) -> DayBy {
        let weekday = self.age(Field::Weekday);
        let with_weekday = |week: Field| self.age(week).and_then(|week| Some(week.max(weekday?)));
        let complete = [
            (self.age(Field::DayOfMonth), DayBy::DayOfMonth),
            (with_weekday(Field::WeekOfMonth), DayBy::WeekOfMonth),
            (with_weekday(Field::WeekdayInMonth), DayBy::WeekdayInMonth),
            (self.age(Field::DayOfYear), DayBy::DayOfYear),
            (with_weekday(Field::WeekOfYear), DayBy::WeekOfYear),
        ];
        let incomplete = [
            (self.age(Field::WeekOfMonth), DayBy::WeekOfMonth),
            (self.age(Field::WeekdayInMonth).max(weekday), DayBy::WeekdayInMonth),
            (self.age(Field::WeekOfYear), DayBy::WeekOfYear),
        ];
        latest(&complete).or_else(|| latest(&incomplete)).unwrap_or(DayBy::DayOfMonth)
    }
}

/// The youngest group; of two equally young ones the first.
fn latest(groups: &[(Option<usize>, DayBy)]) -> Option<DayBy> {
    let youngest = groups.iter().filter_map(|(age, _)| *age).max()?;
    groups.iter().find(|(age, _)| *age == Some(youngest)).map(|(_, by)| *by)
}
