//! Dates and times as text.
//!
//! `yyyy-MM-dd`, `HH:mm:ss[.f…]`, `yyyy-MM-dd HH:mm:ss[.f…]`. Java: `DateTimeUtils.formatDate`,
//! `formatTimestampMillis`, `formatTimestamp`: years have four digits whatever they are, and a time of a day keeps one
//! digit after the point where its type has any.

use std::fmt::{self, Write};

use super::calendar::date_of;
use super::moment::{MILLIS_PER_DAY, Moment};

/// Four digits of a year; the digits of a negative one fall below '0', as in the reference.
fn write_year(out: &mut String, year: i64) -> fmt::Result {
    for unit in [1000, 100, 10, 1] {
        out.write_char(char::from((i64::from(b'0') + year / unit % 10) as u8))?;
    }
    Ok(())
}

/// Days since 1970-01-01.
pub(super) fn write_date(out: &mut String, days: i32) -> fmt::Result {
    let (year, month, day) = date_of(i64::from(days));
    write_year(out, year)?;
    write!(out, "-{month:02}-{day:02}")
}

/// Milliseconds of the day; outside of a day it is brought into one from below only, and of the hours the last two
/// digits are shown.
pub(super) fn write_time(out: &mut String, millis: i32, precision: u8) -> fmt::Result {
    let millis = i64::from(millis);
    let millis = if millis < 0 { millis.rem_euclid(MILLIS_PER_DAY) } else { millis };
    let (seconds, mut rest) = (millis / 1000, millis % 1000);
    write!(out, "{:02}:{:02}:{:02}", seconds / 3600 % 100, seconds / 60 % 60, seconds % 60)?;
    if precision > 0 {
        out.write_char('.')?;
    }
    for _ in 0..precision {
        write!(out, "{}", rest / 100)?;
        rest = rest % 100 * 10;
        if rest == 0 {
            break;
        }
    }
    Ok(())
}

/// A wall clock: at least `precision` digits after the point, more where they are not zero.
pub(super) fn write_timestamp(out: &mut String, local: Moment, precision: u8) -> fmt::Result {
    let (year, month, day) = date_of(local.millis.div_euclid(MILLIS_PER_DAY));
    write_year(out, year)?;
    let millis = local.millis.rem_euclid(MILLIS_PER_DAY);
    let seconds = millis / 1000;
    write!(out, "-{month:02}-{day:02} {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    let fraction = format!("{:09}", millis % 1000 * 1_000_000 + local.nanos);
    let significant = fraction.trim_end_matches('0').len().max(usize::from(precision.min(9)));
    match fraction.get(..significant) {
        None | Some("") => Ok(()),
        Some(digits) => write!(out, ".{digits}"),
    }
}
