//! Casts among dates, times and timestamps, and between timestamps and whole seconds.
//!
//! A wall clock goes to fewer digits, to a day or to seconds by truncation toward zero of its milliseconds (which are
//! floored before); an instant goes to a day or a time of day in the session's zone. Java: `DateTimeUtils` and the cast
//! rules of these types.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{ArrowPrimitiveType, Date32Type, Int32Type, Int64Type, Time32MillisecondType};
use chrono_tz::Tz;

use super::moment::{MILLIS_PER_DAY, Moment, Moments, in_unit_of, timestamps};
use super::{CastContext, not_canonical, zone};
use crate::error::{Error, Result};
use crate::spec::data_type::TypeKind;

/// Casts between two of these types.
pub(super) fn between_times(array: &ArrayRef, from: &TypeKind, to: &TypeKind, ctx: &CastContext) -> Result<ArrayRef> {
    let is_instant = matches!(to, TypeKind::TimestampLtz(_));
    match from {
        TypeKind::Date => to_timestamps::<Date32Type>(array, to, |days| {
            let midnight = Moment::of_millis(i64::from(days) * MILLIS_PER_DAY);
            if is_instant { zone::to_instant(ctx.zone, midnight) } else { Ok(midnight) }
        }),
        TypeKind::Time(_) => {
            to_timestamps::<Time32MillisecondType>(array, to, |millis| Ok(Moment::of_millis(i64::from(millis))))
        }
        TypeKind::Int => to_timestamps::<Int32Type>(array, to, |s| of_seconds(i64::from(s), is_instant, ctx)),
        TypeKind::BigInt => to_timestamps::<Int64Type>(array, to, |s| of_seconds(s, is_instant, ctx)),
        TypeKind::Timestamp(precision) => of_timestamp(array, *precision, to, ctx),
        TypeKind::TimestampLtz(precision) => of_instant(array, *precision, to, ctx),
        _ => Err(super::refused(from, to)),
    }
}

/// Seconds since 1970. The reference takes the wall clock of the session's zone for the instant; so do we, to give its
/// rows.
fn of_seconds(seconds: i64, is_instant: bool, ctx: &CastContext) -> Result<Moment> {
    let moment = Moment::of_millis(seconds.wrapping_mul(1000));
    if is_instant { zone::to_local(ctx.zone, moment) } else { Ok(moment) }
}

fn to_timestamps<P: ArrowPrimitiveType>(
    array: &ArrayRef,
    to: &TypeKind,
    f: impl Fn(P::Native) -> Result<Moment>,
) -> Result<ArrayRef> {
    let values = array.as_primitive_opt::<P>().ok_or_else(|| not_canonical(array, P::DATA_TYPE))?;
    let out = values.iter().map(|v| v.map_or(Ok(0), |v| in_unit_of(to, f(v)?))).collect::<Result<Vec<_>>>()?;
    timestamps(array, to, out)
}

/// Values that are not timestamps, NULL where the source is.
fn others<P: ArrowPrimitiveType>(array: &ArrayRef, f: impl Fn(Moment) -> Result<P::Native>) -> Result<ArrayRef> {
    let values = Moments::new(array)?.map(f)?;
    Ok(Arc::new(PrimitiveArray::<P>::new(values.into(), array.nulls().cloned())))
}

fn of_timestamp(array: &ArrayRef, precision: u8, to: &TypeKind, ctx: &CastContext) -> Result<ArrayRef> {
    match to {
        TypeKind::Date => others::<Date32Type>(array, |t| Ok((t.millis / MILLIS_PER_DAY) as i32)),
        TypeKind::Time(_) => others::<Time32MillisecondType>(array, |t| Ok((t.millis % MILLIS_PER_DAY) as i32)),
        TypeKind::BigInt => others::<Int64Type>(array, |t| Ok(t.millis / 1000)),
        TypeKind::Int => others::<Int32Type>(array, |t| Ok((t.millis / 1000) as i32)),
        TypeKind::Timestamp(digits) => between(array, precision, *digits, to, Ok),
        TypeKind::TimestampLtz(digits) => between(array, precision, *digits, to, |t| zone::to_instant(ctx.zone, t)),
        _ => Err(super::refused(&TypeKind::Timestamp(precision), to)),
    }
}

fn of_instant(array: &ArrayRef, precision: u8, to: &TypeKind, ctx: &CastContext) -> Result<ArrayRef> {
    match to {
        TypeKind::Date => others::<Date32Type>(array, |t| day_in(ctx.zone, t)),
        TypeKind::Time(_) => others::<Time32MillisecondType>(array, |t| {
            Ok(zone::to_local(ctx.zone, t)?.millis.rem_euclid(MILLIS_PER_DAY) as i32)
        }),
        TypeKind::BigInt => others::<Int64Type>(array, |t| Ok(t.millis / 1000)),
        TypeKind::Int => others::<Int32Type>(array, |t| Ok((t.millis / 1000) as i32)),
        TypeKind::Timestamp(digits) => between(array, precision, *digits, to, |t| zone::to_local(ctx.zone, t)),
        TypeKind::TimestampLtz(digits) => between(array, precision, *digits, to, Ok),
        _ => Err(super::refused(&TypeKind::TimestampLtz(precision), to)),
    }
}

fn day_in(zone: Tz, instant: Moment) -> Result<i32> {
    let day = zone::to_local(zone, instant)?.millis.div_euclid(MILLIS_PER_DAY);
    i32::try_from(day).map_err(|_| Error::unsupported(format!("the day {day} since 1970 in a DATE")))
}

/// Timestamps to timestamps: moved by `f`, and cut where the target has fewer digits.
fn between(
    array: &ArrayRef,
    precision: u8,
    digits: u8,
    to: &TypeKind,
    f: impl Fn(Moment) -> Result<Moment>,
) -> Result<ArrayRef> {
    let values = Moments::new(array)?.map(|t| {
        let moment = f(t)?;
        in_unit_of(to, if digits < precision { truncated(moment, digits) } else { moment })
    })?;
    timestamps(array, to, values)
}

/// Cut to `digits` fractional digits, with two peculiarities of the reference: a fraction whose nanoseconds, written
/// without leading zeros, are at most so long stays as it is, and milliseconds are cut toward zero.
fn truncated(moment: Moment, digits: u8) -> Moment {
    let nano_of_second = moment.millis.rem_euclid(1000) * 1_000_000 + moment.nanos;
    let length = nano_of_second.checked_ilog10().map_or(1, |log| log + 1);
    if length <= u32::from(digits) {
        return moment;
    }
    if digits <= 3 {
        let unit = 10i64.pow(u32::from(3 - digits));
        return Moment::of_millis(moment.millis / unit * unit);
    }
    let unit = 10i64.pow(u32::from(9u8.saturating_sub(digits)));
    Moment { nanos: moment.nanos / unit * unit, ..moment }
}
