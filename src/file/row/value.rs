//! Values of a row file.
//!
//! In: a cursor that stands before a value of the writer's type. Out: the [`Datum`] of the wanted type. A [`RowReader`] is
//! compiled once per file from the columns that were written and the wanted ones, matched by name; what is not wanted is
//! passed over.
//!
//! ```text
//! row      null bits, then each value that is not NULL      array    varint n, null bits, values
//! text     varint length, bytes                             map      array of keys, array of values
//! decimal  i64, or bytes beyond 18 digits                   vector   varint n, values
//! time     i64 milliseconds, beyond 3 digits a varint of nanoseconds in the millisecond
//! variant  bytes of the value, bytes of the metadata        others   fixed width, boolean a byte
//! ```
//! Java (after 1.4): `RowBlockReader`.

use super::cursor::Cursor;
use crate::error::{Error, Result};
use crate::spec::data_type::{DataField, DataType, TypeKind};
use crate::spec::datum::Datum;

/// The digits of a decimal that fit 64 bits. Java: `Decimal.MAX_COMPACT_PRECISION`.
const COMPACT_DECIMAL_DIGITS: u8 = 18;
/// The digits of a timestamp that is only milliseconds. Java: `Timestamp.isCompact`.
const COMPACT_TIMESTAMP_DIGITS: u8 = 3;

/// Reads the wanted fields of a row.
#[derive(Debug)]
pub(super) struct RowReader {
    /// Every written field: its name, how it is read, and its place among the wanted fields, if it is wanted.
    fields: Vec<(String, Reader, Option<usize>)>,
    /// How many of the fields must be read: behind the last wanted one of a whole row nothing is.
    until: usize,
    /// How many fields are wanted.
    wanted: usize,
}

/// Reads values of one type.
#[derive(Debug)]
enum Reader {
    Boolean,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Float,
    Double,
    Date,
    Time,
    Decimal { precision: u8, scale: u8 },
    Text,
    Bytes,
    Timestamp { precision: u8 },
    Variant,
    Array(Box<Reader>),
    Vector(Box<Reader>),
    Map(Box<Reader>, Box<Reader>),
    Row(RowReader),
}

impl RowReader {
    /// A reader of whole rows of the fields `written` that gives the `wanted` ones; a wanted field that was not written
    /// is NULL.
    pub(super) fn new(written: &[DataField], wanted: &[DataField]) -> Result<Self> {
        let mut reader = Self::nested(written, wanted)?;
        reader.until = reader.fields.iter().rposition(|(_, _, place)| place.is_some()).map_or(0, |last| last + 1);
        Ok(reader)
    }

    /// A reader of rows inside of rows, which must be read to their end.
    fn nested(written: &[DataField], wanted: &[DataField]) -> Result<Self> {
        let field = |field: &DataField| {
            let place = wanted.iter().position(|w| w.name == field.name);
            let wanted = place.and_then(|at| wanted.get(at)).map_or(&field.data_type, |w| &w.data_type);
            Ok((field.name.clone(), Reader::new(&field.data_type, wanted)?, place))
        };
        let fields = written.iter().map(field).collect::<Result<Vec<_>>>()?;
        Ok(Self { until: fields.len(), fields, wanted: wanted.len() })
    }

    /// The wanted values of the row.
    pub(super) fn read(&self, cursor: &mut Cursor<'_>) -> Result<Vec<Option<Datum>>> {
        let nulls = cursor.nulls(self.fields.len())?;
        let mut row = vec![None; self.wanted];
        for (at, (name, reader, place)) in self.fields.iter().take(self.until).enumerate() {
            if nulls.is_null(at) {
                continue;
            }
            let value = reader.read(cursor);
            let value = value.map_err(|e| Error::new(e.kind(), format!("column '{name}'")).caused_by(e))?;
            if let Some(to) = place.and_then(|place| row.get_mut(place)) {
                *to = Some(value);
            }
        }
        Ok(row)
    }
}

impl Reader {
    fn new(written: &DataType, wanted: &DataType) -> Result<Self> {
        let pair = |written: &DataType, wanted: &DataType| Self::new(written, wanted).map(Box::new);
        Ok(match (&written.kind, &wanted.kind) {
            (TypeKind::Boolean, _) => Self::Boolean,
            (TypeKind::TinyInt, _) => Self::TinyInt,
            (TypeKind::SmallInt, _) => Self::SmallInt,
            (TypeKind::Int, _) => Self::Int,
            (TypeKind::BigInt, _) => Self::BigInt,
            (TypeKind::Float, _) => Self::Float,
            (TypeKind::Double, _) => Self::Double,
            (TypeKind::Date, _) => Self::Date,
            (TypeKind::Time(_), _) => Self::Time,
            (TypeKind::Decimal { precision, scale }, _) => Self::Decimal { precision: *precision, scale: *scale },
            (TypeKind::Char(_) | TypeKind::VarChar(_), _) => Self::Text,
            (TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob, _) => Self::Bytes,
            (TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p), _) => Self::Timestamp { precision: *p },
            (TypeKind::Variant, _) => Self::Variant,
            (TypeKind::Array(element), TypeKind::Array(wanted)) => Self::Array(pair(element, wanted)?),
            (TypeKind::Vector(element, _), TypeKind::Vector(wanted, _)) => Self::Vector(pair(element, wanted)?),
            (TypeKind::Map(key, value), TypeKind::Map(k, v)) => Self::Map(pair(key, k)?, pair(value, v)?),
            (TypeKind::Multiset(element), TypeKind::Multiset(wanted)) => {
                Self::Map(pair(element, wanted)?, Box::new(Self::Int))
            }
            (TypeKind::Row(fields), TypeKind::Row(wanted)) => Self::Row(RowReader::nested(fields, wanted)?),
            _ => return Err(Error::unsupported(format!("row files with {written} that is read as {wanted}"))),
        })
    }

    fn read(&self, cursor: &mut Cursor<'_>) -> Result<Datum> {
        Ok(match self {
            Self::Boolean => Datum::Boolean(cursor.u8()? != 0),
            Self::TinyInt => Datum::TinyInt(cursor.i8()?),
            Self::SmallInt => Datum::SmallInt(cursor.i16()?),
            Self::Int => Datum::Int(cursor.i32()?),
            Self::BigInt => Datum::BigInt(cursor.i64()?),
            Self::Float => Datum::Float(cursor.f32()?),
            Self::Double => Datum::Double(cursor.f64()?),
            Self::Date => Datum::Date(cursor.i32()?),
            Self::Time => Datum::Time(cursor.i32()?),
            Self::Decimal { precision, scale } => decimal(cursor, *precision, *scale)?,
            Self::Text => Datum::String(text(cursor.bytes()?)?),
            Self::Bytes => Datum::Bytes(cursor.bytes()?.to_vec()),
            Self::Timestamp { precision } => timestamp(cursor, *precision)?,
            Self::Variant => Datum::Variant { value: cursor.bytes()?.to_vec(), metadata: cursor.bytes()?.to_vec() },
            Self::Array(element) => Datum::Array(elements(cursor, element)?),
            Self::Vector(element) => {
                let n = cursor.elements()?;
                Datum::Array((0..n).map(|_| element.read(cursor).map(Some)).collect::<Result<_>>()?)
            }
            Self::Map(key, value) => {
                let (keys, values) = (elements(cursor, key)?, elements(cursor, value)?);
                if keys.len() != values.len() {
                    return Err(Error::corrupt(format!("a map of {} keys and {} values", keys.len(), values.len())));
                }
                Datum::Map(keys.into_iter().zip(values).collect())
            }
            Self::Row(row) => Datum::Row(row.read(cursor)?),
        })
    }
}

fn elements(cursor: &mut Cursor<'_>, element: &Reader) -> Result<Vec<Option<Datum>>> {
    let n = cursor.elements()?;
    let nulls = cursor.nulls(n)?;
    (0..n).map(|at| (!nulls.is_null(at)).then(|| element.read(cursor)).transpose()).collect()
}

fn text(bytes: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(bytes).map_err(|e| Error::corrupt(format!("text that is not UTF-8: {e}")))?;
    Ok(text.to_owned())
}

fn decimal(cursor: &mut Cursor<'_>, precision: u8, scale: u8) -> Result<Datum> {
    let unscaled = if precision <= COMPACT_DECIMAL_DIGITS {
        i128::from(cursor.i64()?)
    } else {
        let bytes = cursor.bytes()?;
        let sign = if bytes.first().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 };
        let mut word = [sign; 16];
        if bytes.is_empty() || bytes.len() > word.len() {
            return Err(Error::corrupt(format!("a decimal of {} bytes", bytes.len())));
        }
        word.iter_mut().rev().zip(bytes.iter().rev()).for_each(|(to, from)| *to = *from);
        i128::from_be_bytes(word)
    };
    let bound = 10i128.checked_pow(precision.into()).unwrap_or(i128::MAX);
    if unscaled >= bound || unscaled <= -bound {
        return Err(Error::corrupt(format!("a decimal of more than {precision} digits")));
    }
    Ok(Datum::Decimal { unscaled, precision, scale })
}

fn timestamp(cursor: &mut Cursor<'_>, precision: u8) -> Result<Datum> {
    let millis = cursor.i64()?;
    let nanos = if precision <= COMPACT_TIMESTAMP_DIGITS { 0 } else { cursor.length()? };
    let nano_of_milli = i32::try_from(nanos).ok().filter(|n| (0..1_000_000).contains(n));
    let nano_of_milli = nano_of_milli.ok_or_else(|| Error::corrupt(format!("{nanos} nanoseconds in a millisecond")))?;
    Ok(Datum::Timestamp { millis, nano_of_milli })
}
