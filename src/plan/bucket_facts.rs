//! What is known of all live files of a bucket together: [`BucketFacts`].
//!
//! In: the packed entries of a bucket's live files. Out: sums and bounds, so that a plan that wants most of a table need
//! not look at its files one by one.

use std::ops::RangeInclusive;

use crate::spec::packed_entries::PackedEntries;

/// What is known of some files together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketFacts {
    /// Physical rows of all.
    pub rows: usize,
    /// Bytes of all.
    pub bytes: usize,
    /// Between which levels they are.
    pub levels: RangeInclusive<i32>,
    /// When the oldest was made; `None` where that is not known of all.
    pub oldest_millis: Option<i64>,
    /// The number of buckets and the schema that all were written with; `None` where these differ.
    pub written_with: Option<(i32, i64)>,
}

impl BucketFacts {
    /// What is known of one file.
    fn of_one(entries: &PackedEntries, row: usize) -> Self {
        let (level, made) = (entries.level(row), entries.creation_time_millis(row));
        let count = |n: i64| usize::try_from(n).unwrap_or(0);
        Self {
            rows: count(entries.row_count(row)),
            bytes: count(entries.file_size(row)),
            levels: level..=level,
            oldest_millis: made,
            written_with: Some((entries.total_buckets(row), entries.schema_id(row))),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            rows: self.rows.saturating_add(other.rows),
            bytes: self.bytes.saturating_add(other.bytes),
            levels: *self.levels.start().min(other.levels.start())..=*self.levels.end().max(other.levels.end()),
            oldest_millis: self.oldest_millis.zip(other.oldest_millis).map(|(a, b)| a.min(b)),
            written_with: self.written_with.filter(|with| Some(*with) == other.written_with),
        }
    }

    /// What is known of files; `None` where there are none.
    pub fn of<'a>(files: impl Iterator<Item = (&'a PackedEntries, usize)>) -> Option<Self> {
        files.map(|(entries, row)| Self::of_one(entries, row)).reduce(Self::and)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::live_entries::tests::manifest;
    use crate::spec::data_file::DataFileMeta;
    use crate::spec::manifest_entry::{FileKind, ManifestEntry};

    fn facts(files: &[(i32, Option<i64>, i32)]) -> Option<BucketFacts> {
        let entry = |(level, creation_time_millis, total_buckets): &(i32, Option<i64>, i32)| ManifestEntry {
            kind: FileKind::Add,
            partition: vec![0; 12].into(),
            bucket: 0,
            total_buckets: *total_buckets,
            file: DataFileMeta {
                level: *level,
                creation_time_millis: *creation_time_millis,
                row_count: 10,
                file_size: 7,
                ..DataFileMeta::empty()
            },
        };
        let manifest = manifest("m", &files.iter().map(entry).collect::<Vec<_>>());
        BucketFacts::of(manifest.chunks.iter().flat_map(|chunk| (0..chunk.len()).map(move |row| (chunk.as_ref(), row))))
    }

    #[test]
    fn facts_are_of_all_files() {
        assert_eq!(facts(&[]), None);
        let got = facts(&[(3, Some(5), 2), (1, Some(9), 2), (2, Some(7), 2)]).unwrap();
        let want =
            BucketFacts { rows: 30, bytes: 21, levels: 1..=3, oldest_millis: Some(5), written_with: Some((2, 0)) };
        assert_eq!(got, want);
        // What differs, or is not known of one, is not known of all, whatever comes behind.
        let got = facts(&[(1, Some(5), 2), (1, None, 4), (1, Some(7), 2), (1, Some(7), 2)]).unwrap();
        assert_eq!((got.oldest_millis, got.written_with), (None, None));
    }
}
