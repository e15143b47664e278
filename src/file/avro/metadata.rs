//! Metadata files in Avro: manifests, manifest lists, index manifests.
//!
//! In: all bytes of a file and the wanted paths. Out: its records in the file's own Arrow schema, of all of it or of parts
//! that can be decoded at the same time.

use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::Bytes;

use super::check_end;
use super::codec::Decompressor;
use super::container::{BlockHead, Header, SYNC_BYTES, check_sync};
use super::cursor::Cursor;
use super::decode::BatchDecoder;
use super::natural::natural_schema;
use crate::error::{Error, Result};
use crate::file::container::Projection;

/// Blocks of a file that follow each other.
#[derive(Debug)]
pub(crate) struct Part {
    header: Arc<Header>,
    blocks: Bytes,
    /// How many records the blocks say that they have.
    pub(crate) rows: u64,
}

/// Cuts a file into parts of `part_bytes` or a block more; one part at least.
pub(crate) fn parts(bytes: &Bytes, part_bytes: usize) -> Result<Vec<Part>> {
    let header = Header::parse(bytes)?.ok_or_else(|| Error::corrupt("the Avro header is not whole"))?;
    if header.schema.is_empty() {
        return Err(Error::corrupt("expected Avro records with fields"));
    }
    let mut rest = bytes.slice(header.end..);
    let header = Arc::new(header);
    let mut parts = vec![];
    while parts.is_empty() || !rest.is_empty() {
        let (mut blocks, mut rows) = (rest.clone(), 0u64);
        while !rest.is_empty() && blocks.len() - rest.len() < part_bytes.max(1) {
            rows = rows.saturating_add(next_block(&mut rest, &header)?.0);
        }
        blocks.truncate(blocks.len() - rest.len());
        parts.push(Part { header: Arc::clone(&header), blocks, rows });
    }
    Ok(parts)
}

impl Part {
    /// Gives the records to `visit`, in batches of at most so many rows.
    pub(crate) fn visit(
        self,
        projection: &Projection,
        batch_rows: usize,
        visit: &mut dyn FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let header = &self.header;
        let mut decoder = BatchDecoder::new(&header.schema, natural_schema(&header.schema, projection)?)?;
        let mut decompressor = Decompressor::new(header.codec);
        let mut rest = self.blocks;
        while !rest.is_empty() {
            let (mut rows, data) = next_block(&mut rest, header)?;
            let plain = decompressor.decompress(data)?;
            let mut cursor = Cursor::new(&plain);
            while rows > 0 {
                rows -= decoder.decode(&mut cursor, rows, batch_rows)?;
                if decoder.is_full(batch_rows) {
                    visit(decoder.finish()?)?;
                }
            }
            check_end(rows, plain.get(plain.len() - cursor.remaining()..).unwrap_or_default())?;
        }
        if decoder.rows() > 0 {
            visit(decoder.finish()?)?;
        }
        Ok(())
    }
}

/// Splits the next block off: its number of rows and its data.
fn next_block(rest: &mut Bytes, header: &Header) -> Result<(u64, Bytes)> {
    let head = BlockHead::parse(rest, rest.len() as u64)?;
    let mut block = rest.split_to(head.head_bytes + head.data_bytes as usize + SYNC_BYTES);
    let data = block.split_to(block.len() - SYNC_BYTES).split_off(head.head_bytes);
    check_sync(&block, &header.sync)?;
    Ok((head.rows, data))
}
