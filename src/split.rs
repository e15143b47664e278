//! The contract between planning and reading: [`DataSplit`].
//!
//! A split is self-contained: paths, sizes, schema ids and deletion ranges, no handle to a live table. `plan/` makes
//! splits, `exec/` reads them; neither knows the other. The [`Splits`] of many files are made when they are asked for.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::error::Result;
use crate::spec::column_range::ColumnRange;
use crate::spec::data_file::DataFileMeta;
use crate::spec::data_type::DataField;

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
    /// How many buckets the partition had when the files were written; -1 where that is not one number.
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

/// Splits that are yet to be made: of files that are read whole, of which no row is deleted or merged.
pub trait DeferredSplits: Send + Sync {
    /// What is known of all of them.
    fn summary(&self) -> SplitSummary;

    /// Makes them.
    fn make(&self) -> Result<Vec<DataSplit>>;

    /// Their partitions, each with its number of rows.
    fn partitions(&self) -> &[(Arc<[u8]>, usize)];

    /// What values columns of the table's own branch have, about; no range is too narrow.
    fn ranges(&self, columns: &[DataField]) -> Vec<ColumnRange>;
}

/// The splits of a scan: a summary, and the splits themselves, which may be yet to be made.
#[derive(Clone)]
pub struct Splits(Arc<Inner>);

struct Inner {
    made: OnceLock<Arc<[DataSplit]>>,
    deferred: Option<(SplitSummary, Box<dyn DeferredSplits>)>,
}

/// What is known of splits that are not made yet: of files that are read whole, of which no row is deleted or merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SplitSummary {
    /// How many files there are.
    pub files: usize,
    /// How many partitions they are of.
    pub partitions: usize,
    /// How many rows they have.
    pub rows: usize,
    /// How many bytes they have.
    pub bytes: usize,
}

impl Splits {
    /// Splits that are there.
    pub fn new(splits: Vec<DataSplit>) -> Self {
        Self(Arc::new(Inner { made: OnceLock::from(Arc::from(splits)), deferred: None }))
    }

    /// Splits that are made when they are asked for first.
    pub fn deferred(splits: Box<dyn DeferredSplits>) -> Self {
        Self(Arc::new(Inner { made: OnceLock::new(), deferred: Some((splits.summary(), splits)) }))
    }

    /// The splits that are yet to be made; `None` where they were not deferred.
    pub fn to_be_made(&self) -> Option<&dyn DeferredSplits> {
        self.0.deferred.as_ref().map(|(_, splits)| splits.as_ref())
    }

    /// The splits.
    pub fn get(&self) -> Result<&Arc<[DataSplit]>> {
        if let Some(made) = self.0.made.get() {
            return Ok(made);
        }
        let made = self.0.deferred.as_ref().map_or(Ok(vec![]), |(_, splits)| splits.make())?;
        Ok(self.0.made.get_or_init(|| made.into()))
    }

    /// What is known without making them; `None` where they were not deferred.
    pub fn summary(&self) -> Option<SplitSummary> {
        self.0.deferred.as_ref().map(|(summary, _)| *summary)
    }

    /// The splits, where they were not deferred; nothing otherwise.
    pub fn ready(&self) -> &[DataSplit] {
        match &self.0.deferred {
            None => self.0.made.get().map(|made| made.as_ref()).unwrap_or_default(),
            Some(_) => &[],
        }
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        let counted = || self.ready().iter().map(|split| split.all_files().count()).sum();
        self.summary().map_or_else(counted, |summary| summary.files)
    }

    /// How many partitions the files are of.
    pub fn partitions(&self) -> usize {
        let counted = || self.ready().iter().map(|split| &split.partition).collect::<HashSet<_>>().len();
        self.summary().map_or_else(counted, |summary| summary.partitions)
    }

    /// How many bytes the files have.
    pub fn bytes(&self) -> usize {
        let size = |file: &SplitFile| usize::try_from(file.meta.file_size).unwrap_or(0);
        let summed = || self.ready().iter().flat_map(DataSplit::all_files).map(size).sum();
        self.summary().map_or_else(summed, |summary| summary.bytes)
    }
}

impl Default for Splits {
    fn default() -> Self {
        Self::new(vec![])
    }
}

impl fmt::Debug for Splits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Splits").field("files", &self.files()).finish_non_exhaustive()
    }
}
