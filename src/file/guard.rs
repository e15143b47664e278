//! A fence around libraries that may panic on bytes they did not expect.
//!
//! In: a closure. Out: its result, or [`Error::corrupt`](crate::error::Error::corrupt) where it panicked. What the
//! closure was working on must not be used after that. The process's panic hook still hears of such a panic, unless
//! [`silence_guarded_panics`] was called.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

use crate::error::{Error, Result};

thread_local! {
    /// Whether this thread is inside of a fence.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Lets panics inside of fences pass without a message, since they are answered as errors. For programs, once at their
/// start: it puts a hook before the process's panic hook.
pub fn silence_guarded_panics() {
    let hook = take_hook();
    set_hook(Box::new(move |panic| {
        if !GUARDED.get() {
            hook(panic);
        }
    }));
}

/// Runs `work`; `what` says what is wrong with the file when it panics.
pub(in crate::file) fn guarded<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Error::corrupt(what).caused_by(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guarded("x", || Ok(1)).unwrap(), 1);
        let error = guarded::<()>("bytes", || panic!("at {}", 3)).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Corrupt, "corrupt: bytes: at 3"));
    }
}
