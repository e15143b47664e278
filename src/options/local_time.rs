//! Local times in options and SQL: `yyyy-MM-dd`, or `yyyy-MM-dd HH:mm:ss` with up to nine decimals.
//!
//! In: the text and a zone. Out: milliseconds since 1970, decimals below milliseconds cut off. A time that a clock
//! change skips is moved on by the length of the gap, of a time that comes twice the first is meant, as in Java.

use chrono::{MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeDelta, TimeZone, Timelike};
use chrono_tz::Tz;

/// Reads a local time of a zone; `None` where the text is none.
pub fn parse_local_millis(text: &str, zone: Tz) -> Option<i64> {
    let (date, time) = match text.trim().split_once([' ', 'T']) {
        Some((date, time)) => (date, parse_time(time.trim_start())?),
        None => (text.trim(), NaiveTime::MIN),
    };
    local_to_millis(parse_date(date)?.and_time(time), zone)
}

/// A local time of a zone in milliseconds since 1970.
fn local_to_millis(local: NaiveDateTime, zone: Tz) -> Option<i64> {
    const STEP_MINUTES: i64 = 30;
    const LONGEST_GAP_STEPS: i64 = 48;
    for steps in 0..=LONGEST_GAP_STEPS {
        // In a gap the offset from before it holds: the gap's length is what the time is moved on by.
        let before = local.checked_sub_signed(TimeDelta::minutes(steps * STEP_MINUTES))?;
        let offset = match zone.offset_from_local_datetime(&before) {
            MappedLocalTime::Single(offset) => offset,
            MappedLocalTime::Ambiguous(earlier, later) if steps == 0 => {
                // Of a time that comes twice the first has the larger offset.
                if earlier.fix().local_minus_utc() >= later.fix().local_minus_utc() { earlier } else { later }
            }
            MappedLocalTime::Ambiguous(..) | MappedLocalTime::None => continue,
        };
        let utc = local.checked_sub_offset(offset.fix())?;
        return Some(utc.and_utc().timestamp_millis());
    }
    None
}

fn parse_date(text: &str) -> Option<NaiveDate> {
    let mut parts = text.split('-');
    let year = digits(parts.next()?, 4, 4)?;
    let (month, day) = (digits(parts.next()?, 1, 2)?, digits(parts.next()?, 1, 2)?);
    parts.next().is_none().then(|| NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day))?
}

fn parse_time(text: &str) -> Option<NaiveTime> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':').map(|part| digits(part, 1, 2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let nanos = match fraction.len() {
        0 => 0,
        1..=9 => digits(fraction, 1, 9)?.checked_mul(10_u32.pow(9 - u32::try_from(fraction.len()).ok()?))?,
        _ => return None,
    };
    let time = parts.next().is_none().then(|| NaiveTime::from_hms_opt(hour, minute, second))?;
    time?.with_nanosecond(nanos)
}

fn digits(text: &str, least: usize, most: usize) -> Option<u32> {
    let right = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    right.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_of_their_zone() {
        let utc = Tz::UTC;
        let berlin = Tz::Europe__Berlin;
        for (text, zone, want) in [
            ("1970-01-01", utc, Some(0)),
            ("2024-01-01 02:59:59.999", utc, Some(1_704_077_999_999)),
            ("2024-01-01T02:59:59.9999999", utc, Some(1_704_077_999_999)),
            ("2024-1-1 2:0:0", utc, Some(1_704_074_400_000)),
            ("2024-01-01", berlin, Some(1_704_063_600_000)),
            ("1969-12-31 23:59:59.5", utc, Some(-500)),
            // 02:30 does not exist on that day, 03:30 summer time is meant.
            ("2024-03-31 02:30:00", berlin, Some(1_711_848_600_000)),
            // 02:30 comes twice, the one of summer time is meant.
            ("2024-10-27 02:30:00", berlin, Some(1_729_989_000_000)),
            // The whole day was left out.
            ("2011-12-30 12:00:00", Tz::Pacific__Apia, Some(1_325_282_400_000)),
            ("2024-13-01", utc, None),
            ("2024-01-01 ", utc, Some(1_704_067_200_000)),
            ("2024-01-01 10:00", utc, None),
            ("2024-01-01 10:00:00.", utc, Some(1_704_103_200_000)),
            ("2024-01-01 10:00:00.1234567890", utc, None),
            ("20240101", utc, None),
            ("", utc, None),
        ] {
            assert_eq!(parse_local_millis(text, zone), want, "{text} {zone}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_none(text in "[-0-9:. Tµ]{0,30}") {
            let _ = parse_local_millis(&text, Tz::America__New_York);
        }
    }
}
