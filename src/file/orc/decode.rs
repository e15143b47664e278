//! From the streams of a stripe to Arrow arrays: numbers and booleans, and which decoder a column gets.
//!
//! In: a [`Node`] and the [`Stripe`] with its streams. Out: a [`Decode`], which gives the column's values batch by
//! batch, exactly of the node's Arrow type. Data streams hold only the values that are not NULL; they are decoded
//! densely and then spread.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, PrimitiveArray, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType as ArrowType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time32MillisecondType,
};

use super::byte_rle::{Bits, ByteRle, Present, spread_bits};
use super::bytes::{Dictionary, DirectBytes};
use super::codec::{ByteStream, TRUSTED_BYTES};
use super::int_rle::Integers;
use super::nested::{Lists, Maps, Structs};
use super::projection::{Node, NodeKind};
use super::stripe::{StreamKind, Stripe};
use super::timestamp::Timestamps;
use crate::error::{Error, Result};

/// A column, or a part of one, of which the next rows can be decoded.
pub(super) trait Decode: Send {
    /// The next `rows` values. Rows that are NULL in `parent` have nothing in the column's streams and are NULL.
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef>;
}

/// The decoder of a node; takes its streams out of the stripe.
pub(super) fn decoder(node: &Node, stripe: &mut Stripe, legacy_ltz: bool) -> Result<Box<dyn Decode>> {
    Ok(match &node.kind {
        NodeKind::Missing => Box::new(Missing(node.arrow.clone())),
        NodeKind::Boolean => Box::new(Booleans::new(node, stripe)?),
        NodeKind::Byte => Box::new(Int8s::new(node, stripe)?),
        NodeKind::Integer => integers(node, stripe)?,
        NodeKind::Float => Box::new(Floats::<Float32Type, 4>::new(node, stripe, f32::from_le_bytes)?),
        NodeKind::Double => Box::new(Floats::<Float64Type, 8>::new(node, stripe, f64::from_le_bytes)?),
        NodeKind::Bytes { trim } if stripe.encoding(node.column)?.dictionary => {
            Box::new(Dictionary::new(node, *trim, stripe)?)
        }
        NodeKind::Bytes { trim } => Box::new(DirectBytes::new(node, *trim, stripe)?),
        NodeKind::Decimal { scale } => Box::new(Decimals::new(node, *scale, stripe)?),
        NodeKind::Timestamp | NodeKind::TimestampInstant => Box::new(Timestamps::new(node, stripe, legacy_ltz)?),
        NodeKind::List(child) => {
            let child = decoder(child, stripe, legacy_ltz)?;
            Box::new(Lists::new(node, child, stripe)?)
        }
        NodeKind::Map(key, value) => {
            let (key, value) = (decoder(key, stripe, legacy_ltz)?, decoder(value, stripe, legacy_ltz)?);
            Box::new(Maps::new(node, key, value, stripe)?)
        }
        NodeKind::Struct(children) => {
            let children = children.iter().map(|child| decoder(child, stripe, legacy_ltz));
            let children = children.collect::<Result<_>>()?;
            Box::new(Structs::new(node, children, stripe)?)
        }
    })
}

fn integers(node: &Node, stripe: &mut Stripe) -> Result<Box<dyn Decode>> {
    Ok(match node.arrow {
        ArrowType::Int16 => Box::new(Ints::<Int16Type>::new(node, stripe)?),
        ArrowType::Int32 => Box::new(Ints::<Int32Type>::new(node, stripe)?),
        ArrowType::Int64 => Box::new(Ints::<Int64Type>::new(node, stripe)?),
        ArrowType::Date32 => Box::new(Ints::<Date32Type>::new(node, stripe)?),
        ArrowType::Time32(_) => Box::new(Ints::<Time32MillisecondType>::new(node, stripe)?),
        ref other => return Err(Error::internal(format!("integers are wanted as {other}"))),
    })
}

/// The PRESENT stream of a node.
pub(super) fn present(node: &Node, stripe: &mut Stripe) -> Result<Present> {
    Ok(Present::new(stripe.take(node.column, StreamKind::Present)?))
}

/// Puts values where the rows are that are not NULL.
pub(super) fn spread<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Result<PrimitiveArray<T>> {
    let Some(nulls) = nulls else { return Ok(PrimitiveArray::try_new(values.into(), None)?) };
    let mut out = vec![T::Native::default(); rows];
    for (row, value) in nulls.valid_indices().zip(values) {
        if let Some(slot) = out.get_mut(row) {
            *slot = value;
        }
    }
    Ok(PrimitiveArray::try_new(out.into(), Some(nulls))?)
}

/// A column that the file lacks.
struct Missing(ArrowType);

impl Decode for Missing {
    fn next(&mut self, rows: usize, _: Option<&NullBuffer>) -> Result<ArrayRef> {
        Ok(new_null_array(&self.0, rows))
    }
}

struct Booleans {
    present: Present,
    bits: Bits,
}

impl Booleans {
    fn new(node: &Node, stripe: &mut Stripe) -> Result<Self> {
        let bits = Bits::new(stripe.take_or_empty(node.column, StreamKind::Data)?);
        Ok(Self { present: present(node, stripe)?, bits })
    }
}

impl Decode for Booleans {
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let (nulls, count) = self.present.read(rows, parent)?;
        let bits = self.bits.read(count)?;
        let bits = spread_bits(&bits, rows, nulls.as_ref());
        Ok(Arc::new(BooleanArray::new(bits, nulls)))
    }
}

struct Int8s {
    present: Present,
    bytes: ByteRle,
}

impl Int8s {
    fn new(node: &Node, stripe: &mut Stripe) -> Result<Self> {
        let bytes = ByteRle::new(stripe.take_or_empty(node.column, StreamKind::Data)?);
        Ok(Self { present: present(node, stripe)?, bytes })
    }
}

impl Decode for Int8s {
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let (nulls, count) = self.present.read(rows, parent)?;
        let mut bytes = vec![];
        self.bytes.read(count, &mut bytes)?;
        let values = bytes.into_iter().map(|b| b as i8).collect();
        Ok(Arc::new(spread::<Int8Type>(values, rows, nulls)?))
    }
}

/// Integers of 16, 32 or 64 bits.
struct Ints<T> {
    present: Present,
    integers: Integers,
    /// The values of a batch before they are narrowed; kept for its memory.
    wide: Vec<i64>,
    target: PhantomData<fn() -> T>,
}

impl<T: ArrowPrimitiveType> Ints<T> {
    fn new(node: &Node, stripe: &mut Stripe) -> Result<Self> {
        let version_2 = stripe.encoding(node.column)?.version_2;
        let integers = Integers::new(stripe.take_or_empty(node.column, StreamKind::Data)?, version_2, true);
        let integers = integers.of_bits(size_of::<T::Native>() * 8);
        Ok(Self { present: present(node, stripe)?, integers, wide: vec![], target: PhantomData })
    }
}

impl<T: ArrowPrimitiveType<Native: Narrow>> Decode for Ints<T> {
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let (nulls, count) = self.present.read(rows, parent)?;
        self.wide.clear();
        self.integers.read(count, &mut self.wide)?;
        let values = self.wide.iter().map(|wide| T::Native::narrow(*wide)).collect();
        Ok(Arc::new(spread::<T>(values, rows, nulls)?))
    }
}

/// The low bits of a number. Writers count the differences between short integers in short integers, which wrap: their
/// sums are right in the low bits only, and Java's reader keeps just those.
trait Narrow {
    fn narrow(wide: i64) -> Self;
}

impl Narrow for i16 {
    fn narrow(wide: i64) -> Self {
        wide as i16
    }
}

impl Narrow for i32 {
    fn narrow(wide: i64) -> Self {
        wide as i32
    }
}

impl Narrow for i64 {
    fn narrow(wide: i64) -> Self {
        wide
    }
}

/// Floating-point numbers of `SIZE` bytes, little endian.
struct Floats<T: ArrowPrimitiveType, const SIZE: usize> {
    present: Present,
    bytes: ByteStream,
    from_bytes: fn([u8; SIZE]) -> T::Native,
    raw: Vec<u8>,
}

impl<T: ArrowPrimitiveType, const SIZE: usize> Floats<T, SIZE> {
    fn new(node: &Node, stripe: &mut Stripe, from_bytes: fn([u8; SIZE]) -> T::Native) -> Result<Self> {
        let bytes = stripe.take_or_empty(node.column, StreamKind::Data)?;
        Ok(Self { present: present(node, stripe)?, bytes, from_bytes, raw: vec![] })
    }
}

impl<T: ArrowPrimitiveType, const SIZE: usize> Decode for Floats<T, SIZE> {
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let (nulls, count) = self.present.read(rows, parent)?;
        self.raw.clear();
        self.bytes.read(count.saturating_mul(SIZE), &mut self.raw)?;
        let (chunks, _) = self.raw.as_chunks::<SIZE>();
        let values = chunks.iter().map(|chunk| (self.from_bytes)(*chunk)).collect();
        Ok(Arc::new(spread::<T>(values, rows, nulls)?))
    }
}

/// Decimals: each one a varint in zigzag, and the scale it was written with.
struct Decimals {
    present: Present,
    bytes: ByteStream,
    scales: Integers,
    /// The scales of a batch; kept for its memory.
    scale_buffer: Vec<i64>,
    precision: u8,
    scale: u8,
}

impl Decimals {
    fn new(node: &Node, scale: u8, stripe: &mut Stripe) -> Result<Self> {
        let ArrowType::Decimal128(precision, _) = node.arrow else {
            return Err(Error::internal("a decimal is wanted as another type"));
        };
        let version_2 = stripe.encoding(node.column)?.version_2;
        let bytes = stripe.take_or_empty(node.column, StreamKind::Data)?;
        let scales = Integers::new(stripe.take_or_empty(node.column, StreamKind::Secondary)?, version_2, true);
        Ok(Self { present: present(node, stripe)?, bytes, scales, scale_buffer: vec![], precision, scale })
    }
}

impl Decode for Decimals {
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let (nulls, count) = self.present.read(rows, parent)?;
        let mut values = Vec::with_capacity(count.min(TRUSTED_BYTES / 16));
        varints(&mut self.bytes, count, &mut values)?;
        self.scale_buffer.clear();
        self.scales.read(count, &mut self.scale_buffer)?;
        let wanted = i64::from(self.scale);
        for (value, scale) in values.iter_mut().zip(&self.scale_buffer) {
            if *scale != wanted {
                *value = rescale(*value, *scale, wanted)?;
            }
        }
        let array = spread::<Decimal128Type>(values, rows, nulls)?;
        Ok(Arc::new(array.with_precision_and_scale(self.precision, self.scale as i8)?))
    }
}

/// A decimal with another number of digits after the point; digits other than zero must not get lost.
fn rescale(value: i128, from: i64, to: i64) -> Result<i128> {
    let power = from.abs_diff(to).try_into().ok().and_then(|digits| 10i128.checked_pow(digits));
    let rescaled = power.and_then(|power| match from < to {
        true => value.checked_mul(power),
        false => (value % power == 0).then(|| value / power),
    });
    rescaled.ok_or_else(|| Error::corrupt(format!("a decimal {value} of scale {from}, expected scale {to}")))
}

/// Appends `count` varints in zigzag of up to 128 bits.
fn varints(bytes: &mut ByteStream, count: usize, out: &mut Vec<i128>) -> Result<()> {
    let mut left = count;
    while left > 0 {
        // Most have few bytes and lie in one chunk: those are read without asking for the next byte each time.
        let chunk = bytes.chunk();
        let mut at = 0;
        while left > 0 {
            let Some((value, length)) = chunk.get(at..).and_then(short_varint) else { break };
            out.push(i128::from((value >> 1) as i64 ^ -((value & 1) as i64)));
            at += length;
            left -= 1;
        }
        bytes.consume(at);
        if left > 0 {
            out.push(long_varint(bytes)?);
            left -= 1;
        }
    }
    Ok(())
}

/// A varint of at most eight bytes of which eight can be read, and how many it has: all at once, without a branch for
/// each byte, which is what decimals spend their time on.
#[inline]
fn short_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(*bytes.first_chunk::<8>()?);
    // The first byte without its highest bit is the last one.
    let stops = !word & 0x8080_8080_8080_8080;
    if stops == 0 {
        return None;
    }
    let end = stops.trailing_zeros();
    let x = word & (u64::MAX >> (63 - end)) & 0x7f7f_7f7f_7f7f_7f7f;
    let x = (x & 0x007f_007f_007f_007f) | ((x & 0x7f00_7f00_7f00_7f00) >> 1);
    let x = (x & 0x0000_3fff_0000_3fff) | ((x & 0x3fff_0000_3fff_0000) >> 2);
    let x = (x & 0x0000_0000_0fff_ffff) | ((x & 0x0fff_ffff_0000_0000) >> 4);
    Some((x, end as usize / 8 + 1))
}

/// A varint of any length, which may cross the border of a chunk.
fn long_varint(bytes: &mut ByteStream) -> Result<i128> {
    let mut value = 0u128;
    for shift in (0..128).step_by(7) {
        let byte = bytes.byte()?;
        value |= u128::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok((value >> 1) as i128 ^ -((value & 1) as i128));
        }
    }
    Err(Error::corrupt("a decimal has more than 128 bits"))
}

#[cfg(test)]
mod tests {
    use super::super::codec::Compression;
    use super::*;
    use proptest::prelude::*;

    fn stream(bytes: Vec<u8>) -> ByteStream {
        ByteStream::new(bytes.into(), Compression::new(0, 0).unwrap()).unwrap()
    }

    fn encode(value: i128, out: &mut Vec<u8>) {
        let mut rest = ((value << 1) ^ (value >> 127)) as u128;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    #[test]
    fn scales_are_brought_to_the_columns() {
        for (value, from, to, want) in [
            (12, 1, 3, Some(1200)),
            (1200, 3, 1, Some(12)),
            (1201, 3, 1, None),
            (i128::MAX, 0, 1, None),
            (1, -99, 9, None),
        ] {
            assert_eq!(rescale(value, from, to).ok(), want, "{value} {from} {to}");
        }
        assert!(rescale(1, i64::MIN, i64::MAX).is_err());
    }

    proptest! {
        #[test]
        fn varints_round_trip(values in proptest::collection::vec(prop_oneof![any::<i128>(), any::<i64>().prop_map(i128::from), -300i128..300], 0..50)) {
            let mut bytes = vec![];
            values.iter().for_each(|v| encode(*v, &mut bytes));
            let mut out = vec![];
            varints(&mut stream(bytes), values.len(), &mut out).unwrap();
            prop_assert_eq!(out, values);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), n in 0usize..100) {
            let _ = varints(&mut stream(bytes), n, &mut vec![]);
        }
    }
}
