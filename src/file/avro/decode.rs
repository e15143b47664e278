//! Records to `RecordBatch`es.
//!
//! In: the plain bytes of blocks. Out: batches of the wanted Arrow schema. Rows of several blocks go into one batch; a
//! batch is full before its rows when they take too many bytes.

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;

use super::column::{Branches, Record, Step};
use super::compile;
use super::cursor::{Cursor, Fault};
use super::schema::Node;
use crate::error::{Error, Result};

/// How many Avro bytes go into one batch, whatever its number of rows.
const MAX_BATCH_BYTES: usize = 64 << 20;

/// Decodes the records of one file.
#[derive(Debug)]
pub(crate) struct BatchDecoder {
    schema: SchemaRef,
    record: Record,
    /// Where records stand in a union with null.
    union: Option<Branches>,
    /// What the rows so far took.
    batch_bytes: usize,
}

impl BatchDecoder {
    /// A decoder of records that were written as `writer` to batches of `schema`.
    pub(crate) fn new(writer: &Node, schema: SchemaRef) -> Result<Self> {
        let union = writer.union()?.map(|u| Branches { null: u.null_branch, value: u.value_branch });
        let record = compile::record(writer.top_record()?, schema.fields())?;
        Ok(Self { schema, record, union, batch_bytes: 0 })
    }

    /// Whether no column is read: then the number of rows is all that matters, see [`BatchDecoder::count`].
    pub(crate) fn reads_nothing(&self) -> bool {
        !self.record.steps.iter().any(|s| matches!(s, Step::Read(..)))
    }

    /// The rows so far.
    pub(crate) fn rows(&self) -> usize {
        self.record.rows
    }

    /// Whether the rows so far are enough for a batch of `batch_size`.
    pub(crate) fn is_full(&self, batch_size: usize) -> bool {
        self.record.rows >= batch_size || self.batch_bytes >= MAX_BATCH_BYTES
    }

    /// Takes `rows` into account without reading any.
    pub(crate) fn count(&mut self, rows: usize) {
        self.record.rows += rows;
    }

    /// Reads rows until there are `batch_size` or the batch is full, but `available` at most; how many it read.
    pub(crate) fn decode(&mut self, cursor: &mut Cursor<'_>, available: u64, batch_size: usize) -> Result<u64> {
        let mut done = 0;
        while done < available && !self.is_full(batch_size) {
            let before = cursor.remaining();
            self.row(cursor)?;
            self.batch_bytes += before - cursor.remaining() + cursor.take_charged();
            done += 1;
        }
        Ok(done)
    }

    #[inline]
    fn row(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        if let Some(branches) = self.union {
            match cursor.long()? {
                branch if branch == branches.value => {}
                branch if branch == branches.null => return Err(Error::corrupt("Avro: NULL instead of a record")),
                _ => return Err(Fault::Branch.into()),
            }
        }
        for step in &mut self.record.steps {
            if let Err(fault) = step.read(cursor) {
                return Err(fault_in(step, &self.schema, fault));
            }
        }
        self.record.rows += 1;
        Ok(())
    }

    /// The batch of the rows so far.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows()));
        self.batch_bytes = 0;
        let columns = self.record.finish_fields(self.schema.fields())?;
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }
}

/// Names the column that could not be read.
#[cold]
fn fault_in(step: &Step, schema: &SchemaRef, fault: Fault) -> Error {
    match step {
        Step::Read(position, _) => match schema.fields().get(*position) {
            Some(field) => Error::corrupt(format!("Avro: column '{}': {fault}", field.name())),
            None => fault.into(),
        },
        Step::Skip(_) => Error::corrupt(format!("Avro: a column that is not read: {fault}")),
    }
}
