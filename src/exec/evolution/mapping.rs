//! From the columns of a file to the columns that are wanted of the table.
//!
//! In: batches of [`SchemaMapping::read_fields`], the file's names and types. Out: batches of the wanted fields: in
//! order, renamed, cast, with NULL for what the file lacks. The number of rows never changes, without columns either.
//! Java: `SchemaEvolutionUtil`, `FormatReaderMapping`.

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, SchemaRef};

use super::cast::{CastContext, Place};
use super::column::Step;
use super::prune::{prune, prune_fields};
use crate::error::{Error, Result};
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::{DataField, DataType};

/// How batches of one file's schema become batches of the wanted fields of the table.
#[derive(Debug, Clone)]
pub struct SchemaMapping {
    read_fields: Vec<DataField>,
    schema: SchemaRef,
    columns: Vec<Column>,
    ctx: CastContext,
    identity: bool,
}

/// Where a column comes from.
#[derive(Debug, Clone)]
struct Column {
    /// Its position among the fields that are read; none where the file lacks it.
    source: Option<usize>,
    step: Step,
}

/// What a wanted column is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin<'a> {
    /// A column with the very same values.
    Same(&'a DataField),
    /// A column whose values change.
    Changed(&'a DataField),
    /// The file lacks it: it is all NULL.
    Absent,
}

impl SchemaMapping {
    /// Maps a file of `file_fields` to `table_fields`, the wanted columns in their order.
    ///
    /// A field of a wanted `ROW` that is left out of `table_fields` is not read. An error where a type was changed in a
    /// way that the reference does not allow.
    pub fn new(file_fields: &[DataField], table_fields: &[DataField], ctx: CastContext) -> Result<Self> {
        let read_fields = prune_fields(table_fields, file_fields);
        let mut columns = Vec::with_capacity(table_fields.len());
        for field in table_fields {
            let source = read_fields.iter().position(|f| f.id == field.id);
            let from = source.and_then(|at| read_fields.get(at)).map(|f| &f.data_type);
            check_not_narrower(from, field, file_fields)?;
            let step = Step::new(from, &field.data_type, Place::Column).map_err(|e| in_column(&field.name, e))?;
            columns.push(Column { source, step });
        }
        let schema = arrow_schema(table_fields);
        let kept = |(at, column): (usize, &Column)| column.source == Some(at) && column.step.is_keep();
        let identity = schema == arrow_schema(&read_fields) && columns.iter().enumerate().all(kept);
        Ok(Self { read_fields, schema, columns, ctx, identity })
    }

    /// The fields to ask of the file's reader: the file's names and types, nested types cut to the wanted fields.
    pub fn read_fields(&self) -> &[DataField] {
        &self.read_fields
    }

    /// Whether batches stay as they are.
    pub fn is_identity(&self) -> bool {
        self.identity
    }

    /// The schema of the batches that come out.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What the n-th wanted column is in the file.
    pub fn origin(&self, at: usize) -> Origin<'_> {
        let Some(column) = self.columns.get(at) else { return Origin::Absent };
        match column.source.and_then(|source| self.read_fields.get(source)) {
            Some(field) if column.step.is_keep() => Origin::Same(field),
            Some(field) => Origin::Changed(field),
            None => Origin::Absent,
        }
    }

    /// Maps a batch of [`SchemaMapping::read_fields`].
    pub fn apply(&self, batch: RecordBatch) -> Result<RecordBatch> {
        if self.identity {
            return Ok(batch);
        }
        if batch.num_columns() != self.read_fields.len() {
            return Err(Error::internal(format!(
                "a batch has {} columns where {} were read",
                batch.num_columns(),
                self.read_fields.len()
            )));
        }
        let rows = batch.num_rows();
        let columns = self.schema.fields().iter().zip(&self.columns);
        let columns = columns.map(|(field, column)| self.column(&batch, field, column)).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|e| Error::internal("a mapped batch does not have the wanted schema").caused_by(e))
    }

    fn column(&self, batch: &RecordBatch, field: &Field, column: &Column) -> Result<ArrayRef> {
        let array = match column.source.and_then(|at| batch.columns().get(at)) {
            Some(array) => column.step.apply(array.clone(), &self.ctx),
            None => column.step.nulls(batch.num_rows()),
        }
        .map_err(|e| in_column(field.name(), e))?;
        if !field.is_nullable() && array.null_count() > 0 {
            return Err(Error::corrupt(format!("column '{}' is NOT NULL and has NULL in an older file", field.name())));
        }
        Ok(array)
    }
}

/// Names the column that an error is about.
fn in_column(name: &str, e: Error) -> Error {
    Error::new(e.kind(), format!("column '{name}'")).caused_by(e)
}

/// A column that is wanted twice must be wanted with the same nested fields: it is read once.
fn check_not_narrower(read: Option<&DataType>, wanted: &DataField, file_fields: &[DataField]) -> Result<()> {
    let file = file_fields.iter().find(|f| f.id == wanted.id);
    if file.and_then(|f| prune(&wanted.data_type, &f.data_type)).as_ref() == read {
        return Ok(());
    }
    Err(Error::internal(format!("column '{}' is wanted twice with different nested fields", wanted.name)))
}

#[cfg(test)]
#[path = "mapping_tests.rs"]
mod tests;
