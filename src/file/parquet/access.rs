//! Which rows and bytes of a file are read.
//!
//! In: a footer, the leaves that are wanted, a range of the file and a selection of its rows. Out: the row groups whose
//! first byte is in the range and of which a row is wanted, after a check that what the decoder will ask for lies inside
//! the file.

use std::ops::Range;

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::footer::Footer;
use crate::error::{Error, Result};
use crate::selection::RowSelection;

/// The row groups that are read, and their rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    /// Positions of the row groups, ascending.
    pub row_groups: Vec<usize>,
    /// Wanted rows of each of them.
    pub rows: Vec<usize>,
    /// A bit for each row of the row groups, laid end to end; `None` where all are wanted.
    pub selection: Option<BooleanBuffer>,
}

impl Access {
    /// The row groups that begin in `range` (all of them without one) and hold rows of `wanted`.
    pub fn new(
        footer: &Footer,
        leaves: &[usize],
        range: Option<&Range<u64>>,
        wanted: Option<&RowSelection>,
    ) -> Result<Self> {
        let mut access = Self::default();
        let mut bits = BooleanBufferBuilder::new(0);
        let mut all_wanted = true;
        let mut first_row = 0usize;
        for (position, group) in footer.metadata.row_groups().iter().enumerate() {
            let rows = usize::try_from(group.num_rows());
            let rows = rows.map_err(|_| Error::corrupt("the number of rows of a row group is negative"))?;
            let group_rows = first_row..first_row.saturating_add(rows);
            first_row = group_rows.end;
            if range.is_some_and(|range| !range.contains(&first_byte(group))) {
                continue;
            }
            let some = wanted.and_then(|wanted| wanted.slice(group_rows));
            let wanted_rows = some.as_ref().map_or(rows, BooleanBuffer::count_set_bits);
            if wanted_rows == 0 && rows > 0 {
                continue;
            }
            check(group, leaves, footer.size_bytes)?;
            all_wanted &= some.is_none();
            if wanted.is_some() {
                match some {
                    Some(some) => bits.append_buffer(&some),
                    None => bits.append_n(rows, true),
                }
            }
            access.rows.push(wanted_rows);
            access.row_groups.push(position);
        }
        access.selection = (!all_wanted).then(|| bits.finish());
        Ok(access)
    }
}

/// Where the first column begins; 0 for a row group without columns, so that one range has it.
fn first_byte(group: &RowGroupMetaData) -> u64 {
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
