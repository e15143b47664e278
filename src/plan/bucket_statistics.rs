//! The statistics of a bucket's files, brought together: [`BucketStatistics`].
//!
//! Every commit adds to many buckets, so the entries of one lie here and there among all the packed ones, and to ask a
//! thousand of them is to wait for memory several thousand times. In: the entries of a bucket. Out: a copy of their
//! statistics in one place, kept beside the live entries for further queries of the bucket ([`KnownStatistics`]), up to a part
//! of what these take.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::live_entries::{EntryRef, LiveEntries};
use crate::spec::data_file::DataFileMeta;
use crate::spec::packed_statistics::PackedStatistics;
use crate::spec::stats_parts::StatsParts;

/// The statistics of entries, in their order.
#[derive(Debug)]
pub struct BucketStatistics {
    statistics: PackedStatistics,
    /// The schema that all files were written with.
    schema_id: i64,
    /// A name that ends as those of all files.
    file_name: String,
}

impl BucketStatistics {
    /// Those of some entries; `None` where these are of several kinds.
    fn of(live: &LiveEntries, entries: &[EntryRef]) -> Option<Self> {
        let (first, _) = live.get(*entries.first()?)?;
        let (schema_id, (_, extension)) = (first.laid_out_by()?, first.plain_statistics()?);
        let of_entry = |entry: &EntryRef| {
            let (chunk, row) = live.get(*entry)?;
            let (statistics, of_chunk) = chunk.plain_statistics()?;
            (chunk.laid_out_by() == Some(schema_id) && of_chunk == extension).then_some((statistics, row))
        };
        let together: Vec<_> = entries.iter().map(of_entry).collect::<Option<_>>()?;
        let statistics = PackedStatistics::gathered(&together)?;
        Some(Self { statistics, schema_id, file_name: format!(".{extension}") })
    }

    /// The schema that tells where the statistics of columns stand.
    pub fn laid_out_by(&self) -> i64 {
        self.schema_id
    }

    /// Fills in of a file what is asked about its columns, as
    /// [`file_statistics`](crate::spec::packed_entries::PackedEntries::file_statistics) does.
    pub fn fill(&self, at: usize, parts: Option<&StatsParts>, file: &mut DataFileMeta) {
        if file.file_name != self.file_name {
            file.file_name.clone_from(&self.file_name);
        }
        self.statistics.fill(at, parts, file);
    }

    fn heap_bytes(&self) -> usize {
        self.statistics.heap_bytes() + self.file_name.capacity() + size_of::<Self>()
    }
}

/// The statistics of buckets that were asked for twice, as far as there is room. None makes room for another: where queries
/// go to more buckets than are kept, copies that are made anew cost more than they spare.
#[derive(Debug)]
pub struct KnownStatistics {
    buckets: Mutex<Known>,
    capacity_bytes: usize,
}

#[derive(Debug)]
struct Known {
    /// By the place of a bucket's first entry.
    buckets: HashMap<u32, Bucket>,
    /// The room that is left; none once a copy did not fit.
    left_bytes: usize,
}

#[derive(Debug, Clone)]
enum Bucket {
    AskedOnce,
    /// Its entries cannot be brought together.
    Mixed,
    Together(Arc<BucketStatistics>),
}

impl KnownStatistics {
    /// Keeps statistics that take up to so many bytes.
    pub fn new(capacity_bytes: usize) -> Self {
        let known = Known { buckets: HashMap::new(), left_bytes: capacity_bytes };
        Self { buckets: Mutex::new(known), capacity_bytes }
    }

    /// How many bytes they may take together.
    pub fn capacity_bytes(&self) -> usize {
        self.capacity_bytes
    }

    /// The statistics of the bucket whose entries these are, the first of them at `place` among all; `None` where they are
    /// to be looked at where they lie.
    pub fn of(&self, live: &LiveEntries, place: u32, entries: &[EntryRef]) -> Option<Arc<BucketStatistics>> {
        let known = || self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut known = known();
            match known.buckets.get(&place) {
                Some(Bucket::Together(statistics)) => return Some(Arc::clone(statistics)),
                Some(Bucket::Mixed) => return None,
                _ if known.left_bytes == 0 => return None,
                Some(Bucket::AskedOnce) => {}
                None => {
                    known.buckets.insert(place, Bucket::AskedOnce);
                    return None;
                }
            }
        }
        let statistics = BucketStatistics::of(live, entries).map(Arc::new);
        let mut known = known();
        let Some(statistics) = statistics else {
            known.buckets.insert(place, Bucket::Mixed);
            return None;
        };
        // Another query may have done the same meanwhile.
        if !matches!(known.buckets.get(&place), Some(Bucket::Together(_))) {
            let left = known.left_bytes.checked_sub(statistics.heap_bytes());
            known.left_bytes = left.unwrap_or(0);
            if left.is_some() {
                known.buckets.insert(place, Bucket::Together(Arc::clone(&statistics)));
            }
        }
        Some(statistics)
    }
}

impl Default for KnownStatistics {
    fn default() -> Self {
        Self::new(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::live_entries::LiveBucket;
    use crate::plan::live_entries::tests::manifest;
    use crate::spec::manifest_entry::{FileKind, ManifestEntry};
    use crate::spec::simple_stats::SimpleStats;

    const BUCKETS: i64 = 40;

    /// What a commit adds: a file to each bucket.
    fn commit(number: i64, schema_id: i64, ends: &str) -> Vec<ManifestEntry> {
        let of_bucket = |bucket: i64| {
            let bound = |value: i64| [&[0; 16], value.to_le_bytes().as_slice()].concat();
            let value_stats = SimpleStats {
                min_values: bound(bucket * 100 + number),
                max_values: bound(bucket * 100 + 2 * number),
                null_counts: vec![(bucket % 3 > 0).then_some(number), Some(bucket)],
            };
            let file_name = format!("data-{number}-{bucket}.{ends}");
            let (row_count, min_sequence_number) = (1000 + number, number);
            let file = DataFileMeta {
                file_name,
                row_count,
                min_sequence_number,
                schema_id,
                value_stats,
                ..DataFileMeta::empty()
            };
            let bucket = bucket as i32;
            ManifestEntry { kind: FileKind::Add, partition: vec![0; 12].into(), bucket, total_buckets: 40, file }
        };
        (0..BUCKETS).map(of_bucket).collect()
    }

    fn live(commits: &[Vec<ManifestEntry>]) -> LiveEntries {
        LiveEntries::of(commits.iter().enumerate().map(|(n, entries)| manifest(&n.to_string(), entries)).collect())
    }

    fn buckets(live: &LiveEntries) -> &[LiveBucket] {
        live.buckets_of(&live.partitions()[0])
    }

    /// What the second query of a bucket finds.
    fn asked_twice(live: &LiveEntries, bucket: &LiveBucket, files: usize) -> Option<Arc<BucketStatistics>> {
        assert!(live.statistics_of(bucket, files).is_none(), "asked for the first time");
        live.statistics_of(bucket, files)
    }

    #[test]
    fn they_are_those_of_the_entries() {
        let live = live(&(0..20).map(|number| commit(number, 3, "orc")).collect::<Vec<_>>());
        let some = StatsParts { bounds: vec![0..4, 16..18], counts: vec![0..4, 8..16] };
        for bucket in buckets(&live) {
            let (statistics, entries) = (asked_twice(&live, bucket, 20).unwrap(), live.rows_of(bucket));
            assert_eq!((statistics.laid_out_by(), entries.len()), (3, 20));
            for (at, entry) in entries.iter().enumerate() {
                for parts in [None, Some(&some)] {
                    let (mut got, mut want) = (DataFileMeta::empty(), DataFileMeta::empty());
                    statistics.fill(at, parts, &mut got);
                    let (chunk, row) = live.get(*entry).unwrap();
                    chunk.file_statistics(row, parts, &mut want);
                    // Beyond the parts the bytes are any.
                    let kept = |file: &DataFileMeta| parts.map(|_| file.value_stats.max_values[16..18].to_vec());
                    assert_eq!((got.row_count, kept(&got)), (want.row_count, kept(&want)));
                    if parts.is_none() {
                        assert_eq!(got, want);
                    }
                }
            }
        }
    }

    #[test]
    fn they_are_not_brought_together_where_that_does_not_serve() {
        let commits: Vec<_> = (0..20).map(|number| commit(number, 3, "orc")).collect();
        let all = live(&commits);
        assert!(asked_twice(&all, &buckets(&all)[0], 20).is_some());
        assert!(asked_twice(&all, &buckets(&all)[0], 51).is_none(), "of 800 files too many are asked about");
        let mut two_schemas = commits.clone();
        two_schemas[7] = commit(7, 4, "orc");
        let two_schemas = live(&two_schemas);
        assert!(asked_twice(&two_schemas, &buckets(&two_schemas)[0], 20).is_none());
        let mut two_formats = commits.clone();
        two_formats[7] = commit(7, 3, "parquet");
        let two_formats = live(&two_formats);
        assert!(asked_twice(&two_formats, &buckets(&two_formats)[0], 20).is_none());
        let mut indexed = commits.clone();
        indexed[7][0].file.embedded_index = Some(vec![1]);
        let indexed = live(&indexed);
        assert!(asked_twice(&indexed, &buckets(&indexed)[0], 20).is_none());
        assert!(asked_twice(&indexed, &buckets(&indexed)[20], 20).is_some());
    }

    #[test]
    fn they_take_no_more_than_they_may() {
        let live = live(&(0..20).map(|number| commit(number, 3, "orc")).collect::<Vec<_>>());
        let bytes = BucketStatistics::of(&live, live.rows_of(&buckets(&live)[0])).unwrap().heap_bytes();
        let known = KnownStatistics::new(bytes * 5 / 2);
        for (place, bucket) in buckets(&live).iter().enumerate() {
            let ask = || known.of(&live, place as u32, live.rows_of(bucket));
            let found = (ask().is_some(), ask().is_some(), ask().is_some());
            let want = match place {
                0 | 1 => (false, true, true),
                // This one does not fit in any more, and no other is tried.
                2 => (false, true, false),
                _ => (false, false, false),
            };
            assert_eq!(found, want, "bucket {place}");
        }
        let kept = known.buckets.lock().unwrap();
        let together = kept.buckets.values().filter(|bucket| matches!(bucket, Bucket::Together(_)));
        assert_eq!((together.count(), kept.left_bytes), (2, 0));
    }
}
