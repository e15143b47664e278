//! Reads the keys of files to merge: [`KeyReader`].
//!
//! In: the files of a run, a range of keys, and conditions on them. Out: [`KeyBatch`]es in key order, of just the keys that
//! are wanted; pages that hold none are not read. Besides the keys only what orders their versions is read: the user's
//! sequence columns, and the sequence numbers and kinds of rows where the manifest does not already say enough
//! ([`known_of`]).

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{SortOptions, filter_record_batch};
use arrow::datatypes::{Int8Type, Int64Type};
use arrow::row::{RowConverter, SortField};
use datafusion::common::runtime::SpawnedTask;
use datafusion::physical_expr::PhysicalExpr;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use tokio::sync::mpsc;
use tracing::Instrument;

use super::key_filter::KeyFilter;
use super::key_range::KeyRange;
use super::keys::{KeyBound, KeyEncoder, with_plain_floats};
use super::section::MergeSpec;
use super::tournament::{KeyBatch, Kinds, Positions, Sequences};
use crate::error::{Error, Result};
use crate::exec::assign::ScanUnit;
use crate::exec::context::ScanContext;
use crate::exec::{raw_read, unit_filter};
use crate::file::{self, Lane, Narrowing, PruneSwitches};
use crate::selection::RowSelection;
use crate::spec::arrow_type::column_type;
use crate::spec::data_file::DataFileMeta;
use crate::spec::data_type::{DataField, TypeKind};
use crate::spec::row_kind::RowKind;
use crate::split::SplitFile;

/// `_SEQUENCE_NUMBER` in data files. Java: `SpecialFields`.
const SEQUENCE_NUMBER_ID: i32 = i32::MAX - 1;
/// `_VALUE_KIND` in data files.
const VALUE_KIND_ID: i32 = i32::MAX - 2;
/// Rows of a batch of keys at most.
const KEY_BATCH_ROWS: usize = 8192;
/// Rows of a batch of keys at least, however many runs there are.
const MIN_KEY_BATCH_ROWS: usize = 1024;
/// Rows of the batches of all runs together, where that leaves each of them enough.
const ALL_BATCHES_ROWS: usize = 32 * KEY_BATCH_ROWS;
/// Batches that a run's task may be ahead of those who take them.
const BATCHES_AHEAD: usize = 2;
/// Files of which it is found at once which rows may be wanted.
const FILES_AT_ONCE: usize = 16;

fn sequence_field() -> DataField {
    DataField::new(SEQUENCE_NUMBER_ID, "_SEQUENCE_NUMBER", TypeKind::BigInt.not_null())
}

fn kind_field() -> DataField {
    DataField::new(VALUE_KIND_ID, "_VALUE_KIND", TypeKind::TinyInt.not_null())
}

/// The columns that hold a file's sequence numbers and row kinds, besides the table's own.
pub fn system_fields() -> [DataField; 2] {
    [sequence_field(), kind_field()]
}

/// What is known of the rows of a file without reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    /// A number that stands to the sequence numbers of all other runs as those of the file do.
    pub sequence: Option<i64>,
    /// No row takes its key back.
    pub adds_only: bool,
}

/// What is known of the files of a section, run by run.
pub fn known_of(runs: &[Vec<SplitFile>]) -> Vec<Known> {
    let files = || runs.iter().enumerate().flat_map(|(run, files)| files.iter().map(move |file| (run, &file.meta)));
    let mut by_sequence: Vec<usize> = (0..files().count()).collect();
    let bounds: Vec<_> = files().map(|(run, meta)| (meta.min_sequence_number, meta.max_sequence_number, run)).collect();
    let bound = |at: usize| bounds.get(at).copied().unwrap_or((i64::MIN, i64::MAX, usize::MAX));
    by_sequence.sort_unstable_by_key(|at| bound(*at));
    let known = |adds_only| Known { sequence: None, adds_only };
    // Some writers count no deletes in what they append; compaction counts them.
    let compacted = |meta: &DataFileMeta| meta.level > 0 && meta.delete_row_count == Some(0);
    let mut known: Vec<_> = files().map(|(_, meta)| known(compacted(meta))).collect();
    // Files whose sequence numbers overlap, directly or through others, follow each other.
    let mut rest = by_sequence.as_slice();
    while let Some(first) = rest.first() {
        let (_, mut end, run) = bound(*first);
        let (mut length, mut apart) = (0, true);
        while let Some((min, max, other)) =
            rest.get(length).map(|at| bound(*at)).filter(|(min, ..)| length == 0 || *min <= end)
        {
            (end, apart) = (end.max(max), apart && other == run && min <= max);
            length += 1;
        }
        let (cluster, others) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        for at in cluster.iter().filter(|_| apart) {
            if let Some(known) = known.get_mut(*at) {
                known.sequence = Some(bound(*at).0);
            }
        }
        rest = others;
    }
    known
}

/// A file whose keys are read.
#[derive(Debug, Clone)]
pub struct KeyFile {
    /// Its number in the section.
    pub number: usize,
    /// The file.
    pub unit: ScanUnit,
    /// What need not be read of it.
    pub known: Known,
    /// The rows that may hold wanted keys; `None` = all.
    pub selection: Option<RowSelection>,
}

/// Reads keys.
#[derive(Debug, Clone)]
pub struct KeyReader {
    /// The scan.
    pub context: Arc<ScanContext>,
    /// How versions are merged.
    pub spec: Arc<MergeSpec>,
    /// Through which files are read.
    pub lane: Arc<Lane>,
    /// What keys must fulfil.
    pub filter: Option<Arc<KeyFilter>>,
}

impl KeyReader {
    /// Finds which rows of files may hold wanted keys.
    pub async fn select(&self, runs: &mut [Vec<KeyFile>], range: &KeyRange) -> Result<()> {
        let first = self.spec.key_fields.first();
        let mut conditions = first.map(|key| range.conditions(key)).unwrap_or_default();
        conditions.extend(self.filter.iter().flat_map(|filter| filter.conditions().iter().cloned()));
        if conditions.is_empty() {
            return Ok(());
        }
        let select = |file: &mut KeyFile| {
            let (reader, conditions, unit) = (self.clone(), conditions.clone(), file.unit.clone());
            async move { reader.candidates(&unit, &conditions).await.map_err(|e| e.in_file(&unit.file.path)) }
        };
        let selections: Vec<_> = runs.iter_mut().flatten().map(select).collect();
        let selections: Vec<_> = stream::iter(selections).buffered(FILES_AT_ONCE).try_collect().await?;
        let files = runs.iter_mut().flatten().zip(selections);
        files.for_each(|(file, selection)| file.selection = selection);
        Ok(())
    }

    /// The rows of a file that statistics leave.
    async fn candidates(&self, unit: &ScanUnit, conditions: &[Arc<dyn PhysicalExpr>]) -> Result<Option<RowSelection>> {
        let mapping = Arc::new(self.context.mapping_to(unit, &self.spec.key_fields, &[])?);
        let predicate = unit_filter::file_predicate(&mapping, conditions)?;
        let switches = PruneSwitches { bloom_filters: false, ..PruneSwitches::default() };
        let narrowing = Narrowing { predicate, switches, ..Narrowing::default() };
        let rows = raw_read::Rows { narrowing, ..Default::default() };
        let request = raw_read::request(&self.context, unit, &mapping, rows, KEY_BATCH_ROWS, &self.lane)?;
        // What is wrong with a file is said when it is read.
        Ok(file::candidates(&request).await.unwrap_or(None))
    }

    /// The wanted keys of the files of a run, one file after the other; `runs` are read beside each other.
    pub fn keys(&self, files: Vec<KeyFile>, range: Arc<KeyRange>, runs: usize) -> BoxStream<'static, Result<KeyBatch>> {
        let reader = self.clone();
        let batch_rows = (ALL_BATCHES_ROWS / runs.max(1)).clamp(MIN_KEY_BATCH_ROWS, KEY_BATCH_ROWS);
        let of_file = move |file: KeyFile| {
            let (reader, range) = (reader.clone(), Arc::clone(&range));
            async move {
                let path = file.unit.file.path.clone();
                let batches = reader.keys_of_file(file, range, batch_rows).await.map_err(|e| e.in_file(&path))?;
                Ok::<_, Error>(batches.map_err(move |e| e.in_file(&path)))
            }
        };
        stream::iter(files).then(of_file).try_flatten().boxed()
    }

    async fn keys_of_file(
        &self,
        file: KeyFile,
        range: Arc<KeyRange>,
        batch_rows: usize,
    ) -> Result<BoxStream<'static, Result<KeyBatch>>> {
        let KeyFile { number, unit, known, selection } = file;
        if selection.as_ref().is_some_and(|selection| selection.wanted_rows() == 0) {
            return Ok(stream::empty().boxed());
        }
        let mut columns = self.spec.key_fields.clone();
        columns.extend(self.spec.sequence_fields.iter().cloned());
        columns.extend(known.sequence.is_none().then(sequence_field));
        columns.extend((!known.adds_only).then(kind_field));
        let mapping = Arc::new(self.context.mapping_to(&unit, &columns, &[sequence_field(), kind_field()])?);
        let selection = match (raw_read::deletions(&self.context, &unit, &self.lane).await?, selection) {
            (Some(left), Some(wanted)) => Some(left.and(&wanted)),
            (left, wanted) => left.or(wanted),
        };
        let mut decoder = KeyDecoder::new(&self.spec, number, known, selection.as_ref())?;
        (decoder.is_orc, decoder.filter, decoder.range) = (unit.file.meta.is_orc(), self.filter.clone(), range);
        let memory = self.context.spec().memory.clone();
        let rows = raw_read::Rows { selection, ..Default::default() };
        let lane = Arc::clone(&self.lane);
        let batches = raw_read::open_mapped(&self.context, &unit, mapping, rows, batch_rows, lane).await?;
        Ok(stream::try_unfold((batches, decoder, memory), |(mut batches, mut decoder, memory)| async move {
            while !decoder.ended {
                let Some(batch) = batches.next().await.transpose()? else { break };
                let mut keys = decoder.keys(&batch)?;
                if keys.rows() > 0 {
                    keys.held = Some(memory.hold(keys.heap_bytes())?);
                    return Ok(Some((keys, (batches, decoder, memory))));
                }
            }
            Ok(None)
        })
        .boxed())
    }
}

/// Turns the batches of one file into [`KeyBatch`]es.
struct KeyDecoder {
    file: usize,
    known: Known,
    keys: KeyEncoder,
    key_columns: usize,
    user: Option<RowConverter>,
    user_columns: usize,
    places: Places,
    /// Only keys of ORC files may not ascend.
    is_orc: bool,
    filter: Option<Arc<KeyFilter>>,
    range: Arc<KeyRange>,
    /// Whether all keys that come are above the range.
    ended: bool,
}

impl KeyDecoder {
    fn new(spec: &MergeSpec, file: usize, known: Known, selection: Option<&RowSelection>) -> Result<Self> {
        // NULL is least in either order.
        let options = SortOptions { descending: spec.sequence_descending, nulls_first: true };
        let field = |f: &DataField| SortField::new_with_options(column_type(&f.data_type), options);
        let user = match spec.sequence_fields.as_slice() {
            [] => None,
            fields => Some(RowConverter::new(fields.iter().map(field).collect())?),
        };
        let (key_columns, user_columns) = (spec.key_fields.len(), spec.sequence_fields.len());
        let (places, keys) = (Places::new(selection), KeyEncoder::new(&spec.key_fields)?);
        let (is_orc, filter, range, ended) = (false, None, Arc::default(), false);
        Ok(Self { file, known, keys, key_columns, user, user_columns, places, is_orc, filter, range, ended })
    }

    /// The wanted keys of the next batch.
    fn keys(&mut self, batch: &RecordBatch) -> Result<KeyBatch> {
        let positions = self.places.next(batch.num_rows())?;
        match self.filter.as_ref().and_then(|filter| filter.matches(batch)) {
            Some(matches) if matches.true_count() < batch.num_rows() && self.ascends(batch)? => {
                let positions = matches.values().set_indices().map(|row| positions.at(row)).collect();
                self.in_range(&filter_record_batch(batch, &matches)?, Positions::List(positions))
            }
            _ => self.in_range(batch, positions),
        }
    }

    /// Whether the keys of a batch surely ascend. What does not is for the merge to find out.
    fn ascends(&self, batch: &RecordBatch) -> Result<bool> {
        let keys = || batch.columns().get(..self.key_columns).ok_or_else(lacks_columns);
        Ok(!self.is_orc || self.keys.encode(keys()?)?.ascend())
    }

    /// The keys of a batch that are in the range.
    fn in_range(&mut self, batch: &RecordBatch, positions: Positions) -> Result<KeyBatch> {
        let keys = self.encode(batch, positions)?;
        let rows = keys.rows();
        let is_below = |row: usize, bound: Option<&KeyBound>| bound.is_some_and(|bound| keys.keys.is_below(row, bound));
        let last = rows.saturating_sub(1);
        let whole = !is_below(0, self.range.from()) && (self.range.to().is_none() || is_below(last, self.range.to()));
        // What does not ascend is for the merge to find out.
        if whole || !keys.keys.ascend() {
            return Ok(keys);
        }
        let begin = self.range.from().map_or(0, |from| keys.keys.below(from));
        let end = self.range.to().map_or(rows, |to| keys.keys.below(to)).max(begin);
        self.ended = end < rows;
        self.encode(&batch.slice(begin, end - begin), keys.positions.slice(begin..end))
    }

    fn encode(&self, batch: &RecordBatch, positions: Positions) -> Result<KeyBatch> {
        let (key, rest) = batch.columns().split_at_checked(self.key_columns).ok_or_else(lacks_columns)?;
        let (user, system) = rest.split_at_checked(self.user_columns).ok_or_else(lacks_columns)?;
        let (mut system, user) = (system.iter(), user.iter().map(with_plain_floats).collect::<Vec<_>>());
        let sequences = match self.known.sequence {
            Some(sequence) => Sequences::About(sequence),
            None => Sequences::Each(sequences(system.next().ok_or_else(lacks_columns)?)?),
        };
        let kinds = match self.known.adds_only {
            true => Kinds::Adds,
            false => Kinds::Each(kinds(system.next().ok_or_else(lacks_columns)?)?),
        };
        let user_sequences = self.user.as_ref().map(|rows| rows.convert_columns(&user)).transpose()?;
        let (file, keys, held) = (self.file, self.keys.encode(key)?, None);
        Ok(KeyBatch { file, positions, keys, user_sequences, sequences, kinds, held })
    }
}

fn lacks_columns() -> Error {
    Error::internal("a batch of keys lacks columns")
}

/// The positions of the rows of a file that are read, from the first on.
struct Places {
    /// Stretches of rows, the last first, the current one cut to what is left of it.
    ranges: Vec<Range<usize>>,
}

impl Places {
    fn new(selection: Option<&RowSelection>) -> Self {
        let mut ranges = selection.map_or_else(|| std::iter::once(0..usize::MAX).collect(), RowSelection::ranges);
        ranges.reverse();
        Self { ranges }
    }

    /// The positions of the next rows.
    fn next(&mut self, rows: usize) -> Result<Positions> {
        let mut list = vec![];
        while list.len() < rows {
            let more = || Error::corrupt("has more rows than its manifest says");
            let range = self.ranges.last_mut().ok_or_else(more)?;
            let taken = range.start..range.end.min(range.start.saturating_add(rows - list.len()));
            range.start = taken.end;
            if range.start >= range.end {
                self.ranges.pop();
            }
            if list.is_empty() && taken.len() == rows {
                return Ok(Positions::From(taken.start));
            }
            list.extend(taken);
        }
        Ok(Positions::List(list))
    }
}

fn sequences(column: &ArrayRef) -> Result<Vec<i64>> {
    match column.as_primitive_opt::<Int64Type>().filter(|column| column.null_count() == 0) {
        Some(sequences) => Ok(sequences.values().to_vec()),
        None => Err(Error::corrupt("NULL in _SEQUENCE_NUMBER")),
    }
}

fn kinds(column: &ArrayRef) -> Result<Vec<RowKind>> {
    match column.as_primitive_opt::<Int8Type>().filter(|column| column.null_count() == 0) {
        Some(kinds) => kinds.values().iter().map(|kind| RowKind::from_byte(*kind)).collect(),
        None => Err(Error::corrupt("NULL in _VALUE_KIND")),
    }
}

/// A stream that is read by a task of its own, a few items ahead.
pub fn read_ahead<T: Send + 'static>(items: BoxStream<'static, Result<T>>) -> BoxStream<'static, Result<T>> {
    let (sender, receiver) = mpsc::channel(BATCHES_AHEAD);
    let reading = async move {
        let mut items = items;
        while let Some(item) = items.next().await {
            if sender.send(item).await.is_err() {
                break;
            }
        }
    };
    let task = SpawnedTask::spawn(reading.in_current_span());
    // The task lives, and is aborted, with the stream.
    stream::unfold((receiver, task), |(mut receiver, task)| async move {
        receiver.recv().await.map(|item| (item, (receiver, task)))
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(min: i64, max: i64, level: i32, deletes: Option<i64>) -> SplitFile {
        let meta = DataFileMeta {
            level,
            min_sequence_number: min,
            max_sequence_number: max,
            delete_row_count: deletes,
            ..DataFileMeta::empty()
        };
        SplitFile { path: String::new(), meta: Arc::new(meta), deletion: None, range: None }
    }

    #[test]
    fn sequences_are_read_where_those_of_runs_overlap() {
        let sequences = |runs: &[&[(i64, i64)]]| {
            let run = |files: &&[(i64, i64)]| files.iter().map(|(min, max)| file(*min, *max, 0, Some(0))).collect();
            let runs: Vec<Vec<_>> = runs.iter().map(run).collect();
            known_of(&runs).iter().map(|known| known.sequence).collect::<Vec<_>>()
        };
        assert_eq!(sequences(&[&[(0, 9), (3, 5)], &[(10, 12)]]), [Some(0), Some(3), Some(10)]);
        assert_eq!(sequences(&[&[(0, 9), (20, 30)], &[(9, 12)]]), [None, Some(20), None]);
        assert_eq!(sequences(&[&[(0, 5)], &[(4, 9)], &[(8, 12)], &[(13, 13)]]), [None, None, None, Some(13)]);
        assert_eq!(sequences(&[&[(5, 1)], &[(7, 8)]]), [None, Some(7)]);
        assert_eq!(sequences(&[&[(0, 99)], &[(1, 2)], &[(50, 51)]]), [None; 3]);
    }

    #[test]
    fn rows_have_their_positions() {
        let selection = RowSelection::without(10, [0, 4, 5, 8]);
        let mut places = Places::new(Some(&selection));
        let next = |places: &mut Places, rows| match places.next(rows).unwrap() {
            Positions::From(first) => (first..first + rows).collect(),
            Positions::List(list) => list,
        };
        assert_eq!(
            [next(&mut places, 2), next(&mut places, 3), next(&mut places, 1)],
            [vec![1, 2], vec![3, 6, 7], vec![9]]
        );
        assert!(places.next(1).is_err());
        let mut all = Places::new(None);
        assert_eq!([next(&mut all, 2), next(&mut all, 2)], [[0, 1], [2, 3]]);
    }

    #[test]
    fn kinds_are_read_where_there_may_be_deletes() {
        let of_level = |level| vec![file(0, 1, level, Some(0)), file(2, 3, level, None), file(4, 5, level, Some(2))];
        let runs = vec![of_level(5), of_level(0)];
        let adds_only: Vec<_> = known_of(&runs).iter().map(|known| known.adds_only).collect();
        assert_eq!(adds_only, [true, false, false, false, false, false]);
    }
}
