//! The session's memory pool, and what merging holds of it: [`MergeMemory`].
//!
//! In: numbers of bytes. Out: parts of the pool, which go back when they are dropped, or the error that names the
//! setting: merging neither waits for memory nor goes on without.

use std::sync::Arc;

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

use crate::error::{Error, ErrorKind, Result};

/// A session's memory, as merging takes of it.
#[derive(Debug, Clone)]
pub struct MergeMemory {
    pool: Arc<dyn MemoryPool>,
}

impl MergeMemory {
    /// The memory of a pool.
    pub fn new(pool: &Arc<dyn MemoryPool>) -> Self {
        Self { pool: Arc::clone(pool) }
    }

    /// Whether so many bytes are no more than it has in all; what others hold is not looked at.
    pub fn has(&self, bytes: usize) -> bool {
        match self.pool.memory_limit() {
            MemoryLimit::Finite(limit) => bytes <= limit,
            MemoryLimit::Infinite | MemoryLimit::Unknown => true,
        }
    }

    /// Takes a part of it.
    pub fn hold(&self, bytes: usize) -> Result<Held> {
        let held = Held { reservation: MemoryConsumer::new("PaimonMerge").register(&self.pool) };
        held.resize(bytes)?;
        Ok(held)
    }
}

/// A part of a session's memory.
#[derive(Debug)]
pub struct Held {
    reservation: MemoryReservation,
}

impl Held {
    /// Makes it another number of bytes.
    pub fn resize(&self, bytes: usize) -> Result<()> {
        self.reservation.try_resize(bytes).map_err(|e| {
            let message = "merging needs more memory than the session allows (datafusion.runtime.memory_limit)";
            Error::new(ErrorKind::ResourcesExhausted, message).caused_by(e)
        })
    }
}

#[cfg(test)]
mod tests {
    use datafusion::error::DataFusionError;
    use datafusion::execution::memory_pool::{GreedyMemoryPool, UnboundedMemoryPool};

    use super::*;

    #[test]
    fn a_pool_without_a_limit_has_everything() {
        let pools: [Arc<dyn MemoryPool>; 2] =
            [Arc::new(GreedyMemoryPool::new(100)), Arc::new(UnboundedMemoryPool::default())];
        for (pool, more) in pools.iter().zip([false, true]) {
            let memory = MergeMemory::new(pool);
            assert_eq!((memory.has(100), memory.has(101)), (true, more));
        }
    }

    #[test]
    fn what_is_held_comes_back_and_what_is_too_much_is_an_error() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(100));
        let memory = MergeMemory::new(&pool);
        let held = memory.hold(60).unwrap();
        assert!(matches!(memory.hold(50).map_err(DataFusionError::from), Err(DataFusionError::ResourcesExhausted(_))));
        held.resize(20).unwrap();
        assert_eq!(pool.reserved(), 20);
        let more = memory.hold(80).unwrap();
        assert!(held.resize(21).is_err());
        drop((held, more));
        assert_eq!(pool.reserved(), 0);
    }
}
