//! Values as file indexes store them: [`Key`], [`KeyType`].
//!
//! ```text
//! BOOLEAN, TINYINT 1 byte │ SMALLINT 2 │ INT, DATE, TIME 4 │ BIGINT, DECIMAL of up to 18 digits 8
//! TIMESTAMP 8: milliseconds, or of more than 3 digits microseconds │ FLOAT 4, DOUBLE 8 │ text i32 length, bytes
//! ```
//! In: the type of a column in the file. Out: how its values are read, and what literals are among them.

use std::cmp::Ordering;

use super::bytes::Cursor;
use crate::error::Result;
use crate::spec::data_type::{DataType, TypeKind};
use crate::spec::datum::Datum;

/// A value in an index.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Key {
    /// A whole number, a time, a truth, an unscaled decimal.
    Long(i64),
    /// `FLOAT`
    Float(f32),
    /// `DOUBLE`
    Double(f64),
    /// Text or bytes.
    Bytes(Vec<u8>),
}

impl Key {
    /// Java's order: bytes unsigned, -0.0 below 0.0, NaN above all numbers.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Key::Long(a), Key::Long(b)) => a.cmp(b),
            (Key::Float(a), Key::Float(b)) => compare_doubles(f64::from(*a), f64::from(*b)),
            (Key::Double(a), Key::Double(b)) => compare_doubles(*a, *b),
            (Key::Bytes(a), Key::Bytes(b)) => a.cmp(b),
            // Keys of one index are of one type.
            _ => Ordering::Equal,
        }
    }

    /// The key of a literal; `None` where an index cannot have it.
    pub fn of(literal: &Datum, data_type: &DataType) -> Option<Self> {
        Some(match literal {
            Datum::Boolean(v) => Key::Long(i64::from(*v)),
            Datum::TinyInt(v) => Key::Long(i64::from(*v)),
            Datum::SmallInt(v) => Key::Long(i64::from(*v)),
            Datum::Int(v) | Datum::Date(v) | Datum::Time(v) => Key::Long(i64::from(*v)),
            Datum::BigInt(v) => Key::Long(*v),
            Datum::Float(v) if !v.is_nan() => Key::Float(*v),
            Datum::Double(v) if !v.is_nan() => Key::Double(*v),
            Datum::String(v) => Key::Bytes(v.clone().into_bytes()),
            Datum::Bytes(v) => Key::Bytes(v.clone()),
            Datum::Decimal { unscaled, scale, .. } => match data_type.kind {
                TypeKind::Decimal { scale: of_type, .. } if of_type == *scale => {
                    Key::Long(i64::try_from(*unscaled).ok()?)
                }
                _ => return None,
            },
            Datum::Timestamp { millis, nano_of_milli } => match data_type.kind {
                TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) if p > 3 => {
                    Key::Long(millis.checked_mul(1000)?.checked_add(i64::from(nano_of_milli.div_euclid(1000)))?)
                }
                _ => Key::Long(*millis),
            },
            _ => return None,
        })
    }
}

fn compare_doubles(a: f64, b: f64) -> Ordering {
    let canonical = |x: f64| if x.is_nan() { f64::NAN.abs() } else { x };
    canonical(a).total_cmp(&canonical(b))
}

/// How the values of a column are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyType {
    /// Numbers of 1, 2, 4 or 8 bytes.
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    /// A length and as many bytes.
    Bytes,
}

impl KeyType {
    /// Of the columns of a type; `None` where they have no index.
    pub fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type.kind {
            TypeKind::Boolean | TypeKind::TinyInt => KeyType::Byte,
            TypeKind::SmallInt => KeyType::Short,
            TypeKind::Int | TypeKind::Date | TypeKind::Time(_) => KeyType::Int,
            TypeKind::BigInt | TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_) => KeyType::Long,
            TypeKind::Decimal { precision, .. } if precision <= 18 => KeyType::Long,
            TypeKind::Float => KeyType::Float,
            TypeKind::Double => KeyType::Double,
            TypeKind::Char(_) | TypeKind::VarChar(_) | TypeKind::Binary(_) | TypeKind::VarBinary(_) => KeyType::Bytes,
            _ => return None,
        })
    }

    /// Whether all values have the same length.
    pub fn is_fixed(self) -> bool {
        self != KeyType::Bytes
    }

    /// Reads a value.
    pub fn read(self, cursor: &mut Cursor<'_>) -> Result<Key> {
        Ok(match self {
            KeyType::Byte => Key::Long(i64::from(cursor.byte()? as i8)),
            KeyType::Short => Key::Long(i64::from(cursor.short()?)),
            KeyType::Int => Key::Long(i64::from(cursor.int()?)),
            KeyType::Long => Key::Long(cursor.long()?),
            KeyType::Float => Key::Float(f32::from_bits(cursor.int()? as u32)),
            KeyType::Double => Key::Double(f64::from_bits(cursor.long()? as u64)),
            KeyType::Bytes => {
                let length = cursor.size()?;
                Key::Bytes(cursor.bytes(length)?.to_vec())
            }
        })
    }
}
