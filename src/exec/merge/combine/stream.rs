//! Reads and combines the groups of a section, or a part of them: [`open`].
//!
//! In: a [`CombineUnit`]. Out: batches of the scan's output, of about `batch_size` keys. Each run is read ahead by a task
//! of its own; a chunk of keys is combined when all its versions are there, and then let go. A section that holds no key
//! that is wanted by then is not merged.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use futures::{StreamExt, TryStreamExt, stream};
use tracing::debug_span;

use super::function::Folder;
use super::groups::{Groups, Part};
use super::plan::CombinePlan;
use super::program::{KeyVersion, Program};
use super::runs::{Inputs, Run};
use crate::error::{Error, Result};
use crate::exec::assign::{CombineUnit, ScanUnit};
use crate::exec::context::ScanContext;
use crate::exec::dynamic;
use crate::exec::merge::aggregate::Member;
use crate::exec::merge::key_reader::read_ahead;
use crate::exec::merge::memory::Held;
use crate::exec::raw_read;
use crate::file::spans::in_span;
use crate::file::{BatchStream, Lane};
use crate::selection::RowSelection;
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::DataField;

/// Versions of a chunk, for each key that a batch may have.
const VERSIONS_PER_KEY: usize = 4;
/// Rows that all runs together read at a time, for each row that a batch may have.
const ROWS_AHEAD_PER_ROW: usize = 8;
/// No run is read in smaller batches.
const MIN_RUN_BATCH_ROWS: usize = 256;

/// Opens a unit; the section is merged here unless it was. Errors that concern no single file name the files' folder.
pub async fn open(
    context: Arc<ScanContext>,
    unit: CombineUnit,
    batch_size: usize,
    lane: Arc<Lane>,
) -> Result<BatchStream> {
    let folder = unit.section.files().next().and_then(|f| f.path.rsplit_once('/')).map_or("", |(folder, _)| folder);
    let folder = folder.to_owned();
    let opened = open_unit(context, &unit, batch_size, lane).await;
    let batches = in_span(opened.map_err(|e| e.in_file(&folder))?, debug_span!("merge", folder));
    Ok(batches.map_err(move |e| e.in_file(&folder)).boxed())
}

async fn open_unit(
    context: Arc<ScanContext>,
    unit: &CombineUnit,
    batch_size: usize,
    lane: Arc<Lane>,
) -> Result<BatchStream> {
    if !dynamic::section_may_match(&context, &unit.section)? {
        return Ok(stream::empty().boxed());
    }
    let Some(groups) = unit.section.groups(&context, &lane).await? else { return Ok(stream::empty().boxed()) };
    let part = groups.part(unit.part, unit.parts)?;
    if part.groups.is_empty() {
        return Ok(stream::empty().boxed());
    }
    let branch = unit.section.branch();
    let spec = context.combine_spec(branch)?;
    let wanted = context.combined(branch)?;
    let plan = CombinePlan::new(&spec, &wanted)?;
    let runs = read_runs(&context, unit, &groups, &part, &plan, batch_size, &lane);
    let held = context.spec().memory.hold(0)?;
    let output = raw_read::Output::of_combined(&context, unit.section.partition())?;
    let combiner = Combiner::new(groups, part.groups, plan, runs, batch_size, Some(held));
    Ok(combiner.batches().map(move |batch| output.rows(&batch?)).boxed())
}

/// The rows of the part's groups, run by run.
fn read_runs(
    context: &Arc<ScanContext>,
    unit: &CombineUnit,
    groups: &Groups,
    part: &Part,
    plan: &CombinePlan,
    batch_size: usize,
    lane: &Arc<Lane>,
) -> Vec<Run> {
    let fields: Arc<[DataField]> = plan.read_fields().into();
    let runs = unit.section.runs().len().max(1);
    let batch_rows = (batch_size.saturating_mul(ROWS_AHEAD_PER_ROW) / runs)
        .clamp(MIN_RUN_BATCH_ROWS, batch_size.max(MIN_RUN_BATCH_ROWS));
    let mut first_file = 0;
    let mut readers = vec![];
    for (run, ranks) in unit.section.runs().iter().zip(&part.ranks) {
        let mut files = vec![];
        let mut first_rank = 0;
        for (at, file) in run.iter().enumerate() {
            let Some(rows) = groups.file(first_file + at) else { continue };
            let of_file = first_rank..first_rank + rows.wanted_rows();
            first_rank = of_file.end;
            let (begin, end) = (ranks.start.max(of_file.start), ranks.end.min(of_file.end));
            if begin < end {
                let rows = rows.ranked(begin - of_file.start..end - of_file.start);
                files.push((unit.section.unit(file), rows));
            }
        }
        first_file += run.len();
        let batches = rows_of_files(Arc::clone(context), Arc::clone(&fields), files, batch_rows, lane.beside());
        let batches = if fields.is_empty() { batches } else { read_ahead(batches) };
        readers.push(Run::new(batches, ranks.start));
    }
    readers
}

/// The given rows of files, one file after the other.
fn rows_of_files(
    context: Arc<ScanContext>,
    fields: Arc<[DataField]>,
    files: Vec<(ScanUnit, RowSelection)>,
    batch_rows: usize,
    lane: Arc<Lane>,
) -> BatchStream {
    let open = move |(unit, rows): (ScanUnit, RowSelection)| {
        let (context, fields, lane) = (Arc::clone(&context), Arc::clone(&fields), Arc::clone(&lane));
        async move {
            let path = unit.file.path.clone();
            let open = async {
                let is_of_file = |field: &&DataField| context.spec().partition_column(field).is_none();
                let of_file: Vec<_> = fields.iter().filter(is_of_file).cloned().collect();
                let mapping = Arc::new(context.mapping_to(&unit, &of_file, &[])?);
                let rows = raw_read::Rows { selection: Some(rows), ..Default::default() };
                let batches = raw_read::open_mapped(&context, &unit, mapping, rows, batch_rows, lane).await?;
                if of_file.len() == fields.len() {
                    return Ok(batches);
                }
                let output = raw_read::Output::of_fields(&context, &fields, &unit.partition)?;
                Ok(batches.map(move |batch| output.rows(&batch?)).boxed())
            };
            let batches = open.await.map_err(|e: Error| e.in_file(&path))?;
            Ok::<_, Error>(batches.map_err(move |e| e.in_file(&path)))
        }
    };
    stream::iter(files).then(open).try_flatten().boxed()
}

/// Combines groups chunk by chunk.
pub struct Combiner {
    groups: Arc<Groups>,
    /// The groups that are left.
    left: Range<usize>,
    plan: CombinePlan,
    schema: SchemaRef,
    runs: Vec<Run>,
    batch_size: usize,
    held: Option<Held>,
}

impl Combiner {
    /// Combines a range of groups, of whose versions `runs` have the values; `held` knows what these take.
    pub fn new(
        groups: Arc<Groups>,
        left: Range<usize>,
        plan: CombinePlan,
        runs: Vec<Run>,
        batch_size: usize,
        held: Option<Held>,
    ) -> Self {
        let fields: Vec<_> = plan.columns().iter().map(|c| c.field.clone()).collect();
        Self { groups, left, plan, schema: arrow_schema(&fields), runs, batch_size: batch_size.max(1), held }
    }

    /// Batches of the wanted columns.
    pub fn batches(self) -> BatchStream {
        let next = |mut combiner: Self| async move {
            match combiner.next().await {
                Ok(Some(batch)) => Ok(Some((batch, combiner))),
                Ok(None) => Ok(None),
                Err(e) => Err(e),
            }
        };
        stream::try_unfold(self, next).boxed()
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let chunk = self.chunk();
        self.left.start = chunk.end;
        let reads = !self.plan.read_fields().is_empty();
        let ends = self.rank_ends(chunk.clone())?;
        if reads {
            for (run, end) in self.runs.iter_mut().zip(&ends) {
                run.load(*end, &self.plan).await?;
            }
            let bytes = || self.runs.iter().map(Run::heap_bytes).sum();
            self.held.as_ref().map_or(Ok(()), |held| held.resize(bytes()))?;
        }
        let batch = self.combine(chunk, reads)?;
        self.runs.iter_mut().zip(&ends).for_each(|(run, end)| run.release(*end));
        Ok(Some(batch))
    }

    /// The next groups to combine at once.
    fn chunk(&self) -> Range<usize> {
        let begin = self.left.start;
        let most_versions = self.batch_size.saturating_mul(VERSIONS_PER_KEY);
        let versions = self.groups.bounds(begin).start.saturating_add(most_versions);
        let most = self.left.end.min(begin.saturating_add(self.batch_size));
        let fits = |group: &usize| self.groups.bounds(*group).end <= versions;
        // A key of very many versions is a chunk of its own.
        let more = (begin + 1..most).take_while(fits).count();
        begin..begin + 1 + more
    }

    /// For each run the rank behind its last row in groups; 0 where it has none.
    fn rank_ends(&self, groups: Range<usize>) -> Result<Vec<usize>> {
        let mut ends = vec![0; self.runs.len()];
        for version in self.groups.versions(self.versions(groups))? {
            if let Some(end) = ends.get_mut(version.run) {
                *end = (*end).max(version.rank + 1);
            }
        }
        Ok(ends)
    }

    fn versions(&self, groups: Range<usize>) -> Range<usize> {
        self.groups.bounds(groups.start).start..groups.end.checked_sub(1).map_or(0, |g| self.groups.bounds(g).end)
    }

    fn combine(&self, chunk: Range<usize>, reads: bool) -> Result<RecordBatch> {
        let inputs = Inputs::new(&self.runs);
        let first = self.versions(chunk.clone()).start;
        let of_chunk = self.versions(chunk.clone());
        let (mut versions, mut finder) = (Vec::with_capacity(of_chunk.len()), inputs.finder());
        for version in self.groups.versions(of_chunk)? {
            let member = if reads { finder.member(version.run, version.rank)? } else { Member { input: 0, row: 0 } };
            versions.push(KeyVersion { member, kind: version.kind });
        }
        let ends: Vec<_> = chunk.map(|group| self.groups.bounds(group).end - first).collect();
        let program = self.plan.program(&inputs, &versions, &ends)?;
        self.columns(&inputs, &program)
    }

    fn columns(&self, inputs: &Inputs<'_>, program: &Program) -> Result<RecordBatch> {
        let mut folder = Folder::new(program);
        let mut columns = vec![];
        for (at, column) in self.plan.columns().iter().enumerate() {
            let named = |e: Error| Error::new(e.kind(), format!("column '{}'", column.field.name)).caused_by(e);
            let values = folder.column(column.track, &column.function, &inputs.column(at)?).map_err(named)?;
            if !column.field.data_type.nullable && values.null_count() > 0 {
                let message = format!("column '{}' is NOT NULL and merging its versions gives NULL", column.field.name);
                return Err(Error::corrupt(message));
            }
            columns.push(values);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(program.keys()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}
