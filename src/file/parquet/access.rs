//! Which rows and bytes of a file are read.
//!
//! In: a footer, the leaves that are wanted, and a range of the file. Out: the row groups whose first byte is in the
//! range, after a check that what the decoder will ask for lies inside the file.

use std::ops::Range;

use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::footer::Footer;
use crate::error::{Error, Result};

/// The row groups that are read, and their rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    /// Positions of the row groups, ascending.
    pub row_groups: Vec<usize>,
    /// Rows of each of them.
    pub rows: Vec<usize>,
}

impl Access {
    /// The row groups that begin in `range`, all of them without one.
    pub fn of_range(footer: &Footer, leaves: &[usize], range: Option<&Range<u64>>) -> Result<Self> {
        let mut access = Self::default();
        for (position, group) in footer.metadata.row_groups().iter().enumerate() {
            if range.is_some_and(|range| !range.contains(&first_byte(group))) {
                continue;
            }
            check(group, leaves, footer.size_bytes)?;
            let rows = usize::try_from(group.num_rows());
            access.rows.push(rows.map_err(|_| Error::corrupt("the number of rows of a row group is negative"))?);
            access.row_groups.push(position);
        }
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
