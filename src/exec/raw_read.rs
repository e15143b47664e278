//! Reads the rows of one file that are rows of the table.
//!
//! In: a [`ScanUnit`]. Out: batches of the scan's output schema: the file's columns, mapped to the table's schema, and
//! the partition's values as constant columns. Rows that a deletion vector or merging takes away are not read. Every
//! error names the file.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use datafusion::physical_plan::metrics::Count;
use futures::{StreamExt, stream};

use super::assign::ScanUnit;
use super::context::{ColumnSource, ScanContext, ScanSpec};
use super::evolution::SchemaMapping;
use super::file_index::{self, Indexed};
use super::kept_rows::MAX_ROWS;
use super::lost_folder::{self, PartitionNames};
use super::unit_filter;
use super::unit_rows::UnitRows;
use crate::error::{Error, ErrorKind, Result};
use crate::file::prune_metrics::count_left;
use crate::file::{self, BatchStream, FileFormat, Lane, Narrowing, PruneMetrics, PruneSwitches, ReadRequest};
use crate::selection::RowSelection;
use crate::spec::arrow_type::arrow_schema;
use crate::spec::binary_row::BinaryRow;
use crate::spec::data_type::DataField;
use crate::spec::datum_array::datums_to_array;
use crate::spec::deletion_vector::DeletionVector;
use crate::storage::Location;

/// How the units of an output partition are read.
#[derive(Debug, Clone)]
pub struct ReadMode {
    /// The number of rows of a batch.
    pub batch_size: usize,
    /// Which statistics are asked.
    pub switches: PruneSwitches,
    /// Through which it is read.
    pub lane: Arc<Lane>,
    /// Files (or parts of files) that were opened.
    pub opened: Count,
    /// Where it is counted what is not read.
    pub pruned: PruneMetrics,
    /// After so many rows no more are wanted; `None` = all are.
    pub limit: Option<usize>,
}

/// Opens a unit: everything that must be known before its first batch is read here.
pub async fn open(context: Arc<ScanContext>, unit: ScanUnit, mode: ReadMode) -> Result<BatchStream> {
    let path = unit.file.path.clone();
    let opened = open_unit(context, &unit, mode).await;
    let stream = opened.map_err(|e| e.in_file(&path))?;
    Ok(stream.map(move |batch| batch.map_err(|e| e.in_file(&path))).boxed())
}

async fn open_unit(context: Arc<ScanContext>, unit: &ScanUnit, mode: ReadMode) -> Result<BatchStream> {
    let ReadMode { batch_size, switches, lane, opened, pruned, limit } = mode;
    let files = pruned.files.clone();
    let Some(mut narrowing) = unit_filter::narrow(&context, unit, switches, pruned)? else {
        files.add_pruned(1);
        return Ok(stream::empty().boxed());
    };
    files.add_matched(1);
    let indexed = match apply_known(&context, unit, &mut narrowing) {
        Some(known) => known,
        None => file_index::ask(&context, unit, lane.io(), &narrowing.metrics).await?,
    };
    match indexed {
        Indexed::Skip => return Ok(stream::empty().boxed()),
        // Of what an index leaves out, it was asked more than the scan's own conditions, perhaps.
        Indexed::Rows(_) => narrowing.found = None,
        Indexed::Remain => {}
    }
    opened.add(1);
    // Which rows survive merging is found without any filter on them.
    let selection = match (wanted_rows(&context, unit, &lane).await?, indexed) {
        (Some(rows), Indexed::Rows(indexed)) => Some(rows.and(&indexed)),
        (None, Indexed::Rows(indexed)) => Some(indexed),
        (rows, _) => rows,
    };
    match selection.as_ref().map(RowSelection::wanted_rows) {
        Some(0) => return Ok(stream::empty().boxed()),
        // Filters that only spare work spare none of so few rows; those of which it is to be found out are left to them.
        Some(rows) if rows <= MAX_ROWS && narrowing.found.is_none() => {
            narrowing.row_filters.retain(|filter| filter.is_needed())
        }
        _ => {}
    }
    let mapping = context.mapping(unit)?;
    let rows = Rows { selection, narrowing, limit };
    let batches = open_mapped(&context, unit, mapping, rows, batch_size, lane).await?;
    let output = Output::of_file(&context, &unit.partition)?;
    Ok(batches.map(move |batch| output.rows(&batch?)).boxed())
}

/// The rows that alone can fulfil the conditions, if an earlier query found them; if not, this one may.
fn apply_known(context: &ScanContext, unit: &ScanUnit, narrowing: &mut Narrowing) -> Option<Indexed> {
    let unit_rows = UnitRows::new(context, unit)?;
    let Some(known) = unit_rows.known() else {
        narrowing.found = Some(Arc::new(unit_rows));
        return None;
    };
    let any = known.wanted_rows() > 0;
    count_left(&narrowing.metrics.known_files, 1, usize::from(any));
    Some(if any { Indexed::Rows(known) } else { Indexed::Skip })
}

/// The rows of a unit's file that are rows of the table; `None` where all are.
async fn wanted_rows(context: &Arc<ScanContext>, unit: &ScanUnit, lane: &Arc<Lane>) -> Result<Option<RowSelection>> {
    match &unit.merge {
        // The section was merged under the deletion vectors of its files.
        Some(merge) => merge.section.survivors(context, lane, merge.file).await.map(Some),
        None => deletions(context, unit, lane).await,
    }
}

/// The rows that the file's deletion vector leaves; `None` where it has none.
pub async fn deletions(context: &ScanContext, unit: &ScanUnit, lane: &Arc<Lane>) -> Result<Option<RowSelection>> {
    let Some(deletion) = &unit.file.deletion else { return Ok(None) };
    let rows = usize::try_from(unit.file.meta.row_count).unwrap_or(0);
    let read = async {
        let file = lane.counted(context.spec().storage.file(&Location::parse(&deletion.path)?, None)?);
        let entry = DeletionVector::entry_range(deletion.offset, deletion.length, deletion.file_size_bytes);
        let vector = file.read_range(entry).await?;
        DeletionVector::decode(&vector, deletion.length)
    };
    let vector = read.await.map_err(|e| e.in_file(&deletion.path))?;
    Ok(Some(RowSelection::without(rows, vector.iter())))
}

/// Which rows of a file are read.
#[derive(Debug, Default)]
pub struct Rows {
    /// Those at these positions; `None` = all.
    pub selection: Option<RowSelection>,
    /// Those of them that conditions leave.
    pub narrowing: Narrowing,
    /// After so many of them no more are wanted; `None` = all are.
    pub limit: Option<usize>,
}

/// Opens the file of a unit and maps its batches, without the partition's values.
pub async fn open_mapped(
    context: &ScanContext,
    unit: &ScanUnit,
    mapping: Arc<SchemaMapping>,
    rows: Rows,
    batch_size: usize,
    lane: Arc<Lane>,
) -> Result<BatchStream> {
    let spec = context.spec();
    let request = request(context, unit, &mapping, rows, batch_size, &lane)?;
    let batches = match file::open(request.clone()).await {
        Err(e) if e.kind() == ErrorKind::NotFound && unit.file.meta.external_path.is_none() => {
            match elsewhere(spec, unit).await? {
                Some(location) => {
                    let size = u64::try_from(unit.file.meta.file_size).ok();
                    let file = lane.counted(spec.storage.file(&location, size)?);
                    file::open(ReadRequest { file, ..request }).await?
                }
                None => return Err(e),
            }
        }
        opened => opened?,
    };
    Ok(batches.map(move |batch| mapping.apply(batch?)).boxed())
}

/// What is asked of the reader of a unit's file.
pub fn request(
    context: &ScanContext,
    unit: &ScanUnit,
    mapping: &SchemaMapping,
    rows: Rows,
    batch_size: usize,
    lane: &Arc<Lane>,
) -> Result<ReadRequest> {
    let (spec, meta) = (context.spec(), &unit.file.meta);
    let size = u64::try_from(meta.file_size).map_err(|_| Error::corrupt(format!("has the size {}", meta.file_size)))?;
    let file = lane.counted(spec.storage.file(&Location::parse(&unit.file.path)?, Some(size))?);
    let format = FileFormat::of_file_name(&meta.file_name)?;
    Ok(ReadRequest {
        file,
        format,
        written: if format == FileFormat::Row { context.physical_fields(unit)? } else { vec![] },
        fields: mapping.read_fields().to_vec(),
        range: unit.file.range.clone(),
        selection: rows.selection,
        batch_size,
        orc_legacy_ltz: spec.orc_legacy_ltz,
        footers: spec.footers.clone(),
        narrowing: rows.narrowing,
        lane: Arc::clone(lane),
        limit: rows.limit,
    })
}

/// Where the file of a unit is when it is not where Java would put it.
async fn elsewhere(spec: &ScanSpec, unit: &ScanUnit) -> Result<Option<Location>> {
    let fields = &spec.partition_fields;
    if fields.is_empty() {
        return Ok(None);
    }
    let names = PartitionNames { fields, default_name: &spec.partition_default_name, zone: spec.zone };
    let values = BinaryRow::from_serialized(&unit.partition)?.decode(fields.iter().map(|f| &f.data_type))?;
    lost_folder::find(&spec.storage, &Location::parse(&unit.file.path)?, names, &values).await
}

/// Brings batches of one partition to wanted columns, some of which are the partition's.
pub struct Output {
    schema: SchemaRef,
    places: Vec<Place>,
    constants: Constants,
}

/// Where a wanted column is.
enum Place {
    /// The n-th partition value.
    Partition(usize),
    /// The n-th column of the batch.
    Batch(usize),
}

impl Output {
    /// The scan's output, of batches of the columns that come from files. The partition's values are a serialized
    /// `BinaryRow`.
    pub fn of_file(context: &ScanContext, partition: &[u8]) -> Result<Self> {
        let place = |source: &ColumnSource| match *source {
            ColumnSource::Partition(at) | ColumnSource::Combined { partition: at, .. } => Place::Partition(at),
            ColumnSource::File(at) => Place::Batch(at),
        };
        let places = context.sources().iter().map(place).collect();
        Self::new(context, Arc::clone(context.schema()), places, partition)
    }

    /// The scan's output, of batches of the columns that were combined, [`ScanContext::combined`].
    pub fn of_combined(context: &ScanContext, partition: &[u8]) -> Result<Self> {
        let from_files = context.sources().iter().filter(|s| matches!(s, ColumnSource::File(_))).count();
        let place = |source: &ColumnSource| match *source {
            ColumnSource::Partition(at) => Place::Partition(at),
            ColumnSource::Combined { column, .. } => Place::Batch(from_files + column),
            ColumnSource::File(at) => Place::Batch(at),
        };
        let places = context.sources().iter().map(place).collect();
        Self::new(context, Arc::clone(context.schema()), places, partition)
    }

    /// Columns of a branch, of batches of those that are not the partition's.
    pub fn of_fields(context: &ScanContext, fields: &[DataField], partition: &[u8]) -> Result<Self> {
        let mut from_file = 0..;
        let place = |field: &DataField| match context.spec().partition_column(field) {
            Some(at) => Some(Place::Partition(at)),
            None => from_file.next().map(Place::Batch),
        };
        let places = fields.iter().filter_map(place).collect();
        Self::new(context, arrow_schema(fields), places, partition)
    }

    fn new(context: &ScanContext, schema: SchemaRef, places: Vec<Place>, partition: &[u8]) -> Result<Self> {
        let any = places.iter().any(|place| matches!(place, Place::Partition(_)));
        let constants = if any { Constants::new(context.spec(), partition)? } else { Constants { values: vec![] } };
        Ok(Self { schema, places, constants })
    }

    /// A batch with the partition's columns.
    pub fn rows(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let column = |place: &Place| match *place {
            Place::Partition(at) => self.constants.column(at, rows),
            Place::Batch(at) => {
                let column = batch.columns().get(at).map(Arc::clone);
                column.ok_or_else(|| Error::internal(format!("the mapped batch has no column {at}")))
            }
        };
        let columns = self.places.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// The partition's values, each as a column of one row; longer columns of them are kept and sliced.
struct Constants {
    values: Vec<Mutex<ArrayRef>>,
}

impl Constants {
    fn new(spec: &ScanSpec, partition: &[u8]) -> Result<Self> {
        let row = BinaryRow::from_serialized(partition)?;
        let types: Vec<_> = spec.partition_fields.iter().map(|f| f.data_type.clone()).collect();
        let datums = row.decode(&types)?;
        let column = |(field, datum)| datums_to_array(field, std::slice::from_ref(datum)).map(Mutex::new);
        Ok(Self { values: types.iter().zip(&datums).map(column).collect::<Result<_>>()? })
    }

    fn column(&self, at: usize, rows: usize) -> Result<ArrayRef> {
        let value = self.values.get(at).ok_or_else(|| Error::internal(format!("no partition value {at}")))?;
        let mut value = value.lock().unwrap_or_else(PoisonError::into_inner);
        if value.len() < rows {
            *value = take(&*value, &UInt32Array::from(vec![0; rows]), None)?;
        }
        Ok(value.slice(0, rows))
    }
}
