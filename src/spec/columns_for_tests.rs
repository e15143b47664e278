//! Columns and batches for the tests of the decoders of manifests.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Field, Fields};

use super::data_file::DataFileMeta;
use super::manifest_entry::{FileKind, ManifestEntry};
use super::simple_stats::SimpleStats;

pub(super) fn ints(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

pub(super) fn longs(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

pub(super) fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

pub(super) fn bytes(values: &[&[u8]]) -> ArrayRef {
    Arc::new(BinaryArray::from(values.to_vec()))
}

pub(super) fn text_lists(lists: &[Option<&[&str]>]) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for list in lists {
        builder.append_option(list.map(|l| l.iter().map(Some)));
    }
    Arc::new(builder.finish())
}

pub(super) fn long_lists(lists: &[Option<&[i64]>]) -> ArrayRef {
    let mut builder = LargeListBuilder::new(Int64Builder::new());
    for list in lists {
        builder.append_option(list.map(|l| l.iter().copied().map(Some)));
    }
    Arc::new(builder.finish())
}

pub(super) fn structs(columns: Vec<(&str, ArrayRef)>, nulls: Option<NullBuffer>) -> ArrayRef {
    let fields: Fields = columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    Arc::new(StructArray::new(fields, columns.into_iter().map(|(_, a)| a).collect(), nulls))
}

/// Statistics of two columns without bounds, 1 and an unknown number of NULLs.
pub(super) fn stats(rows: usize) -> ArrayRef {
    let empty: &[u8] = &[0; 12];
    let mut counts = ListBuilder::new(Int64Builder::new());
    for _ in 0..rows {
        counts.append_value([Some(1), None]);
    }
    let rows = vec![empty; rows];
    let columns = vec![
        ("_MIN_VALUES", bytes(&rows)),
        ("_MAX_VALUES", bytes(&rows)),
        ("_NULL_COUNTS", Arc::new(counts.finish()) as ArrayRef),
    ];
    structs(columns, None)
}

pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

impl DataFileMeta {
    /// A file of which only the name matters.
    pub(crate) fn for_tests(file_name: &str) -> Self {
        Self { file_name: file_name.to_owned(), file_size: 1, row_count: 1, ..Self::empty() }
    }
}

/// The records of entries, as a manifest has them.
pub(crate) fn batch_of_entries(entries: &[ManifestEntry]) -> RecordBatch {
    let files = || entries.iter().map(|e| &e.file);
    let long = |get: fn(&DataFileMeta) -> i64| longs(&files().map(get).collect::<Vec<_>>());
    let optional =
        |get: fn(&DataFileMeta) -> Option<i64>| -> ArrayRef { Arc::new(files().map(get).collect::<Int64Array>()) };
    let binary = |get: fn(&DataFileMeta) -> &[u8]| bytes(&files().map(get).collect::<Vec<_>>());
    let list = |get: fn(&DataFileMeta) -> Option<&Vec<String>>| -> ArrayRef {
        let mut builder = ListBuilder::new(StringBuilder::new());
        files().for_each(|file| builder.append_option(get(file).map(|l| l.iter().map(Some))));
        Arc::new(builder.finish())
    };
    let embedded: BinaryArray = files().map(|f| f.embedded_index.as_deref()).collect();
    let external: StringArray = files().map(|f| f.external_path.as_deref()).collect();
    let file = vec![
        ("_FILE_NAME", texts(&files().map(|f| f.file_name.as_str()).collect::<Vec<_>>())),
        ("_FILE_SIZE", long(|f| f.file_size)),
        ("_ROW_COUNT", long(|f| f.row_count)),
        ("_MIN_KEY", binary(|f| &f.min_key)),
        ("_MAX_KEY", binary(|f| &f.max_key)),
        ("_KEY_STATS", stats_of(files().map(|f| &f.key_stats))),
        ("_VALUE_STATS", stats_of(files().map(|f| &f.value_stats))),
        ("_MIN_SEQUENCE_NUMBER", long(|f| f.min_sequence_number)),
        ("_MAX_SEQUENCE_NUMBER", long(|f| f.max_sequence_number)),
        ("_SCHEMA_ID", long(|f| f.schema_id)),
        ("_LEVEL", ints(&files().map(|f| f.level).collect::<Vec<_>>())),
        ("_EXTRA_FILES", list(|f| Some(&f.extra_files))),
        ("_CREATION_TIME", optional(|f| f.creation_time_millis)),
        ("_DELETE_ROW_COUNT", optional(|f| f.delete_row_count)),
        ("_EMBEDDED_FILE_INDEX", Arc::new(embedded)),
        ("_FILE_SOURCE", optional(|f| f.file_source.map(i64::from))),
        ("_VALUE_STATS_COLS", list(|f| f.value_stats_cols.as_ref())),
        ("_EXTERNAL_PATH", Arc::new(external)),
        ("_FIRST_ROW_ID", optional(|f| f.first_row_id)),
        ("_WRITE_COLS", list(|f| f.write_cols.as_ref())),
    ];
    let int = |get: fn(&ManifestEntry) -> i32| ints(&entries.iter().map(get).collect::<Vec<_>>());
    batch(vec![
        ("_VERSION", int(|_| 2)),
        ("_KIND", int(|e| i32::from(e.kind == FileKind::Delete))),
        ("_PARTITION", bytes(&entries.iter().map(|e| e.partition.as_ref()).collect::<Vec<_>>())),
        ("_BUCKET", int(|e| e.bucket)),
        ("_TOTAL_BUCKETS", int(|e| e.total_buckets)),
        ("_FILE", structs(file, None)),
    ])
}

fn stats_of<'a>(all: impl Iterator<Item = &'a SimpleStats>) -> ArrayRef {
    let (mut min, mut max) = (vec![], vec![]);
    let mut counts = ListBuilder::new(Int64Builder::new());
    for stats in all {
        min.push(stats.min_values.as_slice());
        max.push(stats.max_values.as_slice());
        counts.append_value(stats.null_counts.iter().copied());
    }
    let counts = Arc::new(counts.finish()) as ArrayRef;
    structs(vec![("_MIN_VALUES", bytes(&min)), ("_MAX_VALUES", bytes(&max)), ("_NULL_COUNTS", counts)], None)
}
