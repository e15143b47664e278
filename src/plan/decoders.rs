//! Decodes pieces on blocking threads: [`Decoders`].
//!
//! In: closures that take some milliseconds of a processor each. Out: what they return. There are as many threads as there
//! are processors, eight at most, while there are pieces: a thread goes on to the next piece by itself, since the way over the async
//! runtime would leave the processor idle for as long as another piece runs. A piece that nobody waits for any more is not
//! begun.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::error::{Error, Result};

/// More threads than this decode faster than files come.
const MAX_THREADS: usize = 8;

static THREADS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS));

/// Threads that decode, and what they are still to do.
#[derive(Default)]
pub(super) struct Decoders(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    waiting: VecDeque<Piece>,
    /// How many there are, or will be in a moment.
    threads: usize,
}

type Piece = Box<dyn FnOnce() + Send>;

impl Decoders {
    /// Decodes a piece when those before it are begun.
    pub(super) async fn decode<T: Send + 'static>(
        &self,
        piece: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, decoded) = oneshot::channel();
        self.add(Box::new(move || {
            if !sender.is_closed() {
                // Whoever waited may have gone meanwhile.
                sender.send(piece()).ok();
            }
        }));
        decoded.await.unwrap_or_else(|e| Err(Error::internal("decoding was aborted").caused_by(e)))
    }

    fn add(&self, piece: Piece) {
        let mut shared = lock(&self.0);
        shared.waiting.push_back(piece);
        if shared.threads < *THREADS {
            let of_thread = Arc::clone(&self.0);
            drop(spawn_blocking(move || run(&of_thread)));
            shared.threads += 1;
        }
    }
}

/// What a thread does. What a piece that panics was to answer is dropped with it.
fn run(shared: &Mutex<Shared>) {
    while let Some(piece) = next(shared) {
        catch_unwind(AssertUnwindSafe(piece)).ok();
    }
}

/// The next piece; where there is none, there is one thread less.
fn next(shared: &Mutex<Shared>) -> Option<Piece> {
    let mut shared = lock(shared);
    let next = shared.waiting.pop_front();
    if next.is_none() {
        shared.threads -= 1;
    }
    next
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures::FutureExt;
    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn every_piece_is_decoded_once_and_answered() {
        let (decoders, begun) = (Decoders::default(), Arc::new(AtomicUsize::new(0)));
        let pieces = (0..1000).map(|n| {
            let begun = Arc::clone(&begun);
            decoders.decode(move || {
                begun.fetch_add(1, Ordering::Relaxed);
                if n % 10 == 0 { Err(Error::corrupt(format!("piece {n}"))) } else { Ok(n) }
            })
        });
        for (n, answer) in join_all(pieces).await.into_iter().enumerate() {
            match answer {
                Ok(got) => assert!(got == n && n % 10 != 0),
                Err(e) => assert!(n % 10 == 0 && e.to_string().contains(&format!("piece {n}")), "{e}"),
            }
        }
        assert_eq!(begun.load(Ordering::Relaxed), 1000);
    }

    #[tokio::test]
    async fn a_piece_that_panics_is_an_error_and_the_others_go_on() {
        let decoders = Decoders::default();
        let (bad, good) = futures::join!(decoders.decode::<()>(|| panic!("on purpose")), decoders.decode(|| Ok(7)));
        assert!(bad.unwrap_err().to_string().contains("aborted"));
        assert_eq!(good.unwrap(), 7);
        for _ in 0..20 {
            decoders.decode::<()>(|| panic!("on purpose")).await.unwrap_err();
        }
        assert_eq!(decoders.decode(|| Ok(8)).await.unwrap(), 8);
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_not_begun() {
        let (decoders, begun) = (Decoders::default(), Arc::new(AtomicUsize::new(0)));
        let held = Arc::new(Mutex::new(()));
        let holds = held.lock().unwrap();
        let mut pieces: Vec<_> = (0..100)
            .map(|_| {
                let (begun, held) = (Arc::clone(&begun), Arc::clone(&held));
                Box::pin(decoders.decode(move || {
                    begun.fetch_add(1, Ordering::Relaxed);
                    drop(held.lock());
                    Ok(())
                }))
            })
            .collect();
        for piece in &mut pieces {
            assert!(piece.as_mut().now_or_never().is_none());
        }
        drop(pieces);
        drop(holds);
        while lock(&decoders.0).threads > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(begun.load(Ordering::Relaxed) <= *THREADS && lock(&decoders.0).waiting.is_empty());
    }
}
