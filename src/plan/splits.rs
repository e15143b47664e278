//! Packs the live files of a snapshot into splits.
//!
//! In: the wanted live entries. Out: for each partition and bucket, splits of about `source.split.target-size` bytes, a small file
//! counted as `source.split.open-file-cost`. Files of an append table come in the order of their sequence numbers. Of a
//! table with a primary key, files that overlap no other and hold no deletes are read as they are; the others form
//! sections. Java: `AppendOnlySplitGenerator`, `MergeTreeSplitGenerator`, `BinPacking.packForOrdered`.

use std::sync::Arc;

use super::deletion_files::DeletionFiles;
use super::intervals::sections;
use super::live_entries::{BucketEntries, EntryRef, LiveEntries};
use super::paths::DataPaths;
use super::prune::SelectedBucket;
use super::prune::files::FilePruning;
use super::threads::on_threads;
use crate::error::{Error, Result};
use crate::predicate::file_stats::ByValue;
use crate::spec::data_file::DataFileMeta;
use crate::spec::data_type::DataType;
use crate::spec::manifest_entry::ManifestEntry;
use crate::spec::packed_entries::PackedEntries;
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
#[derive(Debug, Clone)]
pub struct SplitMaker {
    /// The live entries of the snapshot.
    pub live: Arc<LiveEntries>,
    /// The snapshot that the files are of.
    pub snapshot_id: i64,
    /// The branch, unless it is the table's own.
    pub branch: Option<Arc<str>>,
    /// How large splits become.
    pub sizes: SplitSizes,
    /// Where files lie.
    pub paths: DataPaths,
    /// Which of their rows are deleted.
    pub deletions: Arc<DeletionFiles>,
}

/// How the files of a primary-key table are put together.
#[derive(Debug, Clone, Copy)]
pub struct KeyRules<'a> {
    /// The types of the trimmed primary key.
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

/// A thread of its own is worth it for so many files.
const FILES_PER_THREAD: usize = 16_384;

/// Files whose statistics are brought near before the first is asked.
const LOOKED_AHEAD: usize = 32;

/// Prunes the files of an append table by their statistics; very many of them on several threads.
pub fn pruned(
    live: &LiveEntries,
    mut buckets: Vec<SelectedBucket>,
    pruning: &FilePruning<'_>,
) -> Result<Vec<SelectedBucket>> {
    let files: usize = buckets.iter().map(|bucket| bucket.rows.len()).sum();
    let threads = if pruning.asks() { files / FILES_PER_THREAD } else { 1 };
    let shares = on_threads(&mut buckets, threads, |share| prune(live, files, share, pruning));
    let panicked = |_| Err(Error::internal("a thread that prunes files panicked"));
    shares.into_iter().try_for_each(|pruned| pruned.unwrap_or_else(panicked))?;
    buckets.retain(|bucket| !bucket.rows.is_empty());
    Ok(buckets)
}

/// Leaves in each bucket what its statistics let in; `files` is how many files all buckets have.
fn prune(live: &LiveEntries, files: usize, buckets: &mut [SelectedBucket], pruning: &FilePruning<'_>) -> Result<()> {
    let mut file = DataFileMeta::empty();
    for bucket in buckets {
        let seen = bucket.rows.len();
        if let Some(verdict) = pruning.of_partition(&bucket.partition)? {
            let asked = ByValue::new(&verdict.residual);
            let together = match &bucket.rows {
                BucketEntries::All(all) => live.statistics_of(all, files),
                BucketEntries::Some(_) => None,
            };
            let kept = match together {
                Some(statistics) => {
                    let parts = pruning.parts(&verdict, Some(statistics.laid_out_by()));
                    let mut keeps = |at| {
                        statistics.fill(at, parts, &mut file);
                        pruning.keeps(&asked, &file)
                    };
                    let entries = bucket.rows.of(live).iter().enumerate();
                    entries.filter(|(at, _)| keeps(*at)).map(|(_, entry)| *entry).collect()
                }
                None => one_by_one(live, bucket.rows.of(live), |chunk, row| {
                    chunk.file_statistics(row, pruning.parts(&verdict, chunk.laid_out_by()), &mut file);
                    pruning.keeps(&asked, &file)
                }),
            };
            bucket.rows = BucketEntries::Some(kept);
        }
        pruning.count_all(seen, bucket.rows.len());
    }
    Ok(())
}

/// The entries that are kept, each looked at where it lies.
fn one_by_one(
    live: &LiveEntries,
    entries: &[EntryRef],
    mut keeps: impl FnMut(&PackedEntries, usize) -> bool,
) -> Vec<EntryRef> {
    let mut kept = vec![];
    for entries in entries.chunks(LOOKED_AHEAD) {
        live.look_ahead(entries);
        let is_kept = |entry: &&EntryRef| live.get(**entry).is_some_and(|(chunk, row)| keeps(chunk, row));
        kept.extend(entries.iter().filter(is_kept).copied());
    }
    kept
}

impl SplitMaker {
    /// The splits of an append table's files.
    pub fn append_splits(&self, buckets: &[SelectedBucket]) -> Result<Vec<DataSplit>> {
        let (mut splits, mut paths) = (vec![], self.paths.clone());
        for bucket in buckets {
            let entries = self.entries(bucket);
            let Some(template) = self.empty_split(&entries) else { continue };
            let pieces = entries.into_iter().map(|entry| Ok(Piece::File(self.file(entry, &mut paths)?)));
            splits.extend(pack(template, pieces.collect::<Result<_>>()?, self.sizes));
        }
        Ok(splits)
    }

    /// The splits of a primary-key table's files.
    pub fn key_splits(&self, buckets: &[SelectedBucket], rules: &KeyRules<'_>) -> Result<Vec<DataSplit>> {
        let (mut splits, mut paths) = (vec![], self.paths.clone());
        for bucket in buckets {
            let entries = self.entries(bucket);
            let Some(template) = self.empty_split(&entries) else { continue };
            splits.extend(pack(template, self.by_key(entries, rules, &mut paths)?, self.sizes));
        }
        Ok(splits)
    }

    fn entries(&self, bucket: &SelectedBucket) -> Vec<ManifestEntry> {
        bucket.rows.of(&self.live).iter().filter_map(|entry| self.live.entry(*entry)).collect()
    }

    /// A split to be filled with entries of one bucket; `None` where there are none.
    fn empty_split(&self, entries: &[ManifestEntry]) -> Option<DataSplit> {
        let first = entries.first()?;
        let alike = entries.iter().all(|entry| entry.total_buckets == first.total_buckets);
        Some(DataSplit {
            snapshot_id: self.snapshot_id,
            branch: self.branch.clone(),
            partition: Arc::clone(&first.partition),
            bucket: first.bucket,
            total_buckets: if alike { first.total_buckets } else { -1 },
            files: vec![],
            sections: vec![],
        })
    }

    fn file(&self, entry: ManifestEntry, paths: &mut DataPaths) -> Result<SplitFile> {
        let (path, deletion) = (paths.of(&entry)?, self.deletions.of(&entry));
        Ok(SplitFile { path, deletion, meta: Arc::new(entry.file), range: None })
    }

    /// Values may leave out a file that is read as it is. Of a section, where a row may replace another that matches,
    /// they may leave out all files at once.
    fn by_key(&self, bucket: Vec<ManifestEntry>, rules: &KeyRules<'_>, paths: &mut DataPaths) -> Result<Vec<Piece>> {
        let Some(partition) = bucket.first().map(|e| Arc::clone(&e.partition)) else { return Ok(vec![]) };
        let mut files = vec![];
        for entry in bucket {
            match rules.pruning.keeps_by_key(&entry.partition, &entry.file)? {
                true => files.push(self.file(entry, paths)?),
                false => rules.pruning.count(false),
            }
        }
        let mut pieces = vec![];
        let sections = match rules.ordered_by_key {
            true => sections(files, rules.key_types, |f| &f.meta)?,
            false => files.into_iter().map(|file| vec![vec![file]]).collect(),
        };
        for runs in sections {
            if rules.is_raw(&runs) {
                for file in runs.into_iter().flatten() {
                    let keep = rules.pruning.keeps_by_value(&partition, &file.meta)?;
                    rules.pruning.count(keep);
                    pieces.extend(keep.then_some(Piece::File(file)));
                }
            } else if rules.keeps_section(&partition, &runs)? {
                pieces.push(Piece::Section(Section { runs }));
            }
        }
        Ok(pieces)
    }
}

impl KeyRules<'_> {
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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::*;
    use crate::options::TableOptions;
    use crate::plan::live_entries::tests::{manifest, manifest_of};
    use crate::plan::prune::{Pruning, select};
    use crate::plan::visible::Visible;
    use crate::predicate::testing::{column, int};
    use crate::predicate::{Predicate, Test};
    use crate::spec::binary_row::serialize_row;
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
        let live = Arc::new(LiveEntries::of(vec![manifest("m", &entries)]));
        let maker = SplitMaker {
            live: Arc::clone(&live),
            snapshot_id: 1,
            branch: None,
            sizes: SplitSizes { target_bytes: 1 << 30, open_cost_bytes: 1 },
            paths: DataPaths::new("t".into(), vec![], &options, chrono_tz::UTC),
            deletions: Arc::default(),
        };
        let rules = KeyRules {
            ordered_by_key: true,
            key_types: &[DataType::parse("INT NOT NULL").unwrap()],
            deletions_cover_versions: false,
            pruning: &FilePruning::new(&pruning, &schema, &schemas),
            merge_chooses,
        };
        let selected = select(
            &live,
            &Pruning::new(&Predicate::always(), &schema, &options),
            &Visible::new(i32::MIN..=i32::MAX, None),
        )
        .unwrap();
        let splits = maker.key_splits(&selected.buckets, &rules).unwrap();
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
    fn files_of_many_buckets_are_pruned_as_those_of_one_are() {
        let schema = TableSchema::from_json(SCHEMA).unwrap();
        let options = TableOptions::effective(&schema.options, &BTreeMap::new()).unwrap();
        let schemas = HashMap::from([(0, Arc::new(schema.clone()))]);
        let entry = |at: usize| {
            let low = (at % 97) as i32;
            let file = file(&format!("{at}"), 0, (1, 2), (low, low + 4));
            ManifestEntry { bucket: (at / 1000) as i32, total_buckets: 40, ..file }
        };
        let equal = |id, data_type, value| Predicate::leaf(column(id, data_type), Test::Equal(value));
        // As many files as take one thread, and several; near each other and far apart; the column as files have it, of a
        // type that it got later, and one that no file has.
        for (count, chunk, predicate, some) in [
            (1000, 1024, equal(1, "INT", int(50)), true),
            (1000, 1, equal(1, "INT", int(50)), true),
            (36_000, 1024, equal(1, "INT", int(50)), true),
            (1000, 1024, equal(1, "BIGINT", Datum::BigInt(50)), true),
            (1000, 1024, equal(9, "INT", int(50)), false),
        ] {
            let pruning = Pruning::new(&predicate, &schema, &options);
            let files = FilePruning::new(&pruning, &schema, &schemas);
            let entries: Vec<_> = (0..count).map(entry).collect();
            let live = LiveEntries::of(vec![manifest_of("m", &entries, chunk)]);
            let all = select(&live, &pruning, &Visible::new(i32::MIN..=i32::MAX, None)).unwrap().buckets;
            let kept = pruned(&live, all, &files).unwrap();
            let kept = kept.iter().flat_map(|bucket| bucket.rows.of(&live)).map(|entry| live.entry(*entry).unwrap());
            let got: Vec<String> = kept.map(|entry| entry.file.file_name).collect();
            let want = (0..count).filter(|at| some && (46..=50).contains(&(at % 97))).map(|at| at.to_string());
            assert_eq!(got, want.collect::<Vec<_>>());
        }
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
