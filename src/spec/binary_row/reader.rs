//! From bytes to [`Datum`]s.
//!
//! A [`Section`] is the bytes of one row or array, to whose start offsets are relative; a [`Decoder`] reads the values
//! in it and counts what it has made, so that overlapping offsets cannot multiply the input.

use super::super::data_type::{DataField, DataType, TypeKind};
use super::super::datum::Datum;
use super::{BinaryRow, MAX_COMPACT_DECIMAL, MAX_COMPACT_TIMESTAMP, element_bytes, header_bytes};
use crate::error::{Error, Result};

/// The bytes of a row or an array.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section<'a> {
    bytes: &'a [u8],
}

impl<'a> Section<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bit `index` after byte `start`, lowest bit first; bits past the end are 0.
    pub(super) fn bit(&self, start: usize, index: usize) -> bool {
        self.bytes.get(start + index / 8).is_some_and(|byte| byte & (1 << (index % 8)) != 0)
    }

    fn fixed<const N: usize>(&self, at: usize) -> Result<[u8; N]> {
        let chunk = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
        chunk.copied().ok_or_else(|| Error::corrupt(format!("a row or array ends before byte {at} + {N}")))
    }

    fn int(&self, at: usize) -> Result<i32> {
        self.fixed(at).map(i32::from_le_bytes)
    }

    /// A length or number of elements.
    fn size(&self, at: usize) -> Result<usize> {
        let size = self.int(at)?;
        usize::try_from(size).map_err(|_| Error::corrupt(format!("a size inside a row is negative: {size}")))
    }

    fn range(&self, offset: usize, length: usize) -> Result<&'a [u8]> {
        let end = offset.checked_add(length);
        end.and_then(|end| self.bytes.get(offset..end)).ok_or_else(|| {
            let all = self.bytes.len();
            Error::corrupt(format!("a value at {offset} of {length} bytes lies outside of its {all} bytes"))
        })
    }

    /// The two halves of a slot: offset, and length or nanoseconds.
    fn offset_and_low(&self, slot: usize) -> Result<(usize, u32)> {
        let slot = u64::from_le_bytes(self.fixed(slot)?);
        Ok(((slot >> 32) as usize, slot as u32))
    }

    /// What a slot points to in the variable part.
    fn pointed(&self, slot: usize) -> Result<&'a [u8]> {
        let (offset, length) = self.offset_and_low(slot)?;
        self.range(offset, length as usize)
    }

    /// Text or bytes: in the slot itself when the highest bit is set.
    fn text(&self, slot: usize) -> Result<&'a [u8]> {
        let mark = self.fixed::<8>(slot)?[7];
        if mark & 0x80 == 0 { self.pointed(slot) } else { self.range(slot, usize::from(mark & 0x7f).min(7)) }
    }
}

/// Reads values, at most as many as the row can hold once.
pub(super) struct Decoder {
    /// How many more elements and bytes may be made.
    budget: usize,
}

impl Decoder {
    pub(super) fn new(row_bytes: usize) -> Self {
        Self { budget: row_bytes }
    }

    fn charge(&mut self, amount: usize) -> Result<()> {
        let left = self.budget.checked_sub(amount);
        self.budget = left.ok_or_else(|| Error::corrupt("values inside a row overlap"))?;
        Ok(())
    }

    fn copy(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        self.charge(bytes.len().saturating_sub(7))?;
        Ok(bytes.to_vec())
    }

    /// The value in the slot at byte `at`.
    pub(super) fn value(&mut self, section: Section<'_>, at: usize, data_type: &DataType) -> Result<Datum> {
        Ok(match &data_type.kind {
            TypeKind::Boolean => Datum::Boolean(section.fixed::<1>(at)? != [0]),
            TypeKind::TinyInt => Datum::TinyInt(i8::from_le_bytes(section.fixed(at)?)),
            TypeKind::SmallInt => Datum::SmallInt(i16::from_le_bytes(section.fixed(at)?)),
            TypeKind::Int => Datum::Int(section.int(at)?),
            TypeKind::Date => Datum::Date(section.int(at)?),
            TypeKind::Time(_) => Datum::Time(section.int(at)?),
            TypeKind::BigInt => Datum::BigInt(i64::from_le_bytes(section.fixed(at)?)),
            TypeKind::Float => Datum::Float(f32::from_le_bytes(section.fixed(at)?)),
            TypeKind::Double => Datum::Double(f64::from_le_bytes(section.fixed(at)?)),
            TypeKind::Decimal { precision, scale } => {
                Datum::Decimal { unscaled: unscaled(section, at, *precision)?, precision: *precision, scale: *scale }
            }
            TypeKind::Char(_) | TypeKind::VarChar(_) => {
                let text = String::from_utf8(self.copy(section.text(at)?)?);
                Datum::String(text.map_err(|e| Error::corrupt("text inside a row is not UTF-8").caused_by(e))?)
            }
            TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob => {
                Datum::Bytes(self.copy(section.text(at)?)?)
            }
            TypeKind::Geometry(_) | TypeKind::Geography(..) => Datum::Bytes(self.copy(section.text(at)?)?),
            TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) => timestamp(section, at, *p)?,
            TypeKind::Variant => self.variant(section.pointed(at)?)?,
            TypeKind::Array(element) => Datum::Array(self.array(section.pointed(at)?, element)?),
            TypeKind::Vector(element, _) => Datum::Array(self.vector(section.pointed(at)?, element)?),
            TypeKind::Map(key, value) => self.map(section.pointed(at)?, key, value)?,
            TypeKind::Multiset(element) => self.map(section.pointed(at)?, element, &TypeKind::Int.not_null())?,
            TypeKind::Row(fields) => {
                self.charge(fields.len())?;
                let row = BinaryRow::new(section.pointed(at)?, fields.len())?;
                let slots = header_bytes(fields.len());
                let field = |(i, field): (usize, &DataField)| {
                    let null = row.is_null(i);
                    (!null).then(|| self.value(row.section, slots + 8 * i, &field.data_type)).transpose()
                };
                Datum::Row(fields.iter().enumerate().map(field).collect::<Result<_>>()?)
            }
        })
    }

    fn array(&mut self, bytes: &[u8], element: &DataType) -> Result<Vec<Option<Datum>>> {
        let section = Section::new(bytes);
        let size = section.size(0)?;
        self.elements(section, size, 4 + size.div_ceil(32) * 4, true, element)
    }

    fn vector(&mut self, bytes: &[u8], element: &DataType) -> Result<Vec<Option<Datum>>> {
        let section = Section::new(bytes);
        let size = section.size(0)?;
        self.elements(section, size, 4, false, element)
    }

    fn elements(
        &mut self,
        section: Section<'_>,
        size: usize,
        start: usize,
        has_null_bits: bool,
        element: &DataType,
    ) -> Result<Vec<Option<Datum>>> {
        self.charge(size)?;
        let width = element_bytes(element);
        let value = |i: usize| {
            let null = has_null_bits && section.bit(4, i);
            (!null).then(|| self.value(section, start + width * i, element)).transpose()
        };
        (0..size).map(value).collect()
    }

    fn map(&mut self, bytes: &[u8], key: &DataType, value: &DataType) -> Result<Datum> {
        let key_bytes = Section::new(bytes).size(0)?;
        let arrays = bytes.get(4..).and_then(|arrays| arrays.split_at_checked(key_bytes));
        let (keys, values) = arrays.ok_or_else(|| Error::corrupt("the keys of a map are longer than the map"))?;
        let (keys, values) = (self.array(keys, key)?, self.array(values, value)?);
        if keys.len() != values.len() {
            let (k, v) = (keys.len(), values.len());
            return Err(Error::corrupt(format!("a map has {k} keys but {v} values")));
        }
        Ok(Datum::Map(keys.into_iter().zip(values).collect()))
    }

    fn variant(&mut self, bytes: &[u8]) -> Result<Datum> {
        let value_bytes = Section::new(bytes).size(0)?;
        let parts = bytes.get(4..).and_then(|parts| parts.split_at_checked(value_bytes));
        let (value, metadata) =
            parts.ok_or_else(|| Error::corrupt("the value of a variant is longer than the whole"))?;
        Ok(Datum::Variant { value: self.copy(value)?, metadata: self.copy(metadata)? })
    }
}

/// A decimal of up to 18 digits is in the slot, a longer one in the variable part, big-endian.
fn unscaled(section: Section<'_>, at: usize, precision: u8) -> Result<i128> {
    if precision <= MAX_COMPACT_DECIMAL {
        return Ok(i64::from_le_bytes(section.fixed(at)?).into());
    }
    let bytes = section.pointed(at)?;
    let Some(first) = bytes.first().filter(|_| bytes.len() <= 16) else {
        return Err(Error::corrupt(format!("a decimal must have 1 to 16 bytes, got {}", bytes.len())));
    };
    let sign = if *first >= 0x80 { -1 } else { 0 };
    Ok(bytes.iter().fold(sign, |value: i128, byte| (value << 8) | i128::from(*byte)))
}

/// Up to 3 fractional digits are milliseconds in the slot; else the slot has the nanoseconds beyond the milliseconds,
/// which are in the variable part.
fn timestamp(section: Section<'_>, at: usize, precision: u8) -> Result<Datum> {
    if precision <= MAX_COMPACT_TIMESTAMP {
        return Ok(Datum::Timestamp { millis: i64::from_le_bytes(section.fixed(at)?), nano_of_milli: 0 });
    }
    let (offset, nanos) = section.offset_and_low(at)?;
    let nano_of_milli = i32::try_from(nanos).ok().filter(|n| (0..1_000_000).contains(n));
    let wrong = || Error::corrupt(format!("nanoseconds of a millisecond must be below 1000000, got {nanos}"));
    let nano_of_milli = nano_of_milli.ok_or_else(wrong)?;
    Ok(Datum::Timestamp { millis: i64::from_le_bytes(section.fixed(offset)?), nano_of_milli })
}
