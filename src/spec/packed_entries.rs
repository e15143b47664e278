//! The entries of a manifest in little memory: [`PackedEntries`].
//!
//! In: a batch of records of a manifest. Out: its entries, each of which can be had as a whole, or looked at by kind,
//! partition, bucket and statistics first. Packing checks what reading an entry needs, so that no entry fails later.
//! Complete: whatever is kept between queries can be kept in this form.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use super::column_range::KnownRanges;
use super::columns::{Longs, Texts};
use super::data_file::DataFileMeta;
use super::manifest_entry::{DataFileColumns, FileKind, ManifestEntries, ManifestEntry};
use super::packed::lists::{pack_longs, pack_texts, unpack_longs, unpack_texts};
use super::packed::{Dictionary, PackedBytes, PackedLongs};
use super::packed_statistics::{PackedStatistics, PackedStats, pack_column};
use super::stats_parts::StatsParts;
use crate::error::Result;

/// Hashes identities, in one process always alike.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Some entries of a manifest.
#[derive(Debug)]
pub struct PackedEntries {
    rows: usize,
    kind: PackedLongs,
    partition: Dictionary,
    bucket: PackedLongs,
    total_buckets: PackedLongs,
    file: PackedFiles,
    /// A hash of level and name of each file.
    hashes: Box<[u32]>,
    /// What names of files end in, behind the last dot; each once.
    extensions: Vec<String>,
    /// What was found of columns, in all files that are added.
    ranges: KnownRanges,
}

/// The columns of `_FILE`.
#[derive(Debug)]
struct PackedFiles {
    file_name: PackedBytes,
    file_size: PackedLongs,
    min_key: PackedBytes,
    max_key: PackedBytes,
    key_stats: PackedStats,
    statistics: PackedStatistics,
    min_sequence_number: PackedLongs,
    max_sequence_number: PackedLongs,
    creation_time: PackedLongs,
    delete_row_count: PackedLongs,
    file_source: PackedLongs,
    /// Boxed, since most tables have no such and chunks may be many; `None` where all are NULL or empty.
    rare: Option<Box<RareColumns>>,
}

/// The columns of `_FILE` that few tables use.
#[derive(Debug)]
struct RareColumns {
    extra_files: PackedBytes,
    embedded_index: PackedBytes,
    value_stats_cols: PackedBytes,
    external_path: PackedBytes,
    first_row_id: PackedLongs,
    write_cols: PackedBytes,
    write_cols_sequences: PackedBytes,
}

impl PackedEntries {
    /// Packs the records of a batch.
    pub fn pack(entries: &ManifestEntries<'_>) -> Result<Self> {
        let rows = entries.len();
        let (mut hashes, mut extensions) = (Vec::with_capacity(rows), Vec::<String>::new());
        for row in 0..rows {
            // Numbers that do not fit are found here.
            entries.kind(row)?;
            entries.bucket(row)?;
            entries.total_buckets(row)?;
            entries.partition(row)?;
            let (name, level) = (entries.file_name(row)?, entries.level(row)?);
            hashes.push(identity_hash(level, name.as_bytes()));
            if extensions.last().is_some_and(|last| has_extension(name, last)) {
                continue;
            }
            let extension = name.rsplit('.').next().unwrap_or(name);
            if !extensions.iter().any(|e| e == extension) {
                extensions.push(extension.to_owned());
            }
        }
        let longs = |column: &Longs| pack_column(rows, column);
        Ok(Self {
            rows,
            kind: longs(&entries.kind),
            partition: Dictionary::pack(rows, |row| entries.partition.get(row).unwrap_or_default()),
            bucket: longs(&entries.bucket),
            total_buckets: longs(&entries.total_buckets),
            file: PackedFiles::pack(rows, &entries.file)?,
            hashes: hashes.into(),
            extensions,
            ranges: KnownRanges::default(),
        })
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether the file is added or deleted.
    pub fn kind(&self, row: usize) -> FileKind {
        FileKind::from_number(self.kind.get(row).unwrap_or(0)).unwrap_or(FileKind::Add)
    }

    /// Whether a file is added.
    pub fn is_added(&self, row: usize) -> bool {
        self.kind(row) == FileKind::Add
    }

    /// What was found of columns, in all files that are added.
    pub fn ranges(&self) -> &KnownRanges {
        &self.ranges
    }

    /// Whether all files are added.
    pub fn only_adds(&self) -> bool {
        (0..self.rows).all(|row| self.kind.get(row) == Some(0))
    }

    /// The different partitions, as serialized `BinaryRow`s.
    pub fn partitions(&self) -> &[Arc<[u8]>] {
        self.partition.values()
    }

    /// Which of the different partitions an entry has.
    #[inline]
    pub fn partition_code(&self, row: usize) -> usize {
        self.partition.code(row)
    }

    /// The bucket's number.
    #[inline]
    pub fn bucket(&self, row: usize) -> i32 {
        self.bucket.int(row)
    }

    /// How many buckets the partition had.
    pub fn total_buckets(&self, row: usize) -> i32 {
        self.total_buckets.int(row)
    }

    /// The level of the file.
    pub fn level(&self, row: usize) -> i32 {
        self.file.statistics.level(row)
    }

    /// The id of the schema that the file was written with.
    pub fn schema_id(&self, row: usize) -> i64 {
        self.file.statistics.schema_id(row)
    }

    /// The size of the file in bytes.
    pub fn file_size(&self, row: usize) -> i64 {
        self.file.file_size.get(row).unwrap_or(0)
    }

    /// Physical rows of the file.
    pub fn row_count(&self, row: usize) -> i64 {
        self.file.statistics.row_count(row)
    }

    /// The smallest sequence number of the file.
    pub fn min_sequence_number(&self, row: usize) -> i64 {
        self.file.min_sequence_number.get(row).unwrap_or(0)
    }

    /// The writer's wall clock, in milliseconds as if it were UTC.
    pub fn creation_time_millis(&self, row: usize) -> Option<i64> {
        self.file.creation_time.get(row)
    }

    /// The name of the file.
    pub fn file_name(&self, row: usize) -> String {
        self.file.file_name.text(row).unwrap_or_default()
    }

    /// A hash of the level and the name of the file.
    pub fn identity_hash(&self, row: usize) -> u32 {
        self.hashes.get(row).copied().unwrap_or(0)
    }

    /// What names of files end in, behind the last dot.
    pub fn extensions(&self) -> &[String] {
        &self.extensions
    }

    /// Whether two entries are of one file: all that makes a DELETE match an ADD but partition and bucket.
    pub fn is_same_file(&self, row: usize, other: &Self, other_row: usize) -> bool {
        let (a, b) = (&self.file, &other.file);
        let rare = |of: fn(&RareColumns) -> &PackedBytes| a.rare_bytes(row, of) == b.rare_bytes(other_row, of);
        self.level(row) == other.level(other_row)
            && a.file_name.get(row) == b.file_name.get(other_row)
            && a.extra_files(row) == b.extra_files(other_row)
            && rare(|rare| &rare.embedded_index)
            && rare(|rare| &rare.external_path)
    }

    /// The whole entry.
    pub fn entry(&self, row: usize) -> Option<ManifestEntry> {
        let partition = Arc::clone(self.partition.get(row)?);
        Some(ManifestEntry {
            kind: self.kind(row),
            partition,
            bucket: self.bucket(row),
            total_buckets: self.total_buckets(row),
            file: self.file.get(row),
        })
    }

    /// The file alone.
    pub fn file(&self, row: usize) -> DataFileMeta {
        self.file.get(row)
    }

    /// The schema of all files, where they have one and list no columns: where statistics of columns stand is told by it.
    pub fn laid_out_by(&self) -> Option<i64> {
        let listed = |rare: &RareColumns| !rare.value_stats_cols.is_all_null() || !rare.write_cols.is_all_null();
        self.file.statistics.schema_of_all().filter(|_| !self.file.rare.as_deref().is_some_and(listed))
    }

    /// Fills in of a file what is asked about its columns: their statistics and index, and of the name what it ends in.
    /// What else `file` says is of no meaning; if `parts` of statistics are given, so are all others.
    pub fn file_statistics(&self, row: usize, parts: Option<&StatsParts>, file: &mut DataFileMeta) {
        match self.extensions.as_slice() {
            [only] => {
                if file.file_name.strip_prefix('.') != Some(only) {
                    file.file_name = format!(".{only}");
                }
            }
            _ => file.file_name = self.file_name(row),
        }
        self.file.statistics(row, parts, file);
    }

    /// The statistics that are all of what [`Self::file_statistics`] fills in, and what the names of all files end in; `None`
    /// where there is more to it.
    pub fn plain_statistics(&self) -> Option<(&PackedStatistics, &str)> {
        let [extension] = self.extensions.as_slice() else { return None };
        let more = |rare: &RareColumns| !rare.embedded_index.is_all_null();
        let plain = self.laid_out_by().is_some() && !self.file.rare.as_deref().is_some_and(more);
        plain.then_some((&self.file.statistics, extension))
    }

    /// Brings what [`Self::file_statistics`] looks at into the processor's caches, as [`PackedStatistics::touch`] does.
    #[inline]
    pub fn touch_statistics(&self, row: usize, step: usize) -> usize {
        let names = match step {
            0 => self.extensions.len(),
            1 => self.extensions.first().map_or(0, String::len),
            _ => 0,
        };
        names + self.file.statistics.touch(row, step)
    }

    /// The memory it holds.
    pub fn heap_bytes(&self) -> usize {
        let columns = [&self.kind, &self.bucket, &self.total_buckets].map(PackedLongs::heap_bytes);
        columns.iter().sum::<usize>()
            + self.partition.heap_bytes()
            + self.file.heap_bytes()
            + self.hashes.len() * size_of::<u32>()
            + self.extensions.iter().map(|e| e.capacity() + size_of::<String>()).sum::<usize>()
            + size_of::<Self>()
    }
}

fn identity_hash(level: i32, name: &[u8]) -> u32 {
    (HASHER.hash_one((level, name)) & u64::from(u32::MAX)) as u32
}

/// Whether what follows the last dot of a name is this.
fn has_extension(name: &str, extension: &str) -> bool {
    name.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.')) && !extension.contains('.')
}

impl PackedFiles {
    fn pack(rows: usize, of: &DataFileColumns<'_>) -> Result<Self> {
        let longs = |column: &Longs| pack_column(rows, column);
        let bytes = |column: &super::columns::Binaries| PackedBytes::pack(rows, |row| column.get(row));
        let text = |column: &Texts| PackedBytes::pack(rows, |row| column.get(row).map(str::as_bytes));
        Ok(Self {
            file_name: text(&of.file_name),
            file_size: longs(&of.file_size),
            min_key: bytes(&of.min_key),
            max_key: bytes(&of.max_key),
            key_stats: PackedStats::pack(rows, &of.key_stats)?,
            statistics: PackedStatistics::pack(rows, of)?,
            min_sequence_number: longs(&of.min_sequence_number),
            max_sequence_number: longs(&of.max_sequence_number),
            creation_time: longs(&of.creation_time),
            delete_row_count: longs(&of.delete_row_count),
            file_source: PackedLongs::pack(rows, |row| of.file_source.int(row).map(i64::from)),
            rare: RareColumns::pack(rows, of)?.map(Box::new),
        })
    }

    fn rare_bytes(&self, row: usize, of: impl Fn(&RareColumns) -> &PackedBytes) -> Option<Vec<u8>> {
        of(self.rare.as_deref()?).get(row)
    }

    fn rare_texts(&self, row: usize, of: impl Fn(&RareColumns) -> &PackedBytes) -> Option<Vec<String>> {
        self.rare_bytes(row, of).map(|bytes| unpack_texts(&bytes))
    }

    fn extra_files(&self, row: usize) -> Vec<String> {
        self.rare_texts(row, |rare| &rare.extra_files).unwrap_or_default()
    }

    fn get(&self, row: usize) -> DataFileMeta {
        let long = |column: &PackedLongs| column.get(row).unwrap_or(0);
        let sequences = self.rare_bytes(row, |rare| &rare.write_cols_sequences).map(|bytes| unpack_longs(&bytes));
        DataFileMeta {
            file_name: self.file_name.text(row).unwrap_or_default(),
            file_size: long(&self.file_size),
            row_count: self.statistics.row_count(row),
            min_key: self.min_key.get(row).unwrap_or_default(),
            max_key: self.max_key.get(row).unwrap_or_default(),
            key_stats: self.key_stats.get(row),
            value_stats: self.statistics.value_stats(row),
            min_sequence_number: long(&self.min_sequence_number),
            max_sequence_number: long(&self.max_sequence_number),
            schema_id: self.statistics.schema_id(row),
            level: self.statistics.level(row),
            extra_files: self.extra_files(row),
            creation_time_millis: self.creation_time.get(row),
            delete_row_count: self.delete_row_count.get(row),
            embedded_index: self.rare_bytes(row, |rare| &rare.embedded_index),
            file_source: self.file_source.get(row).and_then(|source| i32::try_from(source).ok()),
            value_stats_cols: self.rare_texts(row, |rare| &rare.value_stats_cols),
            external_path: self.rare.as_ref().and_then(|rare| rare.external_path.text(row)),
            first_row_id: self.rare.as_ref().and_then(|rare| rare.first_row_id.get(row)),
            write_cols: self.rare_texts(row, |rare| &rare.write_cols),
            write_cols_sequences: sequences.and_then(|s| s.into_iter().collect()),
        }
    }

    fn statistics(&self, row: usize, parts: Option<&StatsParts>, file: &mut DataFileMeta) {
        self.statistics.fill(row, parts, file);
        file.value_stats_cols = self.rare_texts(row, |rare| &rare.value_stats_cols);
        file.write_cols = self.rare_texts(row, |rare| &rare.write_cols);
        file.embedded_index = self.rare_bytes(row, |rare| &rare.embedded_index);
    }

    fn heap_bytes(&self) -> usize {
        let longs = [
            &self.file_size,
            &self.min_sequence_number,
            &self.max_sequence_number,
            &self.creation_time,
            &self.delete_row_count,
            &self.file_source,
        ];
        let bytes = [&self.file_name, &self.min_key, &self.max_key];
        longs.iter().map(|c| c.heap_bytes()).sum::<usize>()
            + bytes.iter().map(|c| c.heap_bytes()).sum::<usize>()
            + self.key_stats.heap_bytes()
            + self.statistics.heap_bytes()
            + self.rare.as_ref().map_or(0, |rare| size_of::<RareColumns>() + rare.heap_bytes())
    }
}

impl RareColumns {
    /// `None` where nothing is in them.
    fn pack(rows: usize, of: &DataFileColumns<'_>) -> Result<Option<Self>> {
        // No extra files and NULL are the same.
        if of.extra_files.lists().is_all_empty()
            && of.embedded_index.is_all_null()
            && of.value_stats_cols.lists().is_all_null()
            && of.external_path.is_all_null()
            && of.first_row_id.is_all_null()
            && of.write_cols.lists().is_all_null()
            && of.write_cols_sequences.lists().is_all_null()
        {
            return Ok(None);
        }
        Ok(Some(Self {
            extra_files: pack_texts(rows, &of.extra_files)?,
            embedded_index: PackedBytes::pack(rows, |row| of.embedded_index.get(row)),
            value_stats_cols: pack_texts(rows, &of.value_stats_cols)?,
            external_path: PackedBytes::pack(rows, |row| of.external_path.get(row).map(str::as_bytes)),
            first_row_id: pack_column(rows, &of.first_row_id),
            write_cols: pack_texts(rows, &of.write_cols)?,
            write_cols_sequences: pack_longs(rows, &of.write_cols_sequences)?,
        }))
    }

    /// All but the extra files and the number.
    fn nullable(&self) -> [&PackedBytes; 5] {
        [
            &self.embedded_index,
            &self.value_stats_cols,
            &self.external_path,
            &self.write_cols,
            &self.write_cols_sequences,
        ]
    }

    fn heap_bytes(&self) -> usize {
        let bytes = self.nullable().iter().map(|c| c.heap_bytes()).sum::<usize>();
        bytes + self.extra_files.heap_bytes() + self.first_row_id.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::columns_for_tests::batch_of_entries as batch_of;

    fn entry(i: i64) -> ManifestEntry {
        let mut file = DataFileMeta::for_tests(&format!("data-{i}.orc"));
        file.file_size = 1000 + i;
        file.value_stats.null_counts = vec![Some(i), None];
        if i % 3 == 0 {
            file.extra_files = vec!["a.index".into(), String::new()];
            file.value_stats_cols = Some(vec!["a".into(), "bé".into()]);
            file.embedded_index = Some(vec![1, 2, 3]);
            file.external_path = Some(format!("s3://b/{i}"));
            file.write_cols = Some(vec![]);
            file.first_row_id = Some(i * 1_000_000_000_000);
            file.delete_row_count = None;
        }
        let kind = if i % 5 == 4 { FileKind::Delete } else { FileKind::Add };
        ManifestEntry { kind, partition: vec![0, (i / 7) as u8].into(), bucket: i as i32 % 4, total_buckets: 4, file }
    }

    #[test]
    fn entries_come_back() {
        for n in [0, 1, 2, 50] {
            let entries: Vec<_> = (0..n).map(entry).collect();
            let batch = batch_of(&entries);
            let packed = PackedEntries::pack(&ManifestEntries::new(&batch).unwrap()).unwrap();
            let got: Vec<_> = (0..packed.len()).map(|row| packed.entry(row).unwrap()).collect();
            assert_eq!(got, entries);
            let mut file = DataFileMeta::empty();
            for (row, entry) in entries.iter().enumerate() {
                packed.file_statistics(row, None, &mut file);
                assert_eq!(file.value_stats, entry.file.value_stats);
                assert_eq!(
                    (&file.value_stats_cols, &file.write_cols),
                    (&entry.file.value_stats_cols, &entry.file.write_cols)
                );
                assert_eq!((file.file_name.as_str(), file.row_count), (".orc", entry.file.row_count));
                let next = (row + 1) % entries.len();
                assert_eq!(packed.is_same_file(row, &packed, next), entries.len() == 1);
                assert_eq!(packed.file_name(row), entry.file.file_name);
            }
        }
    }

    #[test]
    fn one_schema_lays_out_statistics_where_no_file_lists_columns() {
        let laid_out = |entries: &[ManifestEntry]| {
            let batch = batch_of(entries);
            PackedEntries::pack(&ManifestEntries::new(&batch).unwrap()).unwrap().laid_out_by()
        };
        let of_schema = |i: i64, schema_id: i64| {
            let entry = entry(i);
            ManifestEntry { file: DataFileMeta { schema_id, ..entry.file }, ..entry }
        };
        assert_eq!(laid_out(&[of_schema(1, 7), of_schema(2, 7)]), Some(7));
        assert_eq!(laid_out(&[of_schema(1, 7), of_schema(2, 8)]), None);
        // The file of the entry 3 lists columns.
        assert_eq!(laid_out(&[of_schema(1, 7), of_schema(3, 7)]), None);
    }

    #[test]
    fn an_entry_takes_few_bytes() {
        let entries: Vec<_> = (0..8000).map(|i| entry(i * 3 + 1)).collect();
        let batch = batch_of(&entries);
        let packed = PackedEntries::pack(&ManifestEntries::new(&batch).unwrap()).unwrap();
        assert!(packed.heap_bytes() / packed.len() < 60, "{}", packed.heap_bytes() / packed.len());
    }
}
