//! What narrows the read of a file to fewer rows than it has: [`Narrowing`].
//!
//! Two ways, which go together. A [`FilePredicate`] lets a reader pass over row groups and pages of which statistics say
//! that no row fulfils it; rows that do not fulfil it may still come out. A [`RowFilter`] is applied to every row: only
//! those it wants come out, and a reader may leave the other columns of the rest undecoded. Which rows were left can be
//! told to [`FoundRows`].

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use datafusion::config::ConfigOptions;

use super::file_predicate::FilePredicate;
use super::prune_metrics::PruneMetrics;
use crate::error::Result;
use crate::spec::data_type::DataField;

/// How a read is narrowed; by default not at all.
#[derive(Debug, Clone, Default)]
pub struct Narrowing {
    /// What statistics are asked for.
    pub predicate: Option<FilePredicate>,
    /// What every row must fulfil; all of them, in this order.
    pub row_filters: Vec<Arc<dyn RowFilter>>,
    /// Which statistics are asked.
    pub switches: PruneSwitches,
    /// Where it is counted what was passed over.
    pub metrics: PruneMetrics,
    /// Who wants to know which rows it leaves.
    pub found: Option<Arc<dyn FoundRows>>,
}

/// Is told which rows of a file a [`Narrowing`] leaves, once the file was read to its end; by readers that know it.
pub trait FoundRows: Debug + Send + Sync {
    /// More rows than so many are not wanted to be known.
    fn most(&self) -> usize;

    /// The positions in the file of all rows that came out or could have, ascending.
    fn found(&self, positions: &[u64]);
}

/// Says of each row of a file whether it is wanted.
pub trait RowFilter: Debug + Send + Sync {
    /// The columns it looks at, of the file's own schema.
    fn fields(&self) -> &[DataField];

    /// True, never NULL, for each wanted row of a batch of exactly these columns.
    fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray>;

    /// Whether it must be asked; else it only spares work, and its rows are looked at again later.
    fn is_needed(&self) -> bool {
        true
    }
}

/// Which statistics are asked; settings of DataFusion's Parquet reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneSwitches {
    /// Minima, maxima and NULLs of row groups: `datafusion.execution.parquet.pruning`.
    pub statistics: bool,
    /// The same of pages: `datafusion.execution.parquet.enable_page_index`.
    pub page_index: bool,
    /// Bloom filters: `datafusion.execution.parquet.bloom_filter_on_read`.
    pub bloom_filters: bool,
    /// The longest IN list that is compared with statistics: `datafusion.execution.parquet.max_in_list_size`.
    pub max_in_list_size: usize,
}

impl PruneSwitches {
    /// What a session says.
    pub fn of(config: &ConfigOptions) -> Self {
        let parquet = &config.execution.parquet;
        Self {
            statistics: parquet.pruning,
            page_index: parquet.pruning && parquet.enable_page_index,
            bloom_filters: parquet.pruning && parquet.bloom_filter_on_read,
            max_in_list_size: parquet.max_in_list_size,
        }
    }
}

impl Default for PruneSwitches {
    fn default() -> Self {
        Self::of(&ConfigOptions::default())
    }
}
