//! The casts that a change of a column's type stands for, as the reference does them.
//!
//! In: an array of the canonical Arrow type of a Paimon type, and the type that is wanted. Out: an array of that type's
//! canonical Arrow type. NULL stays NULL; a decimal that does not fit becomes NULL; text that cannot be read is an error
//! that names it. Pairs of types that the reference refuses in ALTER TABLE are refused here. Java: `DataTypeCasts`,
//! `CastExecutors` and the rules of `org.apache.paimon.casting`.

mod bytes;
mod calendar;
mod decimal;
mod format_time;
mod moment;
mod numeric;
mod parse_number;
mod parse_time;
mod text;
mod time;
mod zone;

#[cfg(test)]
mod tests;

use arrow::array::{Array, ArrayRef, StringArray, StringViewArray};
use arrow::datatypes::DataType as ArrowType;
use chrono_tz::Tz;

use crate::error::{Error, Result};
use crate::spec::data_type::TypeKind;

/// What casts depend on besides the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CastContext {
    /// The session's time zone: it relates TIMESTAMP, DATE, TIME and text to TIMESTAMP WITH LOCAL TIME ZONE.
    pub zone: Tz,
}

/// Where an array stands: text and bytes are views as a column, and plain inside nested types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A column of a batch.
    Column,
    /// A child of a nested array.
    Nested,
}

/// Groups of types that casts treat alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Boolean,
    Integer,
    Float,
    Decimal,
    Text,
    Bytes,
    Date,
    Time,
    Timestamp,
    Collection,
    Other,
}

impl Family {
    fn of(kind: &TypeKind) -> Self {
        match kind {
            TypeKind::Boolean => Family::Boolean,
            TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt => Family::Integer,
            TypeKind::Float | TypeKind::Double => Family::Float,
            TypeKind::Decimal { .. } => Family::Decimal,
            TypeKind::Char(_) | TypeKind::VarChar(_) => Family::Text,
            TypeKind::Binary(_) | TypeKind::VarBinary(_) => Family::Bytes,
            TypeKind::Date => Family::Date,
            TypeKind::Time(_) => Family::Time,
            TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_) => Family::Timestamp,
            TypeKind::Array(_) | TypeKind::Map(..) | TypeKind::Row(_) => Family::Collection,
            _ => Family::Other,
        }
    }
}

/// Whether a column of type `from` may be changed to type `to`, nested types apart.
pub(super) fn is_castable(from: &TypeKind, to: &TypeKind) -> bool {
    use Family::{Boolean, Bytes, Collection, Date, Decimal, Float, Integer, Other, Text, Time, Timestamp};
    let seconds = |kind: &TypeKind| matches!(kind, TypeKind::Int | TypeKind::BigInt);
    match (Family::of(from), Family::of(to)) {
        _ if from == to => true,
        (Boolean | Integer, Boolean | Integer | Float | Decimal | Text) => true,
        (Float | Decimal, Integer | Float | Decimal | Text) => true,
        (Integer, Timestamp) => seconds(from),
        (Timestamp, Integer) => seconds(to),
        (Text, Collection | Other) => false,
        (Text, _) | (Bytes, Bytes | Text) => true,
        (Date | Time | Timestamp, Text) => *to == TypeKind::string(),
        (Date | Time, Timestamp) | (Timestamp, Date | Time | Timestamp) => true,
        (Collection, Text) => text::is_printable(from),
        _ => false,
    }
}

/// The error for a pair of types that cannot be cast.
pub(super) fn refused(from: &TypeKind, to: &TypeKind) -> Error {
    Error::unsupported(format!("a column of type {from} read as {to}"))
}

/// Casts an array of the canonical type of `from` to the canonical type of `to`, nested types apart.
pub(super) fn cast_values(
    array: &ArrayRef,
    from: &TypeKind,
    to: &TypeKind,
    place: Place,
    ctx: &CastContext,
) -> Result<ArrayRef> {
    use Family::{Boolean, Bytes, Date, Decimal, Float, Integer, Text, Time, Timestamp};
    if !is_castable(from, to) {
        return Err(refused(from, to));
    }
    match (Family::of(from), Family::of(to)) {
        _ if from == to => Ok(array.clone()),
        (_, Text) => text::to_text(array, from, to, place, ctx),
        (Text, Bytes) | (Bytes, _) => bytes::to_bytes(array, to, place),
        (Text, Date | Time | Timestamp) => parse_time::parse(array, to, ctx),
        (Text, _) => parse_number::parse(array, to),
        (Boolean | Integer | Float | Decimal, Boolean | Integer | Float | Decimal) => {
            numeric::between_numbers(array, from, to)
        }
        _ => time::between_times(array, from, to, ctx),
    }
}

/// The error for an array that is not of the canonical Arrow type of `expected`.
fn not_canonical(array: &dyn Array, expected: impl std::fmt::Display) -> Error {
    Error::internal(format!("an array of {expected} has the Arrow type {}", array.data_type()))
}

/// Text of both representations.
#[derive(Clone, Copy)]
enum Texts<'a> {
    Plain(&'a StringArray),
    View(&'a StringViewArray),
}

impl<'a> Texts<'a> {
    fn new(array: &'a dyn Array) -> Result<Self> {
        let any = array.as_any();
        match array.data_type() {
            ArrowType::Utf8 => any.downcast_ref().map(Texts::Plain),
            ArrowType::Utf8View => any.downcast_ref().map(Texts::View),
            _ => None,
        }
        .ok_or_else(|| not_canonical(array, "text"))
    }

    /// The value at `row`, which must be below the array's length.
    fn get(self, row: usize) -> Option<&'a str> {
        match self {
            Texts::Plain(array) => array.is_valid(row).then(|| array.value(row)),
            Texts::View(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }

    fn len(self) -> usize {
        match self {
            Texts::Plain(array) => array.len(),
            Texts::View(array) => array.len(),
        }
    }

    fn iter(self) -> impl Iterator<Item = Option<&'a str>> {
        (0..self.len()).map(move |row| self.get(row))
    }
}

/// The error for text that is no value of `to`.
fn unreadable(text: &str, to: &TypeKind) -> Error {
    Error::corrupt(format!("the text '{text}' is no {to}"))
}
