//! Marks rows of the files of a section: [`Marks`].
//!
//! In: rows of files, in any order. Out: for each file a [`RowSelection`] of the marked ones.

use std::ops::Range;

use arrow::buffer::{BooleanBuffer, Buffer};

use super::tournament::{KeyBatch, Positions};
use crate::error::{Error, Result};
use crate::selection::RowSelection;

const WORD_BITS: usize = u64::BITS as usize;

/// The marked rows of the files of a section.
pub struct Marks {
    files: Vec<FileBits>,
}

/// The bits of one file, as far as rows were marked: what a manifest says of rows is not relied on for memory.
struct FileBits {
    rows: usize,
    words: Vec<u64>,
}

impl FileBits {
    fn new(rows: usize) -> Self {
        Self { rows, words: vec![] }
    }

    fn mark(&mut self, rows: Range<usize>) -> Result<()> {
        let Some(last) = rows.end.checked_sub(1).filter(|_| !rows.is_empty()) else { return Ok(()) };
        if last >= self.rows {
            return Err(Error::corrupt(format!("has more rows than the {} that its manifest says", self.rows)));
        }
        let (first_word, last_word) = (rows.start / WORD_BITS, last / WORD_BITS);
        if last_word >= self.words.len() {
            self.words.resize(last_word + 1, 0);
        }
        for (at, word) in self.words.iter_mut().enumerate().skip(first_word).take(last_word + 1 - first_word) {
            let low = if at == first_word { u64::MAX << (rows.start % WORD_BITS) } else { u64::MAX };
            let high = if at == last_word { u64::MAX >> (WORD_BITS - 1 - last % WORD_BITS) } else { u64::MAX };
            *word |= low & high;
        }
        Ok(())
    }

    fn finish(self) -> RowSelection {
        let rows = self.rows.min(self.words.len() * WORD_BITS);
        RowSelection::new(BooleanBuffer::new(Buffer::from_vec(self.words), 0, rows))
    }
}

impl Marks {
    /// No marks in files with the given numbers of rows.
    pub fn new(rows: impl IntoIterator<Item = usize>) -> Self {
        Self { files: rows.into_iter().map(FileBits::new).collect() }
    }

    fn file(&mut self, file: usize) -> Result<&mut FileBits> {
        self.files.get_mut(file).ok_or_else(|| Error::internal(format!("the section has no file {file}")))
    }

    /// Marks a row of a file by its position.
    pub fn mark(&mut self, file: usize, row: usize) -> Result<()> {
        self.file(file)?.mark(row..row.saturating_add(1))
    }

    /// Marks those of a range of rows of a batch that are adds.
    pub fn mark_adds(&mut self, batch: &KeyBatch, rows: Range<usize>) -> Result<()> {
        let bits = self.file(batch.file)?;
        match &batch.positions {
            Positions::From(first) if batch.kinds.are_adds() => bits.mark(first + rows.start..first + rows.end),
            positions => {
                let adds = rows.filter(|row| batch.kinds.at(*row).is_add());
                adds.map(|row| positions.at(row)).try_for_each(|row| bits.mark(row..row.saturating_add(1)))
            }
        }
    }

    /// The memory they hold, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.files.iter().map(|file| file.words.capacity() * size_of::<u64>()).sum()
    }

    /// The marked rows of each file.
    pub fn finish(self) -> Vec<RowSelection> {
        self.files.into_iter().map(FileBits::finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_and_rows_are_marked(rows in 0usize..300, ranges in proptest::collection::vec((0usize..300, 0usize..150), 0..6)) {
            let (mut bits, mut want) = (FileBits::new(rows), vec![false; rows]);
            for (start, length) in ranges {
                let range = start..start + length;
                let fits = range.is_empty() || range.end <= rows;
                prop_assert_eq!(bits.mark(range.clone()).is_ok(), fits);
                if fits {
                    range.for_each(|row| want[row] = true);
                }
            }
            let selection = bits.finish();
            let got: Vec<bool> = (0..rows).map(|row| selection.slice(row..row + 1).is_none()).collect();
            prop_assert_eq!(got, want);
        }
    }
}
