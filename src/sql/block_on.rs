//! Waits for a future where DataFusion leaves no way to await it: in the synchronous methods of catalogs and planners.
//!
//! In: a future that owns what it needs. Out: its result. The future runs on a runtime of its own, on one thread of the
//! process that never ends, so that the caller's runtime (of any flavour, or none) is not needed for it to go on, and
//! connections that it opened outlive it. The calling thread is blocked meanwhile.
//!
//! Invariant: the future must not wait for work of the caller's runtime; on a current-thread runtime that work cannot
//! go on before this returns.

use std::cell::Cell;
use std::future::Future;
use std::sync::{OnceLock, mpsc};
use std::thread;

use tokio::runtime::{Builder, Handle};

use crate::error::{Error, Result};

thread_local! {
    /// Whether the shared runtime waits for this thread, directly or not.
    static DRIVES: Cell<bool> = const { Cell::new(false) };
}

/// Runs a future to its end on another thread and waits for it.
pub fn block_on<T, E>(future: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    if DRIVES.get() {
        // The driver would wait for itself.
        return on_a_thread_of_its_own(future);
    }
    let (sender, receiver) = mpsc::sync_channel(1);
    shared()?.spawn(async move {
        // The receiver waits for as long as this runs: there is nobody to tell if it is gone.
        let _ = sender.send(future.await);
    });
    receiver.recv().map_err(|_| Error::internal("a task that a planner waited for panicked"))?
}

/// The runtime that all callers share, started on first use.
fn shared() -> Result<&'static Handle> {
    static SHARED: OnceLock<Option<Handle>> = OnceLock::new();
    let handle = SHARED.get_or_init(|| {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let handle = runtime.handle().clone();
        let drive = move || {
            DRIVES.set(true);
            runtime.block_on(std::future::pending::<()>());
        };
        thread::Builder::new().name("paimon-planning".into()).spawn(drive).ok()?;
        Some(handle)
    });
    handle.as_ref().ok_or_else(|| Error::internal("no thread could be started for planning"))
}

fn on_a_thread_of_its_own<T, E>(future: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let run = move || {
        DRIVES.set(true);
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.map_err(|e| Error::internal("no runtime could be started for planning").caused_by(e))?.block_on(future)
    };
    let thread = thread::Builder::new().name("paimon-planning-nested".into()).spawn(run);
    let thread = thread.map_err(|e| Error::internal("no thread could be started for planning").caused_by(e))?;
    thread.join().map_err(|_| Error::internal("a task that a planner waited for panicked"))?
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn slow(n: i32) -> Result<i32> {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok(n)
    }

    #[test]
    fn it_works_outside_of_any_runtime() {
        assert_eq!(block_on(slow(1)).unwrap(), 1);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn it_works_inside_a_current_thread_runtime() {
        assert_eq!(block_on(slow(2)).unwrap(), 2);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn it_works_inside_a_multi_thread_runtime() {
        assert_eq!(block_on(slow(3)).unwrap(), 3);
    }

    #[test]
    fn it_may_be_nested() {
        let nested = async { block_on(async { block_on(slow(4)) }) };
        assert_eq!(block_on(nested).unwrap(), 4);
    }

    #[test]
    fn many_threads_may_wait_at_once() {
        let threads: Vec<_> = (0..16).map(|n| thread::spawn(move || block_on(slow(n)).unwrap())).collect();
        let sum: i32 = threads.into_iter().map(|t| t.join().unwrap()).sum();
        assert_eq!(sum, 120);
    }

    #[test]
    fn a_panic_is_an_error() {
        let boom = async { if true { panic!("boom") } else { Result::<_, Error>::Ok(()) } };
        assert!(block_on(boom).is_err());
        assert_eq!(block_on(slow(5)).unwrap(), 5, "the shared runtime goes on");
    }
}
