//! Deals the files of splits out to output partitions.
//!
//! In: splits and a wanted number of output partitions. Out: for each output partition its [`ScanTask`]s, such that all
//! have about the same bytes. Files keep their order; a file that would make one partition much heavier than the others
//! is cut into ranges of bytes, which readers take as the row groups, stripes or blocks that begin there. Sections are dealt
//! out besides, cut into ranges of keys, so that several output partitions merge one; where its files cannot be cut so, a
//! section is merged as a whole, and only what is read of it then is dealt out.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use datafusion::common::stats::Precision;

use super::context::ScanSpec;
use super::merge::key_range::{KeyPart, can_cut};
use super::merge::section::{MergeSection, Rule};
use crate::file::FileFormat;
use crate::split::{DataSplit, SplitFile};
use crate::storage::Location;

/// What opening a file costs, in bytes of reading.
const OPEN_COST_BYTES: u64 = 256 << 10;

/// No file is cut into pieces below this size.
const MIN_PIECE_BYTES: u64 = 512 << 10;

/// One file, or a part of one, that an output partition reads.
#[derive(Debug, Clone)]
pub struct ScanUnit {
    /// The branch that the file's schema id is of.
    pub branch: Option<Arc<str>>,
    /// The partition's values, as a serialized `BinaryRow`.
    pub partition: Arc<[u8]>,
    /// The bucket's number, and how many there were when the file was written.
    pub bucket: (i32, i32),
    /// The file.
    pub file: SplitFile,
    /// Where the file's rows must be merged with those of others.
    pub merge: Option<MergedFile>,
}

/// The keys of a section, or a part of them, whose versions are combined.
#[derive(Debug, Clone)]
pub struct CombineUnit {
    /// The section.
    pub section: Arc<MergeSection>,
    /// Which part of its keys, counted from 0.
    pub part: usize,
    /// How many parts there are.
    pub parts: usize,
}

/// What an output partition does at a time.
#[derive(Debug, Clone)]
pub enum ScanTask {
    /// It reads a file.
    Read(ScanUnit),
    /// It combines versions.
    Combine(CombineUnit),
}

impl ScanTask {
    /// How many bytes its files have.
    pub fn bytes(&self) -> u64 {
        match self {
            ScanTask::Read(unit) => unit.file.range.as_ref().map_or(unit.size_bytes(), |range| range.end - range.start),
            ScanTask::Combine(unit) => section_bytes(&unit.section) / (unit.parts as u64).max(1),
        }
    }

    /// How many rows it gives at most; of an unknown number none are expected.
    pub fn expected_rows(&self) -> usize {
        self.rows().get_value().copied().unwrap_or(0)
    }

    /// Whether keys must be merged for it.
    pub fn merges(&self) -> bool {
        match self {
            ScanTask::Read(unit) => unit.merge.is_some(),
            ScanTask::Combine(_) => true,
        }
    }

    /// Whether its files lie on a disk of this machine.
    pub fn is_local(&self) -> bool {
        let path = match self {
            ScanTask::Read(unit) => Some(&unit.file.path),
            ScanTask::Combine(unit) => unit.section.files().next().map(|file| &file.path),
        };
        path.and_then(|path| Location::parse(path).ok()).is_some_and(|location| location.is_local())
    }

    /// How many rows it gives.
    pub fn rows(&self) -> Precision<usize> {
        match self {
            ScanTask::Read(unit) => unit.rows(),
            // The files' own units count all their rows.
            ScanTask::Combine(_) => Precision::Inexact(0),
        }
    }
}

/// What there is to do for some splits.
#[derive(Debug, Clone, Default)]
pub struct ScanTasks {
    /// The files, whole, in order.
    pub files: Vec<ScanUnit>,
    /// The sections whose versions are combined, and whose files are among `files`.
    pub sections: Vec<Arc<MergeSection>>,
    /// The sections that are cut by keys.
    pub cut: Vec<CutSection>,
}

/// A section that is cut into ranges of keys.
#[derive(Debug, Clone)]
pub struct CutSection {
    /// The section as a whole.
    pub section: Arc<MergeSection>,
    /// Whether versions are combined.
    pub combines: bool,
}

/// A file of a section.
#[derive(Debug, Clone)]
pub struct MergedFile {
    /// The section, shared by the units of its files.
    pub section: Arc<MergeSection>,
    /// The file's number in it.
    pub file: usize,
}

impl ScanUnit {
    /// How many rows it gives: certain for a whole file that is not merged and whose deletions are counted.
    pub fn rows(&self) -> Precision<usize> {
        let deleted = self.file.deletion.as_ref().map_or(Some(0), |d| d.cardinality);
        let rows = self.file.meta.row_count.saturating_sub(deleted.unwrap_or(0));
        let rows = usize::try_from(rows).unwrap_or(0);
        let rows = self.merge.as_ref().and_then(|m| m.section.part()).map_or(rows, |part| part.share(rows));
        if self.file.range.is_none() && self.merge.is_none() && deleted.is_some() {
            Precision::Exact(rows)
        } else {
            Precision::Inexact(rows)
        }
    }

    /// Whether the file must not be cut: the middle of an Avro file does not know the positions of its rows.
    fn is_whole(&self) -> bool {
        let selected = self.file.deletion.is_some() || self.merge.is_some();
        selected && FileFormat::of_file_name(&self.file.meta.file_name).ok() == Some(FileFormat::Avro)
    }

    fn size_bytes(&self) -> u64 {
        u64::try_from(self.file.meta.file_size).unwrap_or(0)
    }
}

impl ScanTasks {
    /// What there is to do for the splits of a scan.
    pub fn new(splits: &[DataSplit], spec: &ScanSpec) -> Self {
        let mut tasks = Self::default();
        splits.iter().for_each(|split| tasks.add(split, spec));
        tasks
    }

    fn add(&mut self, split: &DataSplit, spec: &ScanSpec) {
        let unit = |file: &SplitFile, merge| ScanUnit {
            branch: split.branch.clone(),
            partition: Arc::clone(&split.partition),
            bucket: (split.bucket, split.total_buckets),
            file: file.clone(),
            merge,
        };
        let merge = spec.sources.get(&split.branch).and_then(|source| source.merge.as_ref());
        let combines = merge.is_some_and(|merge| matches!(merge.rule, Rule::Combine(_)));
        self.files.extend(split.files.iter().map(|file| unit(file, None)));
        for section in &split.sections {
            let cuts = merge.is_some_and(|merge| can_cut(section, merge));
            let section = Arc::new(MergeSection::new(split, section.clone(), None));
            if cuts {
                self.cut.push(CutSection { section, combines });
                continue;
            }
            self.files.extend(section.units());
            if combines {
                self.sections.push(section);
            }
        }
    }

    /// All files, those of sections that are cut included.
    pub fn units(&self) -> impl Iterator<Item = ScanUnit> + '_ {
        self.files.iter().cloned().chain(self.cut.iter().flat_map(|cut| cut.section.units()))
    }

    /// Deals the tasks out to at most `partitions` output partitions, at least one; none is empty unless there are no
    /// tasks. Files and sections are dealt out each by themselves, so that all partitions have some of both.
    pub fn assign(&self, partitions: usize) -> Vec<Vec<ScanTask>> {
        let partitions = partitions.max(1);
        let mut out = vec![vec![]; partitions];
        let reads = assign_files(&self.files, partitions).into_iter().map(|(at, unit)| (at, ScanTask::Read(unit)));
        let combines = assign_sections(&self.sections, partitions).into_iter();
        let combines = combines.map(|(at, unit)| (at, ScanTask::Combine(unit)));
        for (at, task) in reads.chain(combines).chain(assign_cut(&self.cut, partitions)) {
            if let Some(partition) = out.get_mut(at.min(partitions - 1)) {
                partition.push(task);
            }
        }
        out.retain(|p| !p.is_empty());
        if out.is_empty() { vec![vec![]] } else { out }
    }
}

/// Which output partition reads which units.
///
/// Think of the files laid end to end on a line that is cut into `partitions` pieces of one length:
///
/// ```text
/// files       |---a---|------------b-----------|-c-|--d--|
/// partitions  |        0        |         1       |   2  …
/// ```
///
/// A piece of a file goes to the output partition that its middle lies in.
fn assign_files(units: &[ScanUnit], partitions: usize) -> Vec<(usize, ScanUnit)> {
    let total: u64 = units.iter().map(|u| u.size_bytes().saturating_add(OPEN_COST_BYTES)).sum();
    let share = total.div_ceil(partitions as u64).max(1);
    let mut out = vec![];
    let mut start = 0;
    for unit in units {
        let size = unit.size_bytes();
        let pieces = if unit.is_whole() { iter::once(0..size).collect() } else { pieces(size, start, share) };
        for piece in pieces {
            let at = partition_of(start + piece.start, piece.end - piece.start, share);
            let range = (piece != (0..size)).then_some(piece);
            let file = SplitFile { range, ..unit.file.clone() };
            out.push((at, ScanUnit { file, ..unit.clone() }));
        }
        start += size + OPEN_COST_BYTES;
    }
    out
}

/// Which output partition merges and reads which parts of sections; sections are laid on a line as files are, and cut
/// likewise.
fn assign_cut(sections: &[CutSection], partitions: usize) -> Vec<(usize, ScanTask)> {
    let total: u64 = sections.iter().map(|cut| section_bytes(&cut.section).saturating_add(OPEN_COST_BYTES)).sum();
    let share = total.div_ceil(partitions as u64).max(1);
    let mut out = vec![];
    let mut start = 0;
    for CutSection { section, combines } in sections {
        let size = section_bytes(section);
        for piece in pieces(size, start, share) {
            let at = partition_of(start + piece.start, piece.end - piece.start, share);
            let part = KeyPart { from: piece.start, to: piece.end, of: size };
            let section = if piece == (0..size) { Arc::clone(section) } else { Arc::new(section.of_part(part)) };
            out.extend(section.units().map(|unit| (at, ScanTask::Read(unit))));
            out.extend(combines.then(|| (at, ScanTask::Combine(CombineUnit { section, part: 0, parts: 1 }))));
        }
        start += size + OPEN_COST_BYTES;
    }
    out
}

/// How many bytes the files of a section have.
fn section_bytes(section: &MergeSection) -> u64 {
    section.files().map(|f| u64::try_from(f.meta.file_size).unwrap_or(0)).fold(0, u64::saturating_add)
}

/// Which output partition combines which sections; sections are laid on a line as files are, and cut likewise.
fn assign_sections(sections: &[Arc<MergeSection>], partitions: usize) -> Vec<(usize, CombineUnit)> {
    let total: u64 = sections.iter().map(|s| section_bytes(s).saturating_add(OPEN_COST_BYTES)).sum();
    let share = total.div_ceil(partitions as u64).max(1);
    let mut out = vec![];
    let mut start = 0;
    for section in sections {
        let bytes = section_bytes(section) + OPEN_COST_BYTES;
        let parts = bytes.div_ceil(share).min(bytes / MIN_PIECE_BYTES).max(1);
        for part in 0..parts {
            let at = partition_of(start + bytes * part / parts, bytes / parts, share);
            let unit = CombineUnit { section: Arc::clone(section), part: part as usize, parts: parts as usize };
            out.push((at, unit));
        }
        start += bytes;
    }
    out
}

/// The output partition that the middle of a piece of the line lies in.
fn partition_of(start: u64, bytes: u64, share: u64) -> usize {
    usize::try_from((start + bytes / 2) / share).unwrap_or(usize::MAX)
}

/// The ranges of a file of `size` bytes that begins at `start` on the line, cut at multiples of `share`; cuts too near
/// to the file's ends or to each other are left out.
fn pieces(size: u64, start: u64, share: u64) -> Vec<Range<u64>> {
    let (mut pieces, mut from) = (vec![], 0);
    let mut boundary = (start / share + 1) * share;
    while boundary < start + size {
        let cut = boundary - start;
        if cut - from >= MIN_PIECE_BYTES && size - cut >= MIN_PIECE_BYTES {
            pieces.push(from..cut);
            from = cut;
        }
        boundary += share;
    }
    pieces.push(from..size);
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::spec::data_file::DataFileMeta;
    use crate::split::Section;

    fn unit(name: usize, size: u64) -> ScanUnit {
        let meta = DataFileMeta { file_name: name.to_string(), file_size: size as i64, ..DataFileMeta::empty() };
        let file = SplitFile { path: name.to_string(), meta: Arc::new(meta), deletion: None, range: None };
        ScanUnit { branch: None, partition: Arc::from([].as_slice()), bucket: (0, -1), file, merge: None }
    }

    fn assign(units: &[ScanUnit], partitions: usize) -> Vec<Vec<ScanUnit>> {
        let tasks = ScanTasks { files: units.to_vec(), ..ScanTasks::default() }.assign(partitions);
        let unit = |task| match task {
            ScanTask::Read(unit) => unit,
            ScanTask::Combine(_) => panic!("no section"),
        };
        tasks.into_iter().map(|tasks| tasks.into_iter().map(unit).collect()).collect()
    }

    fn section(sizes: &[u64]) -> Arc<MergeSection> {
        let runs = sizes.iter().map(|size| vec![unit(0, *size).file]).collect();
        let split = DataSplit {
            snapshot_id: 1,
            branch: None,
            partition: Arc::from([].as_slice()),
            bucket: 0,
            total_buckets: 1,
            files: vec![],
            sections: vec![],
        };
        Arc::new(MergeSection::new(&split, Section { runs }, None))
    }

    #[test]
    fn sections_are_cut_and_dealt_out_like_files() {
        let parts = |sections: Vec<Arc<MergeSection>>| {
            let tasks = ScanTasks { sections, ..ScanTasks::default() }.assign(2);
            let part = |task: &ScanTask| match task {
                ScanTask::Combine(unit) => (unit.part, unit.parts),
                ScanTask::Read(_) => panic!("no file"),
            };
            tasks.iter().map(|tasks| tasks.iter().map(part).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        assert_eq!(parts(vec![section(&[50 << 20, 50 << 20])]), [[(0, 2)], [(1, 2)]]);
        assert_eq!(parts(vec![section(&[1000, 1000])]), [[(0, 1)]]);
        let one_of_each = [[(0, 1)], [(0, 1)]];
        assert_eq!(parts(vec![section(&[1 << 20]), section(&[1 << 20])]), one_of_each);
    }

    #[test]
    fn sections_are_cut_by_keys_so_that_all_partitions_merge() {
        let cut =
            [50u64 << 20, 50 << 20, 50 << 20].map(|size| CutSection { section: section(&[size]), combines: true });
        let tasks = ScanTasks { cut: cut.to_vec(), ..ScanTasks::default() };
        let parts = |partitions| {
            let parts = tasks.assign(partitions).into_iter().map(|tasks| tasks.iter().map(part_of).collect());
            parts.collect::<Vec<Vec<_>>>()
        };
        let (size, half) = (50 << 20, (25 << 20) + OPEN_COST_BYTES / 2);
        let part = |from, to| Some(KeyPart { from, to, of: size });
        let (first, second) = (part(0, half), part(half, size));
        assert_eq!(parts(2), [vec![None, None, first, first], vec![second, second, None, None]]);
        assert_eq!(parts(1), [vec![None; 6]]);
    }

    fn part_of(task: &ScanTask) -> Option<KeyPart> {
        match task {
            ScanTask::Combine(unit) => unit.section.part(),
            ScanTask::Read(unit) => unit.merge.as_ref().unwrap().section.part(),
        }
    }

    #[test]
    fn one_big_file_keeps_all_partitions_busy() {
        let out = assign(&[unit(0, 100 << 20)], 4);
        assert_eq!(out.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1, 1]);
        assert_eq!(out[3][0].file.range.clone().unwrap().end, 100 << 20);
    }

    #[test]
    fn small_files_stay_whole_and_nothing_is_still_one_partition() {
        let out = assign(&[unit(0, 10), unit(1, 20), unit(2, 10)], 2);
        assert!(out.iter().flatten().all(|u| u.file.range.is_none()));
        assert_eq!(out.len(), 2);
        assert!(matches!(assign(&[], 8).as_slice(), [empty] if empty.is_empty()));
    }

    proptest! {
        #[test]
        fn every_byte_is_read_once(sizes in proptest::collection::vec(0u64..20_000_000, 0..20), partitions in 0usize..9) {
            let all: Vec<_> = sizes.iter().enumerate().map(|(i, s)| unit(i, *s)).collect();
            let out = assign(&all, partitions);
            prop_assert!(out.len() <= partitions.max(1));
            let mut next = vec![0; sizes.len()];
            for u in out.iter().flatten() {
                let file: usize = u.file.path.parse().unwrap();
                let range = u.file.range.clone().unwrap_or(0..sizes[file]);
                prop_assert_eq!(range.start, next[file]);
                next[file] = range.end;
            }
            prop_assert_eq!(next, sizes);
        }
    }
}
