//! What planning kept of what it saw: [`ScanReport`].
//!
//! Filled while a scan is planned, read by `EXPLAIN` and by whoever wants to know what a filter saved.

use std::fmt;

/// How many of some things were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kept {
    /// How many there were.
    pub seen: usize,
    /// How many are left.
    pub kept: usize,
}

/// Where the live entries of a snapshot came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LiveEntriesFrom {
    /// There were none to be had.
    #[default]
    Nowhere,
    /// From the manifests that may hold what is wanted.
    WantedManifests,
    /// From all manifests; they are kept.
    Manifests,
    /// From those of another snapshot that were kept, and the manifests that it lacks.
    OtherSnapshot,
    /// They were kept.
    Cache,
}

impl LiveEntriesFrom {
    /// What it is called in `EXPLAIN`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nowhere => "none",
            Self::WantedManifests => "wanted-manifests",
            Self::Manifests => "all-manifests",
            Self::OtherSnapshot => "other-snapshot",
            Self::Cache => "cache",
        }
    }
}

/// The counters of planning one scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScanReport {
    /// Whether there was a filter that could leave something out.
    pub has_filter: bool,
    /// Where the live entries came from.
    pub live_entries: LiveEntriesFrom,
    /// Manifests: those whose entries were looked at, of those that the snapshot names; none where live entries were kept.
    pub manifests: Kept,
    /// Manifests that were read from storage.
    pub scanned_manifests: usize,
    /// Partitions, of those in the manifests that were read.
    pub partitions: Kept,
    /// Buckets, of those in the partitions that were kept.
    pub buckets: Kept,
    /// Live entries: those whose partition and bucket are wanted, of those that were looked at; of the others nothing
    /// more was decoded.
    pub entries: Kept,
    /// Live data files: those that statistics kept, of those that they were asked about.
    pub files: Kept,
    /// Live data files: those that the file indexes in their manifests kept, of those that these were asked about.
    pub index: Kept,
}

impl Kept {
    /// Counts one.
    pub fn count(&mut self, kept: bool) {
        self.seen += 1;
        self.kept += usize::from(kept);
    }

    /// Counts those of another part.
    pub fn add(&mut self, other: Self) {
        self.seen += other.seen;
        self.kept += other.kept;
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kept, self.seen)
    }
}

impl ScanReport {
    /// Adds the counters of another branch of the same scan.
    pub fn add(&mut self, other: Self) {
        self.has_filter |= other.has_filter;
        self.manifests.add(other.manifests);
        self.scanned_manifests += other.scanned_manifests;
        self.partitions.add(other.partitions);
        self.buckets.add(other.buckets);
        self.entries.add(other.entries);
        self.files.add(other.files);
        self.index.add(other.index);
    }

    /// How many manifests were read from storage: none where the live entries were kept.
    pub fn last_scanned_manifests(&self) -> usize {
        self.scanned_manifests
    }

    /// Whether the live entries were kept from an earlier plan.
    pub fn last_snapshot_cache_hit(&self) -> bool {
        self.live_entries == LiveEntriesFrom::Cache
    }

    /// How many live entries were looked at by partition and bucket.
    pub fn last_lazy_decode_scanned_rows(&self) -> usize {
        self.entries.seen
    }

    /// How many of them were decoded any further.
    pub fn last_lazy_decode_materialized_rows(&self) -> usize {
        self.entries.kept
    }

    /// How many live files the scan leaves out.
    pub fn last_scan_skipped_table_files(&self) -> usize {
        self.entries.seen.saturating_sub(self.last_scan_resulted_table_files())
    }

    /// How many live files the scan may read.
    pub fn last_scan_resulted_table_files(&self) -> usize {
        if self.files.seen > 0 { self.files.kept } else { self.entries.kept }
    }

    /// The counters that `EXPLAIN ANALYZE` shows.
    pub fn metrics(&self) -> Vec<(&'static str, usize)> {
        vec![
            ("last_scanned_manifests", self.last_scanned_manifests()),
            ("last_snapshot_cache_hit", usize::from(self.last_snapshot_cache_hit())),
            ("last_lazy_decode_scanned_rows", self.last_lazy_decode_scanned_rows()),
            ("last_lazy_decode_materialized_rows", self.last_lazy_decode_materialized_rows()),
            ("last_scan_skipped_table_files", self.last_scan_skipped_table_files()),
            ("last_scan_resulted_table_files", self.last_scan_resulted_table_files()),
        ]
    }

    /// The steps as `name=kept/seen`; nothing without a filter.
    pub fn steps(&self) -> Vec<String> {
        if !self.has_filter {
            return vec![];
        }
        let steps = [
            ("manifests", self.manifests),
            ("partitions", self.partitions),
            ("buckets", self.buckets),
            ("entries", self.entries),
            ("files", self.files),
            ("index", self.index),
        ];
        steps.iter().filter(|(_, kept)| kept.seen > 0).map(|(name, kept)| format!("{name}={kept}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_shown_with_a_filter_only() {
        let manifests = Kept { seen: 3, kept: 1 };
        let mut report = ScanReport { manifests, scanned_manifests: 1, ..ScanReport::default() };
        assert!(report.steps().is_empty());
        let mut other = ScanReport { has_filter: true, ..report };
        other.files.count(true);
        other.files.count(false);
        report.add(other);
        assert_eq!(report.steps(), ["manifests=2/6", "files=1/2"]);
        assert_eq!(report.last_scanned_manifests(), 2);
    }
}
