//! How the reads of one scan go to the store: [`RequestGate`].
//!
//! In: a number of requests, and when ranges are fetched together. Out: permits; who reads holds one for each request
//! that is under way. They are handed out in the order in which they were asked for, so that no reader waits forever.

use tokio::sync::{Semaphore, SemaphorePermit};

use super::coalesce::Coalescing;

/// Bounds the requests that are under way at a time.
#[derive(Debug)]
pub struct RequestGate {
    permits: Semaphore,
    /// When ranges are fetched together.
    pub coalescing: Coalescing,
}

impl RequestGate {
    /// A gate for at most `requests` requests at a time, at least one.
    pub fn new(requests: usize, coalescing: Coalescing) -> Self {
        Self { permits: Semaphore::new(requests.clamp(1, Semaphore::MAX_PERMITS)), coalescing }
    }

    /// How many requests may be made at once.
    pub fn idle(&self) -> usize {
        self.permits.available_permits()
    }

    /// Waits until a request may be made.
    pub async fn pass(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.permits.acquire().await.ok()
    }
}
