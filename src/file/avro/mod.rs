//! Avro object container files, read by a decoder of our own.
//!
//! In: a [`ReadRequest`], or the bytes of a metadata file. Out: batches of the wanted columns. The decoder is compiled
//! for each file from the writer's schema and the wanted fields, so that a value goes from the bytes to its Arrow column
//! without a value tree in between, and what is not wanted is passed over.
//!
//! ```text
//! blocks.rs  reads ahead ──► codec.rs ──► decode.rs ──► column.rs ──► finish.rs ──► RecordBatch
//!                ▲                            ▲
//! container.rs  framing        schema.rs ──► compile.rs, skip.rs, natural.rs
//! ```

mod blocks;
pub(crate) mod codec;
mod column;
mod compile;
pub(crate) mod container;
pub(crate) mod cursor;
pub(crate) mod decode;
mod finish;
pub(crate) mod metadata;
mod natural;
pub(crate) mod schema;
mod skip;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use bytes::Bytes;
use futures::stream::{StreamExt, try_unfold};

use self::blocks::BlockSource;
use self::codec::Decompressor;
use self::cursor::Cursor;
use self::decode::BatchDecoder;
use super::{BatchStream, ReadRequest};
use crate::error::{Error, Result};
use crate::selection::RowSelection;
use crate::spec::arrow_type::arrow_schema;

/// Opens an Avro data file: reads its header and checks the wanted columns against it.
///
/// Needs to be polled on a Tokio runtime, which the reads ahead run on.
pub async fn open(request: ReadRequest) -> Result<BatchStream> {
    let path = request.file.path().clone();
    let rows = open_rows(request).await.map_err(|e| e.in_file(&path))?;
    let batches = try_unfold(rows, move |mut rows| {
        let path = path.clone();
        async move {
            let batch = rows.next_batch().await.map_err(|e| e.in_file(path))?;
            Ok(batch.map(|batch| (batch, rows)))
        }
    });
    Ok(batches.boxed())
}

async fn open_rows(request: ReadRequest) -> Result<Rows> {
    if request.selection.is_some() && request.range.as_ref().is_some_and(|range| range.start > 0) {
        return Err(Error::internal("blocks in the middle of an Avro file do not know the positions of their rows"));
    }
    let lane = request.lane.file(&request.file);
    let (header, blocks) = BlockSource::open(request.file, request.range, lane, request.limit.is_some()).await?;
    Ok(Rows {
        blocks,
        decompressor: Decompressor::new(header.codec),
        decoder: BatchDecoder::new(&header.schema, arrow_schema(&request.fields))?,
        batch_size: request.batch_size.max(1),
        plain: Bytes::new(),
        rows_left: 0,
        next_row: 0,
        selection: request.selection,
    })
}

/// The rows of a file that are still to come.
struct Rows {
    blocks: BlockSource,
    decompressor: Decompressor,
    decoder: BatchDecoder,
    batch_size: usize,
    /// What is left of the current block.
    plain: Bytes,
    rows_left: u64,
    /// The position in the file of the first row of the next batch.
    next_row: usize,
    /// The rows that are wanted.
    selection: Option<RowSelection>,
}

impl Rows {
    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while !self.decoder.is_full(self.batch_size) {
            if self.rows_left > 0 {
                self.decode()?;
                continue;
            }
            match self.blocks.next_block().await? {
                Some(block) if self.decoder.reads_nothing() => self.rows_left = block.rows,
                Some(block) => {
                    self.plain = self.decompressor.decompress(block.data)?;
                    self.rows_left = block.rows;
                    check_end(self.rows_left, &self.plain)?;
                }
                None if self.decoder.rows() > 0 => break,
                None => return Ok(None),
            }
        }
        let batch = self.decoder.finish()?;
        let rows = self.next_row..self.next_row.saturating_add(batch.num_rows());
        self.next_row = rows.end;
        Ok(Some(match self.selection.as_ref().and_then(|selection| selection.slice(rows)) {
            Some(wanted) => filter_record_batch(&batch, &BooleanArray::new(wanted, None))?,
            None => batch,
        }))
    }

    /// As many rows of the current block as the batch takes.
    fn decode(&mut self) -> Result<()> {
        if self.decoder.reads_nothing() {
            let wanted = self.batch_size.saturating_sub(self.decoder.rows());
            let rows = usize::try_from(self.rows_left).unwrap_or(usize::MAX).min(wanted);
            self.decoder.count(rows);
            self.rows_left -= rows as u64;
            return Ok(());
        }
        let mut cursor = Cursor::new(&self.plain);
        self.rows_left -= self.decoder.decode(&mut cursor, self.rows_left, self.batch_size)?;
        let used = self.plain.len() - cursor.remaining();
        self.plain = self.plain.slice(used..);
        check_end(self.rows_left, &self.plain)
    }
}

/// Refuses bytes behind the last row of a block.
pub(crate) fn check_end(rows_left: u64, plain: &[u8]) -> Result<()> {
    if rows_left == 0 && !plain.is_empty() {
        return Err(Error::corrupt(format!("an Avro block has {} bytes behind its last row", plain.len())));
    }
    Ok(())
}
