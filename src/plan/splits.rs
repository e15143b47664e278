//! Packs the live files of a snapshot into splits.
//!
//! In: live entries. Out: for each partition and bucket, splits of about `source.split.target-size` bytes, a small file
//! counted as `source.split.open-file-cost`. Files of an append table come in the order of their sequence numbers. Of a
//! table with a primary key, files that overlap no other and hold no deletes are read as they are; the others form
//! sections. Java: `AppendOnlySplitGenerator`, `MergeTreeSplitGenerator`, `BinPacking.packForOrdered`.

use std::collections::HashMap;
use std::sync::Arc;

use super::deletion_files::DeletionFiles;
use super::intervals::sections;
use super::paths::DataPaths;
use super::prune::files::FilePruning;
use crate::error::Result;
use crate::spec::data_type::DataType;
use crate::spec::manifest_entry::ManifestEntry;
use crate::split::{DataSplit, Section, SplitFile};

/// How large splits become, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct SplitSizes {
    /// `source.split.target-size`
    pub target_bytes: u64,
    /// `source.split.open-file-cost`
    pub open_cost_bytes: u64,
}

/// Makes the splits of one branch.
#[derive(Debug)]
pub struct SplitMaker<'a> {
    /// The snapshot that the files are of.
    pub snapshot_id: i64,
    /// The branch, unless it is the table's own.
    pub branch: Option<Arc<str>>,
    /// How large splits become.
    pub sizes: SplitSizes,
    /// Where files lie.
    pub paths: &'a mut DataPaths,
    /// Which of their rows are deleted.
    pub deletions: &'a DeletionFiles,
    /// The types of the trimmed primary key; none for an append table.
    pub key_types: &'a [DataType],
    /// Whether files are ordered by the key; else nothing is merged, deletion vectors mark all older versions.
    pub ordered_by_key: bool,
    /// Whether deletion vectors already take away the older versions of keys.
    pub deletions_cover_versions: bool,
    /// Which files statistics leave out.
    pub pruning: &'a FilePruning<'a>,
    /// Whether a merged row is one of the rows it is merged from, so that it matches nothing that none of these does.
    pub merge_chooses: bool,
}

/// What a split is packed from: a file, or a section.
enum Piece {
    File(SplitFile),
    Section(Section),
}

impl Piece {
    fn weight_bytes(&self, open_cost_bytes: u64) -> u64 {
        let size = |f: &SplitFile| u64::try_from(f.meta.file_size).unwrap_or(0);
        let bytes = match self {
            Piece::File(file) => size(file),
            Piece::Section(section) => section.runs.iter().flatten().map(size).sum(),
        };
        bytes.max(open_cost_bytes)
    }
}

impl SplitMaker<'_> {
    /// The splits of live entries.
    pub fn splits(&mut self, entries: Vec<ManifestEntry>) -> Result<Vec<DataSplit>> {
        let mut splits = vec![];
        for bucket in by_bucket(entries) {
            let Some(first) = bucket.first() else { continue };
            let template = self.empty_split(first);
            let pieces = if self.key_types.is_empty() { self.in_sequence(bucket)? } else { self.by_key(bucket)? };
            splits.extend(pack(template, pieces, self.sizes));
        }
        Ok(splits)
    }

    fn empty_split(&self, entry: &ManifestEntry) -> DataSplit {
        DataSplit {
            snapshot_id: self.snapshot_id,
            branch: self.branch.clone(),
            partition: Arc::clone(&entry.partition),
            bucket: entry.bucket,
            total_buckets: entry.total_buckets,
            files: vec![],
            sections: vec![],
        }
    }

    fn file(&mut self, entry: ManifestEntry) -> Result<SplitFile> {
        let (path, deletion) = (self.paths.of(&entry)?, self.deletions.of(&entry));
        Ok(SplitFile { path, deletion, meta: Arc::new(entry.file), range: None })
    }

    fn in_sequence(&mut self, bucket: Vec<ManifestEntry>) -> Result<Vec<Piece>> {
        let mut bucket = self.kept(bucket, |pruning, e| pruning.keeps_by_value(&e.partition, &e.file))?;
        bucket.sort_by_key(|e| e.file.min_sequence_number);
        bucket.into_iter().map(|e| Ok(Piece::File(self.file(e)?))).collect()
    }

    /// The files that statistics keep, which are counted.
    fn kept<T>(&self, files: Vec<T>, keeps: impl Fn(&FilePruning<'_>, &T) -> Result<bool>) -> Result<Vec<T>> {
        let mut kept = Vec::with_capacity(files.len());
        for file in files {
            let keep = keeps(self.pruning, &file)?;
            self.pruning.count(keep);
            kept.extend(keep.then_some(file));
        }
        Ok(kept)
    }

    /// Values may leave out a file that is read as it is. Of a section, where a row may replace another that matches,
    /// they may leave out all files at once.
    fn by_key(&mut self, bucket: Vec<ManifestEntry>) -> Result<Vec<Piece>> {
        let Some(partition) = bucket.first().map(|e| Arc::clone(&e.partition)) else { return Ok(vec![]) };
        let bucket = bucket.into_iter().map(|e| Ok((self.pruning.keeps_by_key(&e.partition, &e.file)?, e)));
        let bucket = bucket.collect::<Result<Vec<_>>>()?;
        bucket.iter().filter(|(keep, _)| !keep).for_each(|_| self.pruning.count(false));
        let files = bucket.into_iter().filter(|(keep, _)| *keep).map(|(_, e)| self.file(e));
        let files = files.collect::<Result<Vec<_>>>()?;
        let mut pieces = vec![];
        let sections = match self.ordered_by_key {
            true => sections(files, self.key_types, |f| &f.meta)?,
            false => files.into_iter().map(|file| vec![vec![file]]).collect(),
        };
        for runs in sections {
            if self.is_raw(&runs) {
                let files = runs.into_iter().flatten().collect();
                let kept = self.kept(files, |pruning, f| pruning.keeps_by_value(&partition, &f.meta))?;
                pieces.extend(kept.into_iter().map(Piece::File));
            } else if self.keeps_section(&partition, &runs)? {
                pieces.push(Piece::Section(Section { runs }));
            }
        }
        Ok(pieces)
    }

    fn keeps_section(&self, partition: &[u8], runs: &[Vec<SplitFile>]) -> Result<bool> {
        let mut keep = !self.merge_chooses;
        for file in runs.iter().flatten() {
            keep = keep || self.pruning.keeps_by_value(partition, &file.meta)?;
        }
        runs.iter().flatten().for_each(|_| self.pruning.count(keep));
        Ok(keep)
    }

    /// Whether every row of a section that no deletion vector takes away is a row of the table.
    fn is_raw(&self, runs: &[Vec<SplitFile>]) -> bool {
        let files = || runs.iter().flatten();
        if !files().all(|f| f.meta.delete_row_count == Some(0)) {
            return false;
        }
        // Vectors mark the older versions in all files but the newest; a file without one, from before vectors were
        // switched on, may hide older versions of keys.
        let newest = files().map(|f| f.meta.max_sequence_number).max();
        let covered = |f: &SplitFile| f.deletion.is_some() || Some(f.meta.max_sequence_number) == newest;
        runs.len() == 1 || (self.deletions_cover_versions && files().all(covered))
    }
}

/// Fills splits in order; a split that would become too large is closed.
fn pack(template: DataSplit, pieces: Vec<Piece>, sizes: SplitSizes) -> Vec<DataSplit> {
    let mut splits = vec![];
    let mut open: Option<(DataSplit, u64)> = None;
    for piece in pieces {
        let weight = piece.weight_bytes(sizes.open_cost_bytes);
        if let Some((full, _)) = open.take_if(|(_, bytes)| bytes.saturating_add(weight) > sizes.target_bytes) {
            splits.push(full);
        }
        let (split, bytes) = open.get_or_insert_with(|| (template.clone(), 0));
        *bytes = bytes.saturating_add(weight);
        match piece {
            Piece::File(file) => split.files.push(file),
            Piece::Section(section) => split.sections.push(section),
        }
    }
    splits.extend(open.map(|(split, _)| split));
    splits
}

/// Groups entries by partition and bucket, in the order in which these first occur.
fn by_bucket(entries: Vec<ManifestEntry>) -> Vec<Vec<ManifestEntry>> {
    let mut places: HashMap<(Arc<[u8]>, i32), usize> = HashMap::new();
    let mut buckets: Vec<Vec<ManifestEntry>> = vec![];
    for entry in entries {
        let at = *places.entry((Arc::clone(&entry.partition), entry.bucket)).or_insert(buckets.len());
        match buckets.get_mut(at) {
            Some(bucket) => bucket.push(entry),
            None => buckets.push(vec![entry]),
        }
    }
    buckets
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::options::TableOptions;
    use crate::plan::prune::Pruning;
    use crate::predicate::testing::{column, int};
    use crate::predicate::{Predicate, Test};
    use crate::spec::binary_row::serialize_row;
    use crate::spec::data_file::DataFileMeta;
    use crate::spec::datum::Datum;
    use crate::spec::manifest_entry::FileKind;
    use crate::spec::simple_stats::SimpleStats;
    use crate::spec::table_schema::TableSchema;

    const SCHEMA: &[u8] = br#"{"version":3,"id":0,"fields":[{"id":0,"name":"k","type":"INT NOT NULL"},
        {"id":1,"name":"v","type":"INT"}],"partitionKeys":[],"primaryKeys":["k"],"options":{"bucket":"1"}}"#;

    fn row(values: &[i32]) -> Vec<u8> {
        let types = vec![DataType::parse("INT").unwrap(); values.len()];
        serialize_row(&types, &values.iter().map(|v| Some(Datum::Int(*v))).collect::<Vec<_>>()).unwrap()
    }

    /// A file of keys from `k.0` to `k.1` and values from `v.0` to `v.1`.
    fn file(name: &str, level: i32, k: (i32, i32), v: (i32, i32)) -> ManifestEntry {
        let stats = |min: &[i32], max: &[i32]| SimpleStats {
            min_values: row(min),
            max_values: row(max),
            null_counts: vec![Some(0); min.len()],
        };
        let file = DataFileMeta {
            file_name: name.into(),
            level,
            row_count: 2,
            min_key: row(&[k.0]),
            max_key: row(&[k.1]),
            key_stats: stats(&[k.0], &[k.1]),
            value_stats: stats(&[k.0, v.0], &[k.1, v.1]),
            delete_row_count: Some(0),
            ..DataFileMeta::empty()
        };
        let partition = serialize_row([], &[]).unwrap().into();
        ManifestEntry { kind: FileKind::Add, partition, bucket: 0, total_buckets: 1, file }
    }

    fn planned(predicate: &Predicate, merge_chooses: bool, entries: Vec<ManifestEntry>) -> Vec<String> {
        let schema = TableSchema::from_json(SCHEMA).unwrap();
        let options = TableOptions::effective(&schema.options, &BTreeMap::new()).unwrap();
        let pruning = Pruning::new(predicate, &schema, &options);
        let schemas = [(0, Arc::new(schema.clone()))].into();
        let mut maker = SplitMaker {
            snapshot_id: 1,
            branch: None,
            sizes: SplitSizes { target_bytes: 1 << 30, open_cost_bytes: 1 },
            paths: &mut DataPaths::new("t".into(), vec![], &options, chrono_tz::UTC),
            deletions: &DeletionFiles::default(),
            ordered_by_key: true,
            key_types: &[DataType::parse("INT NOT NULL").unwrap()],
            deletions_cover_versions: false,
            pruning: &FilePruning::new(&pruning, &schema, &schemas),
            merge_chooses,
        };
        let splits = maker.splits(entries).unwrap();
        splits.iter().flat_map(DataSplit::all_files).map(|f| f.meta.file_name.clone()).collect()
    }

    fn v(test: Test) -> Predicate {
        Predicate::leaf(column(1, "INT"), test)
    }

    #[test]
    fn an_old_version_is_not_brought_back_by_leaving_out_the_new_one() {
        let files = || vec![file("old", 0, (1, 2), (10, 20)), file("new", 0, (1, 1), (99, 99))];
        assert_eq!(planned(&v(Test::Equal(int(10))), true, files()), ["new", "old"]);
        assert_eq!(planned(&v(Test::Less(int(50))), true, files()), ["new", "old"]);
        assert!(planned(&v(Test::Equal(int(50))), true, files()).is_empty());
    }

    #[test]
    fn a_merged_row_may_match_what_no_file_does() {
        let files = || vec![file("a", 0, (1, 2), (1, 1)), file("b", 0, (1, 1), (2, 2))];
        assert_eq!(planned(&v(Test::Equal(int(3))), false, files()).len(), 2);
    }

    #[test]
    fn keys_leave_out_files_anywhere_and_values_those_that_are_read_as_they_are() {
        let files = || {
            let apart = [file("c", 5, (10, 20), (1, 5)), file("d", 5, (21, 30), (6, 9))];
            [file("a", 0, (1, 5), (1, 5)), file("b", 0, (3, 9), (6, 9))].into_iter().chain(apart).collect::<Vec<_>>()
        };
        let k = |value| Predicate::leaf(column(0, "INT NOT NULL"), Test::Equal(int(value)));
        assert_eq!(planned(&k(1), true, files()), ["a"]);
        assert_eq!(planned(&k(4), false, files()), ["a", "b"]);
        assert_eq!(planned(&k(25), true, files()), ["d"]);
        assert_eq!(planned(&v(Test::Equal(int(6))), true, files()), ["d", "a", "b"]);
        assert_eq!(planned(&v(Test::Equal(int(7))), false, files()), ["d", "a", "b"]);
        assert_eq!(planned(&Predicate::always(), true, files()).len(), 4);
    }
}
