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

    fn in_sequence(&mut self, mut bucket: Vec<ManifestEntry>) -> Result<Vec<Piece>> {
        bucket.sort_by_key(|e| e.file.min_sequence_number);
        bucket.into_iter().map(|e| Ok(Piece::File(self.file(e)?))).collect()
    }

    fn by_key(&mut self, bucket: Vec<ManifestEntry>) -> Result<Vec<Piece>> {
        let files = bucket.into_iter().map(|e| self.file(e)).collect::<Result<Vec<_>>>()?;
        let mut pieces = vec![];
        let sections = match self.ordered_by_key {
            true => sections(files, self.key_types, |f| &f.meta)?,
            false => files.into_iter().map(|file| vec![vec![file]]).collect(),
        };
        for runs in sections {
            if self.is_raw(&runs) {
                pieces.extend(runs.into_iter().flatten().map(Piece::File));
            } else {
                pieces.push(Piece::Section(Section { runs }));
            }
        }
        Ok(pieces)
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
