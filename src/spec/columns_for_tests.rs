//! Columns and batches for the tests of the decoders of manifests.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Field, Fields};

use super::data_file::DataFileMeta;
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
        Self {
            file_name: file_name.to_owned(),
            file_size: 1,
            row_count: 1,
            min_key: vec![],
            max_key: vec![],
            key_stats: SimpleStats::default(),
            value_stats: SimpleStats::default(),
            min_sequence_number: 0,
            max_sequence_number: 0,
            schema_id: 0,
            level: 0,
            extra_files: vec![],
            creation_time_millis: None,
            delete_row_count: None,
            embedded_index: None,
            file_source: None,
            value_stats_cols: None,
            external_path: None,
            first_row_id: None,
            write_cols: None,
            write_cols_sequences: None,
        }
    }
}
