//! The stream of one output partition: its tasks one after the other, the next one opened while one is read.
//!
//! In: the tasks that [`assign`](super::assign) gave this output partition. Out: batches, at most `fetch` rows.
//! Dropping the stream aborts what is under way.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_plan::RecordBatchStream;
use futures::{FutureExt, Stream, StreamExt};

use super::assign::ScanTask;
use super::context::ScanContext;
use super::merge::combine::stream as combine;
use super::metrics::ScanMetrics;
use super::raw_read::{self, ReadMode};
use crate::error::{Error, Result};
use crate::file::{BatchStream, PruneSwitches};

/// The batches of one output partition.
pub struct SplitStream {
    context: Arc<ScanContext>,
    batch_size: usize,
    switches: PruneSwitches,
    metrics: ScanMetrics,
    waiting: VecDeque<ScanTask>,
    opening: Option<Opening>,
    current: Option<BatchStream>,
    /// Rows that may still be given out.
    rows_left: usize,
}

/// A task that is being opened on a task of its own.
struct Opening {
    task: SpawnedTask<Result<BatchStream>>,
    since: Instant,
}

impl SplitStream {
    /// A stream over `tasks` that ends after `fetch` rows.
    pub fn new(
        context: Arc<ScanContext>,
        tasks: Vec<ScanTask>,
        (batch_size, switches): (usize, PruneSwitches),
        fetch: Option<usize>,
        metrics: ScanMetrics,
    ) -> Self {
        let (rows_left, waiting) = (fetch.unwrap_or(usize::MAX), tasks.into());
        Self { context, batch_size, switches, metrics, waiting, opening: None, current: None, rows_left }
    }

    /// Begins to open the next task unless one is being opened.
    fn open_next(&mut self) {
        if self.opening.is_some() {
            return;
        }
        let Some(task) = self.waiting.pop_front() else { return };
        let (context, mode) = (Arc::clone(&self.context), self.mode());
        let task = match task {
            ScanTask::Read(unit) => SpawnedTask::spawn(raw_read::open(context, unit, mode)),
            // All versions of a key are needed, whatever is asked of the row that they become.
            ScanTask::Combine(unit) => SpawnedTask::spawn(combine::open(context, unit, mode.batch_size, mode.io)),
        };
        self.opening = Some(Opening { task, since: Instant::now() });
    }

    fn mode(&self) -> ReadMode {
        // A filter may take most rows of a batch away: its size says nothing of how many come out.
        let most = if self.context.filters().any_exact() { usize::MAX } else { self.rows_left };
        let batch_size = self.batch_size.min(most).max(1);
        let (opened, pruned) = (self.metrics.files_opened.clone(), self.metrics.pruned.clone());
        ReadMode { batch_size, switches: self.switches, io: self.metrics.io(), opened, pruned }
    }

    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        while self.rows_left > 0 {
            if let Some(current) = &mut self.current {
                let timer = self.metrics.time_decoding.timer();
                let polled = current.poll_next_unpin(cx);
                timer.done();
                match ready!(polled) {
                    Some(Ok(batch)) if batch.num_rows() == 0 => continue,
                    Some(batch) => return Poll::Ready(Some(batch.map(|b| self.within_fetch(b)))),
                    None => self.current = None,
                }
            }
            self.open_next();
            let Some(opening) = &mut self.opening else { return Poll::Ready(None) };
            let opened = ready!(opening.task.poll_unpin(cx));
            self.metrics.time_opening.add_elapsed(opening.since);
            self.opening = None;
            let opened = opened.unwrap_or_else(|e| Err(Error::internal("opening a file was aborted").caused_by(e)));
            match opened {
                Ok(stream) => self.current = Some(stream),
                Err(e) => return Poll::Ready(Some(Err(e))),
            }
            // A query with a limit may well not need the next file.
            if self.rows_left == usize::MAX {
                self.open_next();
            }
        }
        Poll::Ready(None)
    }

    fn within_fetch(&mut self, batch: RecordBatch) -> RecordBatch {
        if self.rows_left == usize::MAX {
            return batch;
        }
        let rows = batch.num_rows().min(self.rows_left);
        self.rows_left -= rows;
        if rows == batch.num_rows() { batch } else { batch.slice(0, rows) }
    }

    /// After an error nothing more is read.
    fn stop(&mut self) {
        (self.rows_left, self.current, self.opening) = (0, None, None);
        self.waiting.clear();
    }
}

impl Stream for SplitStream {
    type Item = DataFusionResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let timer = self.metrics.baseline.elapsed_compute().clone();
        let timer = timer.timer();
        let polled = self.poll_batch(cx);
        timer.done();
        if let Poll::Ready(Some(Err(_))) = &polled {
            self.stop();
        }
        self.metrics.baseline.record_poll(polled.map(|item| item.map(|batch| batch.map_err(Into::into))))
    }
}

impl RecordBatchStream for SplitStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.context.schema())
    }
}
