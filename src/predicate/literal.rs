//! Brings a literal over to the type of a column: [`place`].
//!
//! In: a literal of any type and the column's type. Out: its [`Place`] among the values that the column can have: at one
//! of them, between two, or beyond all. So a comparison with a literal that the column cannot have is decided rightly:
//! `tinyint < 300` takes every row but NULL, `d = 0.055` none where `d` has two digits.

use std::cmp::Ordering;

use arrow::datatypes::{DataType as ArrowType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;

use crate::predicate::Test;
use crate::spec::arrow_type::timestamp_unit;
use crate::spec::data_type::{DataType, TypeKind};
use crate::spec::datum::Datum;

/// Where a literal stands among the values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// It is one of them.
    At(Datum),
    /// It is less than this one, and greater than all that are less than this one.
    Before(Datum),
    /// It is greater than all.
    AboveAll,
    /// It is less than all.
    BelowAll,
}

/// The comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison that an operator is.
    pub fn of(op: Operator) -> Option<Self> {
        Some(match op {
            Operator::Eq => Comparison::Equal,
            Operator::NotEq => Comparison::NotEqual,
            Operator::Lt => Comparison::Less,
            Operator::LtEq => Comparison::LessOrEqual,
            Operator::Gt => Comparison::Greater,
            Operator::GtEq => Comparison::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The same with the sides exchanged.
    pub fn mirrored(self) -> Self {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }

    /// What is TRUE where this is FALSE.
    pub fn negated(self) -> Self {
        match self {
            Comparison::Equal => Comparison::NotEqual,
            Comparison::NotEqual => Comparison::Equal,
            Comparison::Less => Comparison::GreaterOrEqual,
            Comparison::LessOrEqual => Comparison::Greater,
            Comparison::Greater => Comparison::LessOrEqual,
            Comparison::GreaterOrEqual => Comparison::Less,
        }
    }
}

/// The test that compares a column with a literal at that place; `None` takes no row.
pub fn compare(comparison: Comparison, place: Place) -> Option<Test> {
    use Comparison::*;
    let value = match place {
        Place::At(value) => return Some(compare_at(comparison, value)),
        Place::Before(value) => Some(value),
        Place::AboveAll => None,
        Place::BelowAll => {
            let any = matches!(comparison, NotEqual | Greater | GreaterOrEqual);
            return any.then_some(Test::IsNotNull);
        }
    };
    match (comparison, value) {
        (NotEqual, _) => Some(Test::IsNotNull),
        (Equal, _) => None,
        (Less | LessOrEqual, Some(value)) => Some(Test::Less(value)),
        (Less | LessOrEqual, None) => Some(Test::IsNotNull),
        (Greater | GreaterOrEqual, value) => value.map(Test::GreaterOrEqual),
    }
}

/// The two zeros are taken for one, whichever of them the literal is.
fn compare_at(comparison: Comparison, value: Datum) -> Test {
    let zeros = both_zeros(&value);
    let (least, greatest) = match zeros.as_slice() {
        [minus, plus] => (minus.clone(), plus.clone()),
        _ => (value.clone(), value.clone()),
    };
    match comparison {
        Comparison::Equal if zeros.is_empty() => Test::Equal(value),
        Comparison::Equal => Test::is_in(zeros),
        Comparison::NotEqual if zeros.is_empty() => Test::NotEqual(value),
        Comparison::NotEqual => Test::IsNotNull,
        Comparison::Less => Test::Less(greatest),
        Comparison::LessOrEqual => Test::LessOrEqual(greatest),
        Comparison::Greater => Test::Greater(least),
        Comparison::GreaterOrEqual => Test::GreaterOrEqual(least),
    }
}

/// Both zeros if it is one of them, else nothing.
pub fn both_zeros(value: &Datum) -> Vec<Datum> {
    match value {
        Datum::Float(v) if *v == 0.0 => vec![Datum::Float(-0.0), Datum::Float(0.0)],
        Datum::Double(v) if *v == 0.0 => vec![Datum::Double(-0.0), Datum::Double(0.0)],
        _ => vec![],
    }
}

/// The place of a literal that is not NULL; `None` where it cannot be told.
pub fn place(literal: &ScalarValue, data_type: &DataType) -> Option<Place> {
    if let ScalarValue::Dictionary(_, value) = literal {
        return place(value, data_type);
    }
    match &data_type.kind {
        TypeKind::Boolean => match literal {
            ScalarValue::Boolean(Some(v)) => Some(Place::At(Datum::Boolean(*v))),
            _ => None,
        },
        TypeKind::Char(_) | TypeKind::VarChar(_) => {
            literal.try_as_str().flatten().map(|text| Place::At(Datum::String(text.to_owned())))
        }
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => bytes(literal).map(|v| Place::At(Datum::Bytes(v.to_vec()))),
        TypeKind::TinyInt => whole(literal, 8, |v| i8::try_from(v).ok().map(Datum::TinyInt)),
        TypeKind::SmallInt => whole(literal, 16, |v| i16::try_from(v).ok().map(Datum::SmallInt)),
        TypeKind::Int => whole(literal, 32, |v| i32::try_from(v).ok().map(Datum::Int)),
        TypeKind::BigInt => whole(literal, 64, |v| i64::try_from(v).ok().map(Datum::BigInt)),
        TypeKind::Decimal { precision, scale } => decimal(literal, *precision, *scale),
        TypeKind::Float | TypeKind::Double => float(literal, &data_type.kind),
        TypeKind::Date => {
            let (days, rest) = floor(nanos_of_time(literal, false)?, 86_400_000_000_000);
            Some(among(days, rest, |v| i32::try_from(v).ok().map(Datum::Date)))
        }
        TypeKind::Time(_) => {
            let (millis, rest) = floor(nanos_of_day(literal)?, 1_000_000);
            Some(among(millis, rest, |v| i32::try_from(v).ok().map(Datum::Time)))
        }
        TypeKind::Timestamp(p) => timestamp(nanos_of_time(literal, false)?, *p),
        TypeKind::TimestampLtz(p) => timestamp(nanos_of_time(literal, true)?, *p),
        _ => None,
    }
}

/// The place of `floor + rest`, `rest` being less than 1 and not negative; `value` makes a value of the column, if it
/// has one.
fn among(floor: i128, has_rest: bool, value: impl Fn(i128) -> Option<Datum>) -> Place {
    let at = if has_rest { floor.saturating_add(1) } else { floor };
    match value(at) {
        // Between the last value below all others and the first: still below all.
        Some(value) if has_rest => Place::Before(value),
        Some(value) => Place::At(value),
        None if floor >= 0 => Place::AboveAll,
        None => Place::BelowAll,
    }
}

/// The quotient rounded down, and whether that lost anything.
fn floor(value: i128, by: i128) -> (i128, bool) {
    (value.div_euclid(by), value.rem_euclid(by) != 0)
}

fn whole(literal: &ScalarValue, bits: u8, value: impl Fn(i128) -> Option<Datum>) -> Option<Place> {
    if let Some((unscaled, scale)) = number(literal) {
        let (whole, rest) = rescaled(unscaled, scale, 0)?;
        return Some(among(whole, rest, value));
    }
    // A cast to a float keeps whole numbers of up to so many bits apart.
    let (literal, kept_bits) = match literal {
        ScalarValue::Float32(Some(v)) => (f64::from(*v), 24),
        ScalarValue::Float64(Some(v)) => (*v, 53),
        _ => return None,
    };
    let in_reach =
        literal.abs() < 2f64.powi(i32::from(kept_bits)) || literal.abs() > 2f64.powi(64) || bits <= kept_bits;
    if literal.is_nan() || !in_reach {
        return None;
    }
    let floor = literal.floor();
    // A float beyond 128 bits saturates, which is beyond all values too.
    Some(among(floor as i128, floor != literal, value))
}

/// Whole numbers and decimals as unscaled value and scale.
fn number(literal: &ScalarValue) -> Option<(i128, i8)> {
    Some(match literal {
        ScalarValue::Int8(Some(v)) => (i128::from(*v), 0),
        ScalarValue::Int16(Some(v)) => (i128::from(*v), 0),
        ScalarValue::Int32(Some(v)) => (i128::from(*v), 0),
        ScalarValue::Int64(Some(v)) => (i128::from(*v), 0),
        ScalarValue::UInt8(Some(v)) => (i128::from(*v), 0),
        ScalarValue::UInt16(Some(v)) => (i128::from(*v), 0),
        ScalarValue::UInt32(Some(v)) => (i128::from(*v), 0),
        ScalarValue::UInt64(Some(v)) => (i128::from(*v), 0),
        ScalarValue::Decimal32(Some(v), _, scale) => (i128::from(*v), *scale),
        ScalarValue::Decimal64(Some(v), _, scale) => (i128::from(*v), *scale),
        ScalarValue::Decimal128(Some(v), _, scale) => (*v, *scale),
        ScalarValue::Decimal256(Some(v), _, scale) => (v.to_i128()?, *scale),
        _ => return None,
    })
}

/// The unscaled value at another scale, rounded down, and whether that lost anything. What does not fit saturates.
fn rescaled(unscaled: i128, from: i8, to: i8) -> Option<(i128, bool)> {
    let by = |digits: i16| 10i128.checked_pow(u32::try_from(digits).ok()?);
    let digits = i16::from(to) - i16::from(from);
    if digits >= 0 {
        let saturated = if unscaled < 0 { i128::MIN } else { i128::MAX };
        let lifted = by(digits).and_then(|by| unscaled.checked_mul(by)).unwrap_or(saturated);
        return Some((if unscaled == 0 { 0 } else { lifted }, false));
    }
    match by(-digits) {
        Some(by) => Some(floor(unscaled, by)),
        None => Some((if unscaled < 0 { -1 } else { 0 }, unscaled != 0)),
    }
}

fn decimal(literal: &ScalarValue, precision: u8, scale: u8) -> Option<Place> {
    let (unscaled, from) = number(literal)?;
    let (unscaled, rest) = rescaled(unscaled, from, i8::try_from(scale).ok()?)?;
    // The sum of an aggregation table may leave the column's precision, though not the 64 bits that hold few digits.
    let limit = if precision <= 18 { 1u128 << 63 } else { 10u128.pow(38) };
    let value =
        |unscaled: i128| (unscaled.unsigned_abs() < limit).then_some(Datum::Decimal { unscaled, precision, scale });
    // What lies beyond the limit is above all values, or below all.
    Some(among(unscaled, rest, value))
}

fn float(literal: &ScalarValue, kind: &TypeKind) -> Option<Place> {
    let value = match literal {
        ScalarValue::Float32(Some(v)) => f64::from(*v),
        ScalarValue::Float64(Some(v)) => *v,
        _ => return None,
    };
    if value.is_nan() {
        return None;
    }
    if *kind == TypeKind::Double {
        return Some(Place::At(Datum::Double(value)));
    }
    let near = value as f32;
    Some(match f64::from(near).partial_cmp(&value)? {
        Ordering::Equal => Place::At(Datum::Float(near)),
        Ordering::Greater => Place::Before(Datum::Float(near)),
        Ordering::Less => Place::Before(Datum::Float(near.next_up())),
    })
}

fn bytes(literal: &ScalarValue) -> Option<&[u8]> {
    match literal {
        ScalarValue::Binary(Some(v)) | ScalarValue::LargeBinary(Some(v)) => Some(v),
        ScalarValue::BinaryView(Some(v)) | ScalarValue::FixedSizeBinary(_, Some(v)) => Some(v),
        _ => None,
    }
}

/// Nanoseconds since 1970 of a date or a timestamp; `zoned` says whether the literal must have a zone or none.
fn nanos_of_time(literal: &ScalarValue, zoned: bool) -> Option<i128> {
    let (value, per_unit, zone) = match literal {
        ScalarValue::Date32(Some(v)) => return (!zoned).then_some(i128::from(*v) * 86_400_000_000_000),
        ScalarValue::Date64(Some(v)) => return (!zoned).then_some(i128::from(*v) * 1_000_000),
        ScalarValue::TimestampSecond(Some(v), zone) => (*v, 1_000_000_000, zone),
        ScalarValue::TimestampMillisecond(Some(v), zone) => (*v, 1_000_000, zone),
        ScalarValue::TimestampMicrosecond(Some(v), zone) => (*v, 1000, zone),
        ScalarValue::TimestampNanosecond(Some(v), zone) => (*v, 1, zone),
        _ => return None,
    };
    (zone.is_some() == zoned).then_some(i128::from(value) * per_unit)
}

fn nanos_of_day(literal: &ScalarValue) -> Option<i128> {
    Some(match literal {
        ScalarValue::Time32Second(Some(v)) => i128::from(*v) * 1_000_000_000,
        ScalarValue::Time32Millisecond(Some(v)) => i128::from(*v) * 1_000_000,
        ScalarValue::Time64Microsecond(Some(v)) => i128::from(*v) * 1000,
        ScalarValue::Time64Nanosecond(Some(v)) => i128::from(*v),
        _ => return None,
    })
}

fn timestamp(nanos: i128, precision: u8) -> Option<Place> {
    let per_unit: i128 = match timestamp_unit(precision) {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    };
    let (value, rest) = floor(nanos, per_unit);
    let in_column = |value: i128| {
        i64::try_from(value).ok()?;
        let nanos = value.checked_mul(per_unit)?;
        let millis = i64::try_from(nanos.div_euclid(1_000_000)).ok()?;
        Some(Datum::Timestamp { millis, nano_of_milli: i32::try_from(nanos.rem_euclid(1_000_000)).ok()? })
    };
    Some(among(value, rest, in_column))
}

/// Whether a cast keeps all values apart and in order. Whole numbers cast to floats are kept apart where literals can be
/// placed among them (see [`place`]).
pub fn keeps_order(from: &ArrowType, to: &ArrowType) -> bool {
    use ArrowType::*;
    if from == to || is_text(from) && is_text(to) {
        return true;
    }
    match (from, to) {
        (Int8 | Int16 | Int32 | Int64, Float32 | Float64) | (Float32, Float64) => true,
        (Int8, Int16 | Int32 | Int64) | (Int16, Int32 | Int64) | (Int32, Int64) => true,
        (_, Decimal128(_, s) | Decimal256(_, s)) => digits(from).is_some_and(|(_, scale)| *s >= scale),
        (BinaryView, Binary | LargeBinary) => true,
        (Date32, Timestamp(_, None)) => true,
        (Time32(TimeUnit::Millisecond), Time64(_)) => true,
        (Timestamp(from, zone), Timestamp(to, to_zone)) => from <= to && zone.is_some() == to_zone.is_some(),
        _ => false,
    }
}

/// How many digits values have before and after the point.
pub fn digits(data_type: &ArrowType) -> Option<(i16, i8)> {
    Some(match data_type {
        ArrowType::Int8 => (3, 0),
        ArrowType::Int16 => (5, 0),
        ArrowType::Int32 => (10, 0),
        ArrowType::Int64 => (19, 0),
        ArrowType::Decimal128(p, s) => (i16::from(*p) - i16::from(*s), *s),
        _ => return None,
    })
}

/// Whether a type holds text, in whichever form.
pub fn is_text(data_type: &ArrowType) -> bool {
    matches!(data_type, ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View)
}
