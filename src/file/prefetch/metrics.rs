//! What is counted of reading ahead: [`PrefetchMetrics`], one set per output partition.

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};

/// Counters of reading ahead.
#[derive(Debug, Clone)]
pub struct PrefetchMetrics {
    /// Ranges of files that were sent for.
    pub ranges: Count,
    /// Bytes of these ranges, without those that came along between them.
    pub bytes_wanted: Count,
    /// Ranges that were there when they were needed.
    pub hits: Count,
    /// Ranges that were waited for.
    pub waits: Count,
    /// Ranges whose fetch ahead failed, and which were fetched again when they were needed.
    pub retries: Count,
    /// Files that were opened, or whose first range was sent for, before they were needed, and then read.
    pub warmed_used: Count,
    /// The same, but not read.
    pub warmed_wasted: Count,
    /// Files that were not read ahead because they would not profit.
    pub stepped_aside: Count,
    /// Spent waiting for ranges.
    pub time_blocked: Time,
}

impl PrefetchMetrics {
    /// Registers the metrics of output partition `partition`.
    pub fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name: &'static str| MetricBuilder::new(set).counter(name, partition);
        Self {
            ranges: count("read_ranges"),
            bytes_wanted: count("bytes_wanted"),
            hits: count("prefetch_hits"),
            waits: count("prefetch_waits"),
            retries: count("prefetch_retries"),
            warmed_used: count("warmed_files_used"),
            warmed_wasted: count("warmed_files_wasted"),
            stepped_aside: count("prefetch_adaptive_disabled"),
            time_blocked: MetricBuilder::new(set).subset_time("time_blocked_on_io", partition),
        }
    }
}

impl Default for PrefetchMetrics {
    fn default() -> Self {
        Self::new(&ExecutionPlanMetricsSet::new(), 0)
    }
}
