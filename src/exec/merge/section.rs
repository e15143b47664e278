//! Finds the surviving rows of a section: [`MergeSection`].
//!
//! In: the sorted runs of a section. Out: for each of its files the rows that survive, found once for all output
//! partitions that read the section's files. Only key, sequence and row-kind columns are read here, each run by a task of
//! its own, so that decoding runs beside the tournament.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::SortOptions;
use arrow::datatypes::{Int8Type, Int64Type};
use arrow::row::{RowConverter, SortField};
use datafusion::common::runtime::SpawnedTask;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use tokio::sync::{OnceCell, mpsc};

use super::keys::KeyEncoder;
use super::survivors::{Keep, Survivors};
use super::tournament::{KeyBatch, Positions, merge_keys};
use crate::error::{Error, Result};
use crate::exec::assign::ScanUnit;
use crate::exec::context::ScanContext;
use crate::exec::raw_read;
use crate::selection::RowSelection;
use crate::spec::arrow_type::column_type;
use crate::spec::data_type::{DataField, TypeKind};
use crate::spec::row_kind::RowKind;
use crate::split::{Section, SplitFile};
use crate::storage::IoStats;

/// `_SEQUENCE_NUMBER` in data files. Java: `SpecialFields`.
const SEQUENCE_NUMBER_ID: i32 = i32::MAX - 1;
/// `_VALUE_KIND` in data files.
const VALUE_KIND_ID: i32 = i32::MAX - 2;
/// Rows of a batch of keys.
const KEY_BATCH_ROWS: usize = 8192;
/// Batches of keys that a run's task may be ahead of the tournament.
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
    /// Which version is kept.
    pub keep: Keep,
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
    survivors: OnceCell<Vec<RowSelection>>,
}

impl MergeSection {
    /// A section that is not merged yet.
    pub fn new(branch: Option<Arc<str>>, partition: Arc<[u8]>, section: Section) -> Self {
        Self { branch, partition, section, survivors: OnceCell::new() }
    }

    /// Its files, run by run: a file's number is its place here.
    pub fn files(&self) -> impl Iterator<Item = &SplitFile> {
        self.section.runs.iter().flatten()
    }

    /// The rows of file `file` that survive; merges the section the first time.
    pub async fn survivors(&self, context: &Arc<ScanContext>, io: &Arc<IoStats>, file: usize) -> Result<RowSelection> {
        let all = self.survivors.get_or_try_init(|| self.merge(context, io)).await?;
        all.get(file).cloned().ok_or_else(|| Error::internal(format!("the section has no file {file}")))
    }

    async fn merge(&self, context: &Arc<ScanContext>, io: &Arc<IoStats>) -> Result<Vec<RowSelection>> {
        let spec = context.merge_spec(&self.branch)?;
        let rows = self.files().map(|f| usize::try_from(f.meta.row_count).unwrap_or(0));
        let mut sink = Survivors::new(spec.keep, rows);
        let mut first = 0;
        let mut runs = vec![];
        for run in &self.section.runs {
            let files = run.iter().enumerate().map(|(i, f)| (first + i, self.unit(f))).collect();
            runs.push(run_of_keys(Arc::clone(context), Arc::clone(&spec), files, Arc::clone(io)));
            first += run.len();
        }
        merge_keys(runs, &mut sink).await?;
        Ok(sink.finish())
    }

    fn unit(&self, file: &SplitFile) -> ScanUnit {
        let (branch, partition) = (self.branch.clone(), Arc::clone(&self.partition));
        ScanUnit { branch, partition, file: file.clone(), merge: None }
    }
}

/// The keys of the files of a run, read by a task of its own.
fn run_of_keys(
    context: Arc<ScanContext>,
    spec: Arc<MergeSpec>,
    files: Vec<(usize, ScanUnit)>,
    io: Arc<IoStats>,
) -> BoxStream<'static, Result<KeyBatch>> {
    let (sender, receiver) = mpsc::channel(BATCHES_AHEAD);
    let task = SpawnedTask::spawn(async move {
        let mut batches = std::pin::pin!(keys_of_files(context, spec, files, io));
        while let Some(batch) = batches.next().await {
            if sender.send(batch).await.is_err() {
                break;
            }
        }
    });
    // The task lives, and is aborted, with the stream.
    stream::unfold((receiver, task), |(mut receiver, task)| async move {
        receiver.recv().await.map(|batch| (batch, (receiver, task)))
    })
    .boxed()
}

fn keys_of_files(
    context: Arc<ScanContext>,
    spec: Arc<MergeSpec>,
    files: Vec<(usize, ScanUnit)>,
    io: Arc<IoStats>,
) -> BoxStream<'static, Result<KeyBatch>> {
    let of_file = move |(file, unit): (usize, ScanUnit)| {
        let (context, spec, io) = (Arc::clone(&context), Arc::clone(&spec), Arc::clone(&io));
        async move { keys_of_file(&context, spec, file, unit, io).await }
    };
    stream::iter(files).then(of_file).try_flatten().boxed()
}

async fn keys_of_file(
    context: &ScanContext,
    spec: Arc<MergeSpec>,
    file: usize,
    unit: ScanUnit,
    io: Arc<IoStats>,
) -> Result<BoxStream<'static, Result<KeyBatch>>> {
    let path = unit.file.path.clone();
    let mut columns = spec.key_fields.clone();
    columns.extend(spec.sequence_fields.iter().cloned());
    columns.extend(system_fields());
    let mapping = Arc::new(context.mapping_to(&unit, &columns, &system_fields())?);
    let deletions = raw_read::deletions(context, &unit, &io).await?;
    let mut reader = KeyReader::new(&spec, file, deletions.as_ref())?;
    // All versions of all keys, whatever is asked of the rows that come out.
    let rows = raw_read::Rows { selection: deletions, ..Default::default() };
    let opened = raw_read::open_mapped(context, &unit, mapping, rows, KEY_BATCH_ROWS, io).await;
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
            user_sequences: self.user.as_ref().map(|user_rows| user_rows.convert_columns(user)).transpose()?,
            sequences: sequences.values().to_vec(),
            kinds: kinds.values().iter().map(|kind| RowKind::from_byte(*kind)).collect::<Result<_>>()?,
        })
    }
}
