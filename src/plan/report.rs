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

/// The counters of planning one scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScanReport {
    /// Whether there was a filter that could leave something out.
    pub has_filter: bool,
    /// Manifests: those that were read, of those that the snapshot names.
    pub manifests: Kept,
    /// Partitions, of those in the manifests that were read.
    pub partitions: Kept,
    /// Buckets, of those in the partitions that were kept.
    pub buckets: Kept,
    /// Manifest entries: those that were decoded, of those that were looked at.
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

    fn add(&mut self, other: Self) {
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
        self.partitions.add(other.partitions);
        self.buckets.add(other.buckets);
        self.entries.add(other.entries);
        self.files.add(other.files);
        self.index.add(other.index);
    }

    /// How many manifests were read.
    pub fn last_scanned_manifests(&self) -> usize {
        self.manifests.kept
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
        let mut report = ScanReport { manifests: Kept { seen: 3, kept: 1 }, ..ScanReport::default() };
        assert!(report.steps().is_empty());
        let mut other = ScanReport { has_filter: true, ..report };
        other.files.count(true);
        other.files.count(false);
        report.add(other);
        assert_eq!(report.steps(), ["manifests=2/6", "files=1/2"]);
        assert_eq!(report.last_scanned_manifests(), 2);
    }
}
