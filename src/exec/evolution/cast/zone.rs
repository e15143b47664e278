//! Wall clocks and instants in a time zone.
//!
//! In and out: moments. A wall clock that a zone skips is moved on by the length of the gap; one that it has twice is
//! the earlier instant. Both as Java's `LocalDateTime.atZone`.

use chrono::{DateTime, LocalResult, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;

use super::calendar::{date_of, days_in_month, days_of};
use super::moment::Moment;
use crate::error::{Error, Result};

/// The last year of which the zones' tables have the transitions.
const LAST_YEAR: i64 = 2099;

const SECONDS_PER_DAY: i64 = 86_400;

/// The civil time of a number of seconds since 1970, taken for UTC. After the zones' tables end, the same time of the
/// last year in them that has the same calendar: the rules go by weekdays.
fn civil(seconds: i64) -> Result<NaiveDateTime> {
    let (year, ..) = date_of(seconds.div_euclid(SECONDS_PER_DAY));
    let seconds = if year > LAST_YEAR { seconds - SECONDS_PER_DAY * days_to_twin(year) } else { seconds };
    let civil = DateTime::from_timestamp(seconds, 0).map(|t| t.naive_utc());
    civil.ok_or_else(|| Error::unsupported(format!("the second {seconds} since 1970 in a time zone")))
}

/// The days from the last year of the tables with the calendar of `year` to `year`.
fn days_to_twin(year: i64) -> i64 {
    let new_year = |year| days_of(year, 1, 1);
    let calendar = |year| (new_year(year).rem_euclid(7), days_in_month(year, 2));
    let twin = (LAST_YEAR - 27..=LAST_YEAR).rev().find(|twin| calendar(*twin) == calendar(year));
    new_year(year) - new_year(twin.unwrap_or(LAST_YEAR))
}

fn offset_at(zone: Tz, utc: &NaiveDateTime) -> i64 {
    i64::from(zone.offset_from_utc_datetime(utc).fix().local_minus_utc())
}

fn shifted(moment: Moment, seconds: i64) -> Result<Moment> {
    let millis = seconds.checked_mul(1000).and_then(|ms| moment.millis.checked_add(ms));
    let millis = millis.ok_or_else(|| Error::unsupported(format!("the time {} ms in a time zone", moment.millis)))?;
    Ok(Moment { millis, ..moment })
}

/// The wall clock in `zone` at an instant.
pub(super) fn to_local(zone: Tz, instant: Moment) -> Result<Moment> {
    if zone == Tz::UTC {
        return Ok(instant);
    }
    let utc = civil(instant.millis.div_euclid(1000))?;
    shifted(instant, offset_at(zone, &utc))
}

/// The instant at which the wall clock in `zone` shows `local`.
pub(super) fn to_instant(zone: Tz, local: Moment) -> Result<Moment> {
    if zone == Tz::UTC {
        return Ok(local);
    }
    let civil = civil(local.millis.div_euclid(1000))?;
    let offset = match zone.offset_from_local_datetime(&civil) {
        LocalResult::Single(offset) | LocalResult::Ambiguous(offset, _) => i64::from(offset.fix().local_minus_utc()),
        LocalResult::None => offset_before_gap(zone, &civil),
    };
    shifted(local, -offset)
}

/// The offset that holds before the gap in which a wall clock lies.
fn offset_before_gap(zone: Tz, local: &NaiveDateTime) -> i64 {
    let after = offset_at(zone, &local.checked_add_signed(TimeDelta::hours(26)).unwrap_or(*local));
    let before_gap = local.checked_sub_signed(TimeDelta::seconds(after));
    offset_at(zone, &before_gap.unwrap_or(*local))
}
