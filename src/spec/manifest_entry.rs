//! Manifests: the data files that a snapshot adds and deletes.
//!
//! In: a batch of records of a file `manifest/manifest-…`, from whichever container. Out: [`ManifestEntries`], whose
//! kind, partition and bucket are to be looked at before the whole [`ManifestEntry`] is made. Java: `ManifestEntry`,
//! `ManifestEntrySerializer`, `DataFileMetaSerializer`, `FileEntry.Identifier`.

use std::sync::Arc;

use arrow::array::{RecordBatch, StructArray};

use super::columns::{Binaries, Columns, ListsOf, Longs, StatsColumns, Texts};
use super::data_file::DataFileMeta;
use crate::error::{Error, Result};

/// The only version of the records that exists in the wild.
const VERSION: i64 = 2;

/// Whether an entry adds a file or takes it away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// The file is part of the snapshot from here on.
    Add,
    /// The file is no longer part of it.
    Delete,
}

impl FileKind {
    pub(super) fn from_number(number: i64) -> Result<Self> {
        match number {
            0 => Ok(FileKind::Add),
            1 => Ok(FileKind::Delete),
            other => Err(Error::corrupt(format!("_KIND of an entry must be 0 or 1, got {other}"))),
        }
    }
}

/// One record of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestEntry {
    /// Whether the file is added or deleted.
    pub kind: FileKind,
    /// The partition's values, as a serialized `BinaryRow`.
    pub partition: Arc<[u8]>,
    /// The bucket's number; −2 in postpone mode.
    pub bucket: i32,
    /// How many buckets the partition had when the file was written; not positive without fixed buckets.
    pub total_buckets: i32,
    /// The file.
    pub file: DataFileMeta,
}

/// What makes an entry that deletes a file match the one that added it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity<'a> {
    /// The partition's values.
    pub partition: &'a [u8],
    /// The bucket's number.
    pub bucket: i32,
    /// The level: a file that is lifted is deleted at one and added at another.
    pub level: i32,
    /// The name.
    pub file_name: &'a str,
    /// The side files.
    pub extra_files: &'a [String],
    /// The index in the manifest.
    pub embedded_index: Option<&'a [u8]>,
    /// Where the file lies outside of the table.
    pub external_path: Option<&'a str>,
}

impl ManifestEntry {
    /// What makes a DELETE match an ADD.
    pub fn identity(&self) -> FileIdentity<'_> {
        FileIdentity {
            partition: &self.partition,
            bucket: self.bucket,
            level: self.file.level,
            file_name: &self.file.file_name,
            extra_files: &self.file.extra_files,
            embedded_index: self.file.embedded_index.as_deref(),
            external_path: self.file.external_path.as_deref(),
        }
    }
}

/// The records of a batch, columns found and brought to one layout.
pub struct ManifestEntries<'a> {
    columns: Columns<'a>,
    pub(super) kind: Longs,
    pub(super) partition: Binaries,
    pub(super) bucket: Longs,
    pub(super) total_buckets: Longs,
    pub(super) file: DataFileColumns<'a>,
}

impl<'a> ManifestEntries<'a> {
    /// The records of one batch of a manifest.
    pub fn new(batch: &'a RecordBatch) -> Result<Self> {
        let columns = Columns::of_batch("manifest entry", batch);
        columns.check_version(VERSION)?;
        Ok(Self {
            kind: columns.longs("_KIND")?,
            partition: columns.bytes("_PARTITION")?,
            bucket: columns.longs("_BUCKET")?,
            total_buckets: columns.longs("_TOTAL_BUCKETS")?,
            file: DataFileColumns::new(columns.structs("_FILE")?)?,
            columns,
        })
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.columns.rows()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the file is added or deleted.
    pub fn kind(&self, row: usize) -> Result<FileKind> {
        FileKind::from_number(self.columns.must("_KIND", self.kind.get(row))?)
    }

    /// The partition's values, as a serialized `BinaryRow`.
    pub fn partition(&self, row: usize) -> Result<&[u8]> {
        self.columns.must("_PARTITION", self.partition.get(row))
    }

    /// The bucket's number.
    pub fn bucket(&self, row: usize) -> Result<i32> {
        self.columns.must("_BUCKET", self.bucket.int(row))
    }

    /// How many buckets the partition had.
    pub fn total_buckets(&self, row: usize) -> Result<i32> {
        self.columns.must("_TOTAL_BUCKETS", self.total_buckets.int(row))
    }

    /// The level of the file.
    pub fn level(&self, row: usize) -> Result<i32> {
        self.file.columns.must("_LEVEL", self.file.level.int(row))
    }

    /// The name of the file.
    pub fn file_name(&self, row: usize) -> Result<&str> {
        self.file.columns.must("_FILE_NAME", self.file.file_name.get(row))
    }

    /// The id of the schema that the file was written with.
    pub fn schema_id(&self, row: usize) -> Result<i64> {
        self.file.columns.must("_SCHEMA_ID", self.file.schema_id.get(row))
    }

    /// The file alone.
    pub fn file(&self, row: usize) -> Result<DataFileMeta> {
        self.file.get(row)
    }

    /// The whole record.
    pub fn entry(&self, row: usize) -> Result<ManifestEntry> {
        self.entry_of(row, self.partition(row)?.into())
    }

    /// The whole record, with bytes of its partition that are there already.
    pub fn entry_in(&self, row: usize, partition: Arc<[u8]>) -> Result<ManifestEntry> {
        self.entry_of(row, partition)
    }

    /// All records; neighbours of one partition share its bytes.
    pub fn entries(&self) -> Result<Vec<ManifestEntry>> {
        let mut entries: Vec<ManifestEntry> = Vec::with_capacity(self.len());
        for row in 0..self.len() {
            let partition = self.partition(row)?;
            let last = entries.last().map(|e| &e.partition).filter(|p| p.as_ref() == partition);
            let partition = last.map_or_else(|| partition.into(), Arc::clone);
            entries.push(self.entry_of(row, partition)?);
        }
        Ok(entries)
    }

    fn entry_of(&self, row: usize, partition: Arc<[u8]>) -> Result<ManifestEntry> {
        Ok(ManifestEntry {
            kind: self.kind(row)?,
            partition,
            bucket: self.bucket(row)?,
            total_buckets: self.total_buckets(row)?,
            file: self.file.get(row)?,
        })
    }
}

/// The columns of `_FILE`.
pub(super) struct DataFileColumns<'a> {
    pub(super) columns: Columns<'a>,
    pub(super) file_name: Texts,
    pub(super) file_size: Longs,
    pub(super) row_count: Longs,
    pub(super) min_key: Binaries,
    pub(super) max_key: Binaries,
    pub(super) key_stats: StatsColumns,
    pub(super) value_stats: StatsColumns,
    pub(super) min_sequence_number: Longs,
    pub(super) max_sequence_number: Longs,
    pub(super) schema_id: Longs,
    pub(super) level: Longs,
    pub(super) extra_files: ListsOf<Texts>,
    pub(super) creation_time: Longs,
    pub(super) delete_row_count: Longs,
    pub(super) embedded_index: Binaries,
    pub(super) file_source: Longs,
    pub(super) value_stats_cols: ListsOf<Texts>,
    pub(super) external_path: Texts,
    pub(super) first_row_id: Longs,
    pub(super) write_cols: ListsOf<Texts>,
    pub(super) write_cols_sequences: ListsOf<Longs>,
}

impl<'a> DataFileColumns<'a> {
    fn new(file: &'a StructArray) -> Result<Self> {
        let columns = Columns::of_struct("data file", file);
        Ok(Self {
            file_name: columns.texts("_FILE_NAME")?,
            file_size: columns.longs("_FILE_SIZE")?,
            row_count: columns.longs("_ROW_COUNT")?,
            min_key: columns.bytes("_MIN_KEY")?,
            max_key: columns.bytes("_MAX_KEY")?,
            key_stats: columns.stats("_KEY_STATS")?,
            value_stats: columns.stats("_VALUE_STATS")?,
            min_sequence_number: columns.longs("_MIN_SEQUENCE_NUMBER")?,
            max_sequence_number: columns.longs("_MAX_SEQUENCE_NUMBER")?,
            schema_id: columns.longs("_SCHEMA_ID")?,
            level: columns.longs("_LEVEL")?,
            extra_files: columns.optional_text_lists("_EXTRA_FILES")?,
            creation_time: columns.optional_millis("_CREATION_TIME")?,
            delete_row_count: columns.optional_longs("_DELETE_ROW_COUNT")?,
            embedded_index: columns.optional_bytes("_EMBEDDED_FILE_INDEX")?,
            file_source: columns.optional_longs("_FILE_SOURCE")?,
            value_stats_cols: columns.optional_text_lists("_VALUE_STATS_COLS")?,
            external_path: columns.optional_texts("_EXTERNAL_PATH")?,
            first_row_id: columns.optional_longs("_FIRST_ROW_ID")?,
            write_cols: columns.optional_text_lists("_WRITE_COLS")?,
            write_cols_sequences: columns.optional_long_lists("_WRITE_COLS_SEQUENCES")?,
            columns,
        })
    }

    fn get(&self, row: usize) -> Result<DataFileMeta> {
        let must = |name, value: &Longs| self.columns.must(name, value.get(row));
        let sequences = self.write_cols_sequences.get(row);
        Ok(DataFileMeta {
            file_name: self.columns.must("_FILE_NAME", self.file_name.owned(row))?,
            file_size: must("_FILE_SIZE", &self.file_size)?,
            row_count: must("_ROW_COUNT", &self.row_count)?,
            min_key: self.columns.must("_MIN_KEY", self.min_key.owned(row))?,
            max_key: self.columns.must("_MAX_KEY", self.max_key.owned(row))?,
            key_stats: self.key_stats.get(row),
            value_stats: self.value_stats.get(row),
            min_sequence_number: must("_MIN_SEQUENCE_NUMBER", &self.min_sequence_number)?,
            max_sequence_number: must("_MAX_SEQUENCE_NUMBER", &self.max_sequence_number)?,
            schema_id: must("_SCHEMA_ID", &self.schema_id)?,
            level: self.columns.must("_LEVEL", self.level.int(row))?,
            extra_files: self.extra_files.get(row).unwrap_or_default(),
            creation_time_millis: self.creation_time.get(row),
            delete_row_count: self.delete_row_count.get(row),
            embedded_index: self.embedded_index.owned(row),
            file_source: self.file_source.int(row),
            value_stats_cols: self.value_stats_cols.get(row),
            external_path: self.external_path.owned(row),
            first_row_id: self.first_row_id.get(row),
            write_cols: self.write_cols.get(row),
            write_cols_sequences: sequences.map(|s| s.into_iter().collect::<Option<Vec<_>>>()).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use arrow::array::*;
    use arrow::buffer::NullBuffer;

    use super::super::columns_for_tests::*;
    use super::*;

    fn file_columns() -> Vec<(&'static str, ArrayRef)> {
        vec![
            ("_FILE_NAME", texts(&["data-a.orc", "data-b.orc"])),
            ("_FILE_SIZE", longs(&[10, 20])),
            ("_ROW_COUNT", longs(&[1, 2])),
            ("_MIN_KEY", bytes(&[b"\0\0\0\0", b"\0\0\0\0"])),
            ("_MAX_KEY", bytes(&[b"\0\0\0\0", b"\0\0\0\x01"])),
            ("_KEY_STATS", stats(2)),
            ("_VALUE_STATS", stats(2)),
            ("_MIN_SEQUENCE_NUMBER", longs(&[0, 5])),
            ("_MAX_SEQUENCE_NUMBER", longs(&[4, 9])),
            ("_SCHEMA_ID", longs(&[0, 0])),
            ("_LEVEL", ints(&[0, 5])),
        ]
    }

    fn late_columns() -> Vec<(&'static str, ArrayRef)> {
        vec![
            ("_EXTRA_FILES", text_lists(&[Some(&[]), Some(&["x.index"])])),
            ("_CREATION_TIME", Arc::new(TimestampMillisecondArray::from(vec![Some(7), None]))),
            ("_DELETE_ROW_COUNT", Arc::new(Int64Array::from(vec![None, Some(0)]))),
            ("_EMBEDDED_FILE_INDEX", Arc::new(BinaryArray::from(vec![None, Some(b"i".as_slice())]))),
            ("_FILE_SOURCE", Arc::new(Int8Array::from(vec![Some(0), None]))),
            ("_VALUE_STATS_COLS", text_lists(&[None, Some(&[])])),
            ("_EXTERNAL_PATH", Arc::new(StringArray::from(vec![None, Some("s3://b/f")]))),
            ("_FIRST_ROW_ID", Arc::new(Int64Array::from(vec![Some(3), None]))),
            ("_WRITE_COLS", text_lists(&[Some(&["a", "_ROW_ID"]), None])),
            ("_WRITE_COLS_SEQUENCES", long_lists(&[Some(&[1, 2]), None])),
        ]
    }

    fn top_columns(file: ArrayRef) -> Vec<(&'static str, ArrayRef)> {
        vec![
            ("_VERSION", ints(&[2, 2])),
            ("_KIND", Arc::new(Int8Array::from(vec![0, 1]))),
            ("_PARTITION", bytes(&[b"\0\0\0\0", b"\0\0\0\0"])),
            ("_BUCKET", ints(&[0, -2])),
            ("_TOTAL_BUCKETS", ints(&[1, -2])),
            ("_FILE", file),
        ]
    }

    fn read(columns: Vec<(&'static str, ArrayRef)>) -> Result<Vec<ManifestEntry>> {
        ManifestEntries::new(&batch(columns)).and_then(|e| e.entries())
    }

    #[test]
    fn an_entry_has_all_its_columns() {
        let file = structs([file_columns(), late_columns()].concat(), None);
        let batch = batch(top_columns(file));
        let entries = ManifestEntries::new(&batch).unwrap();
        assert_eq!((entries.len(), entries.level(1).unwrap(), entries.file_name(1).unwrap()), (2, 5, "data-b.orc"));
        let got = entries.entries().unwrap();
        assert_eq!(got, [entries.entry(0).unwrap(), entries.entry(1).unwrap()]);
        assert!(Arc::ptr_eq(&got[0].partition, &got[1].partition));
        let [a, b] = [&got[0].file, &got[1].file];
        assert_eq!((got[0].kind, got[1].kind, got[1].bucket), (FileKind::Add, FileKind::Delete, -2));
        assert_eq!((a.creation_time_millis, b.creation_time_millis), (Some(7), None));
        assert_eq!((a.delete_row_count, b.delete_row_count), (None, Some(0)));
        assert_eq!((&a.value_stats_cols, &b.value_stats_cols), (&None, &Some(vec![])));
        assert_eq!((a.file_source, b.embedded_index.as_deref()), (Some(0), Some(b"i".as_slice())));
        assert_eq!((b.external_path.as_deref(), a.first_row_id), (Some("s3://b/f"), Some(3)));
        assert_eq!((&a.write_cols_sequences, b.extra_files.len()), (&Some(vec![1, 2]), 1));
        assert_eq!((b.value_stats.null_counts.len(), b.max_key.len(), b.max_sequence_number), (2, 4, 9));
    }

    #[test]
    fn old_entries_lack_the_later_columns() {
        let got = read(top_columns(structs(file_columns(), None))).unwrap();
        assert_eq!((got[1].file.value_stats_cols.as_ref(), got[1].file.write_cols.as_ref()), (None, None));
        assert_eq!((got[0].file.delete_row_count, got[0].file.extra_files.len()), (None, 0));
    }

    #[test]
    fn what_is_missing_is_named() {
        for i in 0..6 {
            let mut columns = top_columns(structs(file_columns(), None));
            let (name, _) = columns.remove(i);
            assert!(read(columns).unwrap_err().to_string().contains(name));
        }
        for i in 0..11 {
            let mut columns = file_columns();
            let (name, _) = columns.remove(i);
            let error = read(top_columns(structs(columns, None))).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("data file"), "{error}");
        }
        let nulls = NullBuffer::from(vec![true, false]);
        let error = read(top_columns(structs(file_columns(), Some(nulls)))).unwrap_err().to_string();
        assert!(error.contains("_FILE") && error.contains("NULL"), "{error}");
        let mut columns = top_columns(structs(file_columns(), None));
        columns[1].1 = ints(&[0, 2]);
        assert!(read(columns).unwrap_err().to_string().contains("_KIND"));
    }

    #[test]
    fn a_lifted_file_is_another_one() {
        let file = DataFileMeta { level: 0, ..DataFileMeta::for_tests("f") };
        let entry = |kind, file| ManifestEntry { kind, partition: [0u8; 4].into(), bucket: 0, total_buckets: 1, file };
        let deleted = [entry(FileKind::Delete, file.clone())];
        let gone: HashSet<_> = deleted.iter().map(ManifestEntry::identity).collect();
        assert!(gone.contains(&entry(FileKind::Add, file.clone()).identity()));
        for other in [
            DataFileMeta { level: 1, ..file.clone() },
            DataFileMeta { external_path: Some("s3://b/f".into()), ..file.clone() },
            DataFileMeta { extra_files: vec!["f.index".into()], ..file.clone() },
        ] {
            assert!(!gone.contains(&entry(FileKind::Add, other).identity()));
        }
    }
}
