//! Row files: rows one behind the other in compressed blocks, with an index of the blocks at the end.
//!
//! In: a [`ReadRequest`]. Out: batches of the wanted columns. A row file does not say which columns it has: the request's
//! `written` does. Blocks without a wanted row are not read; the next ones are read while one is decoded, as far as the
//! file's lane reads ahead. The format is younger than Java 1.4, whose row files are those of the engines beside it.
//!
//! ```text
//! footer.rs, blocks.rs  blocks ──► block.rs  rows ──► value.rs  data ──► arrays
//!                                   cursor.rs  bytes
//! ```

mod block;
mod blocks;
mod cursor;
mod footer;
#[cfg(test)]
mod tests;
mod value;

use std::collections::VecDeque;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::SchemaRef;
use futures::stream::{StreamExt, iter, try_unfold};

use self::block::BlockRows;
use self::blocks::{BlockSource, Wanted, wanted_rows};
use self::footer::{Block, FOOTER_BYTES, Footer};
use self::value::RowReader;
use super::{BatchStream, ReadRequest};
use crate::error::{Error, Result};
use crate::selection::RowSelection;
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::DataField;
use crate::spec::datum::Datum;
use crate::spec::datum_array::datums_to_array;
use crate::storage::InputFile;

/// How much of the file's end is read at first.
const TAIL_BYTES: u64 = 64 << 10;
/// How many bytes of rows go into one batch, whatever their number.
const MAX_BATCH_BYTES: usize = 64 << 20;

/// Opens a row file: reads its footer and the index of its blocks.
pub async fn open(request: ReadRequest) -> Result<BatchStream> {
    let path = request.file.path().clone();
    let blocks = read_blocks(&request.file).await.and_then(|blocks| wanted_blocks(blocks, &request));
    let blocks = blocks.map_err(|e| e.in_file(&path))?;
    if request.fields.is_empty() {
        return Ok(counted(&blocks, request.batch_size));
    }
    let rows = Rows::new(request, blocks).map_err(|e| e.in_file(&path))?;
    let batches = try_unfold(rows, move |mut rows| {
        let path = path.clone();
        async move {
            let batch = rows.next_batch().await.map_err(|e| e.in_file(path))?;
            Ok(batch.map(|batch| (batch, rows)))
        }
    });
    Ok(batches.boxed())
}

/// The rows of a file that are still to come.
struct Rows {
    fields: Vec<DataField>,
    schema: SchemaRef,
    reader: RowReader,
    batch_size: usize,
    blocks: BlockSource,
    /// Blocks that were read.
    read: VecDeque<(Wanted, bytes::Bytes)>,
    current: Option<CurrentBlock>,
}

struct CurrentBlock {
    rows: BlockRows,
    wanted: Option<BooleanBuffer>,
    next: usize,
}

impl Rows {
    fn new(request: ReadRequest, blocks: Vec<Wanted>) -> Result<Self> {
        let reader = RowReader::new(&request.written, &request.fields)?;
        let lane = request.lane.file(&request.file);
        Ok(Self {
            schema: arrow_schema(&request.fields),
            fields: request.fields,
            reader,
            batch_size: request.batch_size.max(1),
            blocks: BlockSource::new(request.file, lane, blocks, request.limit),
            read: VecDeque::new(),
            current: None,
        })
    }

    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let (mut rows, mut bytes) = (vec![], 0);
        while rows.len() < self.batch_size && bytes < MAX_BATCH_BYTES && self.next_block().await? {
            bytes += self.decode(&mut rows)?;
        }
        if rows.is_empty() { Ok(None) } else { self.batch(rows).map(Some) }
    }

    /// Stands before a row that was not decoded yet; false at the end.
    async fn next_block(&mut self) -> Result<bool> {
        while self.current.as_ref().is_none_or(|block| block.next >= block.rows.rows()) {
            let Some(((block, wanted), bytes)) = self.read.pop_front() else {
                self.read.extend(self.blocks.next().await?);
                if self.read.is_empty() {
                    return Ok(false);
                }
                continue;
            };
            self.current = Some(CurrentBlock { rows: BlockRows::new(&block, &bytes)?, wanted, next: 0 });
        }
        Ok(true)
    }

    /// Adds rows of the current block, as many as the batch takes; the size of the block where its last row was added.
    fn decode(&mut self, rows: &mut Vec<Vec<Option<Datum>>>) -> Result<usize> {
        let Some(block) = &mut self.current else { return Ok(0) };
        while block.next < block.rows.rows() && rows.len() < self.batch_size {
            let at = block.next;
            block.next += 1;
            if block.wanted.as_ref().is_none_or(|wanted| at < wanted.len() && wanted.value(at)) {
                rows.push(block.rows.row(at, &self.reader)?);
            }
        }
        Ok(if block.next < block.rows.rows() { 0 } else { block.rows.bytes() })
    }

    fn batch(&self, mut rows: Vec<Vec<Option<Datum>>>) -> Result<RecordBatch> {
        let column = |(at, field): (usize, &DataField)| {
            let values: Vec<_> = rows.iter_mut().map(|row| row.get_mut(at).and_then(Option::take)).collect();
            datums_to_array(&field.data_type, &values)
                .map_err(|e| Error::new(e.kind(), format!("column '{}'", field.name)).caused_by(e))
        };
        let columns = self.fields.iter().enumerate().map(column).collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }
}

/// The blocks of a file.
async fn read_blocks(file: &InputFile) -> Result<Vec<Block>> {
    let size = file.size_bytes().await?;
    let tail_start = size.saturating_sub(TAIL_BYTES.max(FOOTER_BYTES));
    if size < FOOTER_BYTES {
        return Err(Error::corrupt(format!("expected a row file, found {size} bytes")));
    }
    let tail = file.read_range(tail_start..size).await?;
    let footer = tail.len().checked_sub(FOOTER_BYTES as usize).and_then(|at| tail.get(at..)).unwrap_or_default();
    let footer = Footer::parse(footer, size)?;
    let index = footer.index();
    if index.start < tail_start {
        return footer.blocks(&file.read_range(index).await?);
    }
    let place = |at: u64| usize::try_from(at - tail_start).unwrap_or(usize::MAX);
    footer.blocks(tail.get(place(index.start)..place(index.end)).unwrap_or_default())
}

/// The blocks that begin in the wanted range and have wanted rows.
fn wanted_blocks(blocks: Vec<Block>, request: &ReadRequest) -> Result<Vec<Wanted>> {
    let in_range = |block: &Block| request.range.as_ref().is_none_or(|range| range.contains(&block.bytes.start));
    let rows = |block: &Block, selection: &RowSelection| {
        let place = |row: u64| usize::try_from(row).map_err(|_| Error::unsupported("a file of so many rows"));
        Ok::<_, Error>(selection.slice(place(block.rows.start)?..place(block.rows.end)?))
    };
    let mut wanted = vec![];
    for block in blocks.into_iter().filter(in_range) {
        let rows = match &request.selection {
            Some(selection) => rows(&block, selection)?,
            None => None,
        };
        if rows.as_ref().is_none_or(|rows| rows.count_set_bits() > 0) {
            wanted.push((block, rows));
        }
    }
    Ok(wanted)
}

/// Batches of no column, for which no block is read.
fn counted(blocks: &[Wanted], batch_size: usize) -> BatchStream {
    let (left, step) = (blocks.iter().map(wanted_rows).sum::<u64>(), batch_size.max(1) as u64);
    let batch = move |from: u64| {
        let rows = usize::try_from(step.min(left - from)).unwrap_or(batch_size);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(arrow_schema(&[]), vec![], &options)?)
    };
    iter((0..left).step_by(batch_size.max(1)).map(batch)).boxed()
}
