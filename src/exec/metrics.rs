//! What `EXPLAIN ANALYZE` shows of a scan, one set per output partition.

use std::sync::Arc;

use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, Time};

use crate::file::PruneMetrics;
use crate::file::prefetch::PrefetchMetrics;
use crate::storage::IoStats;

/// The metrics of one output partition.
#[derive(Debug)]
pub struct ScanMetrics {
    /// Rows, batches, and the time spent in this operator.
    pub baseline: BaselineMetrics,
    /// Files (or parts of files) that were opened.
    pub files_opened: Count,
    /// From asking for a file until its first batch can be asked for.
    pub time_opening: Time,
    /// Spent decoding and mapping batches.
    pub time_decoding: Time,
    /// What was not read.
    pub pruned: PruneMetrics,
    /// How reading ahead went.
    pub prefetch: PrefetchMetrics,
    bytes_scanned: Count,
    requests: Count,
    time_reading: Time,
    io: Arc<IoStats>,
}

impl ScanMetrics {
    /// Registers the metrics of output partition `partition`.
    pub fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name: &'static str| MetricBuilder::new(set).counter(name, partition);
        let time = |name: &'static str| MetricBuilder::new(set).subset_time(name, partition);
        Self {
            baseline: BaselineMetrics::new(set, partition),
            files_opened: count("files_opened"),
            time_opening: time("time_opening"),
            time_decoding: time("time_decoding"),
            pruned: PruneMetrics::new(set, partition),
            prefetch: PrefetchMetrics::new(set, partition),
            bytes_scanned: count("bytes_scanned"),
            requests: count("requests"),
            time_reading: time("time_reading"),
            io: Arc::default(),
        }
    }

    /// Where the reads of this partition's files are counted.
    pub fn io(&self) -> Arc<IoStats> {
        Arc::clone(&self.io)
    }

    /// Brings what was counted below into the metrics; called once, at the end.
    fn finish(&self) {
        self.bytes_scanned.add(usize::try_from(self.io.bytes()).unwrap_or(usize::MAX));
        self.requests.add(usize::try_from(self.io.requests()).unwrap_or(usize::MAX));
        self.time_reading.add_duration(std::time::Duration::from_nanos(self.io.nanos()));
    }
}

impl Drop for ScanMetrics {
    fn drop(&mut self) {
        self.finish();
    }
}
