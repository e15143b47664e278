//! The stream of one output partition: its tasks one after the other, the next ones opened while one is read.
//!
//! In: the tasks that the [`WorkQueue`](super::work::WorkQueue) gives this output partition. Out: batches, at most `fetch`
//! rows. How far tasks are opened ahead is bounded by bytes, and by the rows that a limit leaves. A task that failed to
//! open ahead of time is opened again when its turn comes; its error, too, comes then. Dropping the stream aborts what is
//! under way.

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
use tracing::Instrument;

use super::assign::ScanTask;
use super::context::ScanContext;
use super::merge::combine::stream as combine;
use super::metrics::ScanMetrics;
use super::raw_read::{self, ReadMode};
use super::work::ScanRun;
use crate::error::{Error, ErrorKind, Result};
use crate::file::warmup::decode_ahead;
use crate::file::{BatchStream, Lane, PruneSwitches};
use crate::options::enums::WarmupLevel;

/// Tasks that merge keys are opened so far ahead at most.
const MERGES_AHEAD: usize = 4;

/// The batches of one output partition.
pub struct SplitStream {
    context: Arc<ScanContext>,
    run: Arc<ScanRun>,
    partition: usize,
    lane: Arc<Lane>,
    batch_size: usize,
    switches: PruneSwitches,
    metrics: ScanMetrics,
    /// Tasks that are being opened, or are open.
    ahead: VecDeque<Opening>,
    current: Option<BatchStream>,
    /// Whether the files of the last task lie on a disk of this machine.
    is_local: bool,
    /// Whether keys are merged for the last task.
    merges: bool,
    /// Rows that the tasks so far may still give.
    rows_open: usize,
    /// Rows that may still be given out.
    rows_left: usize,
}

/// A task that is being opened on a task of its own.
struct Opening {
    of: ScanTask,
    task: SpawnedTask<Result<BatchStream>>,
    /// Whether it began before its turn.
    ahead: bool,
    bytes: u64,
    since: Instant,
}

impl SplitStream {
    /// A stream over the tasks of an output partition that ends after `fetch` rows.
    pub fn new(
        context: Arc<ScanContext>,
        (run, partition): (Arc<ScanRun>, usize),
        (batch_size, switches): (usize, PruneSwitches),
        fetch: Option<usize>,
        metrics: ScanMetrics,
    ) -> Self {
        let lane = Lane::new(&run.read_ahead, metrics.prefetch.clone(), metrics.io());
        let (ahead, rows_left) = (VecDeque::new(), fetch.unwrap_or(usize::MAX));
        let (current, is_local, merges, rows_open) = (None, false, false, 0);
        Self {
            context,
            run,
            partition,
            lane,
            batch_size,
            switches,
            metrics,
            ahead,
            current,
            is_local,
            merges,
            rows_open,
            rows_left,
        }
    }

    /// Begins to open a task.
    fn open(&mut self, of: ScanTask, ahead: bool) -> Opening {
        let (context, mode, lane) = (Arc::clone(&self.context), self.mode(), Arc::clone(&self.lane));
        (self.is_local, self.merges) = (of.is_local(), of.merges());
        let decodes = lane.settings().warmup == WarmupLevel::Decoded && !lane.steps_aside(self.is_local);
        let task = of.clone();
        let opening = async move {
            let batches = match task {
                ScanTask::Read(unit) => raw_read::open(context, unit, mode).await?,
                // All versions of a key are needed, whatever is asked of the row that they become.
                ScanTask::Combine(unit) => combine::open(context, unit, mode.batch_size, mode.lane).await?,
            };
            Ok(if decodes { decode_ahead(batches, lane) } else { batches })
        };
        let task = SpawnedTask::spawn(opening.in_current_span());
        Opening { bytes: self.context.wanted_bytes(of.bytes()), of, task, ahead, since: Instant::now() }
    }

    /// Begins to open the next tasks, as far as they are worth it.
    fn open_ahead(&mut self) {
        let (most, most_bytes) = self.lane.files_ahead(self.is_local);
        loop {
            // Keys are merged in memory that no budget bounds.
            let most = if self.merges { most.min(MERGES_AHEAD) } else { most };
            let bytes = self.ahead.iter().map(|opening| opening.bytes).fold(0, u64::saturating_add);
            if self.ahead.len() >= most || bytes >= most_bytes || self.rows_open >= self.rows_left {
                return;
            }
            let Some(task) = self.run.work.next(self.partition) else { return };
            self.rows_open = self.rows_open.saturating_add(task.expected_rows());
            let opening = self.open(task, true);
            self.ahead.push_back(opening);
        }
    }

    fn mode(&self) -> ReadMode {
        // A filter may take most rows of a batch away: its size says nothing of how many come out.
        let most = if self.context.filters().any_exact() { usize::MAX } else { self.rows_left };
        let batch_size = self.batch_size.min(most).max(1);
        let (opened, pruned) = (self.metrics.files_opened.clone(), self.metrics.pruned.clone());
        let limit = (most < usize::MAX).then_some(most);
        ReadMode { batch_size, switches: self.switches, lane: Arc::clone(&self.lane), opened, pruned, limit }
    }

    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        while self.rows_left > 0 {
            if self.current.is_none() && self.ahead.is_empty() {
                let Some(task) = self.run.work.next_or_other(self.partition) else { return Poll::Ready(None) };
                self.rows_open = task.expected_rows();
                let opening = self.open(task, false);
                self.ahead.push_back(opening);
            }
            self.open_ahead();
            if let Some(current) = &mut self.current {
                let timer = self.metrics.time_decoding.timer();
                let polled = current.poll_next_unpin(cx);
                timer.done();
                match ready!(polled) {
                    Some(Ok(batch)) if batch.num_rows() == 0 => {}
                    Some(batch) => return Poll::Ready(Some(batch.map(|b| self.within_fetch(b)))),
                    None => self.current = None,
                }
                continue;
            }
            match ready!(self.poll_open(cx)) {
                Ok(stream) => self.current = stream,
                Err(e) => return Poll::Ready(Some(Err(e))),
            }
        }
        Poll::Ready(None)
    }

    /// Waits for the first task that is being opened; `None` where it is to be opened again.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<BatchStream>>> {
        let Some(opening) = self.ahead.front_mut() else { return Poll::Ready(Ok(None)) };
        let opened = ready!(opening.task.poll_unpin(cx));
        self.metrics.time_opening.add_elapsed(opening.since);
        let Some(opening) = self.ahead.pop_front() else { return Poll::Ready(Ok(None)) };
        match opened.unwrap_or_else(|e| Err(Error::internal("opening a file was aborted").caused_by(e))) {
            Err(e) if opening.ahead && e.kind() == ErrorKind::Storage => {
                self.metrics.prefetch.retries.add(1);
                let again = self.open(opening.of, false);
                self.ahead.push_front(again);
                Poll::Ready(Ok(None))
            }
            opened => {
                self.metrics.prefetch.warmed_used.add(usize::from(opening.ahead));
                Poll::Ready(opened.map(Some))
            }
        }
    }

    fn within_fetch(&mut self, batch: RecordBatch) -> RecordBatch {
        self.rows_open = self.rows_open.saturating_sub(batch.num_rows());
        if self.rows_left == usize::MAX {
            return batch;
        }
        let rows = batch.num_rows().min(self.rows_left);
        self.rows_left -= rows;
        if rows == batch.num_rows() { batch } else { batch.slice(0, rows) }
    }

    /// Nothing more is read: after an error, and at the end.
    fn stop(&mut self) {
        let wasted = self.ahead.iter().filter(|opening| opening.ahead).count();
        self.metrics.prefetch.warmed_wasted.add(wasted);
        (self.rows_left, self.current) = (0, None);
        self.ahead.clear();
        self.run.work.leave(self.partition);
    }
}

impl Stream for SplitStream {
    type Item = DataFusionResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let timer = self.metrics.baseline.elapsed_compute().clone();
        let timer = timer.timer();
        let polled = self.poll_batch(cx);
        timer.done();
        match &polled {
            Poll::Ready(Some(Err(_)) | None) => self.stop(),
            Poll::Ready(Some(Ok(_))) if self.rows_left == 0 => self.stop(),
            _ => {}
        }
        self.metrics.baseline.record_poll(polled.map(|item| item.map(|batch| batch.map_err(Into::into))))
    }
}

impl Drop for SplitStream {
    fn drop(&mut self) {
        self.stop();
    }
}

impl RecordBatchStream for SplitStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.context.schema())
    }
}
