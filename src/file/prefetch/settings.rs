//! What reading ahead may spend: [`ReadAheadSettings`].

use crate::options::TableOptions;
use crate::options::enums::WarmupLevel;
use crate::storage::Coalescing;

/// How a scan reads ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadAheadSettings {
    /// Whether ranges of a file are fetched before they are needed.
    pub prefetch: bool,
    /// How far files are prepared before the one before them is at its end.
    pub warmup: WarmupLevel,
    /// Whether files on local disks are left to the operating system's own reading ahead.
    pub adaptive: bool,
    /// The most bytes of a scan that are fetched, or decoded, and not yet consumed.
    pub budget_bytes: u64,
    /// The most requests of a scan that are under way at a time.
    pub requests: usize,
    /// When ranges are fetched together.
    pub coalescing: Coalescing,
    /// The least bytes of an ORC file's wanted columns for which more than its next stripe is fetched ahead.
    pub orc_threshold_bytes: u64,
}

impl ReadAheadSettings {
    /// What the options of a table say.
    pub fn of(options: &TableOptions) -> Self {
        Self {
            prefetch: options.prefetch_enabled,
            warmup: options.prefetch_warmup_level,
            adaptive: options.prefetch_adaptive_enabled,
            budget_bytes: options.prefetch_pre_buffer_limit.bytes,
            requests: usize::try_from(options.prefetch_max_parallel_num).unwrap_or(1),
            coalescing: Coalescing {
                hole_bytes: options.prefetch_hole_size_limit.bytes,
                request_bytes: options.prefetch_range_size_limit.bytes,
            },
            orc_threshold_bytes: options.orc_read_prefetch_threshold.bytes,
        }
    }

    /// Nothing is read ahead.
    pub fn off() -> Self {
        Self { prefetch: false, warmup: WarmupLevel::None, ..Self::default() }
    }
}

impl Default for ReadAheadSettings {
    fn default() -> Self {
        Self {
            prefetch: true,
            warmup: WarmupLevel::Raw,
            adaptive: true,
            budget_bytes: 64 << 20,
            requests: 32,
            coalescing: Coalescing::default(),
            orc_threshold_bytes: 0,
        }
    }
}
