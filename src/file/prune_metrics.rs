//! What is counted of rows that are not read: [`PruneMetrics`].
//!
//! The names are those of DataFusion's Parquet reader, so that plans read alike; one set per output partition.

use datafusion::physical_plan::metrics::{
    Count, ExecutionPlanMetricsSet, MetricBuilder, MetricType, PruningMetrics, Time,
};

/// Counters of what predicates spared a scan.
#[derive(Debug, Clone)]
pub struct PruneMetrics {
    /// Files, or parts of files, that were not opened, or were.
    pub files: PruningMetrics,
    /// Files, or parts of files, of which it was known that no row fulfils the conditions.
    pub known_files: PruningMetrics,
    /// Files, or parts of files, by their file indexes.
    pub index_files: PruningMetrics,
    /// Rows of them, by those indexes that know rows.
    pub index_rows: PruningMetrics,
    /// File indexes that were not there; nothing is passed over then.
    pub index_missing: Count,
    /// File indexes that could not be used; nothing is passed over then.
    pub index_errors: Count,
    /// Row groups, by their statistics.
    pub row_groups: PruningMetrics,
    /// Row groups, by their Bloom filters.
    pub row_groups_bloom: PruningMetrics,
    /// Row groups that a predicate passed over because it changed after the file was opened.
    pub row_groups_dynamic: Count,
    /// Rows, by the statistics of their pages.
    pub page_rows: PruningMetrics,
    /// Rows that a row filter took away.
    pub rows_pruned: Count,
    /// Rows that a row filter left.
    pub rows_matched: Count,
    /// Spent in row filters.
    pub time_row_filter: Time,
    /// Spent asking statistics.
    pub time_statistics: Time,
    /// Statistics that could not be asked; nothing is passed over then.
    pub errors: Count,
}

impl PruneMetrics {
    /// Registers the metrics of output partition `partition`.
    pub fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let builder = || MetricBuilder::new(set);
        let pruning = |name| builder().with_type(MetricType::Summary).pruning_metrics(name, partition);
        let count = |name: &'static str| builder().counter(name, partition);
        let time = |name: &'static str| builder().subset_time(name, partition);
        Self {
            files: pruning("files_ranges_pruned_statistics"),
            known_files: pruning("files_ranges_pruned_known_rows"),
            index_files: pruning("files_ranges_pruned_file_index"),
            index_rows: pruning("file_index_rows_pruned"),
            index_missing: count("file_index_missing"),
            index_errors: count("file_index_errors"),
            row_groups: pruning("row_groups_pruned_statistics"),
            row_groups_bloom: pruning("row_groups_pruned_bloom_filter"),
            row_groups_dynamic: count("row_groups_pruned_dynamic_filter"),
            page_rows: pruning("page_index_rows_pruned"),
            rows_pruned: count("pushdown_rows_pruned"),
            rows_matched: count("pushdown_rows_matched"),
            time_row_filter: time("row_pushdown_eval_time"),
            time_statistics: time("statistics_eval_time"),
            errors: count("predicate_evaluation_errors"),
        }
    }
}

impl Default for PruneMetrics {
    fn default() -> Self {
        Self::new(&ExecutionPlanMetricsSet::new(), 0)
    }
}

/// Counts how many of `before` things are left.
pub fn count_left(metrics: &PruningMetrics, before: usize, left: usize) {
    metrics.add_pruned(before.saturating_sub(left));
    metrics.add_matched(left);
}
