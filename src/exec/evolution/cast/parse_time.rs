//! Casts of text to DATE, TIME and TIMESTAMP.
//!
//! Three grammars of the reference, each with its own leniency, and whole numbers for days, milliseconds of the day, or
//! seconds to nanoseconds since 1970. All else is an error. Java: `BinaryStringUtils.toDate`, `toTime`, `toTimestamp`;
//! `DateTimeUtils.parseDate`, `parseTime`, `parseTimestampData`.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{Date32Type, Time32MillisecondType};

use super::calendar::{days_in_month, days_of};
use super::moment::{MILLIS_PER_DAY, Moment, in_unit_of, timestamps};
use super::parse_number::integer;
use super::{CastContext, Texts, unreadable, zone};
use crate::error::Result;
use crate::spec::data_type::TypeKind;

/// Reads every text as a value of `to`.
pub(super) fn parse(array: &ArrayRef, to: &TypeKind, ctx: &CastContext) -> Result<ArrayRef> {
    let texts = Texts::new(array)?;
    match to {
        TypeKind::Date => days_or_millis::<Date32Type>(texts, to, date),
        TypeKind::Time(_) => days_or_millis::<Time32MillisecondType>(texts, to, time),
        _ => {
            let read = |t: &str| in_unit_of(to, moment(t, to, ctx)?);
            let values = texts.iter().map(|t| t.map_or(Ok(0), read)).collect::<Result<Vec<_>>>()?;
            timestamps(array, to, values)
        }
    }
}

fn days_or_millis<P: ArrowPrimitiveType<Native = i32>>(
    texts: Texts,
    to: &TypeKind,
    read: impl Fn(&str) -> Option<i32>,
) -> Result<ArrayRef> {
    let read = |t: &str| match is_whole(t) {
        true => integer(t, 32).and_then(|n| i32::try_from(n).ok()),
        false => read(t),
    };
    let values = texts.iter().map(|t| t.map(|t| read(t).ok_or_else(|| unreadable(t, to))).transpose());
    Ok(Arc::new(values.collect::<Result<PrimitiveArray<P>>>()?))
}

/// Digits, with at most a minus before them.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// The digits of a part of a text, blanks around them left off.
fn number(text: &str, range: Range<usize>) -> Option<i32> {
    let digits = text.get(range)?.trim_matches(|c| c <= ' ');
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// The first `wanted` at or after `from`.
fn position(text: &str, wanted: char, from: usize) -> Option<usize> {
    Some(from + text.get(from..)?.find(wanted)?)
}

/// `y[-M[-d]]`, and anything after a blank that is not the first character.
fn date(text: &str) -> Option<i32> {
    let end = text.find(' ').filter(|at| *at > 0).unwrap_or(text.len());
    let text = text.get(..end)?;
    let (year, month, day) = match text.find('-') {
        None => (number(text, 0..end)?, 1, 1),
        Some(first) => match position(text, '-', first + 1) {
            None => (number(text, 0..first)?, number(text, first + 1..end)?, 1),
            Some(second) => (number(text, 0..first)?, number(text, first + 1..second)?, number(text, second + 1..end)?),
        },
    };
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    let good = year <= 9999 && (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    good.then(|| days_of(year, month, day) as i32)
}

/// `H[:m[:s[.f]]][±h[:m]]`; hours, minutes and seconds may be larger than a clock has them.
fn time(text: &str) -> Option<i32> {
    let (sign, zone_at) = match text.find('-') {
        Some(at) => (-1i32, Some(at)),
        None => (1, text.find('+')),
    };
    let end = zone_at.unwrap_or(text.len());
    let (zone_hour, zone_minute) = match zone_at {
        None => (0, 0),
        Some(at) => match position(text, ':', at) {
            None => (number(text, at + 1..text.len())?, 0),
            Some(colon) => (number(text, at + 1..colon)?, number(text, colon + 1..text.len())?),
        },
    };
    let (hour, minute, second, milli) = match text.find(':') {
        None => (number(text, 0..end)?, 0, 0, 0),
        Some(first) => match position(text, ':', first + 1) {
            None => (number(text, 0..first)?, number(text, first + 1..end)?, 0, 0),
            Some(second) => {
                let (seconds, milli) = match position(text, '.', second) {
                    None => (number(text, second + 1..end)?, 0),
                    Some(dot) => (number(text, second + 1..dot)?, milliseconds(text.get(dot + 1..end)?)),
                };
                (number(text, 0..first)?, number(text, first + 1..second)?, seconds, milli)
            }
        },
    };
    let hour = hour.wrapping_add(sign.wrapping_mul(zone_hour)).wrapping_mul(3_600_000);
    let minute = minute.wrapping_add(sign.wrapping_mul(zone_minute)).wrapping_mul(60_000);
    Some(hour.wrapping_add(minute).wrapping_add(second.wrapping_mul(1000)).wrapping_add(milli))
}

/// Three digits of a fraction, rounded by the fourth; what is no digit counts as zero.
fn milliseconds(fraction: &str) -> i32 {
    let mut units = fraction.trim_matches(|c| c <= ' ').encode_utf16();
    let zero = u16::from(b'0');
    let mut sum = 0;
    for factor in [100, 10, 1] {
        let Some(unit) = units.next() else { return sum };
        if (zero..=zero + 9).contains(&unit) {
            sum += factor * i32::from(unit - zero);
        }
    }
    sum + i32::from(units.next().is_some_and(|unit| unit >= zero + 5))
}

fn moment(text: &str, to: &TypeKind, ctx: &CastContext) -> Result<Moment> {
    let (moment, is_instant) = match to {
        TypeKind::Timestamp(precision) if is_whole(text) => {
            (integer(text, 64).and_then(|n| of_number(n, *precision)), false)
        }
        TypeKind::Timestamp(precision) => (timestamp(text, *precision), false),
        TypeKind::TimestampLtz(precision) => (timestamp(text, *precision), true),
        _ => return Err(super::refused(&TypeKind::string(), to)),
    };
    let moment = moment.ok_or_else(|| unreadable(text, to))?;
    if is_instant { zone::to_instant(ctx.zone, moment) } else { Ok(moment) }
}

/// A number in the unit of the precision; there is none for other precisions.
fn of_number(number: i64, precision: u8) -> Option<Moment> {
    Some(match precision {
        0 => Moment::of_millis(number.wrapping_mul(1000)),
        3 => Moment::of_millis(number),
        6 => Moment { millis: number.div_euclid(1000), nanos: number.rem_euclid(1000) * 1000 },
        9 => Moment { millis: number.div_euclid(1_000_000), nanos: number.rem_euclid(1_000_000) },
        _ => return None,
    })
}

/// A text read from the left.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl Cursor<'_> {
    fn symbol(&mut self, symbol: u8) -> Option<()> {
        self.rest = self.rest.strip_prefix(&[symbol])?;
        Some(())
    }

    /// The number of digits that come next, at most `longest`.
    fn digits(&self, longest: usize) -> usize {
        self.rest.iter().take(longest).take_while(|b| b.is_ascii_digit()).count()
    }

    fn take(&mut self, length: usize) -> Option<&[u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// A year: four digits, or a plus and more than four.
    fn year(&mut self) -> Option<i64> {
        let long = self.symbol(b'+').is_some();
        let length = self.digits(19);
        if if long { length <= 4 } else { length != 4 } {
            return None;
        }
        self.take(length).map(value)
    }

    /// A field as the pattern `[XX][X]` reads it: two digits where there are two, then digits of any number; the second
    /// part counts only if it has the same value, or if there was no first.
    fn field(&mut self) -> Option<i64> {
        let first = match self.digits(2) {
            2 => self.take(2).map(value),
            _ => None,
        };
        let before = self.rest;
        let negative = self.symbol(b'-').is_some();
        let length = self.digits(19);
        let second = self.take(length).filter(|digits| !digits.is_empty()).map(value);
        let second = second.map(|v| if negative { -v } else { v }).filter(|v| !negative || *v != 0);
        match (first, second) {
            (None, Some(second)) => Some(second),
            (Some(first), Some(second)) if first == second => Some(first),
            (first, _) => {
                self.rest = before;
                first
            }
        }
    }

    /// `.` and up to nine digits, as nanoseconds; none where there is no point.
    fn fraction(&mut self) -> Option<i64> {
        self.symbol(b'.')?;
        let length = self.digits(9);
        let digits = self.take(length).map_or(0, value);
        Some(digits * 10i64.pow(9 - length as u32))
    }
}

/// The value of digits, at most what 64 bits hold: beyond, no field is valid.
fn value(digits: &[u8]) -> i64 {
    digits.iter().fold(0i64, |sum, b| sum.saturating_mul(10).saturating_add(i64::from(b.wrapping_sub(b'0'))))
}

/// The fields of ` HH:mm:ss.f`, each of which may lack.
#[derive(Default)]
struct Clock {
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    nano: Option<i64>,
}

impl Clock {
    fn read(cursor: &mut Cursor) -> Option<Self> {
        cursor.symbol(b' ')?;
        let hour = cursor.field();
        cursor.symbol(b':')?;
        let minute = cursor.field();
        cursor.symbol(b':')?;
        Some(Self { hour, minute, second: cursor.field(), nano: cursor.fraction() })
    }

    /// Midnight at the end of the day. It is not known as such where a field between others lacks.
    fn is_end_of_day(&self) -> bool {
        let zeros = [self.minute, self.second, self.nano].iter().all(|field| field.unwrap_or(0) == 0);
        let gap = (self.minute.is_none() && (self.second.is_some() || self.nano.is_some()))
            || (self.minute.is_some() && self.second.is_none() && self.nano.is_some());
        self.hour == Some(24) && zeros && !gap
    }

    /// Nanoseconds of the day.
    fn nanos(&self) -> Option<i64> {
        let within = |field: Option<i64>, limit: i64| Some(field.unwrap_or(0)).filter(|v| (0..limit).contains(v));
        let seconds = within(self.hour, 24)? * 3600 + within(self.minute, 60)? * 60 + within(self.second, 60)?;
        Some(seconds * 1_000_000_000 + self.nano.unwrap_or(0))
    }
}

/// `yyyy-M-d[ H:m:s[.f]]`, where all but the year and the separators may lack and a day after the month's last is the
/// last. The fraction is floored to `precision` digits.
fn timestamp(text: &str, precision: u8) -> Option<Moment> {
    let mut cursor = Cursor { rest: text.as_bytes() };
    let year = cursor.year().filter(|year| (1..1_000_000_000).contains(year))?;
    cursor.symbol(b'-')?;
    let month = cursor.field();
    cursor.symbol(b'-')?;
    let day = cursor.field();
    let clock = if cursor.rest.is_empty() { Clock::default() } else { Clock::read(&mut cursor)? };
    if !cursor.rest.is_empty() {
        return None;
    }
    let first_day = (month.unwrap_or(1), day.unwrap_or(1));
    if !(1..=12).contains(&first_day.0) || !(1..=31).contains(&first_day.1) {
        return None;
    }
    let mut days = days_of(year, first_day.0, first_day.1.min(days_in_month(year, first_day.0)));
    let nanos = if clock.is_end_of_day() {
        days += i64::from(month.is_some() && day.is_some());
        0
    } else {
        clock.nanos()?
    };
    let nanos = nanos - nanos % 10i64.pow(u32::from(9u8.saturating_sub(precision)));
    let millis = days.checked_mul(MILLIS_PER_DAY)?.checked_add(nanos / 1_000_000)?;
    Some(Moment { millis, nanos: nanos % 1_000_000 })
}
