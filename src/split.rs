//! The contract between planning and reading: [`DataSplit`].
//!
//! A split is self-contained: paths, sizes, schema ids and deletion ranges, no handle to a live table. `plan/` makes
//! splits, `exec/` reads them; neither knows the other.

use std::ops::Range;
use std::sync::Arc;

use crate::spec::data_file::DataFileMeta;

/// Files of one bucket of one partition that are read together.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSplit {
    /// The snapshot that the files belong to.
    pub snapshot_id: i64,
    /// The branch whose schemas the files' schema ids are of; `None` for the table's own.
    pub branch: Option<Arc<str>>,
    /// The partition's values, as a serialized `BinaryRow`.
    pub partition: Arc<[u8]>,
    /// The bucket's number.
    pub bucket: i32,
    /// How many buckets the partition had when the files were written.
    pub total_buckets: i32,
    /// Files of which every row, but for deletion vectors, is a row of the table.
    pub files: Vec<SplitFile>,
    /// Files of a primary-key table that hold several versions of keys.
    pub sections: Vec<Section>,
}

/// Files whose key ranges overlap: all versions of their keys, and of no others.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Each run's files do not overlap and are in key order.
    pub runs: Vec<Vec<SplitFile>>,
}

/// One data file of a split, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitFile {
    /// The full path or URL of the file.
    pub path: String,
    /// What the manifest says of it.
    pub meta: Arc<DataFileMeta>,
    /// Which of its rows are deleted.
    pub deletion: Option<DeletionFile>,
    /// Only the row groups, stripes or blocks that begin in this range of bytes; `None` = the whole file.
    pub range: Option<Range<u64>>,
}

/// Where the deletion vector of a data file lies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeletionFile {
    /// The full path or URL of the index file.
    pub path: String,
    /// The size of the index file.
    pub file_size_bytes: u64,
    /// Where the vector begins in it, its length prefix included.
    pub offset: u64,
    /// The length that the index manifest says.
    pub length: u64,
    /// How many rows are deleted, where the writer said so.
    pub cardinality: Option<i64>,
}

impl DataSplit {
    /// All files, those of sections included.
    pub fn all_files(&self) -> impl Iterator<Item = &SplitFile> {
        self.files.iter().chain(self.sections.iter().flat_map(|s| s.runs.iter().flatten()))
    }
}
