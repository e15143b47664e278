//! Row groups to batches, the bytes of the next row group on their way while one is decoded.
//!
//! In: the row groups to read, and a recipe for their decoders. Out: batches in the file's order. A decoder names the
//! bytes that it needs for its row group; they come with one request, or with one more for each row filter. Once a row
//! group's reader is handed out, the next one's decoder is made and asked at once, and what it names is fetched by a
//! task of its own, which ends with the stream. A predicate that has changed by then takes row groups away.

use std::collections::VecDeque;
use std::ops::Range;

use arrow::array::RecordBatch;
use bytes::Bytes;
use datafusion::common::runtime::SpawnedTask;
use futures::StreamExt;
use parquet::DecodeResult;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::push_decoder::ParquetPushDecoder;

use super::access::Group;
use super::decoder::Decoders;
use super::footer::Source;
use super::prune::Pruner;
use super::schema::Projection;
use crate::error::{Error, Result};
use crate::file::BatchStream;
use crate::file::guard::guarded;

/// A file that is being read.
pub(super) struct RowGroups {
    source: Source,
    decoders: Decoders,
    projection: Projection,
    pruner: Option<Pruner>,
    /// Row groups that nothing was done for yet.
    waiting: VecDeque<Group>,
    /// The row group that is being decoded.
    reader: Option<ParquetRecordBatchReader>,
    /// The one after it.
    ahead: Option<Ahead>,
}

/// A row group that is being prepared.
struct Ahead {
    group: Group,
    decoder: ParquetPushDecoder,
    state: State,
}

/// How far a row group is.
enum State {
    /// The decoder was not asked yet.
    Unknown,
    /// Its bytes are on their way.
    Fetching(Vec<Range<u64>>, SpawnedTask<Result<Vec<Bytes>>>),
    /// It can be decoded.
    Ready(Box<ParquetRecordBatchReader>),
    /// No row of it is wanted.
    Empty,
}

impl RowGroups {
    /// A stream of the rows of `groups`.
    pub fn stream(
        source: Source,
        groups: Vec<Group>,
        decoders: Decoders,
        projection: Projection,
        pruner: Option<Pruner>,
    ) -> BatchStream {
        let waiting = groups.into();
        let state = Box::new(Self { source, decoders, projection, pruner, waiting, reader: None, ahead: None });
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
            while let Some(reader) = &mut self.reader {
                match guarded(UNDECODABLE, || reader.next().transpose().map_err(undecodable))? {
                    Some(batch) if batch.num_rows() == 0 => {}
                    Some(batch) => return self.projection.apply(&batch).map(Some),
                    None => self.reader = None,
                }
            }
            if !self.advance().await? {
                return Ok(None);
            }
        }
    }

    /// Goes on to the next row group, and has the one after it fetched; false at the end.
    async fn advance(&mut self) -> Result<bool> {
        loop {
            self.renew();
            let Some(mut ahead) = self.ahead.take() else {
                if self.waiting.is_empty() {
                    return Ok(false);
                }
                self.prepare_next()?;
                continue;
            };
            match std::mem::replace(&mut ahead.state, State::Unknown) {
                State::Unknown => {}
                State::Fetching(ranges, task) => {
                    let bytes = task.join().await.map_err(|e| Error::internal("a read was cut off").caused_by(e))??;
                    guarded(UNDECODABLE, || ahead.decoder.push_ranges(ranges, bytes).map_err(undecodable))?;
                }
                State::Ready(reader) => {
                    self.reader = Some(*reader);
                    self.prepare_next()?;
                    return Ok(true);
                }
                State::Empty => continue,
            }
            ahead.state = self.ask(&mut ahead.decoder)?;
            self.ahead = Some(ahead);
        }
    }

    /// Takes away the row groups that the predicate passes over since it changed.
    fn renew(&mut self) {
        let Some(pruner) = &mut self.pruner else { return };
        let ahead = self.ahead.iter().map(|ahead| ahead.group.position);
        let positions: Vec<usize> = ahead.chain(self.waiting.iter().map(|group| group.position)).collect();
        let Some(kept) = pruner.renew(&positions) else { return };
        let mut kept = kept.into_iter();
        if self.ahead.is_some() && kept.next() == Some(false) {
            self.ahead = None;
        }
        self.waiting.retain(|_| kept.next() != Some(false));
    }

    /// Makes the decoder of the next row group, and sends for what it needs.
    fn prepare_next(&mut self) -> Result<()> {
        if let Some(group) = self.waiting.pop_front() {
            let mut decoder = self.decoders.of(&group)?;
            let state = self.ask(&mut decoder)?;
            self.ahead = Some(Ahead { group, decoder, state });
        }
        Ok(())
    }

    /// Asks a decoder for its row group, and sends for what it needs.
    fn ask(&self, decoder: &mut ParquetPushDecoder) -> Result<State> {
        let answer = guarded(UNDECODABLE, || decoder.try_next_reader().map_err(undecodable));
        let answer = answer.map_err(|e| self.decoders.filters.take_failure().unwrap_or(e))?;
        Ok(match answer {
            DecodeResult::Data(reader) => State::Ready(Box::new(reader)),
            DecodeResult::Finished => State::Empty,
            DecodeResult::NeedsData(ranges) => {
                let (source, wanted) = (self.source.clone(), ranges.clone());
                State::Fetching(ranges, SpawnedTask::spawn(async move { source.read_ranges(&wanted).await }))
            }
        })
    }
}

const UNDECODABLE: &str = "the Parquet data cannot be decoded";

fn undecodable(e: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::corrupt(UNDECODABLE).caused_by(e)
}
