//! The end of a row file: where its blocks lie and which rows they hold.
//!
//! In: the bytes of the file's tail. Out: a [`Footer`] whose blocks lie one behind the other before the index, and whose
//! rows are numbered without a gap.
//!
//! ```text
//! block 0 │ block 1 │ … │ index │ footer, 32 bytes
//! index:  3 × (varint length, delta varints): compressed sizes, plain sizes, first rows of the blocks
//! footer: i64 rows, i32 blocks, i64 index offset, i32 index length, u8 version = 1, 3 zeros, "SWOR"
//! ```
//! All little-endian. Java (after 1.4): `RowFileFooter`, `RowBlockIndex`.

use std::ops::Range;

use super::cursor::Cursor;
use crate::error::{Error, Result};

/// The size of the footer.
pub(super) const FOOTER_BYTES: u64 = 32;

const MAGIC: [u8; 4] = *b"SWOR";
const VERSION: u8 = 1;

/// The largest block, decompressed.
const MAX_BLOCK_BYTES: u64 = 1 << 31;

/// What the file's end says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footer {
    rows: u64,
    blocks: u64,
    index_offset: u64,
    index_bytes: u64,
}

/// One block of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Where it lies in the file, compressed.
    pub(super) bytes: Range<u64>,
    /// Its size, decompressed.
    pub(super) plain_bytes: u64,
    /// The positions of its rows in the file.
    pub(super) rows: Range<u64>,
}

impl Footer {
    /// Reads the last [`FOOTER_BYTES`] of a file of `file_bytes`.
    pub(super) fn parse(footer: &[u8], file_bytes: u64) -> Result<Self> {
        let mut cursor = Cursor::new(footer);
        let rows = natural("rows", cursor.i64()?)?;
        let blocks = natural("blocks", cursor.i32()?.into())?;
        let index_offset = natural("index offset", cursor.i64()?)?;
        let index_bytes = natural("index length", cursor.i32()?.into())?;
        let version = cursor.u8()?;
        cursor.take(3)?;
        let magic = cursor.take(MAGIC.len())?;
        if magic != MAGIC {
            return Err(Error::corrupt(format!("expected a row file, it ends in '{}'", magic.escape_ascii())));
        }
        if version != VERSION {
            return Err(Error::unsupported(format!("row files of version {version}")));
        }
        let end = index_offset.checked_add(index_bytes);
        if end.is_none_or(|end| end.checked_add(FOOTER_BYTES).is_none_or(|end| end > file_bytes)) {
            let place = format!("{index_bytes} bytes at {index_offset}");
            return Err(Error::corrupt(format!("the block index, {place}, is not in the file of {file_bytes} bytes")));
        }
        Ok(Self { rows, blocks, index_offset, index_bytes })
    }

    /// Where the index lies.
    pub(super) fn index(&self) -> Range<u64> {
        self.index_offset..self.index_offset.saturating_add(self.index_bytes)
    }

    /// The blocks, from the bytes of the index.
    pub(super) fn blocks(&self, index: &[u8]) -> Result<Vec<Block>> {
        let mut cursor = Cursor::new(index);
        let sizes = self.numbers("compressed sizes", &mut cursor)?;
        let plain_sizes = self.numbers("plain sizes", &mut cursor)?;
        let first_rows = self.numbers("first rows", &mut cursor)?;
        let ends = first_rows.iter().skip(1).copied().chain([self.rows]);
        let mut blocks = Vec::with_capacity(sizes.len());
        let (mut offset, mut row) = (0u64, 0u64);
        for (((size, plain_bytes), first_row), end_row) in sizes.iter().zip(plain_sizes).zip(&first_rows).zip(ends) {
            let end = offset.checked_add(*size).filter(|end| *end <= self.index_offset);
            let end = end.ok_or_else(|| Error::corrupt("the blocks reach into the block index"))?;
            if *first_row != row || end_row < row {
                return Err(Error::corrupt("the rows of the blocks do not follow one another"));
            }
            if plain_bytes > MAX_BLOCK_BYTES {
                return Err(Error::corrupt(format!("a block of {plain_bytes} bytes")));
            }
            blocks.push(Block { bytes: offset..end, plain_bytes, rows: row..end_row });
            (offset, row) = (end, end_row);
        }
        if row != self.rows {
            return Err(Error::corrupt(format!("the blocks have {row} rows, the file {}", self.rows)));
        }
        Ok(blocks)
    }

    /// One array of the index, a number for each block.
    fn numbers(&self, what: &str, cursor: &mut Cursor<'_>) -> Result<Vec<u64>> {
        let length = cursor.length()?;
        let mut deltas = Cursor::new(cursor.take(length)?);
        let (mut numbers, mut last) = (vec![], 0i64);
        while !deltas.is_empty() {
            last = last.wrapping_add(deltas.zigzag()?);
            numbers.push(natural(what, last)?);
        }
        match numbers.len() as u64 == self.blocks {
            true => Ok(numbers),
            false => Err(Error::corrupt(format!("{} {what} of {} blocks", numbers.len(), self.blocks))),
        }
    }
}

fn natural(what: &str, value: i64) -> Result<u64> {
    u64::try_from(value).map_err(|_| Error::corrupt(format!("a negative number in the footer: {what} {value}")))
}
