//! One block of a row file.
//!
//! In: its compressed bytes. Out: the wanted values of its rows. The output grows with what was truly decompressed.
//!
//! ```text
//! row 0 │ row 1 │ … │ i32 offset of row 0 │ i32 offset of row 1 │ … │ i32 rows        little-endian, zstd around it
//! ```
//! Java (after 1.4): `RowBlockWriter`.

use std::io::Read;

use super::cursor::Cursor;
use super::footer::Block;
use super::value::RowReader;
use crate::error::{Error, Result};
use crate::spec::datum::Datum;

const OFFSET_BYTES: usize = 4;

/// The rows of one block.
pub(super) struct BlockRows {
    plain: Vec<u8>,
    rows: usize,
}

impl BlockRows {
    /// Decompresses a block and finds its rows.
    pub(super) fn new(block: &Block, compressed: &[u8]) -> Result<Self> {
        let broken = |e: std::io::Error| Error::corrupt(format!("a block cannot be decompressed: {e}"));
        let mut plain = vec![];
        let reader = zstd::stream::read::Decoder::with_buffer(compressed).map_err(broken)?;
        reader.take(block.plain_bytes.saturating_add(1)).read_to_end(&mut plain).map_err(broken)?;
        if plain.len() as u64 != block.plain_bytes {
            let message = format!("a block of {} bytes, the index says {}", plain.len(), block.plain_bytes);
            return Err(Error::corrupt(message));
        }
        let tail = plain.len().checked_sub(OFFSET_BYTES).and_then(|at| plain.get(at..)).unwrap_or_default();
        let rows = Cursor::new(tail).i32()?;
        if u64::try_from(rows).ok() != Some(block.rows.end - block.rows.start) {
            let want = block.rows.end - block.rows.start;
            return Err(Error::corrupt(format!("a block of {rows} rows, the index says {want}")));
        }
        let rows = usize::try_from(rows).map_err(|_| Error::corrupt("a negative number of rows"))?;
        match rows.checked_add(1).and_then(|n| n.checked_mul(OFFSET_BYTES)).is_some_and(|n| n <= plain.len()) {
            true => Ok(Self { plain, rows }),
            false => Err(Error::corrupt(format!("a block of {rows} rows in {} bytes", plain.len()))),
        }
    }

    /// Its size.
    pub(super) fn bytes(&self) -> usize {
        self.plain.len()
    }

    /// The number of its rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The wanted values of one row.
    pub(super) fn row(&self, at: usize, reader: &RowReader) -> Result<Vec<Option<Datum>>> {
        let offsets = self.plain.len().saturating_sub((self.rows + 1) * OFFSET_BYTES);
        let offset = self.plain.get(offsets + at * OFFSET_BYTES..).unwrap_or_default();
        let offset = Cursor::new(offset).i32()?;
        let row = usize::try_from(offset).ok().and_then(|from| self.plain.get(from..offsets));
        let row = row.ok_or_else(|| Error::corrupt(format!("row {at} of a block begins at {offset}")))?;
        reader.read(&mut Cursor::new(row))
    }
}
