//! Which live files a batch read shows at all: [`Visible`].
//!
//! In: the options of a read. Out: whether a file is one of it, by its bucket, level and age. Java:
//! `CoreOptions.batchScanSkipLevel0`.

use std::ops::RangeInclusive;

use super::live_entries::LiveBucket;
use crate::options::TableOptions;
use crate::options::enums::MergeEngine;
use crate::spec::layout::POSTPONE_BUCKET;
use crate::spec::packed_entries::PackedEntries;
use crate::spec::table_schema::TableSchema;

/// Which live files a read shows.
#[derive(Debug, Clone)]
pub struct Visible {
    levels: RangeInclusive<i32>,
    min_creation_time_millis: Option<i64>,
}

impl Visible {
    /// The files of the given levels that were made at a time or later, if one is given.
    pub fn new(levels: RangeInclusive<i32>, min_creation_time_millis: Option<i64>) -> Self {
        Self { levels, min_creation_time_millis }
    }

    /// Whether a file is shown.
    pub fn shows(&self, entries: &PackedEntries, row: usize) -> bool {
        let since = self.min_creation_time_millis;
        entries.bucket(row) != POSTPONE_BUCKET
            && self.levels.contains(&entries.level(row))
            && since.is_none_or(|since| entries.creation_time_millis(row).is_some_and(|at| at >= since))
    }

    /// Whether all files of a bucket are shown, or none; `None` where that must be asked of each.
    pub fn shows_all(&self, bucket: &LiveBucket) -> Option<bool> {
        let facts = &bucket.facts;
        let (low, high) = (*facts.levels.start(), *facts.levels.end());
        if bucket.bucket == POSTPONE_BUCKET || high < *self.levels.start() || low > *self.levels.end() {
            return Some(false);
        }
        let levels = self.levels.contains(&low) && self.levels.contains(&high);
        let since = self.min_creation_time_millis;
        let made = since.is_none_or(|since| facts.oldest_millis.is_some_and(|at| at >= since));
        (levels && made).then_some(true)
    }
}

/// The levels of a table that are read. Level 0 of a primary-key table waits for compaction where deletion vectors or
/// the first row of a key are only known after it.
pub fn levels(schema: &TableSchema, options: &TableOptions, read_optimized: bool) -> RangeInclusive<i32> {
    let vectors = options.deletion_vectors_enabled && !options.deletion_vectors_merge_on_read;
    let later = vectors || options.merge_engine == MergeEngine::FirstRow;
    match schema.primary_keys.is_empty() {
        false if read_optimized => options.top_level()..=options.top_level(),
        false if later => 1..=i32::MAX,
        _ => i32::MIN..=i32::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::live_entries::LiveEntries;
    use crate::plan::live_entries::tests::manifest;
    use crate::spec::data_file::DataFileMeta;
    use crate::spec::manifest_entry::{FileKind, ManifestEntry};

    fn live(bucket: i32, files: &[(i32, Option<i64>)]) -> LiveEntries {
        let entry = |(at, (level, made)): (usize, &(i32, Option<i64>))| ManifestEntry {
            kind: FileKind::Add,
            partition: vec![0; 12].into(),
            bucket,
            total_buckets: 4,
            file: DataFileMeta {
                file_name: at.to_string(),
                level: *level,
                creation_time_millis: *made,
                ..DataFileMeta::empty()
            },
        };
        LiveEntries::of(vec![manifest("m", &files.iter().enumerate().map(entry).collect::<Vec<_>>())])
    }

    #[test]
    fn what_is_said_of_a_bucket_is_true_of_each_file() {
        let all = i32::MIN..=i32::MAX;
        let one = [(1, Some(5))];
        let many = [(0, Some(5)), (1, Some(9))];
        let unknown = [(1, Some(9)), (1, None)];
        for (bucket, files, levels, since, want) in [
            (0, &one[..], all.clone(), None, Some(true)),
            (0, &many, all.clone(), None, Some(true)),
            (POSTPONE_BUCKET, &many, all.clone(), None, Some(false)),
            (0, &many, 1..=i32::MAX, None, None),
            (0, &one, 1..=i32::MAX, None, Some(true)),
            (0, &many, 2..=2, None, Some(false)),
            (0, &many, all.clone(), Some(5), Some(true)),
            (0, &many, all.clone(), Some(6), None),
            (0, &unknown, all.clone(), Some(6), None),
            (0, &unknown, all, None, Some(true)),
        ] {
            let (live, visible) = (live(bucket, files), Visible::new(levels, since));
            let bucket = &live.buckets_of(&live.partitions()[0])[0];
            assert_eq!(visible.shows_all(bucket), want, "{visible:?} {files:?}");
            let shown: Vec<bool> = live
                .rows_of(bucket)
                .iter()
                .map(|e| live.get(*e).map(|(c, row)| visible.shows(c, row)).unwrap())
                .collect();
            assert!(want.is_none_or(|want| shown.iter().all(|shown| *shown == want)), "{visible:?} {files:?}");
        }
    }
}
