//! What a manifest says of one data file.
//!
//! [`DataFileMeta`] is filled by `manifest_entry.rs` and carried in splits. Java: `DataFileMeta`.

use super::simple_stats::SimpleStats;

/// A data file of a snapshot. Names of the fields are those of the manifest (`_FILE_NAME` …).
#[derive(Debug, Clone, PartialEq)]
pub struct DataFileMeta {
    /// The name, without folder.
    pub file_name: String,
    /// The size in bytes.
    pub file_size: i64,
    /// Physical rows, delete records included.
    pub row_count: i64,
    /// The smallest trimmed primary key, as a serialized `BinaryRow`; an empty row for append tables.
    pub min_key: Vec<u8>,
    /// The largest trimmed primary key.
    pub max_key: Vec<u8>,
    /// Bounds of the trimmed primary-key columns.
    pub key_stats: SimpleStats,
    /// Bounds of the value columns; see `value_stats_cols`.
    pub value_stats: SimpleStats,
    /// The smallest sequence number.
    pub min_sequence_number: i64,
    /// The largest sequence number.
    pub max_sequence_number: i64,
    /// The id of the schema that the file was written with.
    pub schema_id: i64,
    /// The level in the LSM tree; 0 for append tables.
    pub level: i32,
    /// Names of side files in the folder of the data file.
    pub extra_files: Vec<String>,
    /// The writer's wall clock, in milliseconds as if it were UTC.
    pub creation_time_millis: Option<i64>,
    /// How many rows are deletes (−U, −D); unknown in old files.
    pub delete_row_count: Option<i64>,
    /// A small file index, kept in the manifest.
    pub embedded_index: Option<Vec<u8>>,
    /// 0 APPEND, 1 COMPACT.
    pub file_source: Option<i32>,
    /// The columns of `value_stats`: `None` = all value columns of the schema, empty = no statistics.
    pub value_stats_cols: Option<Vec<String>>,
    /// The full path, where the file lies outside the table's folder.
    pub external_path: Option<String>,
    /// The row id of the first row, in tables with row tracking.
    pub first_row_id: Option<i64>,
    /// The columns that are in the file: `None` = all of the schema.
    pub write_cols: Option<Vec<String>>,
    /// The largest sequence number of each written column.
    pub write_cols_sequences: Option<Vec<i64>>,
}

impl DataFileMeta {
    /// Whether it is an ORC file, by its name.
    pub fn is_orc(&self) -> bool {
        self.file_name.ends_with(".orc")
    }

    /// How many NULLs a column has by its statistics, where that is believed. An ORC file without row index
    /// (`orc.row.index.stride` = 0) has no statistics, and the manifest then says of each column, also of a key, that all
    /// of its rows are NULL. Java: `OrcSimpleStatsExtractor.toFieldStats`.
    pub fn believed_nulls(&self, nulls: i64) -> Option<i64> {
        (!self.is_orc() || nulls < self.row_count).then_some(nulls)
    }

    /// A file of no rows and no name, to build others from.
    pub fn empty() -> Self {
        Self {
            file_name: String::new(),
            file_size: 0,
            row_count: 0,
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
