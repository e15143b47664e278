//! A fence around libraries that may panic on bytes they did not expect.
//!
//! In: a closure. Out: its result, or [`Error::corrupt`](crate::error::Error::corrupt) where it panicked. What the
//! closure was working on must not be used after that.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// Runs `work`; `what` says what is wrong with the file when it panics.
pub(super) fn guarded<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
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
