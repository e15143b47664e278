//! Row groups to batches, the bytes of the next row group on their way while one is decoded.
//!
//! In: a push decoder and the file. Out: batches in the file's order. The decoder names the bytes that it needs for a
//! row group; they come with one request. Once a row group's reader is handed out, the decoder is asked for the next one
//! at once, and what it names is fetched by a task of its own, which ends with the stream.

use std::ops::Range;

use arrow::array::RecordBatch;
use bytes::Bytes;
use datafusion::common::runtime::SpawnedTask;
use futures::StreamExt;
use parquet::DecodeResult;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::push_decoder::ParquetPushDecoder;

use super::schema::Projection;
use crate::error::{Error, Result};
use crate::file::BatchStream;
use crate::file::guard::guarded;
use crate::storage::InputFile;

/// A file that is being read.
pub(super) struct RowGroups {
    file: InputFile,
    decoder: ParquetPushDecoder,
    projection: Projection,
    /// The row group that is being decoded.
    reader: Option<ParquetRecordBatchReader>,
    next: Next,
}

/// What is known of the row group after the one that is being decoded.
enum Next {
    /// The decoder was not asked yet.
    Unknown,
    /// Its bytes are on their way.
    Fetching(Vec<Range<u64>>, SpawnedTask<Result<Vec<Bytes>>>),
    /// It can be decoded.
    Ready(Box<ParquetRecordBatchReader>),
    /// There is none.
    None,
}

impl RowGroups {
    /// A stream of what `decoder` gives.
    pub fn stream(file: InputFile, decoder: ParquetPushDecoder, projection: Projection) -> BatchStream {
        let state = Box::new(Self { file, decoder, projection, reader: None, next: Next::Unknown });
        futures::stream::try_unfold(state, |mut state| async move {
            match state.next_batch().await {
                Ok(Some(batch)) => Ok(Some((batch, state))),
                Ok(None) => Ok(None),
                Err(e) => Err(e.in_file(state.file.path())),
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
            match std::mem::replace(&mut self.next, Next::Unknown) {
                Next::Unknown => self.next = self.ask()?,
                Next::Fetching(ranges, task) => {
                    let bytes = task.join().await.map_err(|e| Error::internal("a read was cut off").caused_by(e))??;
                    guarded(UNDECODABLE, || self.decoder.push_ranges(ranges, bytes).map_err(undecodable))?;
                }
                Next::Ready(reader) => {
                    self.reader = Some(*reader);
                    self.next = self.ask()?;
                    return Ok(true);
                }
                Next::None => {
                    self.next = Next::None;
                    return Ok(false);
                }
            }
        }
    }

    /// Asks the decoder for its next row group, and sends for what it needs.
    fn ask(&mut self) -> Result<Next> {
        let answer = guarded(UNDECODABLE, || self.decoder.try_next_reader().map_err(undecodable))?;
        Ok(match answer {
            DecodeResult::Data(reader) => Next::Ready(Box::new(reader)),
            DecodeResult::Finished => Next::None,
            DecodeResult::NeedsData(ranges) => {
                let (file, wanted) = (self.file.clone(), ranges.clone());
                Next::Fetching(ranges, SpawnedTask::spawn(async move { file.read_ranges(&wanted).await }))
            }
        })
    }
}

const UNDECODABLE: &str = "the Parquet data cannot be decoded";

fn undecodable(e: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::corrupt(UNDECODABLE).caused_by(e)
}
