//! The wanted blocks of a row file, read ahead: [`BlockSource`].
//!
//! In: which blocks are wanted. Out: their bytes, in the order of the file. Small blocks come several with one read; the
//! next reads are under way while the blocks of one are decoded, as far as the file's lane reads ahead and a limit leaves
//! rows that are wanted.

use std::collections::VecDeque;

use arrow::buffer::BooleanBuffer;
use bytes::Bytes;

use super::footer::Block;
use crate::error::Result;
use crate::file::prefetch::{FileLane, Held, Pending};
use crate::storage::InputFile;

/// How much is read at once, where a single block is not larger.
const READ_BYTES: u64 = if cfg!(test) { 1 << 10 } else { 4 << 20 };

/// A block and the rows of it that are wanted; `None` = all.
pub(super) type Wanted = (Block, Option<BooleanBuffer>);

/// How many rows of a block are wanted.
pub(super) fn wanted_rows((block, wanted): &Wanted) -> u64 {
    match wanted {
        Some(wanted) => wanted.count_set_bits() as u64,
        None => block.rows.end.saturating_sub(block.rows.start),
    }
}

/// The blocks that are still to come.
pub(super) struct BlockSource {
    file: InputFile,
    lane: FileLane,
    /// What was not sent for yet, by reads.
    waiting: VecDeque<Read>,
    ahead: VecDeque<(Read, Pending<Vec<Bytes>>)>,
    /// What of the budget the last read holds.
    held: Option<Held>,
    /// After so many rows no more are wanted, most likely.
    rows_wanted: u64,
}

/// Blocks that are read together.
#[derive(Default)]
struct Read {
    blocks: Vec<Wanted>,
    bytes: u64,
    rows: u64,
}

impl BlockSource {
    /// The first blocks are sent for at once where the lane warms files up.
    pub(super) fn new(file: InputFile, lane: FileLane, blocks: Vec<Wanted>, limit: Option<usize>) -> Self {
        let rows_wanted = limit.map_or(u64::MAX, |rows| rows as u64);
        let (waiting, ahead) = (reads(blocks, rows_wanted), VecDeque::new());
        let mut source = Self { file, lane, waiting, ahead, held: None, rows_wanted };
        if source.lane.is_warm() {
            source.send_ahead();
        }
        source
    }

    /// The blocks of the next read; none at the end.
    pub(super) async fn next(&mut self) -> Result<Vec<(Wanted, Bytes)>> {
        if self.ahead.is_empty() {
            self.send();
        }
        let Some((read, pending)) = self.ahead.pop_front() else { return Ok(vec![]) };
        self.held = None;
        let (bytes, held) = pending.take().await?;
        self.held = Some(held);
        self.rows_wanted = self.rows_wanted.saturating_sub(read.rows);
        self.send_ahead();
        Ok(read.blocks.into_iter().zip(bytes).collect())
    }

    /// Sends for the next reads, as far as the lane reads ahead and rows are wanted.
    fn send_ahead(&mut self) {
        let more = |source: &Self| {
            let sum = |of: fn(&Read) -> u64| source.ahead.iter().map(|(read, _)| of(read)).fold(0, u64::saturating_add);
            sum(|read| read.rows) < source.rows_wanted
                && source.lane.wants_more(source.ahead.len(), sum(|read| read.bytes))
        };
        while more(self) && self.send() {}
    }

    /// Sends for the next read; false where there is none.
    fn send(&mut self) -> bool {
        let Some(read) = self.waiting.pop_front() else { return false };
        let ranges: Vec<_> = read.blocks.iter().map(|(block, _)| block.bytes.clone()).collect();
        let (bytes, file) = (self.file.fetched_bytes(&ranges), self.file.clone());
        let pending = self.lane.send(bytes, read.bytes, move || {
            let (file, ranges) = (file.clone(), ranges.clone());
            async move { file.read_ranges(&ranges).await }
        });
        self.ahead.push_back((read, pending));
        true
    }
}

/// The blocks as reads. Where a few rows are enough, the first read has no more blocks than these rows need.
fn reads(blocks: Vec<Wanted>, rows_wanted: u64) -> VecDeque<Read> {
    let mut reads: VecDeque<Read> = VecDeque::new();
    let mut rows_before = 0u64;
    for block in blocks {
        let (bytes, rows) = (block.0.bytes.end.saturating_sub(block.0.bytes.start), wanted_rows(&block));
        let is_enough = reads.len() == 1 && rows_before >= rows_wanted;
        match reads.back_mut() {
            Some(read) if read.bytes.saturating_add(bytes) <= READ_BYTES && !is_enough => {
                read.blocks.push(block);
                read.bytes += bytes;
                read.rows = read.rows.saturating_add(rows);
            }
            _ => reads.push_back(Read { blocks: vec![block], bytes, rows }),
        }
        rows_before = rows_before.saturating_add(rows);
    }
    reads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_blocks_come_together_but_not_more_than_a_limit_needs() {
        let block = |at: u64, bytes: u64| (Block { bytes: at..at + bytes, plain_bytes: 1, rows: at..at + 10 }, None);
        let sizes = |limit, blocks: &[Wanted]| -> Vec<_> {
            reads(blocks.to_vec(), limit).iter().map(|read| (read.blocks.len(), read.bytes, read.rows)).collect()
        };
        let blocks = [block(0, 300), block(300, 300), block(600, 300), block(900, 2000), block(2900, 10)];
        assert_eq!(sizes(u64::MAX, &blocks), [(3, 900, 30), (1, 2000, 10), (1, 10, 10)]);
        assert_eq!(sizes(1, &blocks), [(1, 300, 10), (2, 600, 20), (1, 2000, 10), (1, 10, 10)]);
        assert_eq!(sizes(11, &blocks), [(2, 600, 20), (1, 300, 10), (1, 2000, 10), (1, 10, 10)]);
        assert!(sizes(1, &[]).is_empty());
    }
}
