//! Casts of bytes and text to BINARY and VARBINARY.
//!
//! In: text, of which the UTF-8 bytes are taken, or bytes. Out: bytes cut to the length; BINARY is filled up with zeros.
//! Java: `BinaryStringUtils.toBinaryString`.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType as ArrowType;

use super::text::Buffer;
use super::{Place, Texts, not_canonical};
use crate::error::Result;
use crate::spec::data_type::TypeKind;

/// The value at a row of an array of bytes of either representation.
pub(super) fn bytes_of<'a>(array: &'a dyn Array) -> Result<Box<dyn Fn(usize) -> &'a [u8] + 'a>> {
    match array.data_type() {
        ArrowType::Binary => array.as_binary_opt::<i32>().map(|a| Box::new(|row| a.value(row)) as _),
        ArrowType::BinaryView => array.as_binary_view_opt().map(|a| Box::new(|row| a.value(row)) as _),
        _ => None,
    }
    .ok_or_else(|| not_canonical(array, "bytes"))
}

/// Casts text or bytes to bytes.
pub(super) fn to_bytes<'a>(array: &'a ArrayRef, to: &TypeKind, place: Place) -> Result<ArrayRef> {
    let (length, padded) = match to {
        TypeKind::Binary(n) => (*n as usize, true),
        TypeKind::VarBinary(n) => (*n as usize, false),
        _ => return Err(super::refused(&TypeKind::string(), to)),
    };
    let value: Box<dyn Fn(usize) -> &'a [u8] + 'a> = match array.data_type() {
        ArrowType::Utf8 | ArrowType::Utf8View => {
            let texts = Texts::new(array)?;
            Box::new(move |row| texts.get(row).unwrap_or_default().as_bytes())
        }
        _ => bytes_of(array)?,
    };
    let mut out = Buffer::new(array.len());
    for row in 0..array.len() {
        if array.is_valid(row) {
            let bytes = value(row);
            out.write(bytes.get(..length).unwrap_or(bytes))?;
            if padded {
                out.fill(0, length.saturating_sub(bytes.len()))?;
            }
        }
        out.end_value()?;
    }
    out.finish_bytes(array.nulls().cloned(), place)
}
