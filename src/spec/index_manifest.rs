//! Index manifests: the index files of a snapshot, deletion vectors among them.
//!
//! In: a batch of records of a file `manifest/index-manifest-…`, which lists all index files of the snapshot. Out:
//! [`IndexManifestEntry`]s. Java: `IndexManifestEntry`, `IndexFileMeta`, `DeletionVectorMeta`, `GlobalIndexMeta`.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, StructArray};

use super::columns::{Binaries, Columns, Lists, ListsOf, Longs, Texts};
use super::manifest_entry::FileKind;
use crate::error::{Error, Result};

/// The only version of the records.
const VERSION: i64 = 1;

/// The `index_type` of files of deletion vectors.
pub const DELETION_VECTORS_INDEX: &str = "DELETION_VECTORS";

/// The `index_type` of files of key hashes of dynamic buckets.
pub const HASH_INDEX: &str = "HASH";

/// One index file.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexManifestEntry {
    /// Always ADD in the list of a snapshot.
    pub kind: FileKind,
    /// The partition's values, as a serialized `BinaryRow`.
    pub partition: Arc<[u8]>,
    /// The bucket's number.
    pub bucket: i32,
    /// [`DELETION_VECTORS_INDEX`], [`HASH_INDEX`], or the type of a global index.
    pub index_type: String,
    /// The name, without folder.
    pub file_name: String,
    /// The size in bytes.
    pub file_size: i64,
    /// The number of vectors, hashes or rows.
    pub row_count: i64,
    /// Where each data file's vector lies in the file; empty in files that are no deletion vectors.
    pub deletion_vectors: Vec<DeletionVectorMeta>,
    /// The full path, where the file lies outside the table's folder.
    pub external_path: Option<String>,
    /// What a global index is of.
    pub global_index: Option<GlobalIndexMeta>,
}

/// Where the deletion vector of one data file lies in an index file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionVectorMeta {
    /// The name of the data file.
    pub data_file_name: String,
    /// Where the vector's size stands, in bytes.
    pub offset: u64,
    /// The length in bytes: of the vector alone with 32 bits, with its size and checksum with 64 bits.
    pub length: u64,
    /// How many rows are deleted, unknown in old files.
    pub cardinality: Option<i64>,
}

/// What a global index is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalIndexMeta {
    /// The id of its first row.
    pub row_range_start: i64,
    /// The id of its last row.
    pub row_range_end: i64,
    /// The id of the indexed field.
    pub index_field_id: i32,
    /// The ids of further fields in it.
    pub extra_field_ids: Option<Vec<i32>>,
    /// What the index type keeps for itself.
    pub index_meta: Option<Vec<u8>>,
    /// What it was made from.
    pub source_meta: Option<Vec<u8>>,
}

/// Reads the records of an index manifest.
pub fn index_files(batch: &RecordBatch) -> Result<Vec<IndexManifestEntry>> {
    let columns = Columns::of_batch("index manifest entry", batch);
    columns.check_version(VERSION)?;
    let (kind, partition) = (columns.longs("_KIND")?, columns.bytes("_PARTITION")?);
    let (bucket, index_type) = (columns.longs("_BUCKET")?, columns.texts("_INDEX_TYPE")?);
    let (name, size) = (columns.texts("_FILE_NAME")?, columns.longs("_FILE_SIZE")?);
    let (row_count, external_path) = (columns.longs("_ROW_COUNT")?, columns.optional_texts("_EXTERNAL_PATH")?);
    let ranges = columns.optional_lists("_DELETIONS_VECTORS_RANGES")?;
    let vectors = VectorColumns::new(&ranges)?;
    let global_index = columns.optional_structs("_GLOBAL_INDEX")?.map(GlobalIndexColumns::new).transpose()?;
    let record = |row| {
        Ok(IndexManifestEntry {
            kind: FileKind::from_number(columns.must("_KIND", kind.get(row))?)?,
            partition: columns.must("_PARTITION", partition.get(row))?.into(),
            bucket: columns.must("_BUCKET", bucket.int(row))?,
            index_type: columns.must("_INDEX_TYPE", index_type.owned(row))?,
            file_name: columns.must("_FILE_NAME", name.owned(row))?,
            file_size: columns.must("_FILE_SIZE", size.get(row))?,
            row_count: columns.must("_ROW_COUNT", row_count.get(row))?,
            deletion_vectors: vectors.as_ref().map(|v| v.get(row)).transpose()?.unwrap_or_default(),
            external_path: external_path.owned(row),
            global_index: global_index.as_ref().map(|g| g.get(row)).transpose()?.flatten(),
        })
    };
    (0..columns.rows()).map(record).collect()
}

/// The columns of `_DELETIONS_VECTORS_RANGES`.
struct VectorColumns<'a> {
    lists: &'a Lists,
    columns: Columns<'a>,
    file_name: Texts,
    offset: Longs,
    length: Longs,
    cardinality: Longs,
}

impl<'a> VectorColumns<'a> {
    fn new(lists: &'a Lists) -> Result<Option<Self>> {
        let Some(values) = lists.values() else { return Ok(None) };
        let Some(values) = values.as_struct_opt() else {
            return if values.is_empty() {
                Ok(None)
            } else {
                Err(Error::corrupt("_DELETIONS_VECTORS_RANGES of an index manifest entry must be records"))
            };
        };
        let columns = Columns::of_struct("deletion vector range", values);
        Ok(Some(Self {
            lists,
            file_name: columns.optional_texts("f0")?,
            offset: columns.optional_longs("f1")?,
            length: columns.optional_longs("f2")?,
            cardinality: columns.optional_longs("_CARDINALITY")?,
            columns,
        }))
    }

    fn get(&self, row: usize) -> Result<Vec<DeletionVectorMeta>> {
        let unsigned = |v: &Longs, i| v.get(i).and_then(|v| u64::try_from(v).ok());
        let range = |i| {
            Ok(DeletionVectorMeta {
                data_file_name: self.columns.must("f0", self.file_name.owned(i))?,
                offset: self.columns.must("f1", unsigned(&self.offset, i))?,
                length: self.columns.must("f2", unsigned(&self.length, i))?,
                cardinality: self.cardinality.get(i),
            })
        };
        self.lists.range(row).unwrap_or(0..0).map(range).collect()
    }
}

/// The columns of `_GLOBAL_INDEX`.
struct GlobalIndexColumns<'a> {
    array: &'a StructArray,
    columns: Columns<'a>,
    row_range_start: Longs,
    row_range_end: Longs,
    index_field_id: Longs,
    extra_field_ids: ListsOf<Longs>,
    index_meta: Binaries,
    source_meta: Binaries,
}

impl<'a> GlobalIndexColumns<'a> {
    fn new(array: &'a StructArray) -> Result<Self> {
        let columns = Columns::of_struct("global index", array);
        Ok(Self {
            array,
            row_range_start: columns.optional_longs("_ROW_RANGE_START")?,
            row_range_end: columns.optional_longs("_ROW_RANGE_END")?,
            index_field_id: columns.optional_longs("_INDEX_FIELD_ID")?,
            extra_field_ids: columns.optional_long_lists("_EXTRA_FIELD_IDS")?,
            index_meta: columns.optional_bytes("_INDEX_META")?,
            source_meta: columns.optional_bytes("_SOURCE_META")?,
            columns,
        })
    }

    fn get(&self, row: usize) -> Result<Option<GlobalIndexMeta>> {
        if row >= self.array.len() || self.array.is_null(row) {
            return Ok(None);
        }
        let must = |name, value: &Longs| self.columns.must(name, value.get(row));
        let int = |v: Option<i64>| v.and_then(|v| i32::try_from(v).ok());
        let ids = self.extra_field_ids.get(row);
        let ids = ids.map(|ids| {
            let ids = ids.into_iter().map(int).collect::<Option<Vec<_>>>();
            self.columns.must("_EXTRA_FIELD_IDS", ids)
        });
        Ok(Some(GlobalIndexMeta {
            row_range_start: must("_ROW_RANGE_START", &self.row_range_start)?,
            row_range_end: must("_ROW_RANGE_END", &self.row_range_end)?,
            index_field_id: self.columns.must("_INDEX_FIELD_ID", self.index_field_id.int(row))?,
            extra_field_ids: ids.transpose()?,
            index_meta: self.index_meta.owned(row),
            source_meta: self.source_meta.owned(row),
        }))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::*;
    use arrow::buffer::{NullBuffer, OffsetBuffer};
    use arrow::datatypes::Field;

    use super::super::columns_for_tests::*;
    use super::*;

    fn ranges() -> ArrayRef {
        let values = structs(
            vec![
                ("f0", texts(&["data-a", "data-b"])),
                ("f1", ints(&[1, 30])),
                ("f2", ints(&[22, 24])),
                ("_CARDINALITY", Arc::new(Int64Array::from(vec![Some(2), None])) as _),
            ],
            None,
        );
        let field = Arc::new(Field::new("element", values.data_type().clone(), true));
        let nulls = NullBuffer::from(vec![false, true]);
        Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([0, 2]), values, Some(nulls)))
    }

    fn columns() -> Vec<(&'static str, ArrayRef)> {
        let global = vec![
            ("_ROW_RANGE_START", longs(&[0, 0])),
            ("_ROW_RANGE_END", longs(&[99, 0])),
            ("_INDEX_FIELD_ID", ints(&[4, 0])),
            ("_EXTRA_FIELD_IDS", long_lists(&[Some(&[7, 8]), None])),
            ("_INDEX_META", bytes(&[b"m", b""])),
        ];
        vec![
            ("_VERSION", ints(&[1, 1])),
            ("_KIND", ints(&[0, 0])),
            ("_PARTITION", bytes(&[b"\0\0\0\0", b"\0\0\0\0"])),
            ("_BUCKET", ints(&[0, 1])),
            ("_INDEX_TYPE", texts(&["btree", DELETION_VECTORS_INDEX])),
            ("_FILE_NAME", texts(&["index-a-0", "index-b-0"])),
            ("_FILE_SIZE", longs(&[10, 20])),
            ("_ROW_COUNT", longs(&[3, 2])),
            ("_DELETIONS_VECTORS_RANGES", ranges()),
            ("_GLOBAL_INDEX", structs(global, Some(NullBuffer::from(vec![true, false])))),
        ]
    }

    #[test]
    fn vectors_and_global_indexes_are_read() {
        let got = index_files(&batch(columns())).unwrap();
        let global = got[0].global_index.as_ref().unwrap();
        assert_eq!((global.row_range_end, global.index_field_id), (99, 4));
        assert_eq!((global.extra_field_ids.as_deref(), global.source_meta.as_ref()), (Some([7, 8].as_slice()), None));
        assert_eq!((got[0].deletion_vectors.len(), got[1].global_index.as_ref()), (0, None));
        let want = |name: &str, offset, length, cardinality| DeletionVectorMeta {
            data_file_name: name.into(),
            offset,
            length,
            cardinality,
        };
        assert_eq!(got[1].deletion_vectors, [want("data-a", 1, 22, Some(2)), want("data-b", 30, 24, None)]);
        assert_eq!((got[1].bucket, got[1].external_path.as_ref()), (1, None));
    }

    #[test]
    fn old_entries_lack_the_later_columns_and_others_are_errors() {
        let mut old = columns();
        old.truncate(8);
        assert_eq!(index_files(&batch(old)).unwrap()[1].deletion_vectors, []);
        for i in 0..8 {
            let mut columns = columns();
            let (name, _) = columns.remove(i);
            assert!(index_files(&batch(columns)).unwrap_err().to_string().contains(name));
        }
        let mut other = columns();
        other[0].1 = ints(&[1, 3]);
        assert!(index_files(&batch(other)).unwrap_err().to_string().contains("version 3"));
    }
}
