//! Rows as Paimon serializes them: partitions, keys, bounds, and what buckets are hashed from.
//!
//! ```text
//! serialized: | arity, i32 big-endian | row |           all else is little-endian
//! row:        | row kind, 1 byte; NULL bits, from bit 8 | arity × 8-byte slot | variable part |
//!               └──── (arity + 71) / 64 × 8 bytes ────┘
//! slot:       short values in the low bytes, the rest 0
//!             | offset << 32 + length |       bytes in the variable part, 8-aligned, offset from the row's start
//!             | ≤ 7 bytes | 0x80 + length |   text and bytes inline
//! array:      | n, i32 | NULL bits, (n + 31) / 32 × 4 bytes | n × element | pad to 8 | variable part |
//! map:        | bytes of the key array, i32 | key array | value array |
//! vector:     | n, i32 | n × element | pad the elements to 8 |
//! variant:    | bytes of the value, i32 | value | metadata |
//! ```
//!
//! In: the bytes and the types of the fields. Out: [`Datum`]s, and back ([`BinaryRowWriter`]) to the very bytes that
//! Java writes. What is decoded is never larger than the row by more than a constant factor, however often its
//! offsets point to the same bytes. Java: `BinaryRow`, `BinaryArray`, `BinaryMap`, `BinaryVector`, `BinaryRowWriter`.

use std::ops::Range;

mod reader;
mod writer;

use super::data_type::{DataType, TypeKind};
use super::datum::Datum;
use super::row_kind::RowKind;
use crate::error::{Error, Result};
use reader::{Decoder, Section};

pub use writer::{BinaryRowWriter, encode_row, serialize_row};

/// The bytes of the serialized form before the row.
const ARITY_BYTES: usize = 4;

/// The width of a slot.
const SLOT_BYTES: usize = 8;

/// A decimal of more digits does not fit into a slot.
const MAX_COMPACT_DECIMAL: u8 = 18;

/// Nor does a timestamp of more fractional digits.
const MAX_COMPACT_TIMESTAMP: u8 = 3;

/// More columns than this are no row of a table.
const MAX_ARITY: usize = 1 << 24;

/// The width of the header: row kind and NULL bits.
fn header_bytes(arity: usize) -> usize {
    (arity + 71) / 64 * 8
}

/// Where in a serialized row what comes before the slots stands: the arity, the row kind and the NULL bits.
pub fn start_bytes(arity: usize) -> Range<usize> {
    0..ARITY_BYTES + header_bytes(arity)
}

/// Where in a serialized row the slot of a field stands.
pub fn slot_bytes(arity: usize, index: usize) -> Range<usize> {
    let begin = start_bytes(arity).end + SLOT_BYTES * index;
    begin..begin + SLOT_BYTES
}

/// Whether all values of a type stand in their slots.
pub fn is_in_slot(data_type: &DataType) -> bool {
    use TypeKind::*;
    match data_type.kind {
        Boolean | TinyInt | SmallInt | Int | BigInt | Float | Double | Date | Time(_) => true,
        Decimal { precision, .. } => precision <= MAX_COMPACT_DECIMAL,
        Timestamp(precision) | TimestampLtz(precision) => precision <= MAX_COMPACT_TIMESTAMP,
        _ => false,
    }
}

/// The width of an element of an array.
fn element_bytes(data_type: &DataType) -> usize {
    match data_type.kind {
        TypeKind::Boolean | TypeKind::TinyInt => 1,
        TypeKind::SmallInt => 2,
        TypeKind::Int | TypeKind::Date | TypeKind::Time(_) | TypeKind::Float => 4,
        _ => 8,
    }
}

/// A row in its binary form; fields are decoded when they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct BinaryRow<'a> {
    section: Section<'a>,
    arity: usize,
}

impl<'a> BinaryRow<'a> {
    /// A row with its arity before it. No bytes at all are a row without fields.
    pub fn from_serialized(bytes: &'a [u8]) -> Result<Self> {
        let Some((arity, row)) = bytes.split_first_chunk::<ARITY_BYTES>() else {
            if bytes.is_empty() {
                return Ok(Self { section: Section::new(bytes), arity: 0 });
            }
            return Err(Error::corrupt(format!("a serialized row must have at least 4 bytes, got {}", bytes.len())));
        };
        let arity = usize::try_from(i32::from_be_bytes(*arity))
            .map_err(|_| Error::corrupt("the arity of a serialized row is negative"))?;
        Self::new(row, arity)
    }

    /// A row without its arity.
    pub fn new(bytes: &'a [u8], arity: usize) -> Result<Self> {
        if arity > MAX_ARITY || bytes.len() < header_bytes(arity) + SLOT_BYTES * arity {
            return Err(Error::corrupt(format!("{} bytes are too few for a row of {arity} fields", bytes.len())));
        }
        Ok(Self { section: Section::new(bytes), arity })
    }

    /// The number of fields.
    pub fn arity(&self) -> usize {
        self.arity
    }

    /// The row without its arity: what buckets are hashed from.
    pub fn bytes(&self) -> &'a [u8] {
        self.section.bytes()
    }

    /// What the row does to its key.
    pub fn row_kind(&self) -> Result<RowKind> {
        self.bytes().first().map_or(Ok(RowKind::Insert), |kind| RowKind::from_byte(kind.cast_signed()))
    }

    /// Whether a field is NULL; a field that the row does not have is.
    pub fn is_null(&self, index: usize) -> bool {
        index >= self.arity || self.section.bit(0, index + 8)
    }

    /// One field, read as a value of `data_type`.
    pub fn get(&self, index: usize, data_type: &DataType) -> Result<Option<Datum>> {
        if index >= self.arity {
            return Err(Error::corrupt(format!("a row of {} fields has no field {index}", self.arity)));
        }
        if self.is_null(index) {
            return Ok(None);
        }
        let mut decoder = Decoder::new(self.bytes().len());
        decoder.value(self.section, header_bytes(self.arity) + SLOT_BYTES * index, data_type).map(Some)
    }

    /// All fields; the row must have as many as there are types.
    pub fn decode<'t>(&self, types: impl IntoIterator<Item = &'t DataType>) -> Result<Vec<Option<Datum>>> {
        let values = types.into_iter().enumerate().map(|(i, t)| self.get(i, t)).collect::<Result<Vec<_>>>()?;
        if values.len() != self.arity {
            return Err(Error::corrupt(format!("a row has {} fields instead of {}", self.arity, values.len())));
        }
        Ok(values)
    }
}

#[cfg(test)]
mod java_rows;
#[cfg(test)]
mod tests;
