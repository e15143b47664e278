//! Row groups to batches, the bytes of the next row groups on their way while one is decoded.
//!
//! In: the row groups to read, and a recipe for their decoders. Out: batches in the file's order. A decoder names the
//! bytes that it needs for its row group; they come together, or with one more fetch for each row filter. The decoders of
//! the next row groups are made and asked beforehand, and what they name is sent for through the file's lane, as far as
//! that reads ahead. A predicate that has changed by then takes row groups away. What goes wrong with a row group is told
//! when its turn comes.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::Bytes;
use futures::StreamExt;
use parquet::DecodeResult;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::push_decoder::ParquetPushDecoder;

use super::access::Group;
use super::decoder::Decoders;
use super::footer::Source;
use super::prune::Pruner;
use super::schema::Projection;
use super::sparse::compacted;
use crate::error::{Error, Result};
use crate::file::BatchStream;
use crate::file::guard::guarded;
use crate::file::prefetch::{FileLane, Held, Pending};

/// A file that is being read.
pub(super) struct RowGroups {
    source: Source,
    decoders: Decoders,
    projection: Projection,
    pruner: Option<Pruner>,
    lane: FileLane,
    /// After so many rows no more are wanted, most likely.
    rows_wanted: usize,
    /// Row groups that nothing was done for yet.
    waiting: VecDeque<Group>,
    /// The row group that is being decoded.
    current: Option<Current>,
    /// Those after it.
    ahead: VecDeque<Ahead>,
}

/// A row group that is being decoded, and what of the budget its bytes hold.
struct Current {
    position: usize,
    reader: ParquetRecordBatchReader,
    _held: Vec<Held>,
}

/// A row group that is being prepared.
struct Ahead {
    group: Group,
    /// `None` where it could not be made.
    decoder: Option<ParquetPushDecoder>,
    state: State,
    held: Vec<Held>,
}

/// How far a row group is.
enum State {
    /// The decoder was not asked yet.
    Unknown,
    /// Its bytes are on their way.
    Fetching(Vec<Range<u64>>, Pending<Vec<Bytes>>),
    /// Its bytes are here.
    Fetched(Vec<Range<u64>>, Vec<Bytes>),
    /// It can be decoded.
    Ready(Box<ParquetRecordBatchReader>),
    /// No row of it is wanted.
    Empty,
    /// It cannot be read.
    Failed(Error),
}

impl Ahead {
    /// How many bytes are on their way.
    fn bytes(&self) -> u64 {
        match &self.state {
            State::Fetching(_, pending) => pending.bytes(),
            _ => 0,
        }
    }
}

impl RowGroups {
    /// A stream of the rows of `groups`; the first of them are sent for at once where the lane warms files up.
    pub fn stream(
        source: Source,
        groups: Vec<Group>,
        decoders: Decoders,
        projection: Projection,
        pruner: Option<Pruner>,
        (lane, limit): (FileLane, Option<usize>),
    ) -> BatchStream {
        let (waiting, ahead) = (groups.into(), VecDeque::new());
        let rows_wanted = limit.unwrap_or(usize::MAX);
        let mut state =
            Box::new(Self { source, decoders, projection, pruner, lane, rows_wanted, waiting, current: None, ahead });
        if state.lane.is_warm() {
            state.send_ahead();
        }
        futures::stream::try_unfold(state, |mut state| async move {
            match state.next_batch().await {
                Ok(Some(batch)) => Ok(Some((batch, state))),
                Ok(None) => Ok(None),
                Err(e) => Err(e.in_file(state.source.file().path())),
            }
        })
        .boxed()
    }

    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            self.renew();
            if let Some(current) = &mut self.current {
                match guarded(UNDECODABLE, || current.reader.next().transpose().map_err(undecodable))? {
                    Some(batch) if batch.num_rows() == 0 => {}
                    Some(batch) => return self.projection.apply(&batch).and_then(compacted).map(Some),
                    None => self.current = None,
                }
            } else if !self.advance().await? {
                self.decoders.filters.finish();
                return Ok(None);
            }
        }
    }

    /// Goes on to the next row group, and sends for those after it; false at the end.
    async fn advance(&mut self) -> Result<bool> {
        loop {
            self.renew();
            if self.ahead.is_empty() {
                self.prepare_next();
            }
            let Some(mut next) = self.ahead.pop_front() else { return Ok(false) };
            match std::mem::replace(&mut next.state, State::Unknown) {
                State::Unknown => {
                    if let Some(decoder) = &mut next.decoder {
                        next.state = self.ask(decoder);
                    }
                }
                State::Fetching(ranges, pending) => {
                    let (bytes, held) = pending.take().await?;
                    next.held.push(held);
                    next.state = State::Fetched(ranges, bytes);
                }
                State::Fetched(ranges, bytes) => {
                    if let Some(decoder) = &mut next.decoder {
                        guarded(UNDECODABLE, || decoder.push_ranges(ranges, bytes).map_err(undecodable))?;
                    }
                }
                State::Ready(reader) => {
                    self.rows_wanted = self.rows_wanted.saturating_sub(next.group.wanted_rows());
                    let position = next.group.position;
                    self.current = Some(Current { position, reader: *reader, _held: next.held });
                    self.send_ahead();
                    return Ok(true);
                }
                State::Empty => continue,
                State::Failed(e) => return Err(e),
            }
            self.ahead.push_front(next);
        }
    }

    /// Takes away the row groups that the predicate passes over since it changed.
    fn renew(&mut self) {
        let Some(pruner) = &mut self.pruner else { return };
        let current = self.current.as_ref().map(|current| current.position);
        let ahead = self.ahead.iter().map(|ahead| ahead.group.position);
        let later = ahead.chain(self.waiting.iter().map(|group| group.position));
        let positions: Vec<usize> = current.into_iter().chain(later).collect();
        let Some(kept) = pruner.renew(&positions) else { return };
        let mut kept = kept.into_iter();
        if current.is_some() && kept.next() == Some(false) {
            self.current = None;
        }
        self.ahead.retain(|_| kept.next() != Some(false));
        self.waiting.retain(|_| kept.next() != Some(false));
    }

    /// Sends for what the next row groups need, as far as the lane reads ahead and rows are wanted.
    fn send_ahead(&mut self) {
        let mut bytes: u64 = self.ahead.iter().map(Ahead::bytes).sum();
        let mut rows: usize = self.ahead.iter().map(|ahead| ahead.group.wanted_rows()).sum();
        while rows < self.rows_wanted && self.lane.wants_more(self.ahead.len(), bytes) && self.prepare_next() {
            let last = self.ahead.back();
            bytes += last.map_or(0, Ahead::bytes);
            rows = rows.saturating_add(last.map_or(0, |ahead| ahead.group.wanted_rows()));
        }
    }

    /// Makes the decoder of the next row group, and sends for what it needs; false where there is none.
    fn prepare_next(&mut self) -> bool {
        let Some(group) = self.waiting.pop_front() else { return false };
        let (decoder, state) = match self.decoders.of(&group) {
            Ok(mut decoder) => {
                let state = self.ask(&mut decoder);
                (Some(decoder), state)
            }
            Err(e) => (None, State::Failed(e)),
        };
        self.ahead.push_back(Ahead { group, decoder, state, held: vec![] });
        true
    }

    /// Asks a decoder for its row group, and sends for what it needs.
    fn ask(&mut self, decoder: &mut ParquetPushDecoder) -> State {
        let answer = guarded(UNDECODABLE, || decoder.try_next_reader().map_err(undecodable));
        match answer.map_err(|e| self.decoders.filters.take_failure().unwrap_or(e)) {
            Ok(DecodeResult::Data(reader)) => State::Ready(Box::new(reader)),
            Ok(DecodeResult::Finished) => State::Empty,
            Ok(DecodeResult::NeedsData(ranges)) => self.fetch(ranges),
            Err(e) => State::Failed(e),
        }
    }

    fn fetch(&mut self, ranges: Vec<Range<u64>>) -> State {
        if let Some(bytes) = self.source.at_hand(&ranges) {
            return State::Fetched(ranges, bytes);
        }
        let wanted = ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum();
        let (bytes, source) = (self.source.file().fetched_bytes(&ranges), self.source.clone());
        let to_read: Arc<[Range<u64>]> = ranges.as_slice().into();
        let pending = self.lane.send(bytes, wanted, move || {
            let (source, ranges) = (source.clone(), Arc::clone(&to_read));
            async move { source.read_ranges(&ranges).await }
        });
        State::Fetching(ranges, pending)
    }
}

const UNDECODABLE: &str = "the Parquet data cannot be decoded";

fn undecodable(e: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::corrupt(UNDECODABLE).caused_by(e)
}
