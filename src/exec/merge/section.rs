//! Finds the surviving rows of a section, or of a part of its keys: [`MergeSection`].
//!
//! In: the sorted runs of a section. Out: for each of its files the rows that are rows of the table as they are, and for
//! engines that combine versions the keys that have several. Found once for all output partitions that read the same keys,
//! and kept in the session's cache: the files of a section never change. What is found under a condition that leaves most
//! keys out is kept for that condition ([`kept_rows`](crate::exec::kept_rows)), or for the scan only. Only keys, and what orders
//! their versions, are read here ([`key_reader`](super::key_reader)), each run by a task of its own, so that decoding runs
//! beside the tournament.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;
use tracing::{Instrument, debug_span};

use super::combine::groups::{GroupSink, Groups};
use super::combine::spec::CombineSpec;
use super::key_filter::KeyFilter;
use super::key_range::{KeyPart, KeyRange};
use super::key_reader::{KeyFile, KeyReader, known_of, read_ahead};
use super::lowest_level::LowestLevel;
use super::memory::Held;
use super::survivors::{Keep, Survivors};
use super::ties::merge_tied_keys;
use super::tournament::{Outcome, Sink, merge_keys};
use crate::cache::{CacheKey, CacheKind, CacheValue};
use crate::error::{Error, Result};
use crate::exec::assign::{MergedFile, ScanUnit};
use crate::exec::context::ScanContext;
use crate::exec::kept_rows::{Conditions, KeptRows};
use crate::file::Lane;
use crate::options::enums::SortEngine;
use crate::selection::RowSelection;
use crate::spec::data_type::DataField;
use crate::split::{DataSplit, Section, SplitFile};

/// How the versions of a key of a table are merged.
#[derive(Debug, Clone)]
pub struct MergeSpec {
    /// The trimmed primary key.
    pub key_fields: Vec<DataField>,
    /// Option `sequence.field`.
    pub sequence_fields: Vec<DataField>,
    /// Option `sequence.field.sort-order`.
    pub sequence_descending: bool,
    /// What decides between versions of equal age.
    pub sort_engine: SortEngine,
    /// Whether files are sorted by their keys.
    pub ordered_by_key: bool,
    /// What becomes of several versions.
    pub rule: Rule,
    /// Whether of the versions above level 0 only the one on the lowest level counts.
    pub lowest_level_only: bool,
}

/// What becomes of several versions of a key.
#[derive(Debug, Clone)]
pub enum Rule {
    /// One of them is kept.
    Keep(Keep),
    /// They are combined.
    Combine(Arc<CombineSpec>),
}

/// A section, and what is known of it once it was merged.
#[derive(Debug)]
pub struct MergeSection {
    branch: Option<Arc<str>>,
    partition: Arc<[u8]>,
    bucket: (i32, i32),
    section: Section,
    /// The part of its keys that is merged; `None` for all.
    part: Option<KeyPart>,
    /// What was found, by the condition on keys under which it was.
    merged: Mutex<HashMap<String, Arc<MergedCell>>>,
}

type MergedCell = OnceCell<Found>;

/// What merging gave, and the memory it takes while the scan goes on.
#[derive(Debug)]
struct Found {
    merged: Arc<Merged>,
    _held: Option<Held>,
}

/// What merging the keys of a section gave.
#[derive(Debug)]
struct Merged {
    /// Of each file the rows that are rows of the table.
    rows: Vec<RowSelection>,
    /// The keys whose versions are combined, where the engine does so.
    groups: Option<Arc<Groups>>,
}

impl Merged {
    /// Of each file the rows of the table, where no versions are combined.
    fn of_rows(rows: Vec<RowSelection>) -> Self {
        Self { rows, groups: None }
    }
}

impl CacheValue for Merged {
    fn heap_bytes(&self) -> usize {
        let rows: usize = self.rows.iter().map(RowSelection::heap_bytes).sum();
        rows + self.groups.as_ref().map_or(0, |groups| groups.heap_bytes())
    }
}

impl MergeSection {
    /// A section of a split, or a part of its keys, that is not merged yet.
    pub fn new(split: &DataSplit, section: Section, part: Option<KeyPart>) -> Self {
        let (branch, partition) = (split.branch.clone(), Arc::clone(&split.partition));
        let bucket = (split.bucket, split.total_buckets);
        Self { branch, partition, bucket, section, part, merged: Mutex::default() }
    }

    /// The part of its keys that is merged; `None` for all.
    pub fn part(&self) -> Option<KeyPart> {
        self.part
    }

    /// Its files, run by run: a file's number is its place here.
    pub fn files(&self) -> impl Iterator<Item = &SplitFile> {
        self.section.runs.iter().flatten()
    }

    /// Its runs.
    pub fn runs(&self) -> &[Vec<SplitFile>] {
        &self.section.runs
    }

    /// The branch that its files are of.
    pub fn branch(&self) -> &Option<Arc<str>> {
        &self.branch
    }

    /// The partition's values, as a serialized `BinaryRow`.
    pub fn partition(&self) -> &[u8] {
        &self.partition
    }

    /// The rows of file `file` that are rows of the table; merges the section the first time.
    pub async fn survivors(&self, context: &Arc<ScanContext>, lane: &Arc<Lane>, file: usize) -> Result<RowSelection> {
        let rows = &self.merged(context, lane).await?.rows;
        rows.get(file).cloned().ok_or_else(|| Error::internal(format!("the section has no file {file}")))
    }

    /// The keys whose versions are combined, if the engine does so; merges the section the first time.
    pub async fn groups(&self, context: &Arc<ScanContext>, lane: &Arc<Lane>) -> Result<Option<Arc<Groups>>> {
        Ok(self.merged(context, lane).await?.groups.clone())
    }

    async fn merged(&self, context: &Arc<ScanContext>, lane: &Arc<Lane>) -> Result<Arc<Merged>> {
        let spec = context.merge_spec(&self.branch)?;
        let filter = KeyFilter::new(context, &spec, &self.partition)?;
        let cell = self.cell(filter.as_ref().map(KeyFilter::name).unwrap_or_default());
        let reader = KeyReader { context: Arc::clone(context), spec, lane: Arc::clone(lane), filter: None };
        let span = || debug_span!("merge", runs = self.runs().len(), files = self.files().count());
        let found = cell.get_or_try_init(|| self.find(reader, filter).instrument(span())).await?;
        Ok(Arc::clone(&found.merged))
    }

    fn cell(&self, filter: String) -> Arc<MergedCell> {
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(merged.entry(filter).or_default())
    }

    /// What merging gives: out of the cache, or only of the keys that fulfil `filter` where these are few, or of all.
    async fn find(&self, reader: KeyReader, filter: Option<KeyFilter>) -> Result<Found> {
        let cache = Arc::clone(&reader.context.spec().cache);
        let held = reader.context.spec().memory.hold(0)?;
        let scan = reader.context.spec();
        let name = format!("{} {} {}", scan.zone, scan.orc_legacy_ltz, self.cache_name(&reader.spec));
        let key = CacheKey::new(CacheKind::MergedSection, name);
        if let Some(filter) = filter {
            let kept = Conditions::new(filter.conditions().iter().cloned(), "");
            let kept = kept.map(|conditions| (kept_rows_key(&key, &conditions), conditions));
            let under_it = || kept.as_ref().and_then(|(key, same)| cache.get::<KeptRows>(key)?.rows(same));
            if let Some(merged) = cache.get(&key).or_else(|| under_it().map(|rows| Arc::new(Merged::of_rows(rows)))) {
                return Ok(Found { merged, _held: None });
            }
            let reader = KeyReader { filter: Some(Arc::new(filter.clone())), ..reader.clone() };
            let (runs, range) = self.key_files(&reader).await?;
            if self.leaves_few(&reader, &runs) {
                let (merged, all) = self.merge(&reader, runs, range, &held).await?;
                let merged = Arc::new(merged);
                if all {
                    cache.cache().put(key, Arc::clone(&merged) as _);
                } else if merged.groups.is_none()
                    && let Some((key, conditions)) = kept
                    && let Some(rows) = KeptRows::new(&conditions, &merged.rows)
                {
                    cache.cache().put(key, Arc::new(rows));
                }
                return Ok(Found { merged, _held: Some(held) });
            }
        }
        let all = async {
            let (runs, range) = self.key_files(&reader).await?;
            Ok(self.merge(&reader, runs, range, &held).await?.0)
        };
        let merged = cache.get_or_load(key, all).await?;
        Ok(Found { merged, _held: Some(held) })
    }

    /// The files, run by run.
    fn all_files(&self) -> Vec<Vec<KeyFile>> {
        let known = known_of(&self.section.runs);
        let mut known = known.into_iter();
        let mut number = 0..;
        let mut file = |file: &SplitFile| KeyFile {
            number: number.next().unwrap_or(usize::MAX),
            unit: self.unit(file),
            known: known.next().unwrap_or_default(),
            selection: None,
        };
        self.section.runs.iter().map(|run| run.iter().map(&mut file).collect()).collect()
    }

    /// The files, run by run, and the range of keys that is read of them.
    async fn key_files(&self, reader: &KeyReader) -> Result<(Vec<Vec<KeyFile>>, KeyRange)> {
        let mut runs = self.all_files();
        let range = match self.part {
            Some(part) => KeyRange::find(&reader.context, &reader.spec, &runs, part, &reader.lane).await?,
            None => KeyRange::default(),
        };
        reader.select(&mut runs, &range).await?;
        Ok((runs, range))
    }

    /// Whether so few keys are wanted that merging them is better than merging all for the next query too.
    fn leaves_few(&self, reader: &KeyReader, runs: &[Vec<KeyFile>]) -> bool {
        let all: usize = self.files().map(rows_of).fold(0, usize::saturating_add);
        let all = self.part.map_or(all, |part| part.share(all));
        let rows = |file: &KeyFile| match &reader.filter {
            Some(filter) if filter.leaves_few(&reader.context, &file.unit) => 0,
            _ => file.selection.as_ref().map_or(rows_of(&file.unit.file), RowSelection::wanted_rows),
        };
        runs.iter().flatten().map(rows).fold(0, usize::saturating_add) <= all / 2
    }

    /// Names everything that the result of merging depends on, but for what decides how files are read.
    fn cache_name(&self, spec: &MergeSpec) -> String {
        let columns = |fields: &[DataField]| fields.iter().map(|f| (f.id, f.data_type.to_string())).collect::<Vec<_>>();
        let rule = match &spec.rule {
            Rule::Keep(keep) => format!("{keep:?}"),
            Rule::Combine(_) => "combine".to_owned(),
        };
        let (keys, sequence) = (columns(&spec.key_fields), columns(&spec.sequence_fields));
        let (descending, engine) = (spec.sequence_descending, spec.sort_engine);
        let mut name = format!("{rule} {keys:?} {sequence:?} {descending} {engine:?} ");
        name.push_str(if spec.lowest_level_only { "lowest" } else { "all" });
        name.push_str(&self.part.map_or(String::new(), |part| format!(" {part:?}")));
        for run in &self.section.runs {
            name.push('\n');
            for file in run {
                let deletion = file.deletion.as_ref().map(|d| (&d.path, d.offset));
                name.push_str(&format!("{} {} {deletion:?} ", file.path, file.meta.level));
            }
        }
        name
    }

    /// Merges the keys of a range; of those that the reader's filter wants, or all, which is told.
    async fn merge(
        &self,
        reader: &KeyReader,
        runs: Vec<Vec<KeyFile>>,
        range: KeyRange,
        held: &Held,
    ) -> Result<(Merged, bool)> {
        let range = Arc::new(range);
        let merging = Merging { reader, runs, range: &range, held, tied: false };
        if let Some(merged) = self.merge_keys(merging).await? {
            return Ok((merged, reader.filter.is_none()));
        }
        // What decides between versions of equal age is in all rows of the section.
        let reader = &KeyReader { filter: None, ..reader.clone() };
        let merging = Merging { reader, runs: self.all_files(), range: &range, held, tied: true };
        let merged = self.merge_keys(merging).await?;
        let merged = merged.ok_or_else(|| Error::internal("versions that are tied although their order was found"))?;
        Ok((merged, true))
    }

    /// Merges keys; `None` where versions are tied and that was not known.
    async fn merge_keys(&self, merging: Merging<'_>) -> Result<Option<Merged>> {
        match &merging.reader.spec.rule {
            Rule::Keep(keep) => {
                let mut sink = Survivors::new(*keep, self.files().map(rows_of));
                let outcome = merging.tell_of(self, &mut sink).await?;
                Ok((outcome == Outcome::Done).then(|| Merged::of_rows(sink.finish())))
            }
            Rule::Combine(_) => {
                let of_runs: Vec<_> = self.section.runs.iter().map(|run| run.iter().map(rows_of).collect()).collect();
                let mut sink = GroupSink::new(&of_runs)?;
                let outcome = merging.tell_of(self, &mut sink).await?;
                let (rows, groups) = sink.finish();
                Ok((outcome == Outcome::Done).then(|| Merged { rows, groups: Some(Arc::new(groups)) }))
            }
        }
    }

    /// A part of its keys.
    #[must_use]
    pub fn of_part(&self, part: KeyPart) -> Self {
        let (branch, partition) = (self.branch.clone(), Arc::clone(&self.partition));
        let (bucket, section) = (self.bucket, self.section.clone());
        Self { branch, partition, bucket, section, part: Some(part), merged: Mutex::default() }
    }

    /// Its files, to be read for the rows that survive.
    pub fn units(self: &Arc<Self>) -> impl Iterator<Item = ScanUnit> {
        let merged = |(file, unit)| ScanUnit { merge: Some(MergedFile { section: Arc::clone(self), file }), ..unit };
        self.files().map(|file| self.unit(file)).enumerate().map(merged)
    }

    /// A file of it, to be read without regard to the others.
    pub fn unit(&self, file: &SplitFile) -> ScanUnit {
        let (branch, partition) = (self.branch.clone(), Arc::clone(&self.partition));
        ScanUnit { branch, partition, bucket: self.bucket, file: file.clone(), merge: None }
    }
}

/// The keys of a section, about to be merged.
struct Merging<'a> {
    reader: &'a KeyReader,
    /// Its files, run by run.
    runs: Vec<Vec<KeyFile>>,
    /// The keys that are wanted.
    range: &'a Arc<KeyRange>,
    /// Knows what the sink takes.
    held: &'a Held,
    /// Whether versions are known to be of equal age. Then all rows of the files are read.
    tied: bool,
}

impl Merging<'_> {
    /// Tells `sink` of all rows that count.
    async fn tell_of<S: Sink>(self, section: &MergeSection, sink: &mut S) -> Result<Outcome> {
        if self.reader.spec.lowest_level_only {
            let levels = section.files().map(|f| f.meta.level).collect();
            return self.tell(&mut LowestLevel::new(sink, levels)).await;
        }
        self.tell(sink).await
    }

    async fn tell<S: Sink>(self, sink: &mut S) -> Result<Outcome> {
        let Self { reader, runs, range, held, tied } = self;
        let number = runs.len();
        let read = if tied { Arc::default() } else { Arc::clone(range) };
        // Runs are read beside each other.
        let beside = || KeyReader { lane: reader.lane.beside(), ..reader.clone() };
        let keys = |files| read_ahead(beside().keys(files, Arc::clone(&read), number));
        let runs = runs.into_iter().map(keys).collect();
        if tied {
            merge_tied_keys(runs, reader.spec.sort_engine, range, sink, Some(held)).await?;
            return Ok(Outcome::Done);
        }
        merge_keys(runs, sink, Some(held)).await
    }
}

/// Under which name the rows are kept that are found under conditions on key columns; `all` names those that are found
/// without, and the key columns.
fn kept_rows_key(all: &CacheKey, conditions: &Conditions) -> CacheKey {
    CacheKey::new(all.kind, format!("{}\nwhere {}", all.name, conditions.name()))
}

fn rows_of(file: &SplitFile) -> usize {
    usize::try_from(file.meta.row_count).unwrap_or(0)
}
