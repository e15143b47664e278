//! How the allocator treats memory that is free: [`keep_freed_memory`].
//!
//! Queries free what they allocated, and the next one allocates as much again. Handed back to the system in between, every
//! page would be cleared and mapped anew: that took half of the processor time of short queries.

use std::ffi::{c_int, c_long};

/// mimalloc's option `mi_option_purge_delay`.
const PURGE_DELAY: c_int = 15;
/// The delay that stands for never.
const NEVER: c_long = -1;

/// Keeps freed memory for the allocations that follow.
#[allow(unsafe_code)] // The allocator's options have no safe interface.
pub fn keep_freed_memory() {
    unsafe extern "C" {
        fn mi_option_set(option: c_int, value: c_long);
    }
    // SAFETY: the function of the linked allocator stores a number, at any time and from any thread.
    unsafe { mi_option_set(PURGE_DELAY, NEVER) }
}
