//! Which rows and bytes of a file are read.
//!
//! In: a footer, the leaves that are wanted, a range of the file and a selection of its rows. Out: the row groups, or parts
//! of them, that belong to the range and of which a row is wanted, after a check that what the decoder will ask for
//! lies inside the file.

use std::ops::Range;

use arrow::buffer::BooleanBuffer;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::footer::Footer;
use super::pieces;
use crate::error::{Error, Result};
use crate::selection::RowSelection;

/// A row group that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// Its position in the file.
    pub position: usize,
    /// The position of its first row in the file.
    pub first_row: u64,
    /// How many rows it has.
    pub rows: usize,
    /// A bit for each of them; `None` where all are wanted.
    pub selection: Option<BooleanBuffer>,
    /// Whether statistics of its pages have left few of its wanted rows.
    pub few_pages: bool,
}

impl Group {
    /// How many of its rows are wanted.
    pub fn wanted_rows(&self) -> usize {
        self.selection.as_ref().map_or(self.rows, BooleanBuffer::count_set_bits)
    }

    /// The same row group, of which only rows whose bit is set are wanted; `None` where none is left.
    pub fn narrowed(self, bits: &BooleanBuffer) -> Option<Self> {
        let selection = match self.selection {
            Some(selection) => &selection & bits,
            None => bits.clone(),
        };
        (selection.count_set_bits() > 0).then(|| Self { selection: Some(selection), ..self })
    }
}

/// The row groups that belong to `range` (all of them without one) and hold rows of `wanted`, in the file's order.
pub(super) fn row_groups(
    footer: &Footer,
    leaves: &[usize],
    range: Option<&Range<u64>>,
    wanted: Option<&RowSelection>,
) -> Result<Vec<Group>> {
    let mut groups = vec![];
    let mut first_row = 0usize;
    for (position, group) in footer.metadata.row_groups().iter().enumerate() {
        let rows = usize::try_from(group.num_rows());
        let rows = rows.map_err(|_| Error::corrupt("the number of rows of a row group is negative"))?;
        let group_rows = first_row..first_row.saturating_add(rows);
        let first = first_row as u64;
        first_row = group_rows.end;
        let in_range = range.map_or(0..rows, |range| pieces::rows_in_range(group, rows, range));
        if range.is_some_and(|range| in_range.is_empty() && (rows > 0 || !range.contains(&first_byte(group)))) {
            continue;
        }
        let selection = wanted.and_then(|wanted| wanted.slice(group_rows));
        let mut some = Group { position, first_row: first, rows, selection, few_pages: false };
        if in_range != (0..rows) {
            let Some(part) = some.narrowed(&pieces::bits(rows, &in_range)) else { continue };
            some = part;
        }
        if some.wanted_rows() == 0 && rows > 0 {
            continue;
        }
        check(group, leaves, footer.size_bytes)?;
        groups.push(some);
    }
    Ok(groups)
}

/// Where the first column begins; 0 for a row group without columns, so that one range has it.
pub(super) fn first_byte(group: &RowGroupMetaData) -> u64 {
    group.columns().first().map_or(0, |chunk| u64::try_from(start(chunk)).unwrap_or(0))
}

/// The decoder reads from here on.
fn start(chunk: &ColumnChunkMetaData) -> i64 {
    chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset())
}

fn check(group: &RowGroupMetaData, leaves: &[usize], size_bytes: u64) -> Result<()> {
    for leaf in leaves {
        let chunk = group.columns().get(*leaf).ok_or_else(|| Error::corrupt("a row group lacks a column"))?;
        let (start, length) = (start(chunk), chunk.compressed_size());
        let end = start.checked_add(length).and_then(|end| u64::try_from(end).ok());
        if start < 0 || length < 0 || end.is_none_or(|end| end > size_bytes) {
            let column = chunk.column_path();
            let message = format!("column {column} has {length} bytes at {start}, in a file of {size_bytes}");
            return Err(Error::corrupt(message));
        }
    }
    Ok(())
}
