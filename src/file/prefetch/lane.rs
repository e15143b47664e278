//! Who reads ahead: [`ReadAhead`] of a scan, [`Lane`] of an output partition or sorted run, [`FileLane`] of a file.
//!
//! A lane is what is consumed in one order: files one after the other, and the ranges of each. How far a file reads ahead
//! is bounded by bytes, the lane's share of the budget. Where reading ahead gains nothing, only the next range is sent
//! for, so that copying it runs beside decoding.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::execution::memory_pool::MemoryPool;
use futures::FutureExt;

use super::budget::{Budget, Held};
use super::metrics::PrefetchMetrics;
use super::pending::Pending;
use super::settings::ReadAheadSettings;
use crate::error::Result;
use crate::options::enums::WarmupLevel;
use crate::storage::{InputFile, IoStats, RequestGate};

/// No file has more ranges on their way, however small they are.
const MAX_RANGES_AHEAD: usize = 64;

/// What all output partitions of one execution of a scan share.
#[derive(Debug)]
pub struct ReadAhead {
    settings: ReadAheadSettings,
    budget: Arc<Budget>,
    gate: Arc<RequestGate>,
}

impl ReadAhead {
    /// For a scan whose memory comes from `pool`.
    pub fn new(settings: ReadAheadSettings, pool: Option<&Arc<dyn MemoryPool>>) -> Arc<Self> {
        let gate = Arc::new(RequestGate::new(settings.requests, settings.coalescing));
        Arc::new(Self { settings, budget: Budget::new(settings.budget_bytes, pool), gate })
    }

    /// The budget of the scan.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }
}

/// Files that are consumed one after the other.
#[derive(Debug)]
pub struct Lane {
    scan: Arc<ReadAhead>,
    id: u64,
    metrics: PrefetchMetrics,
    io: Arc<IoStats>,
    next_file: AtomicU64,
}

impl Lane {
    /// A lane of a scan; its reads are counted in `metrics` and `io`.
    pub fn new(scan: &Arc<ReadAhead>, metrics: PrefetchMetrics, io: Arc<IoStats>) -> Arc<Self> {
        let id = scan.budget.add_lane();
        Arc::new(Self { scan: Arc::clone(scan), id, metrics, io, next_file: AtomicU64::new(0) })
    }

    /// A lane of its own, with default settings and without a memory pool.
    pub fn alone() -> Arc<Self> {
        let scan = ReadAhead::new(ReadAheadSettings::default(), None);
        Self::new(&scan, PrefetchMetrics::default(), Arc::default())
    }

    /// Another lane of the same scan, for files that are consumed beside those of this one.
    pub fn beside(&self) -> Arc<Self> {
        Self::new(&self.scan, self.metrics.clone(), Arc::clone(&self.io))
    }

    /// How the scan reads ahead.
    pub fn settings(&self) -> &ReadAheadSettings {
        &self.scan.settings
    }

    /// Where it is counted how that went.
    pub fn metrics(&self) -> &PrefetchMetrics {
        &self.metrics
    }

    /// Where reads are counted.
    pub fn io(&self) -> &Arc<IoStats> {
        &self.io
    }

    /// The same file, read as one of this lane.
    pub fn counted(&self, file: InputFile) -> InputFile {
        file.with_stats(Arc::clone(&self.io)).with_gate(Arc::clone(&self.scan.gate))
    }

    /// Whether reading a file ahead gains nothing.
    pub fn steps_aside(&self, is_local: bool) -> bool {
        self.settings().adaptive && is_local
    }

    /// How many files may be prepared before the one that is read is at its end, and how many bytes of them.
    pub fn files_ahead(&self, is_local: bool) -> (usize, u64) {
        match self.settings().warmup {
            WarmupLevel::None => (0, 0),
            _ if self.steps_aside(is_local) => (1, u64::MAX),
            _ => (self.settings().requests.max(1), self.budget().share_bytes()),
        }
    }

    /// Room for something that was decoded ahead, if there is some.
    pub fn try_hold(&self, bytes: u64) -> Option<Held> {
        self.budget().try_hold(self.id, bytes)
    }

    /// The ranges of the file that comes next.
    pub fn file(self: &Arc<Self>, file: &InputFile) -> FileLane {
        let number = self.next_file.fetch_add(1, Ordering::Relaxed);
        let steps_aside = self.steps_aside(file.is_local());
        if steps_aside {
            self.metrics.stepped_aside.add(1);
        }
        let ranges = match () {
            () if !self.settings().prefetch => 0,
            () if steps_aside => 1,
            () => MAX_RANGES_AHEAD,
        };
        let warm = self.settings().warmup != WarmupLevel::None && !steps_aside;
        FileLane { lane: Arc::clone(self), number, next_range: 0, ranges, warm }
    }

    pub(super) fn budget(&self) -> &Arc<Budget> {
        &self.scan.budget
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.scan.budget.remove_lane(self.id);
    }
}

/// The ranges of one file, in the order in which they are consumed.
pub struct FileLane {
    lane: Arc<Lane>,
    number: u64,
    next_range: u64,
    /// The most ranges that are sent for ahead.
    ranges: usize,
    /// Whether the first range is sent for when the file is opened.
    warm: bool,
}

impl FileLane {
    /// The lane.
    pub fn lane(&self) -> &Arc<Lane> {
        &self.lane
    }

    /// Whether the first range is sent for when the file is opened.
    pub fn is_warm(&self) -> bool {
        self.warm
    }

    /// From now on no more than the next range is sent for.
    pub fn keep_to_next(&mut self) {
        self.ranges = self.ranges.min(1);
    }

    /// Whether one more range is to be sent for, where `ranges` with together so many bytes are already.
    pub fn wants_more(&self, ranges: usize, bytes: u64) -> bool {
        ranges < self.ranges && (ranges == 0 || bytes < self.lane.budget().share_bytes())
    }

    /// Sends for the next range. It is `bytes` large, of which `wanted` are needed.
    pub fn send<T, F>(&mut self, bytes: u64, wanted: u64, fetch: impl Fn() -> F + Send + Sync + 'static) -> Pending<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let place = (self.number, self.next_range);
        self.next_range += 1;
        self.lane.metrics.ranges.add(1);
        self.lane.metrics.bytes_wanted.add(usize::try_from(wanted).unwrap_or(usize::MAX));
        Pending::new(Arc::clone(&self.lane), place, bytes, Arc::new(move || fetch().boxed()))
    }
}
