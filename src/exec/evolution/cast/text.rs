//! Casts of everything to text.
//!
//! In: numbers, booleans, times, bytes, text, or arrays, maps and rows of them. Out: text as Java prints it. CHAR(n) is
//! filled up with blanks and both CHAR(n) and VARCHAR(n) are cut to n characters, but only where a number, a boolean or
//! text was: bytes, times and collections come out whole, as the reference has it. Bytes that are no UTF-8 are replaced.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BinaryViewArray, StringArray, StringViewArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType,
};

use super::bytes::bytes_of;
use super::format_time::{write_date, write_time, write_timestamp};
use super::moment::Moments;
use super::{CastContext, Family, Place, Texts, decimal, not_canonical, zone};
use crate::error::{Error, Result};
use crate::spec::data_type::{DataType, TypeKind};
use crate::spec::java_text::{double_to_string, float_to_string};

/// Values of text or bytes of one array, written one after the other.
pub(super) struct Buffer {
    values: Vec<u8>,
    offsets: Vec<i32>,
}

/// Arrow's offsets of text and bytes have 31 bits.
fn too_long() -> Error {
    Error::unsupported("a batch with more than 2 GiB in a column of text or bytes that is cast")
}

impl Buffer {
    /// A buffer of which `rows` values are expected.
    pub(super) fn new(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self { values: Vec::new(), offsets }
    }

    fn check(&self, more: usize) -> Result<()> {
        let total = self.values.len().checked_add(more);
        if total.is_none_or(|n| i32::try_from(n).is_err()) { Err(too_long()) } else { Ok(()) }
    }

    /// Appends to the value at hand.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.check(bytes.len())?;
        self.values.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends a byte several times.
    pub(super) fn fill(&mut self, byte: u8, times: usize) -> Result<()> {
        self.check(times)?;
        self.values.resize(self.values.len() + times, byte);
        Ok(())
    }

    /// Closes the value at hand.
    pub(super) fn end_value(&mut self) -> Result<()> {
        self.offsets.push(i32::try_from(self.values.len()).map_err(|_| too_long())?);
        Ok(())
    }

    /// The values as bytes.
    pub(super) fn finish_bytes(self, nulls: Option<NullBuffer>, place: Place) -> Result<ArrayRef> {
        let plain = BinaryArray::try_new(OffsetBuffer::new(self.offsets.into()), self.values.into(), nulls)?;
        Ok(match place {
            Place::Column => Arc::new(BinaryViewArray::from(&plain)),
            Place::Nested => Arc::new(plain),
        })
    }

    fn finish_text(self, nulls: Option<NullBuffer>, place: Place) -> Result<ArrayRef> {
        let plain = StringArray::try_new(OffsetBuffer::new(self.offsets.into()), self.values.into(), nulls)?;
        Ok(match place {
            Place::Column => Arc::new(StringViewArray::from(&plain)),
            Place::Nested => Arc::new(plain),
        })
    }
}

/// Appends the text of the value at a row that is not NULL.
type Print<'a> = Box<dyn Fn(usize, &mut String) -> Result<()> + 'a>;

/// Whether values of a nested type can be printed: each type in it has a text form.
pub(super) fn is_printable(kind: &TypeKind) -> bool {
    match kind {
        TypeKind::Array(element) => is_printable(&element.kind),
        TypeKind::Map(key, value) => is_printable(&key.kind) && is_printable(&value.kind),
        TypeKind::Row(fields) => fields.iter().all(|f| is_printable(&f.data_type.kind)),
        other => Family::of(other) != Family::Other,
    }
}

/// Casts values of any printable type to text.
pub(super) fn to_text(
    array: &ArrayRef,
    from: &TypeKind,
    to: &TypeKind,
    place: Place,
    ctx: &CastContext,
) -> Result<ArrayRef> {
    let fit = match Family::of(from) {
        Family::Boolean | Family::Integer | Family::Float | Family::Decimal | Family::Text => Fit::of(to),
        _ => Fit::default(),
    };
    if Family::of(from) == Family::Text && fit == Fit::default() {
        return Ok(array.clone());
    }
    let print = printer(array, from, ctx)?;
    let mut out = Buffer::new(array.len());
    let mut text = String::new();
    for row in 0..array.len() {
        if array.is_valid(row) {
            text.clear();
            print(row, &mut text)?;
            let (kept, blanks) = fit.apply(&text);
            out.write(kept.as_bytes())?;
            out.fill(b' ', blanks)?;
        }
        out.end_value()?;
    }
    out.finish_text(array.nulls().cloned(), place)
}

/// How long a text may and must be, in characters.
#[derive(Default, PartialEq, Eq)]
struct Fit {
    longest: Option<usize>,
    shortest: usize,
}

impl Fit {
    fn of(to: &TypeKind) -> Self {
        match to {
            _ if *to == TypeKind::string() => Self::default(),
            TypeKind::VarChar(n) => Self { longest: Some(*n as usize), shortest: 0 },
            TypeKind::Char(n) => Self { longest: Some(*n as usize), shortest: *n as usize },
            _ => Self::default(),
        }
    }

    /// The part that is kept, and how many blanks follow it.
    fn apply<'a>(&self, text: &'a str) -> (&'a str, usize) {
        let Some(longest) = self.longest else { return (text, 0) };
        if text.len() > longest
            && let Some((end, _)) = text.char_indices().nth(longest)
        {
            return (text.get(..end).unwrap_or(text), 0);
        }
        let blanks = if self.shortest == 0 { 0 } else { self.shortest.saturating_sub(text.chars().count()) };
        (text, blanks)
    }
}

/// The printer of an array's values.
fn printer<'a>(array: &'a dyn Array, kind: &TypeKind, ctx: &CastContext) -> Result<Print<'a>> {
    Ok(match kind {
        TypeKind::Boolean => {
            let booleans = array.as_boolean_opt().ok_or_else(|| not_canonical(array, kind))?;
            Box::new(move |row, out| push(out, if booleans.value(row) { "true" } else { "false" }))
        }
        TypeKind::TinyInt => display::<Int8Type>(array)?,
        TypeKind::SmallInt => display::<Int16Type>(array)?,
        TypeKind::Int => display::<Int32Type>(array)?,
        TypeKind::BigInt => display::<Int64Type>(array)?,
        TypeKind::Float => primitive::<Float32Type>(array, |x, out| push(out, &float_to_string(x)))?,
        TypeKind::Double => primitive::<Float64Type>(array, |x, out| push(out, &double_to_string(x)))?,
        TypeKind::Decimal { scale, .. } => {
            let scale = *scale;
            primitive::<Decimal128Type>(array, move |d, out| decimal::print(d, scale, out))?
        }
        TypeKind::Char(_) | TypeKind::VarChar(_) => {
            let texts = Texts::new(array)?;
            Box::new(move |row, out| push(out, texts.get(row).unwrap_or_default()))
        }
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => {
            let bytes = bytes_of(array)?;
            Box::new(move |row, out| push(out, &utf8_of(bytes(row))))
        }
        TypeKind::Date => primitive::<Date32Type>(array, |days, out| written(write_date(out, days)))?,
        TypeKind::Time(precision) => {
            let precision = *precision;
            primitive::<Time32MillisecondType>(array, move |ms, out| written(write_time(out, ms, precision)))?
        }
        TypeKind::Timestamp(precision) => timestamp(array, *precision, None)?,
        TypeKind::TimestampLtz(precision) => timestamp(array, *precision, Some(*ctx))?,
        TypeKind::Array(element) => list(array, element, ctx)?,
        TypeKind::Map(key, value) => map(array, key, value, ctx)?,
        TypeKind::Row(fields) => row(array, fields.iter().map(|f| &f.data_type), ctx)?,
        _ => return Err(super::refused(kind, &TypeKind::string())),
    })
}

/// Bytes as text. What is no UTF-8 is replaced, an encoded surrogate by one character as in Java.
fn utf8_of(bytes: &[u8]) -> Cow<'_, str> {
    if std::str::from_utf8(bytes).is_ok() {
        return String::from_utf8_lossy(bytes);
    }
    let mut out = String::new();
    let mut rest = bytes;
    loop {
        match rest {
            [] => return out.into(),
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, after @ ..] => {
                out.push(char::REPLACEMENT_CHARACTER);
                rest = after;
            }
            [first, after @ ..] => {
                let next = after.iter().position(|b| *b == 0xed).unwrap_or(after.len());
                let (part, after) = after.split_at_checked(next).unwrap_or((after, &[]));
                out.push_str(&String::from_utf8_lossy(&[&[*first], part].concat()));
                rest = after;
            }
        }
    }
}

fn push(out: &mut String, text: &str) -> Result<()> {
    out.push_str(text);
    Ok(())
}

fn written(result: fmt::Result) -> Result<()> {
    result.map_err(|e| Error::internal("text could not be written").caused_by(e))
}

fn primitive<'a, P: ArrowPrimitiveType>(
    array: &'a dyn Array,
    print: impl Fn(P::Native, &mut String) -> Result<()> + 'a,
) -> Result<Print<'a>> {
    let values = array.as_primitive_opt::<P>().ok_or_else(|| not_canonical(array, P::DATA_TYPE))?;
    Ok(Box::new(move |row, out| print(values.value(row), out)))
}

fn display<P: ArrowPrimitiveType>(array: &dyn Array) -> Result<Print<'_>>
where
    P::Native: fmt::Display,
{
    primitive::<P>(array, |x, out| written(write!(out, "{x}")))
}

/// Timestamps; instants are printed in the zone.
fn timestamp(array: &dyn Array, precision: u8, instants: Option<CastContext>) -> Result<Print<'_>> {
    let moments = Moments::new(array)?;
    Ok(Box::new(move |row, out| {
        let moment = moments.get(row)?;
        let moment = match instants {
            Some(ctx) => zone::to_local(ctx.zone, moment)?,
            None => moment,
        };
        written(write_timestamp(out, moment, precision))
    }))
}

/// A printer that prints NULL too.
fn nullable<'a>(array: &'a ArrayRef, data_type: &DataType, ctx: &CastContext) -> Result<Print<'a>> {
    let print = printer(array, &data_type.kind, ctx)?;
    Ok(Box::new(move |row, out| if array.is_null(row) { push(out, "null") } else { print(row, out) }))
}

fn list<'a>(array: &'a dyn Array, element: &DataType, ctx: &CastContext) -> Result<Print<'a>> {
    let list = array.as_list_opt::<i32>().ok_or_else(|| not_canonical(array, "ARRAY"))?;
    let print = nullable(list.values(), element, ctx)?;
    let offsets = list.offsets();
    Ok(Box::new(move |row, out| {
        out.push('[');
        for (i, child) in range(offsets, row).enumerate() {
            out.push_str(if i == 0 { "" } else { ", " });
            print(child, out)?;
        }
        push(out, "]")
    }))
}

fn map<'a>(array: &'a dyn Array, key: &DataType, value: &DataType, ctx: &CastContext) -> Result<Print<'a>> {
    let map = array.as_map_opt().ok_or_else(|| not_canonical(array, "MAP"))?;
    let (keys, values) = (nullable(map.keys(), key, ctx)?, nullable(map.values(), value, ctx)?);
    let offsets = map.offsets();
    Ok(Box::new(move |row, out| {
        out.push('{');
        for (i, child) in range(offsets, row).enumerate() {
            out.push_str(if i == 0 { "" } else { ", " });
            keys(child, out)?;
            out.push_str(" -> ");
            values(child, out)?;
        }
        push(out, "}")
    }))
}

fn row<'a, 'b>(
    array: &'a dyn Array,
    types: impl Iterator<Item = &'b DataType>,
    ctx: &CastContext,
) -> Result<Print<'a>> {
    let row = array.as_struct_opt().ok_or_else(|| not_canonical(array, "ROW"))?;
    let fields = row.columns().iter().zip(types).map(|(c, t)| nullable(c, t, ctx)).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(move |row, out| {
        out.push('{');
        for (i, print) in fields.iter().enumerate() {
            out.push_str(if i == 0 { "" } else { ", " });
            print(row, out)?;
        }
        push(out, "}")
    }))
}

/// The children of a row.
fn range(offsets: &OffsetBuffer<i32>, row: usize) -> std::ops::Range<usize> {
    let at = |i: usize| offsets.get(i).map_or(0, |offset| *offset as usize);
    at(row)..at(row + 1)
}
