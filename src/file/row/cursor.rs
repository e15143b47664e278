//! The primitives of row files, read off a slice.
//!
//! In: plain bytes. Out: numbers, all little-endian, and sub-slices. No read goes past the end, and no length is believed
//! before it was compared with what is left. Java (after 1.4): `BlockInput`, `DeltaVarintCompressor`.

use crate::error::{Error, Result};

/// How many elements without bytes of their own one block may have beyond the number of its bytes.
const MAX_EMPTY_ELEMENTS: usize = 1 << 20;

/// What is left to read.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    /// How many more elements may be made.
    elements: usize,
}

macro_rules! little_endian {
    ($($name:ident),*) => {$(
        pub(super) fn $name(&mut self) -> Result<$name> {
            Ok($name::from_le_bytes(self.array()?))
        }
    )*};
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, elements: bytes.len().saturating_add(MAX_EMPTY_ELEMENTS) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `length` bytes.
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(|| {
            Error::corrupt(format!("the bytes end inside a value: wanted {length}, {} are left", self.rest.len()))
        })?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| Error::internal("a slice of another length"))
    }

    little_endian!(u8, i8, i16, i32, i64, f32, f64);

    fn varint(&mut self, max_bits: u32) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..max_bits).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::corrupt(format!("a number has more than {max_bits} bits")))
    }

    /// A length or a small number, seven bits a byte.
    pub(super) fn length(&mut self) -> Result<usize> {
        let value = self.varint(32)?;
        let value = i32::try_from(value).map_err(|_| Error::corrupt(format!("the length {value}")))?;
        usize::try_from(value).map_err(|_| Error::corrupt("a negative length"))
    }

    /// A signed number, zig-zag, seven bits a byte.
    pub(super) fn zigzag(&mut self) -> Result<i64> {
        let value = self.varint(64)?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Bytes after their length.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    /// A bit for each of `n` values, the lowest first: whether it is NULL.
    pub(super) fn nulls(&mut self, n: usize) -> Result<Nulls<'a>> {
        Ok(Nulls(self.take(n.div_ceil(8))?))
    }

    /// The number of elements of an array; an error where a damaged file claims more than could be.
    pub(super) fn elements(&mut self) -> Result<usize> {
        let n = self.length()?;
        self.elements = self.elements.checked_sub(n).ok_or_else(|| Error::corrupt(format!("{n} elements")))?;
        Ok(n)
    }
}

/// Which values are NULL.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nulls<'a>(&'a [u8]);

impl Nulls<'_> {
    pub(super) fn is_null(self, at: usize) -> bool {
        self.0.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
    }
}
