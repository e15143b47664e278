//! Big-endian numbers and text of file indexes: [`Cursor`].
//!
//! In: bytes. Out: the next number, or an error where they end; no length is believed before it is compared with what is
//! there.

use crate::error::{Error, Result};

/// Reads from the front of some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(|| {
            Error::corrupt(format!("a file index ends early: {length} bytes expected, {} left", self.rest.len()))
        })?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.bytes(N)?;
        bytes.try_into().map_err(|_| Error::internal("as many bytes as asked for"))
    }

    pub fn byte(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn short(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub fn int(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn long(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// An `int` that is a length, a number of things or an offset.
    pub fn size(&mut self) -> Result<usize> {
        let size = self.int()?;
        usize::try_from(size).map_err(|_| Error::corrupt(format!("a file index has the size {size}")))
    }

    /// A `boolean` of a `DataOutput`.
    pub fn flag(&mut self) -> Result<bool> {
        self.byte().map(|byte| byte != 0)
    }

    /// The text of a `writeUTF`; other than plain UTF-8 it has pairs of surrogates and a long zero.
    pub fn text(&mut self) -> Result<String> {
        let length = usize::from(self.short()? as u16);
        let bytes = self.bytes(length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => modified_utf8(bytes),
        }
    }
}

/// Java's modified UTF-8: units of UTF-16, each of one to three bytes.
fn modified_utf8(bytes: &[u8]) -> Result<String> {
    let wrong = || Error::corrupt("a name in a file index is not text");
    let mut units = vec![];
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        let (more, bits) = match first {
            0x00..=0x7f => (0, first),
            0xc0..=0xdf => (1, first & 0x1f),
            0xe0..=0xef => (2, first & 0x0f),
            _ => return Err(wrong()),
        };
        let (continued, tail) = tail.split_at_checked(more).ok_or_else(wrong)?;
        units.push(continued.iter().fold(u16::from(bits), |unit, byte| (unit << 6) | u16::from(byte & 0x3f)));
        rest = tail;
    }
    String::from_utf16(&units).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_first_plane_are_pairs() {
        let pair = [0, 6, 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80];
        assert_eq!(Cursor::new(&pair).text().unwrap(), "😀");
        assert_eq!(Cursor::new(&[0, 2, 0xc3, 0xa4]).text().unwrap(), "ä");
        assert_eq!(Cursor::new(&[0, 2, 0xc0, 0x80]).text().unwrap(), "\0");
        for wrong in [&[0, 1, 0xff][..], &[0, 1, 0xe0], &[0, 9, b'a'], &[0]] {
            assert!(Cursor::new(wrong).text().is_err());
        }
    }
}
