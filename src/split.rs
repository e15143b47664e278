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
    /// The partition's values, as a serialized `BinaryRow`.
    pub partition: Arc<[u8]>,
    /// The bucket's number.
    pub bucket: i32,
    /// How many buckets the partition had when the files were written.
    pub total_buckets: i32,
    /// The files, in the order in which they are read.
    pub files: Vec<SplitFile>,
}

/// One data file of a split, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitFile {
    /// The full path or URL of the file.
    pub path: String,
    /// What the manifest says of it.
    pub meta: Arc<DataFileMeta>,
    /// Only the row groups, stripes or blocks that begin in this range of bytes; `None` = the whole file.
    pub range: Option<Range<u64>>,
}
