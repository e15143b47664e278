//! Something that is being fetched: [`Pending`].
//!
//! In: how to fetch it, and how large it is. Out: what was fetched, with the part of the budget that it holds. A fetch
//! begins when the budget has room for it, or when it is asked for. Dropping it ends it at once. One that fails
//! before it was asked for is made again then, as one that was never made ahead: errors come when they would have come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::common::runtime::SpawnedTask;
use futures::FutureExt;
use futures::future::BoxFuture;
use tracing::Instrument;

use super::budget::{Held, Place};
use super::lane::Lane;
use crate::error::{Error, ErrorKind, Result};

/// How something is fetched; asked again where the first try, made ahead, failed.
pub(super) type Fetch<T> = Arc<dyn Fn() -> BoxFuture<'static, Result<T>> + Send + Sync>;

/// Something that is being fetched by a task of its own.
pub struct Pending<T> {
    lane: Arc<Lane>,
    place: Place,
    bytes: u64,
    fetch: Fetch<T>,
    /// Whether it began before it was asked for.
    ahead: Arc<AtomicBool>,
    task: SpawnedTask<Result<(T, Held)>>,
}

impl<T: Send + 'static> Pending<T> {
    pub(super) fn new(lane: Arc<Lane>, place: Place, bytes: u64, fetch: Fetch<T>) -> Self {
        let room = lane.budget().ask(lane.id(), place, bytes);
        let (ahead, read) = (Arc::new(AtomicBool::new(false)), Arc::clone(&fetch));
        let (begun, of_lane) = (Arc::clone(&ahead), Arc::clone(&lane));
        let fetching = async move {
            // Without an answer the lane has ended: then it is read without regard to a budget.
            let held = room.await.unwrap_or_else(|_| of_lane.budget().hold(of_lane.id(), bytes));
            begun.store(true, Ordering::Relaxed);
            Ok((read().await?, held))
        };
        let task = SpawnedTask::spawn(fetching.in_current_span());
        Self { lane, place, bytes, fetch, ahead, task }
    }

    /// How large it is taken to be.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What was fetched. It is waited for, and need not wait any longer itself.
    pub async fn take(mut self) -> Result<(T, Held)> {
        let ahead = self.ahead.load(Ordering::Relaxed);
        let metrics = self.lane.metrics();
        let joined = match (&mut self.task).now_or_never() {
            Some(joined) => {
                metrics.hits.add(1);
                joined
            }
            None => {
                metrics.waits.add(1);
                let _timer = metrics.time_blocked.timer();
                self.lane.budget().demand(self.lane.id(), self.place);
                (&mut self.task).await
            }
        };
        match joined.map_err(|e| Error::internal("a read was cut off").caused_by(e))? {
            Err(e) if ahead && e.kind() == ErrorKind::Storage => {
                metrics.retries.add(1);
                let held = self.lane.budget().hold(self.lane.id(), self.bytes);
                Ok(((self.fetch)().await?, held))
            }
            result => result,
        }
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        self.lane.budget().withdraw(self.lane.id(), self.place);
    }
}
