//! Which live entries a scan reads, by partition and bucket: [`select`].
//!
//! In: the live entries of a snapshot. Out: those of the partitions and buckets that are wanted, bucket by bucket. Each
//! partition is decided once, and each bucket where its entries are alike; else nothing but level, age, number of buckets
//! and schema id is looked at of an entry.

use std::collections::HashSet;
use std::sync::Arc;

use super::{PartitionVerdict, Pruning};
use crate::error::Result;
use crate::plan::bucket_facts::BucketFacts;
use crate::plan::live_entries::{BucketEntries, LiveBucket, LiveEntries};
use crate::plan::report::Kept;
use crate::plan::visible::Visible;
use crate::spec::packed_entries::PackedEntries;

/// Live entries of a bucket that are wanted.
#[derive(Debug, Clone)]
pub struct SelectedBucket {
    /// The partition's values, as a serialized `BinaryRow`.
    pub partition: Arc<[u8]>,
    /// The bucket's number.
    pub bucket: i32,
    /// The entries; at least one.
    pub rows: BucketEntries,
}

impl SelectedBucket {
    /// The ids of the schemas that the entries' files were written with; one may come often.
    pub fn schema_ids(&self, live: &LiveEntries) -> Vec<i64> {
        match &self.rows {
            BucketEntries::All(LiveBucket { facts: BucketFacts { written_with: Some((_, id)), .. }, .. }) => vec![*id],
            some => {
                let entries = some.of(live).iter().filter_map(|entry| live.get(*entry));
                entries.map(|(chunk, row)| chunk.schema_id(row)).collect()
            }
        }
    }
}

/// What is wanted of a snapshot.
#[derive(Debug, Default)]
pub struct Selected {
    /// The wanted entries.
    pub buckets: Vec<SelectedBucket>,
    /// The partitions that have entries to be shown, whatever their bucket.
    pub partitions: HashSet<Arc<[u8]>>,
}

/// Selects live entries of those that a read shows.
pub fn select(live: &LiveEntries, pruning: &Pruning, visible: &Visible) -> Result<Selected> {
    let mut selected = Selected::default();
    let (mut partitions, mut buckets) = (Kept::default(), Kept::default());
    let mut entries = Kept { seen: live.len(), kept: 0 };
    for partition in live.partitions() {
        let verdict = if pruning.is_idle() { None } else { Some(pruning.partition(&partition.partition)?) };
        let wanted = verdict.as_ref().is_none_or(|verdict| verdict.is_kept());
        partitions.count(wanted);
        if !wanted {
            continue;
        }
        for bucket in live.buckets_of(partition) {
            let keeps = KeepsBucket { pruning, verdict: verdict.as_deref(), bucket };
            let (rows, any_shown) = keeps.rows(live, visible);
            if any_shown && !selected.partitions.contains(&partition.partition) {
                selected.partitions.insert(Arc::clone(&partition.partition));
            }
            buckets.count(!rows.is_empty());
            entries.kept += rows.len();
            if !rows.is_empty() {
                let partition = Arc::clone(&partition.partition);
                selected.buckets.push(SelectedBucket { partition, bucket: bucket.bucket, rows });
            }
        }
    }
    pruning.count(|report| {
        report.entries = entries;
        (report.partitions, report.buckets) = (partitions, buckets);
    });
    Ok(selected)
}

/// Decides about the entries of a bucket.
struct KeepsBucket<'a> {
    pruning: &'a Pruning,
    verdict: Option<&'a PartitionVerdict>,
    bucket: &'a LiveBucket,
}

impl KeepsBucket<'_> {
    /// The wanted entries, and whether any are shown.
    fn rows(&self, live: &LiveEntries, visible: &Visible) -> (BucketEntries, bool) {
        let all = |wanted| match wanted {
            true => BucketEntries::All(self.bucket.clone()),
            false => BucketEntries::Some(vec![]),
        };
        match (visible.shows_all(self.bucket), self.keeps_all()) {
            (Some(false), _) => (all(false), false),
            (Some(true), Some(keeps)) => (all(keeps), true),
            _ => self.rows_one_by_one(live, visible),
        }
    }

    /// Whether all entries are kept, or none; `None` where that must be asked of each.
    fn keeps_all(&self) -> Option<bool> {
        let Some(verdict) = self.verdict else { return Some(true) };
        let (total_buckets, schema_id) = self.bucket.facts.written_with?;
        Some(self.pruning.keeps_bucket(verdict, self.bucket.bucket, total_buckets, schema_id))
    }

    fn rows_one_by_one(&self, live: &LiveEntries, visible: &Visible) -> (BucketEntries, bool) {
        let (mut any_shown, mut last) = (false, None);
        let mut keep = |chunk: &PackedEntries, row: usize| {
            let shown = visible.shows(chunk, row);
            any_shown |= shown;
            shown && self.verdict.is_none_or(|verdict| self.keeps(verdict, chunk, row, &mut last))
        };
        let entries = live.rows_of(self.bucket).iter();
        let kept = entries.filter(|entry| live.get(**entry).is_some_and(|(chunk, row)| keep(chunk, row)));
        (BucketEntries::Some(kept.copied().collect()), any_shown)
    }

    /// Neighbours are mostly decided alike.
    fn keeps(
        &self,
        verdict: &PartitionVerdict,
        chunk: &PackedEntries,
        row: usize,
        last: &mut Option<((i32, i64), bool)>,
    ) -> bool {
        let of = (chunk.total_buckets(row), chunk.schema_id(row));
        if let Some((_, kept)) = last.filter(|(before, _)| *before == of) {
            return kept;
        }
        let kept = self.pruning.keeps_bucket(verdict, self.bucket.bucket, of.0, of.1);
        *last = Some((of, kept));
        kept
    }
}
