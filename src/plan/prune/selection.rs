//! Which entries of a manifest are decoded: [`EntrySelection`].
//!
//! In: partition, bucket and schema id of one entry after another. Out: whether it is wanted, and its partition as shared
//! bytes. Neighbours of one partition are decided together.

use std::collections::HashMap;
use std::sync::Arc;

use super::{PartitionVerdict, Pruning};
use crate::error::Result;
use crate::plan::report::Kept;
use crate::spec::manifest_entry::{ManifestEntries, ManifestEntry};

/// The selection of the entries of one manifest.
#[derive(Debug)]
pub struct EntrySelection<'p> {
    pruning: &'p Pruning,
    last: Option<Arc<PartitionVerdict>>,
    /// The partitions that were seen, by their bytes, with the decisions about their buckets.
    seen: HashMap<Arc<[u8]>, SeenPartition>,
    entries: Kept,
}

#[derive(Debug)]
struct SeenPartition {
    verdict: Arc<PartitionVerdict>,
    /// By bucket, number of buckets and schema id.
    buckets: HashMap<(i32, i32, i64), bool>,
}

impl<'p> EntrySelection<'p> {
    /// A selection that has seen nothing yet.
    pub fn new(pruning: &'p Pruning) -> Self {
        Self { pruning, last: None, seen: HashMap::new(), entries: Kept::default() }
    }

    /// The wanted ones of some entries.
    pub fn select(&mut self, entries: &ManifestEntries<'_>) -> Result<Vec<ManifestEntry>> {
        let mut wanted = vec![];
        for row in 0..entries.len() {
            let partition = entries.partition(row)?;
            let key = (entries.bucket(row)?, entries.total_buckets(row)?, entries.schema_id(row)?);
            let kept = self.keeps(partition, key)?;
            self.entries.count(kept.is_some());
            if let Some(partition) = kept {
                wanted.push(entries.entry_in(row, partition)?);
            }
        }
        Ok(wanted)
    }

    /// The partition of an entry that is wanted.
    pub(super) fn keeps(&mut self, partition: &[u8], key: (i32, i32, i64)) -> Result<Option<Arc<[u8]>>> {
        let verdict = match self.last.take().filter(|last| last.partition.as_ref() == partition) {
            Some(last) => last,
            None => self.verdict(partition)?,
        };
        self.last = Some(Arc::clone(&verdict));
        if !verdict.is_kept() {
            return Ok(None);
        }
        let pruning = self.pruning;
        if !pruning.early_buckets {
            return Ok(Some(Arc::clone(&verdict.partition)));
        }
        let Some(seen) = self.seen.get_mut(partition) else { return Ok(None) };
        let (bucket, total, schema) = key;
        let kept = *seen.buckets.entry(key).or_insert_with(|| pruning.keeps_bucket(&verdict, bucket, total, schema));
        Ok(kept.then(|| Arc::clone(&verdict.partition)))
    }

    fn verdict(&mut self, partition: &[u8]) -> Result<Arc<PartitionVerdict>> {
        if let Some(seen) = self.seen.get(partition) {
            return Ok(Arc::clone(&seen.verdict));
        }
        let verdict = self.pruning.partition(partition)?;
        let seen = SeenPartition { verdict: Arc::clone(&verdict), buckets: HashMap::new() };
        self.seen.insert(Arc::clone(&verdict.partition), seen);
        Ok(verdict)
    }

    /// Adds what was seen to the counters of the scan. Partitions and buckets count once in all manifests.
    pub fn finish(self) -> SeenEntries {
        let partitions = self.seen.into_values().map(|seen| {
            let mut buckets = SeenBuckets::new();
            for ((bucket, ..), kept) in seen.buckets {
                *buckets.entry(bucket).or_default() |= kept;
            }
            (seen.verdict, buckets)
        });
        SeenEntries { partitions: partitions.collect(), entries: self.entries }
    }
}

/// Whether something of a bucket was kept.
type SeenBuckets = HashMap<i32, bool>;

/// What a selection saw of one manifest, or of several.
#[derive(Debug, Default)]
pub struct SeenEntries {
    partitions: Vec<(Arc<PartitionVerdict>, SeenBuckets)>,
    entries: Kept,
}

impl SeenEntries {
    /// Counts what was seen in all manifests.
    pub fn count(all: impl IntoIterator<Item = Self>, pruning: &Pruning) {
        let mut partitions: HashMap<Arc<[u8]>, (bool, SeenBuckets)> = HashMap::new();
        let mut entries = Kept::default();
        for seen in all {
            entries.seen += seen.entries.seen;
            entries.kept += seen.entries.kept;
            for (verdict, buckets) in seen.partitions {
                let known = partitions.entry(Arc::clone(&verdict.partition));
                let (_, known) = known.or_insert_with(|| (verdict.is_kept(), SeenBuckets::new()));
                for (bucket, kept) in buckets {
                    *known.entry(bucket).or_default() |= kept;
                }
            }
        }
        let (mut of_partitions, mut of_buckets) = (Kept::default(), Kept::default());
        for (kept, buckets) in partitions.values() {
            of_partitions.count(*kept);
            buckets.values().for_each(|kept| of_buckets.count(*kept));
        }
        pruning.count(|report| {
            report.entries = entries;
            report.partitions = of_partitions;
            report.buckets = of_buckets;
        });
    }
}
