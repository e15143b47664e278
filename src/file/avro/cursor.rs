//! Avro's primitives, read off a slice.
//!
//! In: plain bytes of a block or header. Out: numbers and sub-slices, or a [`Fault`]. No read goes past the end, and no
//! length is believed before it was compared with what is left.
//!
//! ```text
//! int, long   zig-zag varint, little end first, 7 bits a byte, at most 10 bytes
//! bytes, string   long length, then so many bytes
//! float, double   4, 8 bytes, little end first
//! array, map  blocks: long count (negative: −count, then long size in bytes), items; count 0 ends it
//! ```

use std::fmt;

use crate::error::Error;

/// Why bytes are no value of their type: small, because every value's read returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The bytes end inside a value.
    Truncated,
    /// A varint of more than 64 bits.
    Varint,
    /// A length or count below zero, or larger than what is left.
    Length,
    /// A boolean other than 0 and 1.
    Boolean,
    /// A union's branch that the schema lacks.
    Branch,
    /// An enum's symbol that the schema lacks.
    Symbol,
    /// NULL in a column that is NOT NULL.
    Null,
    /// A number outside the column's type.
    Range,
    /// A decimal of no byte, or outside the column's precision.
    Decimal,
    /// A vector of another length than the column's.
    VectorLength,
    /// More bytes or items in one batch than Arrow's offsets can count.
    TooLarge,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Truncated => "the bytes end inside a value",
            Fault::Varint => "a number has more than 64 bits",
            Fault::Length => "a length is negative or larger than the bytes that follow",
            Fault::Boolean => "a boolean must be 0 or 1",
            Fault::Branch => "a union names a branch that the schema lacks",
            Fault::Symbol => "an enum names a symbol that the schema lacks",
            Fault::Null => "NULL in a column that is NOT NULL",
            Fault::Range => "a number is outside the range of the column's type",
            Fault::Decimal => "a decimal is empty or has more digits than the column's type",
            Fault::VectorLength => "a vector has another length than the column's type",
            Fault::TooLarge => "a value is too large for one batch",
        })
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error::corrupt(format!("Avro: {fault}"))
    }
}

/// How much memory one row may take beyond what its bytes account for.
const MAX_CHARGED_BYTES: usize = 1 << 28;

/// What is left to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    charged_bytes: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, charged_bytes: 0 }
    }

    /// Accounts for memory that a value takes although it has hardly any bytes, such as a NULL of many fields.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), Fault> {
        self.charged_bytes = self.charged_bytes.saturating_add(bytes);
        if self.charged_bytes > MAX_CHARGED_BYTES { Err(Fault::TooLarge) } else { Ok(()) }
    }

    /// What was charged since the last call.
    #[inline]
    pub(crate) fn take_charged(&mut self) -> usize {
        std::mem::take(&mut self.charged_bytes)
    }

    /// How many bytes are left.
    #[inline]
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `n` bytes.
    #[inline]
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or(Fault::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Fault::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    fn raw(&mut self) -> Result<u64, Fault> {
        match self.rest.split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(byte))
            }
            Some(_) => self.raw_long(),
            None => Err(Fault::Truncated),
        }
    }

    /// A varint of several bytes.
    fn raw_long(&mut self) -> Result<u64, Fault> {
        let mut value = 0u64;
        for (i, &byte) in self.rest.iter().take(10).enumerate() {
            if i == 9 && byte > 1 {
                return Err(Fault::Varint);
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.rest = self.rest.get(i + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(if self.rest.len() < 10 { Fault::Truncated } else { Fault::Varint })
    }

    #[inline]
    pub(crate) fn long(&mut self) -> Result<i64, Fault> {
        let raw = self.raw()?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    #[inline]
    pub(crate) fn int(&mut self) -> Result<i32, Fault> {
        i32::try_from(self.long()?).map_err(|_| Fault::Range)
    }

    #[inline]
    pub(crate) fn boolean(&mut self) -> Result<bool, Fault> {
        match self.array::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Fault::Boolean),
        }
    }

    /// A length that is followed by as many bytes, and those bytes.
    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let length = usize::try_from(self.long()?).map_err(|_| Fault::Length)?;
        self.take(length)
    }

    /// A varint that is skipped.
    #[inline]
    pub(crate) fn skip_varint(&mut self) -> Result<(), Fault> {
        self.raw().map(|_| ())
    }

    /// The head of a block of an array or map whose items take a byte at least: the count of items, and the block's size
    /// where it is given. `None` at the end.
    #[inline]
    pub(crate) fn items(&mut self) -> Result<Option<(usize, Option<usize>)>, Fault> {
        let count = self.long()?;
        if count == 0 {
            return Ok(None);
        }
        let mut size = None;
        if count < 0 {
            size = Some(usize::try_from(self.long()?).map_err(|_| Fault::Length)?);
        }
        let count = usize::try_from(count.unsigned_abs()).map_err(|_| Fault::Length)?;
        if count > self.remaining() || size.is_some_and(|s| s > self.remaining()) {
            return Err(Fault::Length);
        }
        Ok(Some((count, size)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::avro::testing::long;

    #[test]
    fn what_is_no_value_is_a_fault() {
        assert_eq!(Cursor::new(&[]).long(), Err(Fault::Truncated));
        assert_eq!(Cursor::new(&[0x80]).long(), Err(Fault::Truncated));
        assert_eq!(Cursor::new(&[0xff; 11]).long(), Err(Fault::Varint));
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).long(), Err(Fault::Varint));
        assert_eq!(Cursor::new(&[0x80, 0x80, 0x80, 0x80, 0x20]).int(), Err(Fault::Range));
        assert_eq!(Cursor::new(&[1, 9]).bytes(), Err(Fault::Length));
        assert_eq!(Cursor::new(&[4, 9]).bytes(), Err(Fault::Truncated));
        assert_eq!(Cursor::new(&[2]).boolean(), Err(Fault::Boolean));
        assert_eq!(Cursor::new(&[6, 0, 0]).items(), Err(Fault::Length));
        assert_eq!(Cursor::new(&[1, 9, 0]).items(), Err(Fault::Length));
        assert_eq!(Cursor::new(&[1, 2, 0]).items(), Ok(Some((1, Some(1)))));
    }

    proptest! {
        #[test]
        fn longs_round_trip(value: i64) {
            let mut bytes = vec![];
            long(&mut bytes, value);
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(cursor.long(), Ok(value));
            prop_assert_eq!(cursor.remaining(), 0);
        }
    }
}
