//! Marks rows of the files of a section: [`Marks`].
//!
//! In: rows of files, each file's in about ascending order. Out: for each file a [`RowSelection`] of the marked ones.

use std::ops::Range;

use arrow::array::BooleanBufferBuilder;

use super::tournament::{KeyBatch, Positions};
use crate::error::{Error, Result};
use crate::selection::RowSelection;
use crate::spec::row_kind::RowKind;

/// The marked rows of the files of a section.
pub struct Marks {
    files: Vec<FileBits>,
}

/// The bits of one file, as far as its rows were heard of.
struct FileBits {
    rows: usize,
    bits: BooleanBufferBuilder,
}

impl FileBits {
    /// Rows that were passed over are not marked.
    fn mark(&mut self, rows: Range<usize>) -> Result<()> {
        if rows.end > self.rows {
            return Err(Error::corrupt(format!("has more rows than the {} that its manifest says", self.rows)));
        }
        let known = self.bits.len();
        if known < rows.start {
            self.bits.append_n(rows.start - known, false);
        }
        let marked = rows.end.min(self.bits.len());
        (rows.start..marked).for_each(|row| self.bits.set_bit(row, true));
        self.bits.append_n(rows.end.saturating_sub(self.bits.len()), true);
        Ok(())
    }

    fn finish(mut self) -> RowSelection {
        self.bits.append_n(self.rows.saturating_sub(self.bits.len()), false);
        RowSelection::new(self.bits.finish())
    }
}

impl Marks {
    /// No marks in files with the given numbers of rows.
    pub fn new(rows: impl IntoIterator<Item = usize>) -> Self {
        let file = |rows| FileBits { rows, bits: BooleanBufferBuilder::new(rows) };
        Self { files: rows.into_iter().map(file).collect() }
    }

    /// Marks rows of a file by their positions.
    pub fn mark(&mut self, file: usize, rows: Range<usize>) -> Result<()> {
        let bits = self.files.get_mut(file);
        bits.ok_or_else(|| Error::internal(format!("the section has no file {file}")))?.mark(rows)
    }

    /// Marks those of a range of rows of a batch that are adds.
    pub fn mark_adds(&mut self, batch: &KeyBatch, rows: Range<usize>) -> Result<()> {
        for run in add_runs(&batch.kinds, rows) {
            match &batch.positions {
                Positions::From(first) => self.mark(batch.file, first + run.start..first + run.end)?,
                positions => run.map(|row| positions.at(row)).try_for_each(|at| self.mark(batch.file, at..at + 1))?,
            }
        }
        Ok(())
    }

    /// The marked rows of each file.
    pub fn finish(self) -> Vec<RowSelection> {
        self.files.into_iter().map(FileBits::finish).collect()
    }
}

/// The ranges of rows, within a range, whose kinds are adds.
fn add_runs(kinds: &[RowKind], rows: Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = vec![];
    for row in rows {
        if kinds.get(row).is_none_or(|kind| kind.is_retract()) {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.end == row => run.end = row + 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}
