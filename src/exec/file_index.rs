//! Asks the file indexes of a unit's file before it is opened: [`ask`].
//!
//! In: a unit, and what the query says of its branch's rows. Out: which rows of the file may be wanted, by the index in
//! the manifest or by the one beside the data. An index is an optimisation: one that is gone, damaged or of a version
//! that is not known leaves nothing out, and is counted. What an index said is kept in the session's cache: neither of
//! both ever changes, and the parts of a file that several output partitions read ask only once.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use super::assign::ScanUnit;
use super::context::ScanContext;
use super::dynamic::{self, residual};
use crate::cache::{CacheKey, CacheKind, CacheValue};
use crate::error::{Error, ErrorKind, Result};
use crate::file::{FileFormat, PruneMetrics};
use crate::predicate::file_index::container::{Container, IndexEntry, column_names};
use crate::predicate::file_index::{FileIndexResult, FileIndexes, IndexedColumn, ask_embedded};
use crate::predicate::{ColumnRef, Predicate};
use crate::selection::RowSelection;
use crate::spec::data_file::DataFileMeta;
use crate::spec::table_schema::TableSchema;
use crate::storage::{InputFile, IoStats, Location};

/// How much of an index file is read at first.
const START_BYTES: u64 = 64 << 10;

/// What the name of an index file ends in.
const SUFFIX: &str = ".index";

/// What indexes leave of a unit's file.
#[derive(Debug, Clone)]
pub enum Indexed {
    /// Nothing.
    Skip,
    /// These rows.
    Rows(RowSelection),
    /// Everything.
    Remain,
}

/// Asks the indexes of a unit's file.
pub async fn ask(context: &ScanContext, unit: &ScanUnit, io: &Arc<IoStats>, metrics: &PruneMetrics) -> Result<Indexed> {
    let Some(question) = Question::new(context, unit)? else { return Ok(Indexed::Remain) };
    let said = match question.answer(context, unit, io).await {
        Ok(said) => said,
        Err(e) => {
            log::warn!("the file index of {} is not used: {e}", unit.file.path);
            let count = if e.kind() == ErrorKind::NotFound { &metrics.index_missing } else { &metrics.index_errors };
            count.add(1);
            return Ok(Indexed::Remain);
        }
    };
    let rows = usize::try_from(unit.file.meta.row_count).unwrap_or(0);
    Ok(match said {
        FileIndexResult::Skip => {
            metrics.index_files.add_pruned(1);
            Indexed::Skip
        }
        FileIndexResult::Rows(wanted) if !is_part_without_positions(unit) => {
            metrics.index_files.add_matched(1);
            let left = usize::try_from(wanted.len()).unwrap_or(rows);
            metrics.index_rows.add_pruned(rows.saturating_sub(left));
            metrics.index_rows.add_matched(left);
            Indexed::Rows(RowSelection::only(rows, wanted.iter().map(u64::from)))
        }
        _ => {
            metrics.index_files.add_matched(1);
            Indexed::Remain
        }
    })
}

/// Whether indexes may leave out rows of a unit's file.
pub fn is_asked(context: &ScanContext, unit: &ScanUnit) -> bool {
    !matches!(Question::new(context, unit), Ok(None))
}

/// The middle of an Avro file does not know the positions of its rows.
fn is_part_without_positions(unit: &ScanUnit) -> bool {
    let format = FileFormat::of_file_name(&unit.file.meta.file_name).ok();
    unit.file.range.is_some() && format == Some(FileFormat::Avro)
}

/// What is asked of the indexes of one file.
struct Question<'a> {
    predicate: Cow<'a, Predicate>,
    schema: &'a TableSchema,
    file: &'a DataFileMeta,
}

impl<'a> Question<'a> {
    /// `None` where there is no index, or nothing to ask of it.
    fn new(context: &'a ScanContext, unit: &'a ScanUnit) -> Result<Option<Self>> {
        let file = unit.file.meta.as_ref();
        let source = context.source(&unit.branch)?;
        let Some(schema) = source.by_id.get(&file.schema_id).filter(|_| source.asks_indexes) else { return Ok(None) };
        if file.embedded_index.is_none() && index_file(file).is_none() {
            return Ok(None);
        }
        let predicate = match (source.predicate.as_deref(), dynamic::predicate(context, &unit.branch)?) {
            (Some(known), None) => Cow::Borrowed(known),
            (known, Some(now)) => Cow::Owned(Predicate::all_of(known.cloned().into_iter().chain([now]))),
            (None, None) => return Ok(None),
        };
        let predicate = residual(predicate, context, &unit.partition)?;
        let question = Self { predicate, schema, file };
        let names = column_names(&question.predicate, &|column| question.column(column));
        Ok(may_be_indexed(&names, schema).then_some(question))
    }

    /// What a column is in the file.
    fn column(&self, column: &ColumnRef) -> Option<IndexedColumn> {
        IndexedColumn::new(column, self.file, self.schema)
    }

    async fn answer(&self, context: &ScanContext, unit: &ScanUnit, io: &Arc<IoStats>) -> Result<FileIndexResult> {
        if let Some(said) = ask_embedded(&self.predicate, self.file, self.schema) {
            return said;
        }
        let Some(name) = index_file(self.file) else { return Ok(FileIndexResult::Remain) };
        let folder = unit.file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = format!("{folder}/{name}");
        let key = CacheKey::new(CacheKind::FileIndex, format!("{path}\n{:?}", self.predicate));
        let load = async {
            let file = context.spec().storage.file(&Location::parse(&path)?, None)?.with_stats(Arc::clone(io));
            self.of_file(&file).await.map(Said).map_err(|e| e.in_file(&path))
        };
        let said: Arc<Said> = context.spec().cache.get_or_load(key, load).await?;
        Ok(said.0.clone())
    }

    async fn of_file(&self, file: &InputFile) -> Result<FileIndexResult> {
        let column = |c: &ColumnRef| self.column(c);
        let mut start = file.read_start(START_BYTES).await?;
        let head = Container::head_bytes(&start)?;
        if head > start.len() {
            start = file.read_start(head as u64).await?;
        }
        let wanted = Container::parse(&start)?.wanted(&self.predicate, &column);
        let indexes = with_bytes(file, &start, wanted).await?;
        FileIndexes::new(self.file.row_count, indexes)?.evaluate(&self.predicate, &column)
    }
}

/// What an index said, kept.
struct Said(FileIndexResult);

impl CacheValue for Said {
    fn heap_bytes(&self) -> usize {
        match &self.0 {
            FileIndexResult::Rows(rows) => rows.serialized_size(),
            _ => 0,
        }
    }
}

/// The bytes of indexes: those that the start of the file has, and the others with one request.
async fn with_bytes(file: &InputFile, start: &Bytes, wanted: Vec<IndexEntry>) -> Result<Vec<(IndexEntry, Bytes)>> {
    let at_hand = |entry: &IndexEntry| match &entry.range {
        None => Some(Bytes::new()),
        Some(range) => {
            let (from, to) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
            (from <= to && to <= start.len()).then(|| start.slice(from..to))
        }
    };
    let found: Vec<_> = wanted.into_iter().map(|entry| (at_hand(&entry), entry)).collect();
    let missing: Vec<_> = found.iter().filter(|(b, _)| b.is_none()).filter_map(|(_, e)| e.range.clone()).collect();
    let mut read = match missing.is_empty() {
        true => vec![],
        false => file.read_ranges(&missing).await?,
    }
    .into_iter();
    let with_bytes = |(bytes, entry): (Option<Bytes>, IndexEntry)| {
        let bytes = bytes.or_else(|| read.next());
        bytes.map(|bytes| (entry, bytes)).ok_or_else(|| Error::internal("the store gave fewer ranges than asked for"))
    };
    found.into_iter().map(with_bytes).collect()
}

/// The index file beside a data file.
fn index_file(file: &DataFileMeta) -> Option<&String> {
    file.extra_files.iter().find(|name| name.ends_with(SUFFIX))
}

/// Whether columns may be among those that a writer was told to index, so that an index file is worth a request. Where
/// no option names any column, the writer was told otherwise.
fn may_be_indexed(names: &[String], schema: &TableSchema) -> bool {
    let indexed = |name: &String| indexed_columns(schema).any(|column| column == name);
    !names.is_empty() && (names.iter().any(indexed) || indexed_columns(schema).next().is_none())
}

/// The columns that the options of a schema name (`file-index.bloom-filter.columns`).
fn indexed_columns(schema: &TableSchema) -> impl Iterator<Item = &str> {
    let lists = schema.options.iter().filter(|(key, _)| key.starts_with("file-index.") && key.ends_with(".columns"));
    lists.flat_map(|(_, columns)| columns.split(',').map(str::trim).filter(|name| !name.is_empty()))
}
