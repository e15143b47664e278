//! Manifest lists: which manifests a snapshot is made of.
//!
//! In: a batch of records of a file `manifest/manifest-list-…`, from whichever container. Out: [`ManifestFileMeta`]s.
//! Java: `ManifestFileMeta`, `ManifestFileMetaSerializer`.

use arrow::array::RecordBatch;

use super::columns::Columns;
use super::simple_stats::SimpleStats;
use crate::error::Result;

/// The only version of the records that exists in the wild.
const VERSION: i64 = 2;

/// What a manifest list says of one manifest. What old writers leave out is `None`: unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestFileMeta {
    /// The name, without folder.
    pub file_name: String,
    /// The size in bytes.
    pub file_size: i64,
    /// How many entries add a file.
    pub num_added_files: i64,
    /// How many entries delete a file.
    pub num_deleted_files: i64,
    /// Bounds of the partition columns over all entries.
    pub partition_stats: SimpleStats,
    /// The id of the schema of `partition_stats`.
    pub schema_id: i64,
    /// The smallest bucket.
    pub min_bucket: Option<i32>,
    /// The largest bucket.
    pub max_bucket: Option<i32>,
    /// The lowest level.
    pub min_level: Option<i32>,
    /// The highest level.
    pub max_level: Option<i32>,
    /// The smallest row id, where all entries have row ids.
    pub min_row_id: Option<i64>,
    /// The largest row id, where all entries have row ids.
    pub max_row_id: Option<i64>,
    /// The number of buckets, where all entries agree on a positive one.
    pub total_buckets: Option<i32>,
}

/// Reads the records of a manifest list.
pub fn manifest_files(batch: &RecordBatch) -> Result<Vec<ManifestFileMeta>> {
    let columns = Columns::of_batch("manifest list", batch);
    columns.check_version(VERSION)?;
    let (name, size) = (columns.texts("_FILE_NAME")?, columns.longs("_FILE_SIZE")?);
    let (added, deleted) = (columns.longs("_NUM_ADDED_FILES")?, columns.longs("_NUM_DELETED_FILES")?);
    let (stats, schema_id) = (columns.stats("_PARTITION_STATS")?, columns.longs("_SCHEMA_ID")?);
    let (min_bucket, max_bucket) = (columns.optional_longs("_MIN_BUCKET")?, columns.optional_longs("_MAX_BUCKET")?);
    let (min_level, max_level) = (columns.optional_longs("_MIN_LEVEL")?, columns.optional_longs("_MAX_LEVEL")?);
    let (min_row_id, max_row_id) = (columns.optional_longs("_MIN_ROW_ID")?, columns.optional_longs("_MAX_ROW_ID")?);
    let total_buckets = columns.optional_longs("_TOTAL_BUCKETS")?;
    let record = |row| {
        Ok(ManifestFileMeta {
            file_name: columns.must("_FILE_NAME", name.owned(row))?,
            file_size: columns.must("_FILE_SIZE", size.get(row))?,
            num_added_files: columns.must("_NUM_ADDED_FILES", added.get(row))?,
            num_deleted_files: columns.must("_NUM_DELETED_FILES", deleted.get(row))?,
            partition_stats: stats.get(row),
            schema_id: columns.must("_SCHEMA_ID", schema_id.get(row))?,
            min_bucket: min_bucket.int(row),
            max_bucket: max_bucket.int(row),
            min_level: min_level.int(row),
            max_level: max_level.int(row),
            min_row_id: min_row_id.get(row),
            max_row_id: max_row_id.get(row),
            total_buckets: total_buckets.int(row),
        })
    };
    (0..columns.rows()).map(record).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::*;

    use super::super::columns_for_tests::*;
    use super::*;

    fn columns() -> Vec<(&'static str, ArrayRef)> {
        vec![
            ("_VERSION", ints(&[2, 2])),
            ("_FILE_NAME", texts(&["manifest-a-0", "manifest-b-0"])),
            ("_FILE_SIZE", longs(&[100, 200])),
            ("_NUM_ADDED_FILES", longs(&[1, 2])),
            ("_NUM_DELETED_FILES", longs(&[0, 3])),
            ("_PARTITION_STATS", stats(2)),
            ("_SCHEMA_ID", longs(&[0, 1])),
            ("_MIN_BUCKET", Arc::new(Int32Array::from(vec![None, Some(4)]))),
        ]
    }

    #[test]
    fn records_of_old_writers_lack_the_later_columns() {
        let got = manifest_files(&batch(columns())).unwrap();
        assert_eq!((got[1].file_name.as_str(), got[1].file_size, got[1].num_deleted_files), ("manifest-b-0", 200, 3));
        assert_eq!((got[0].min_bucket, got[1].min_bucket, got[1].max_level), (None, Some(4), None));
        assert_eq!(got[1].partition_stats.null_counts, [Some(1), None]);
        assert_eq!((got[0].max_row_id, got[0].total_buckets, got[1].schema_id), (None, None, 1));
    }

    #[test]
    fn other_versions_and_missing_columns_are_errors() {
        for i in 0..7 {
            let mut columns = columns();
            let (name, _) = columns.remove(i);
            let error = manifest_files(&batch(columns)).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("missing"), "{error}");
        }
        let mut old = columns();
        old[0].1 = ints(&[2, 1]);
        assert!(manifest_files(&batch(old)).unwrap_err().to_string().contains("version 1"));
    }
}
