//! The blocks of a file or of a range of it, read ahead.
//!
//! In: an [`InputFile`] and a range of bytes. Out: the blocks whose first byte lies in the range, one after the other. The
//! file comes in a few large reads; the next ones are under way while the blocks of the last one are decoded, as far as
//! the file's lane reads ahead. Where a range begins inside a block, its blocks begin behind the next sync marker.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;

use super::container::{BlockHead, Header, MAX_HEAD_BYTES, SYNC_BYTES, check_sync};
use crate::error::{Error, Result};
use crate::file::prefetch::{FileLane, Held, Pending};
use crate::storage::InputFile;

/// How much is read at once.
const READ_BYTES: u64 = 4 << 20;

/// How much is read at once where a few rows are enough.
const FEW_ROWS_READ_BYTES: u64 = 256 << 10;

/// The first read for a header that is not followed by wanted blocks.
const HEADER_READ_BYTES: u64 = 64 << 10;

/// How much is read at least where the last block of a range reaches behind the range.
const TAIL_READ_BYTES: u64 = 64 << 10;

/// A block as it lies in the file.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) rows: u64,
    pub(super) data: Bytes,
}

/// The blocks that are still to come.
pub(super) struct BlockSource {
    file: InputFile,
    size_bytes: u64,
    sync: [u8; SYNC_BYTES],
    /// A block that begins here or later is not wanted.
    stop: u64,
    /// What was read and not yet used; it begins at `position` in the file and ends at `next`.
    queue: VecDeque<Bytes>,
    position: u64,
    next: u64,
    /// The reads that are under way, one after the other; the first begins at `next`, the last ends at `sent`.
    ahead: VecDeque<Pending<Bytes>>,
    sent: u64,
    /// How much is read at once.
    read_bytes: u64,
    lane: FileLane,
    /// What of the budget the last read holds.
    held: Option<Held>,
}

impl BlockSource {
    /// Reads the header, and stands before the first block of `range`.
    pub(super) async fn open(
        file: InputFile,
        range: Option<Range<u64>>,
        mut lane: FileLane,
        few_rows: bool,
    ) -> Result<(Header, Self)> {
        if few_rows {
            lane.keep_to_next();
        }
        let size_bytes = file.size_bytes().await?;
        let range = range.unwrap_or(0..size_bytes);
        let mut source = Self {
            file,
            size_bytes,
            sync: [0; SYNC_BYTES],
            stop: range.end.min(size_bytes),
            queue: VecDeque::new(),
            position: 0,
            next: 0,
            ahead: VecDeque::new(),
            sent: 0,
            read_bytes: if few_rows { FEW_ROWS_READ_BYTES } else { READ_BYTES },
            lane,
            held: None,
        };
        if size_bytes == 0 {
            return Err(Error::corrupt("expected an Avro file, found no bytes"));
        }
        let from = range.start.saturating_sub(SYNC_BYTES as u64);
        let mut first_read = source.read_bytes.min(source.stop.max(HEADER_READ_BYTES));
        if from > 0 {
            (source.position, source.next, source.sent, first_read) = (from, from, from, HEADER_READ_BYTES);
            source.send();
        }
        let (header, bytes) = source.read_header(first_read.min(size_bytes)).await?;
        source.sync = header.sync;
        if from <= header.end as u64 {
            source.restart(header.end as u64, bytes.slice(header.end..));
            if range.start > header.end as u64 {
                source.find_sync().await?;
            }
        } else {
            source.find_sync().await?;
        }
        if source.lane.is_warm() {
            source.send_ahead();
        }
        Ok((header, source))
    }

    /// The header, and the first bytes of the file, at least as far as the header goes.
    async fn read_header(&self, first_read: u64) -> Result<(Header, Bytes)> {
        let mut bytes = self.file.read_range(0..first_read).await?;
        loop {
            if let Some(header) = Header::parse(&bytes)? {
                return Ok((header, bytes));
            }
            let have = bytes.len() as u64;
            if have >= self.size_bytes {
                return Err(Error::corrupt("the Avro header is not whole"));
            }
            let more = self.file.read_range(have..have.saturating_mul(8).min(self.size_bytes)).await?;
            bytes = [bytes, more].concat().into();
        }
    }

    /// Goes on at `position`, from which on `bytes` are known.
    fn restart(&mut self, position: u64, bytes: Bytes) {
        (self.position, self.next) = (position, position + bytes.len() as u64);
        self.sent = self.next;
        self.queue = [bytes].into();
        self.ahead.clear();
    }

    /// The next block.
    pub(super) async fn next_block(&mut self) -> Result<Option<Block>> {
        if self.position >= self.stop {
            return Ok(None);
        }
        let available = self.size_bytes - self.position;
        self.fill((MAX_HEAD_BYTES as u64).min(available)).await?;
        let mut start = [0; MAX_HEAD_BYTES];
        let n = self.peek(&mut start);
        let head = BlockHead::parse(start.get(..n).unwrap_or_default(), available)?;
        self.fill(head.head_bytes as u64 + head.data_bytes + SYNC_BYTES as u64).await?;
        self.take(head.head_bytes);
        let data = usize::try_from(head.data_bytes).map_err(|_| Error::unsupported("an Avro block beyond memory"))?;
        let data = self.take(data);
        check_sync(&self.take(SYNC_BYTES), &self.sync)?;
        self.send_ahead();
        Ok(Some(Block { rows: head.rows, data }))
    }

    /// Moves behind the next marker, or to the end where none comes.
    async fn find_sync(&mut self) -> Result<()> {
        while self.position + (SYNC_BYTES as u64) < self.stop {
            self.fill(self.read_bytes.min(self.size_bytes - self.position)).await?;
            let bytes = self.take(self.queued() as usize);
            if let Some(at) = bytes.windows(SYNC_BYTES).position(|w| w == self.sync) {
                let rest = bytes.slice(at + SYNC_BYTES..);
                self.position -= rest.len() as u64;
                self.queue.push_front(rest);
                return Ok(());
            }
            if self.position >= self.size_bytes {
                break;
            }
            let rest = bytes.slice(bytes.len().saturating_sub(SYNC_BYTES - 1)..);
            self.position -= rest.len() as u64;
            self.queue.push_front(rest);
        }
        self.position = self.size_bytes;
        Ok(())
    }

    fn queued(&self) -> u64 {
        self.next - self.position
    }

    /// Sends for the next reads, as far as the lane reads ahead, once most of the last one is used.
    fn send_ahead(&mut self) {
        if self.position >= self.stop {
            return;
        }
        let bytes = |source: &Self| source.sent - source.next;
        while self.queued() <= self.read_bytes && self.lane.wants_more(self.ahead.len(), bytes(self)) && self.send() {}
    }

    /// Sends for the next read; false where there is none.
    fn send(&mut self) -> bool {
        let range = self.sent..(self.sent + self.read_bytes).min(self.stop);
        if range.is_empty() {
            return false;
        }
        self.sent = range.end;
        let (file, bytes) = (self.file.clone(), range.end - range.start);
        let read = move || {
            let (file, range) = (file.clone(), range.clone());
            async move { file.read_range(range).await }
        };
        self.ahead.push_back(self.lane.send(bytes, bytes, read));
        true
    }

    /// Reads on until `n` bytes are queued; the caller made sure that the file has them.
    async fn fill(&mut self, n: u64) -> Result<()> {
        while self.queued() < n {
            if self.ahead.is_empty() {
                self.send();
            }
            let bytes = match self.ahead.pop_front() {
                Some(pending) => {
                    self.held = None;
                    let (bytes, held) = pending.take().await?;
                    self.held = Some(held);
                    bytes
                }
                None => {
                    let missing = (n - self.queued()).max(TAIL_READ_BYTES);
                    self.file.read_range(self.next..(self.next + missing).min(self.size_bytes)).await?
                }
            };
            if bytes.is_empty() {
                return Err(Error::corrupt("the file ends early"));
            }
            self.next += bytes.len() as u64;
            self.sent = self.sent.max(self.next);
            self.queue.push_back(bytes);
        }
        Ok(())
    }

    /// Copies the first queued bytes; how many there were.
    fn peek(&self, into: &mut [u8]) -> usize {
        let from = self.queue.iter().flat_map(|b| b.iter());
        into.iter_mut().zip(from).map(|(to, from)| *to = *from).count()
    }

    /// The first `n` queued bytes, or all where there are fewer; copied only where they came with several reads.
    fn take(&mut self, n: usize) -> Bytes {
        let n = n.min(self.queued() as usize);
        self.position += n as u64;
        while self.queue.front().is_some_and(Bytes::is_empty) {
            self.queue.pop_front();
        }
        if let Some(front) = self.queue.front_mut()
            && front.len() >= n
        {
            return front.split_to(n);
        }
        let mut whole = Vec::with_capacity(n);
        while whole.len() < n
            && let Some(mut front) = self.queue.pop_front()
        {
            whole.extend_from_slice(&front.split_to(front.len().min(n - whole.len())));
            if !front.is_empty() {
                self.queue.push_front(front);
            }
        }
        whole.into()
    }
}
