//! The time zone of an ORC file's writer.
//!
//! In: the name in a stripe's footer. Out: by how many seconds a wall clock in that zone is ahead of UTC at an instant.
//!
//! The offsets are those of Java's calendar, which wrote the files: before 1900 the standard offset of today, where the
//! zone database has the local mean time, and after its last rule the rules of the last years for ever.

use chrono::{DateTime, Datelike, NaiveDate, Offset, TimeZone, Weekday};
use chrono_tz::Tz;

/// 1900-01-01 UTC, in seconds since 1970: Java's calendar has no changes of offset before.
const FIRST_CHANGE: i64 = -2_208_988_800;
/// 2098-01-01 UTC, in seconds since 1970: the zone database is not asked for later instants.
const LAST_ASKED: i64 = 4_039_372_800;
/// 2030-01-01 UTC, in seconds since 1970.
const FIRST_OF_2030: i64 = 1_893_456_000;
/// 2015-01-01 UTC, from where ORC counts, in seconds since 1970.
pub(super) const ORC_EPOCH: i64 = 1_420_070_400;

/// A writer's zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// Always the same number of seconds ahead of UTC.
    Fixed(i64),
    /// A zone of the database.
    Named(Tz),
}

impl Zone {
    /// A zone by the names that Java gives them; `None` where it is none.
    pub(super) fn parse(name: &str) -> Option<Self> {
        if matches!(name, "" | "UTC" | "GMT" | "Z" | "Etc/UTC" | "Etc/GMT") {
            return Some(Zone::Fixed(0));
        }
        if let Some(offset) = ["GMT", "UTC", "UT", ""].iter().find_map(|prefix| fixed(name.strip_prefix(prefix)?)) {
            return Some(Zone::Fixed(offset));
        }
        name.parse().ok().or_else(|| old_name(name)?.parse().ok()).map(Zone::Named)
    }

    /// How many seconds a wall clock is ahead of UTC at an instant in seconds since 1970.
    pub(super) fn offset_at(self, instant: i64) -> i64 {
        let zone = match self {
            Zone::Fixed(offset) => return offset,
            Zone::Named(zone) => zone,
        };
        if instant < FIRST_CHANGE {
            return standard_offset(zone);
        }
        if instant < LAST_ASKED {
            return database_offset(zone, instant);
        }
        database_offset(zone, earlier_alike(instant).unwrap_or(LAST_ASKED))
    }

    /// 2015-01-01 00:00:00 on the zone's clock, in seconds since 1970: from here the values of TIMESTAMP count.
    pub(super) fn orc_epoch(self) -> i64 {
        // The offset of a day before, where the first guess is: no zone changed its offset in these days.
        ORC_EPOCH - self.offset_at(ORC_EPOCH - self.offset_at(ORC_EPOCH))
    }
}

fn database_offset(zone: Tz, instant: i64) -> i64 {
    let time = DateTime::from_timestamp(instant, 0);
    time.map_or(0, |time| i64::from(zone.offset_from_utc_datetime(&time.naive_utc()).fix().local_minus_utc()))
}

/// The least offset of the months of 2030. The database's own standard offset would be Dublin's in summer.
fn standard_offset(zone: Tz) -> i64 {
    const MONTH: i64 = 2_629_746;
    (0..12).map(|month| database_offset(zone, FIRST_OF_2030 + month * MONTH)).min().unwrap_or_default()
}

/// `+8`, `+08`, `+08:00`, `-0330` in seconds.
fn fixed(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() > 2 => digits.split_at_checked(digits.len() - 2)?,
        None => (digits, "0"),
    };
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<i64>().ok()).flatten();
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Java's zones of three letters that the database does not have, or has otherwise.
fn old_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "ACT" => "Australia/Darwin",
        "AET" => "Australia/Sydney",
        "AGT" => "America/Argentina/Buenos_Aires",
        "ART" => "Africa/Cairo",
        "AST" => "America/Anchorage",
        "BET" => "America/Sao_Paulo",
        "BST" => "Asia/Dhaka",
        "CAT" => "Africa/Harare",
        "CNT" => "America/St_Johns",
        "CST" => "America/Chicago",
        "CTT" => "Asia/Shanghai",
        "EAT" => "Africa/Addis_Ababa",
        "ECT" => "Europe/Paris",
        "IET" => "America/Indiana/Indianapolis",
        "IST" => "Asia/Kolkata",
        "JST" => "Asia/Tokyo",
        "MIT" => "Pacific/Apia",
        "NET" => "Asia/Yerevan",
        "NST" => "Pacific/Auckland",
        "PLT" => "Asia/Karachi",
        "PNT" => "America/Phoenix",
        "PRT" => "America/Puerto_Rico",
        "PST" => "America/Los_Angeles",
        "SST" => "Pacific/Guadalcanal",
        "VST" => "Asia/Ho_Chi_Minh",
        _ => return None,
    })
}

/// The same day and time in a year of 2070 to 2097 that has the same weekdays: rules of summer time fall alike there.
fn earlier_alike(instant: i64) -> Option<i64> {
    let year = DateTime::from_timestamp(instant, 0)?.year();
    let shape = |year: i32| -> Option<(NaiveDate, Weekday, bool)> {
        let first = NaiveDate::from_ymd_opt(year, 1, 1)?;
        Some((first, first.weekday(), first.leap_year()))
    };
    let (first, weekday, leap) = shape(year)?;
    let alike = (2070..=2097).filter_map(shape).find(|s| (s.1, s.2) == (weekday, leap))?.0;
    instant.checked_sub(first.signed_duration_since(alike).num_seconds())
}

/// How many spans of time [`Clock`] remembers.
const SLOTS: usize = 512;
/// A span is 2^15 seconds, nine hours: no zone changes its offset twice in it.
const SPAN_BITS: u32 = 15;

/// A zone's clock, which remembers the offsets of spans of time: a lookup in the database costs more than a column's
/// whole decoding.
pub(super) struct Clock {
    zone: Zone,
    /// Per slot: the span's number, and its offset where it is one and the same all along.
    slots: Vec<(i64, Option<i64>)>,
}

impl Clock {
    pub(super) fn new(zone: Zone) -> Self {
        Self { zone, slots: vec![(i64::MIN, None); SLOTS] }
    }

    /// The wall clock at an instant, both in seconds since 1970; `None` where it overflows.
    pub(super) fn wall(&mut self, instant: i64) -> Option<i64> {
        let offset = match self.zone {
            Zone::Fixed(offset) => offset,
            Zone::Named(_) => self.remembered(instant),
        };
        instant.checked_add(offset)
    }

    fn remembered(&mut self, instant: i64) -> i64 {
        let span = instant >> SPAN_BITS;
        let Some(slot) = self.slots.get_mut(span as usize % SLOTS) else { return self.zone.offset_at(instant) };
        if slot.0 != span {
            let start = span << SPAN_BITS;
            let (first, last) = (self.zone.offset_at(start), self.zone.offset_at(start | ((1 << SPAN_BITS) - 1)));
            *slot = (span, (first == last).then_some(first));
        }
        slot.1.unwrap_or_else(|| self.zone.offset_at(instant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(text: &str) -> i64 {
        chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap().and_utc().timestamp()
    }

    #[test]
    fn names_as_java_has_them() {
        for (name, want) in [
            ("UTC", Some(0)),
            ("GMT", Some(0)),
            ("GMT+08:00", Some(28800)),
            ("GMT+8", Some(28800)),
            ("-03:30", Some(-12600)),
            ("GMT-0330", Some(-12600)),
            ("UTC+1", Some(3600)),
            ("Asia/Shanghai", Some(28800)),
            ("CTT", Some(28800)),
            ("PST", Some(-28800)),
            ("Mars/Olympus", None),
            ("GMT+99", None),
            ("GMT+1:x", None),
            ("GMT++1", None),
            ("é", None),
        ] {
            assert_eq!(Zone::parse(name).map(|z| z.offset_at(ORC_EPOCH)), want, "{name}");
        }
    }

    #[test]
    fn offsets_are_those_of_javas_calendar() {
        for (zone, instant, want) in [
            ("Asia/Shanghai", "2024-06-01 00:00:00", 28800),
            ("Asia/Shanghai", "1986-06-01 00:00:00", 32400),
            ("Asia/Shanghai", "1900-06-01 00:00:00", 29143),
            ("Asia/Shanghai", "1899-06-01 00:00:00", 28800),
            ("Europe/Dublin", "1899-06-01 00:00:00", 0),
            ("America/New_York", "2024-07-01 00:00:00", -14400),
            ("America/New_York", "2050-07-01 00:00:00", -14400),
            ("America/New_York", "2150-07-01 00:00:00", -14400),
            ("America/New_York", "2150-12-01 00:00:00", -18000),
            ("America/New_York", "9999-07-01 00:00:00", -14400),
        ] {
            assert_eq!(Zone::parse(zone).unwrap().offset_at(seconds(instant)), want, "{zone} {instant}");
        }
        assert_eq!(Zone::parse("Asia/Shanghai").unwrap().orc_epoch(), ORC_EPOCH - 28800);
        assert_eq!(Zone::parse("America/New_York").unwrap().orc_epoch(), ORC_EPOCH + 18000);
    }

    proptest! {
        #[test]
        fn the_clock_remembers_rightly(instants in proptest::collection::vec(-5_000_000_000i64..9_000_000_000, 1..50), any in any::<i64>()) {
            for name in ["Asia/Shanghai", "America/New_York", "Europe/Berlin", "GMT+5:30"] {
                let zone = Zone::parse(name).unwrap();
                let mut clock = Clock::new(zone);
                for i in instants.iter().chain(&instants).chain([&any]) {
                    prop_assert_eq!(clock.wall(*i), i.checked_add(zone.offset_at(*i)));
                }
            }
        }
    }
}
