//! From [`Datum`]s to the bytes that Java writes for them.
//!
//! The variable part of a NULL `DECIMAL` of more than 18 digits and of a NULL `TIMESTAMP` of more than 3 fractional
//! digits is there all the same, zeroed: buckets are hashed over it. Arrays have no such gaps.

use super::super::data_type::{DataType, TypeKind};
use super::super::datum::Datum;
use super::{MAX_COMPACT_DECIMAL, MAX_COMPACT_TIMESTAMP, element_bytes, header_bytes};
use crate::error::{Error, Result};

/// The row, without its arity, of values of the given types.
pub fn encode_row<'t>(types: impl IntoIterator<Item = &'t DataType>, values: &[Option<Datum>]) -> Result<Vec<u8>> {
    let mut writer = BinaryRowWriter::new(values.len());
    let mut written = 0;
    for (i, (data_type, value)) in types.into_iter().zip(values).enumerate() {
        writer.write(i, data_type, value.as_ref())?;
        written += 1;
    }
    if written != values.len() {
        return Err(Error::internal(format!("{} values of {written} types", values.len())));
    }
    Ok(writer.finish())
}

/// The row of [`encode_row`] with its arity before it, as manifests keep it.
pub fn serialize_row<'t>(types: impl IntoIterator<Item = &'t DataType>, values: &[Option<Datum>]) -> Result<Vec<u8>> {
    let row = encode_row(types, values)?;
    let arity = i32::try_from(values.len()).map_err(|_| Error::internal("a row with too many fields"))?;
    Ok([&arity.to_be_bytes(), row.as_slice()].concat())
}

/// Writes one row, field by field in order.
#[derive(Debug)]
pub struct BinaryRowWriter {
    section: SectionWriter,
    arity: usize,
}

impl BinaryRowWriter {
    /// A row of `arity` fields, all 0.
    pub fn new(arity: usize) -> Self {
        Self { section: SectionWriter { bytes: vec![0; header_bytes(arity) + 8 * arity] }, arity }
    }

    /// Writes one field. The order of calls is the order in the variable part.
    pub fn write(&mut self, index: usize, data_type: &DataType, value: Option<&Datum>) -> Result<()> {
        if index >= self.arity {
            return Err(Error::internal(format!("field {index} of a row of {} fields", self.arity)));
        }
        let slot = header_bytes(self.arity) + 8 * index;
        match value {
            Some(value) => self.section.value(slot, data_type, value),
            None => {
                self.section.set_bit(0, index + 8);
                self.section.reserve_for_null(slot, data_type)
            }
        }
    }

    /// The row, without its arity.
    pub fn finish(self) -> Vec<u8> {
        self.section.bytes
    }
}

/// The bytes of a row or an array while they are written.
#[derive(Debug)]
struct SectionWriter {
    bytes: Vec<u8>,
}

impl SectionWriter {
    fn set_bit(&mut self, start: usize, index: usize) {
        if let Some(byte) = self.bytes.get_mut(start + index / 8) {
            *byte |= 1 << (index % 8);
        }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(target) = self.bytes.get_mut(at..at + bytes.len()) {
            target.copy_from_slice(bytes);
        }
    }

    /// Appends to the variable part, padded to 8, and points the slot to it; `low` is the slot's lower half.
    fn append(&mut self, slot: usize, bytes: &[u8], low: usize) -> Result<()> {
        let offset = self.bytes.len();
        if offset + bytes.len() > i32::MAX as usize || low > i32::MAX as usize {
            return Err(Error::unsupported("rows of more than 2 GiB"));
        }
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.put(slot, &(((offset as u64) << 32) | low as u64).to_le_bytes());
        Ok(())
    }

    fn reserve_for_null(&mut self, slot: usize, data_type: &DataType) -> Result<()> {
        match data_type.kind {
            TypeKind::Decimal { precision, .. } if precision > MAX_COMPACT_DECIMAL => self.append(slot, &[0; 16], 0),
            TypeKind::Timestamp(4..) | TypeKind::TimestampLtz(4..) => self.append(slot, &[0; 8], 0),
            _ => Ok(()),
        }
    }

    fn text(&mut self, slot: usize, bytes: &[u8]) -> Result<()> {
        if bytes.len() > 7 {
            return self.append(slot, bytes, bytes.len());
        }
        self.put(slot, bytes);
        self.put(slot + 7, &[0x80 | bytes.len() as u8]);
        Ok(())
    }

    fn nested(&mut self, slot: usize, bytes: &[u8]) -> Result<()> {
        self.append(slot, bytes, bytes.len())
    }

    fn value(&mut self, slot: usize, data_type: &DataType, value: &Datum) -> Result<()> {
        match (&data_type.kind, value) {
            (TypeKind::Boolean, Datum::Boolean(v)) => self.put(slot, &[u8::from(*v)]),
            (TypeKind::TinyInt, Datum::TinyInt(v)) => self.put(slot, &v.to_le_bytes()),
            (TypeKind::SmallInt, Datum::SmallInt(v)) => self.put(slot, &v.to_le_bytes()),
            (TypeKind::Int, Datum::Int(v)) => self.put(slot, &v.to_le_bytes()),
            (TypeKind::Date, Datum::Date(v)) => self.put(slot, &v.to_le_bytes()),
            (TypeKind::Time(_), Datum::Time(v)) => self.put(slot, &v.to_le_bytes()),
            (TypeKind::BigInt, Datum::BigInt(v)) => self.put(slot, &v.to_le_bytes()),
            (TypeKind::Float, Datum::Float(v)) => self.put(slot, &v.to_le_bytes()),
            (TypeKind::Double, Datum::Double(v)) => self.put(slot, &v.to_le_bytes()),
            (TypeKind::Decimal { precision, scale }, Datum::Decimal { unscaled, scale: s, .. }) if scale == s => {
                return self.decimal(slot, *precision, *unscaled);
            }
            (TypeKind::Char(_) | TypeKind::VarChar(_), Datum::String(v)) => return self.text(slot, v.as_bytes()),
            (
                TypeKind::Binary(_)
                | TypeKind::VarBinary(_)
                | TypeKind::Blob
                | TypeKind::Geometry(_)
                | TypeKind::Geography(..),
                Datum::Bytes(v),
            ) => return self.text(slot, v),
            (TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p), Datum::Timestamp { millis, nano_of_milli }) => {
                return self.timestamp(slot, *p, *millis, *nano_of_milli);
            }
            (_, value) => return self.nested_value(slot, data_type, value),
        }
        Ok(())
    }

    fn nested_value(&mut self, slot: usize, data_type: &DataType, value: &Datum) -> Result<()> {
        let bytes = match (&data_type.kind, value) {
            (TypeKind::Variant, Datum::Variant { value, metadata }) => {
                [&size(value.len())?, value.as_slice(), metadata.as_slice()].concat()
            }
            (TypeKind::Array(element), Datum::Array(values)) => array(element, values.iter().map(Option::as_ref))?,
            (TypeKind::Vector(element, length), Datum::Array(values)) if values.len() == *length as usize => {
                vector(element, values)?
            }
            (TypeKind::Map(key, value), Datum::Map(entries)) => map(key, value, entries)?,
            (TypeKind::Multiset(element), Datum::Map(entries)) => map(element, &TypeKind::Int.not_null(), entries)?,
            (TypeKind::Row(fields), Datum::Row(values)) if fields.len() == values.len() => {
                encode_row(fields.iter().map(|f| &f.data_type), values)?
            }
            (_, value) => return Err(Error::internal(format!("a value of {} for the type {data_type}", value.kind()))),
        };
        self.nested(slot, &bytes)
    }

    fn decimal(&mut self, slot: usize, precision: u8, unscaled: i128) -> Result<()> {
        if precision <= MAX_COMPACT_DECIMAL {
            let unscaled = i64::try_from(unscaled)
                .map_err(|_| Error::internal(format!("the decimal {unscaled} has more than {precision} digits")))?;
            self.put(slot, &unscaled.to_le_bytes());
            return Ok(());
        }
        let all = unscaled.to_be_bytes();
        let sign_bits = if unscaled < 0 { unscaled.leading_ones() } else { unscaled.leading_zeros() };
        // The minimal form keeps one bit of the sign.
        let minimal = all.get((sign_bits.saturating_sub(1) / 8) as usize..).unwrap_or_default();
        let mut reserved = [0; 16];
        reserved.iter_mut().zip(minimal).for_each(|(to, from)| *to = *from);
        self.append(slot, &reserved, minimal.len())
    }

    fn timestamp(&mut self, slot: usize, precision: u8, millis: i64, nano_of_milli: i32) -> Result<()> {
        if precision <= MAX_COMPACT_TIMESTAMP {
            self.put(slot, &millis.to_le_bytes());
            return Ok(());
        }
        let nanos = usize::try_from(nano_of_milli).ok().filter(|n| *n < 1_000_000);
        let nanos = nanos.ok_or_else(|| Error::internal(format!("{nano_of_milli} nanoseconds of a millisecond")))?;
        self.append(slot, &millis.to_le_bytes(), nanos)
    }
}

fn size(size: usize) -> Result<[u8; 4]> {
    Ok(i32::try_from(size).map_err(|_| Error::unsupported("rows of more than 2 GiB"))?.to_le_bytes())
}

fn array<'v>(element: &DataType, values: impl ExactSizeIterator<Item = Option<&'v Datum>>) -> Result<Vec<u8>> {
    let (count, width) = (values.len(), element_bytes(element));
    let start = 4 + count.div_ceil(32) * 4;
    let mut section = SectionWriter { bytes: vec![0; (start + count * width).next_multiple_of(8)] };
    section.put(0, &size(count)?);
    for (i, value) in values.enumerate() {
        match value {
            Some(value) => section.value(start + i * width, element, value)?,
            None => section.set_bit(4, i),
        }
    }
    Ok(section.bytes)
}

fn vector(element: &DataType, values: &[Option<Datum>]) -> Result<Vec<u8>> {
    let width = element_bytes(element);
    let mut section = SectionWriter { bytes: vec![0; 4 + (values.len() * width).next_multiple_of(8)] };
    section.put(0, &size(values.len())?);
    for (i, value) in values.iter().enumerate() {
        let value = value.as_ref().ok_or_else(|| Error::internal("NULL inside a VECTOR"))?;
        section.value(4 + i * width, element, value)?;
    }
    Ok(section.bytes)
}

fn map(key: &DataType, value: &DataType, entries: &[(Option<Datum>, Option<Datum>)]) -> Result<Vec<u8>> {
    let keys = array(key, entries.iter().map(|(k, _)| k.as_ref()))?;
    let values = array(value, entries.iter().map(|(_, v)| v.as_ref()))?;
    Ok([&size(keys.len())?, keys.as_slice(), values.as_slice()].concat())
}
