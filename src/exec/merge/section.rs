//! Finds the surviving rows of a section: [`MergeSection`].
//!
//! In: the sorted runs of a section. Out: for each of its files the rows that are rows of the table as they are, and for
//! engines that combine versions the keys that have several. Found once for all output partitions that read the section,
//! and kept in the session's cache: the files of a section never change. Only key, sequence and row-kind columns are read
//! here, each run by a task of its own, so that decoding runs beside the tournament.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::SortOptions;
use arrow::datatypes::{Int8Type, Int64Type};
use arrow::row::{RowConverter, SortField};
use datafusion::common::runtime::SpawnedTask;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use tokio::sync::{OnceCell, mpsc};

use super::combine::groups::{GroupSink, Groups};
use super::combine::spec::CombineSpec;
use super::keys::{KeyEncoder, with_plain_floats};
use super::lowest_level::LowestLevel;
use super::survivors::{Keep, Survivors};
use super::tournament::{KeyBatch, Positions, Sink, merge_keys};
use crate::cache::{CacheKey, CacheKind, CacheValue};
use crate::error::{Error, Result};
use crate::exec::assign::ScanUnit;
use crate::exec::context::ScanContext;
use crate::exec::raw_read;
use crate::file::Lane;
use crate::selection::RowSelection;
use crate::spec::arrow_type::column_type;
use crate::spec::data_type::{DataField, TypeKind};
use crate::spec::row_kind::RowKind;
use crate::split::{Section, SplitFile};

/// `_SEQUENCE_NUMBER` in data files. Java: `SpecialFields`.
const SEQUENCE_NUMBER_ID: i32 = i32::MAX - 1;
/// `_VALUE_KIND` in data files.
const VALUE_KIND_ID: i32 = i32::MAX - 2;
/// Rows of a batch of keys.
const KEY_BATCH_ROWS: usize = 8192;
/// Batches that a run's task may be ahead of those who take them.
const BATCHES_AHEAD: usize = 2;

/// How the versions of a key of a table are merged.
#[derive(Debug, Clone)]
pub struct MergeSpec {
    /// The trimmed primary key.
    pub key_fields: Vec<DataField>,
    /// Option `sequence.field`.
    pub sequence_fields: Vec<DataField>,
    /// Option `sequence.field.sort-order`.
    pub sequence_descending: bool,
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

/// The columns that hold a file's sequence numbers and row kinds, besides the table's own.
pub fn system_fields() -> [DataField; 2] {
    [
        DataField::new(SEQUENCE_NUMBER_ID, "_SEQUENCE_NUMBER", TypeKind::BigInt.not_null()),
        DataField::new(VALUE_KIND_ID, "_VALUE_KIND", TypeKind::TinyInt.not_null()),
    ]
}

/// A section, and what is known of it once it was merged.
#[derive(Debug)]
pub struct MergeSection {
    branch: Option<Arc<str>>,
    partition: Arc<[u8]>,
    section: Section,
    merged: OnceCell<Arc<Merged>>,
}

/// What merging the keys of a section gave.
#[derive(Debug)]
struct Merged {
    /// Of each file the rows that are rows of the table.
    rows: Vec<RowSelection>,
    /// The keys whose versions are combined, where the engine does so.
    groups: Option<Arc<Groups>>,
}

impl CacheValue for Merged {
    fn heap_bytes(&self) -> usize {
        let rows: usize = self.rows.iter().map(RowSelection::heap_bytes).sum();
        rows + self.groups.as_ref().map_or(0, |groups| groups.heap_bytes())
    }
}

impl MergeSection {
    /// A section that is not merged yet.
    pub fn new(branch: Option<Arc<str>>, partition: Arc<[u8]>, section: Section) -> Self {
        Self { branch, partition, section, merged: OnceCell::new() }
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

    async fn merged(&self, context: &Arc<ScanContext>, lane: &Arc<Lane>) -> Result<&Merged> {
        let merged = self.merged.get_or_try_init(|| async {
            let key = CacheKey::new(CacheKind::MergedSection, self.cache_name(&*context.merge_spec(&self.branch)?));
            context.spec().cache.get_or_load(key, self.merge(context, lane)).await
        });
        merged.await.map(Arc::as_ref)
    }

    /// Names everything that the result of merging depends on.
    fn cache_name(&self, spec: &MergeSpec) -> String {
        let columns = |fields: &[DataField]| fields.iter().map(|f| (f.id, f.data_type.to_string())).collect::<Vec<_>>();
        let rule = match &spec.rule {
            Rule::Keep(keep) => format!("{keep:?}"),
            Rule::Combine(_) => "combine".to_owned(),
        };
        let (keys, sequence) = (columns(&spec.key_fields), columns(&spec.sequence_fields));
        let mut name = format!("{rule} {keys:?} {sequence:?} {} ", spec.sequence_descending);
        name.push_str(if spec.lowest_level_only { "lowest" } else { "all" });
        for run in &self.section.runs {
            name.push('\n');
            for file in run {
                let deletion = file.deletion.as_ref().map(|d| (&d.path, d.offset));
                name.push_str(&format!("{} {} {deletion:?} ", file.path, file.meta.level));
            }
        }
        name
    }

    async fn merge(&self, context: &Arc<ScanContext>, lane: &Arc<Lane>) -> Result<Merged> {
        let spec = context.merge_spec(&self.branch)?;
        let rows = |f: &SplitFile| usize::try_from(f.meta.row_count).unwrap_or(0);
        match &spec.rule {
            Rule::Keep(keep) => {
                let mut sink = Survivors::new(*keep, self.files().map(rows));
                self.merge_into(context, &spec, lane, &mut sink).await?;
                Ok(Merged { rows: sink.finish(), groups: None })
            }
            Rule::Combine(_) => {
                let of_runs: Vec<_> = self.section.runs.iter().map(|run| run.iter().map(rows).collect()).collect();
                let mut sink = GroupSink::new(&of_runs)?;
                self.merge_into(context, &spec, lane, &mut sink).await?;
                let (rows, groups) = sink.finish();
                Ok(Merged { rows, groups: Some(Arc::new(groups)) })
            }
        }
    }

    async fn merge_into<S: Sink>(
        &self,
        context: &Arc<ScanContext>,
        spec: &Arc<MergeSpec>,
        lane: &Arc<Lane>,
        sink: &mut S,
    ) -> Result<()> {
        let mut first = 0;
        let mut runs = vec![];
        for run in &self.section.runs {
            let files = run.iter().enumerate().map(|(i, f)| (first + i, self.unit(f))).collect();
            // Runs are read beside each other.
            let keys = keys_of_files(Arc::clone(context), Arc::clone(spec), files, lane.beside());
            runs.push(read_ahead(keys));
            first += run.len();
        }
        if spec.lowest_level_only {
            let levels = self.files().map(|f| f.meta.level).collect();
            return merge_keys(runs, &mut LowestLevel::new(sink, levels)).await;
        }
        merge_keys(runs, sink).await
    }

    /// A file of it, to be read without regard to the others.
    pub fn unit(&self, file: &SplitFile) -> ScanUnit {
        let (branch, partition) = (self.branch.clone(), Arc::clone(&self.partition));
        ScanUnit { branch, partition, file: file.clone(), merge: None }
    }
}

/// A stream that is read by a task of its own, a few items ahead.
pub fn read_ahead<T: Send + 'static>(items: BoxStream<'static, Result<T>>) -> BoxStream<'static, Result<T>> {
    let (sender, receiver) = mpsc::channel(BATCHES_AHEAD);
    let task = SpawnedTask::spawn(async move {
        let mut items = items;
        while let Some(item) = items.next().await {
            if sender.send(item).await.is_err() {
                break;
            }
        }
    });
    // The task lives, and is aborted, with the stream.
    stream::unfold((receiver, task), |(mut receiver, task)| async move {
        receiver.recv().await.map(|item| (item, (receiver, task)))
    })
    .boxed()
}

fn keys_of_files(
    context: Arc<ScanContext>,
    spec: Arc<MergeSpec>,
    files: Vec<(usize, ScanUnit)>,
    lane: Arc<Lane>,
) -> BoxStream<'static, Result<KeyBatch>> {
    let of_file = move |(file, unit): (usize, ScanUnit)| {
        let (context, spec, lane) = (Arc::clone(&context), Arc::clone(&spec), Arc::clone(&lane));
        async move { keys_of_file(&context, spec, file, unit, lane).await }
    };
    stream::iter(files).then(of_file).try_flatten().boxed()
}

async fn keys_of_file(
    context: &ScanContext,
    spec: Arc<MergeSpec>,
    file: usize,
    unit: ScanUnit,
    lane: Arc<Lane>,
) -> Result<BoxStream<'static, Result<KeyBatch>>> {
    let path = unit.file.path.clone();
    let mut columns = spec.key_fields.clone();
    columns.extend(spec.sequence_fields.iter().cloned());
    columns.extend(system_fields());
    let mapping = Arc::new(context.mapping_to(&unit, &columns, &system_fields())?);
    let deletions = raw_read::deletions(context, &unit, &lane).await?;
    let mut reader = KeyReader::new(&spec, file, deletions.as_ref())?;
    // All versions of all keys, whatever is asked of the rows that come out.
    let rows = raw_read::Rows { selection: deletions, ..Default::default() };
    let opened = raw_read::open_mapped(context, &unit, mapping, rows, KEY_BATCH_ROWS, lane).await;
    let batches = opened.map_err(|e| e.in_file(&path))?;
    Ok(batches.map(move |batch| reader.keys(batch?).map_err(|e| e.in_file(&path))).boxed())
}

/// Turns the batches of one file into [`KeyBatch`]es.
struct KeyReader {
    file: usize,
    keys: KeyEncoder,
    key_columns: usize,
    user: Option<RowConverter>,
    user_columns: usize,
    /// Rows that were given out.
    rows: usize,
    /// The positions of the rows, when some are passed over.
    positions: Option<Vec<usize>>,
}

impl KeyReader {
    fn new(spec: &MergeSpec, file: usize, deletions: Option<&RowSelection>) -> Result<Self> {
        // NULL is least in either order.
        let options = SortOptions { descending: spec.sequence_descending, nulls_first: true };
        let field = |f: &DataField| SortField::new_with_options(column_type(&f.data_type), options);
        let user = match spec.sequence_fields.as_slice() {
            [] => None,
            fields => Some(RowConverter::new(fields.iter().map(field).collect())?),
        };
        let (key_columns, user_columns) = (spec.key_fields.len(), spec.sequence_fields.len());
        let positions = deletions.map(RowSelection::positions);
        let keys = KeyEncoder::new(&spec.key_fields)?;
        Ok(Self { file, keys, key_columns, user, user_columns, rows: 0, positions })
    }

    fn keys(&mut self, batch: RecordBatch) -> Result<KeyBatch> {
        let short = || Error::internal("a batch of keys lacks columns");
        let columns = batch.columns();
        let (key, rest) = columns.split_at_checked(self.key_columns).ok_or_else(short)?;
        let (user, system) = rest.split_at_checked(self.user_columns).ok_or_else(short)?;
        let [sequences, kinds] = system else { return Err(short()) };
        let sequences = sequences.as_primitive_opt::<Int64Type>().ok_or_else(short)?;
        let kinds = kinds.as_primitive_opt::<Int8Type>().ok_or_else(short)?;
        if sequences.null_count() + kinds.null_count() > 0 {
            return Err(Error::corrupt("NULL in _SEQUENCE_NUMBER or _VALUE_KIND"));
        }
        let user: Vec<_> = user.iter().map(with_plain_floats).collect();
        let (from, rows) = (self.rows, batch.num_rows());
        self.rows += rows;
        let positions = match &self.positions {
            None => Positions::From(from),
            Some(all) => Positions::List(all.get(from..from + rows).ok_or_else(short)?.to_vec()),
        };
        Ok(KeyBatch {
            file: self.file,
            positions,
            keys: self.keys.encode(key)?,
            user_sequences: self.user.as_ref().map(|rows| rows.convert_columns(&user)).transpose()?,
            sequences: sequences.values().to_vec(),
            kinds: kinds.values().iter().map(|kind| RowKind::from_byte(*kind)).collect::<Result<_>>()?,
        })
    }
}
