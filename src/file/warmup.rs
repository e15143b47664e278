//! Decoding ahead: [`decode_ahead`], what warmup level DECODED adds to an opened file.
//!
//! In: batches. Out: the same batches. A task of its own decodes them on an idle core while those before them are
//! consumed; it ends with the stream. Each batch that waits holds its part of the scan's budget. Where the budget has no
//! room, one batch waits at a time.

use std::sync::Arc;

use futures::{StreamExt, stream};
use tokio::sync::mpsc;
use tracing::Instrument;

use super::BatchStream;
use super::prefetch::{Held, Lane};
use crate::error::Result;
use arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;

/// The most batches that wait.
const BATCHES: usize = 16;

/// A batch, and what of the budget it holds.
type Waiting = (Result<RecordBatch>, Option<Held>);

/// Decodes batches before they are asked for.
pub fn decode_ahead(batches: BatchStream, lane: Arc<Lane>) -> BatchStream {
    let (sender, receiver) = mpsc::channel(BATCHES);
    let task = SpawnedTask::spawn(decode(batches, lane, sender).in_current_span());
    // The task lives, and is aborted, with the stream.
    stream::unfold((receiver, task), |(mut receiver, task)| async move {
        receiver.recv().await.map(|(batch, _held)| (batch, (receiver, task)))
    })
    .boxed()
}

async fn decode(mut batches: BatchStream, lane: Arc<Lane>, sender: mpsc::Sender<Waiting>) {
    while let Some(batch) = batches.next().await {
        let bytes = batch.as_ref().map_or(0, RecordBatch::get_array_memory_size) as u64;
        let held = lane.try_hold(bytes);
        // Without room: once nothing else waits.
        let places = if held.is_some() { 1 } else { BATCHES };
        let Ok(mut places) = sender.reserve_many(places).await else { return };
        if let Some(place) = places.next() {
            place.send((batch, held));
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};

    use super::*;
    use crate::error::Error;
    use crate::file::prefetch::{PrefetchMetrics, ReadAhead, ReadAheadSettings};

    fn batch(n: i32) -> RecordBatch {
        RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![n; 100])) as _)]).unwrap()
    }

    #[tokio::test]
    async fn batches_and_errors_come_in_order_with_and_without_room() {
        for pool_bytes in [1, 1 << 30] {
            let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(pool_bytes));
            let scan = ReadAhead::new(ReadAheadSettings::default(), Some(&pool));
            let lane = Lane::new(&scan, PrefetchMetrics::default(), Arc::default());
            let batches = (0..50).map(|n| if n < 40 { Ok(batch(n)) } else { Err(Error::corrupt("x")) });
            let out: Vec<_> = decode_ahead(stream::iter(batches).boxed(), lane).collect().await;
            assert_eq!(out.len(), 50);
            let same = |(n, out): (usize, &Result<RecordBatch>)| match out {
                Ok(out) => *out == batch(n as i32),
                Err(_) => n >= 40,
            };
            assert!(out.iter().enumerate().all(same));
            assert_eq!((scan.budget().used_bytes(), pool.reserved()), (0, 0));
        }
    }
}
