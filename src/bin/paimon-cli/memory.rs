//! How the allocators treat memory: [`keep_freed_memory`], [`take_small_pages`].
//!
//! Queries free what they allocated, and the next one allocates as much again. Handed back to the system in between, every
//! page would be cleared and mapped anew: that took half of the processor time of short queries. Two allocators are at work,
//! mimalloc for Rust, and that of the C library for libraries in C, such as zstd, which makes its working memory for every
//! column that it decompresses.

use std::ffi::{c_int, c_long};

/// mimalloc's option `mi_option_purge_delay`.
const PURGE_DELAY: c_int = 15;
/// The delay that stands for never.
const NEVER: c_long = -1;

/// Keeps freed memory for the allocations that follow.
#[allow(unsafe_code)] // The allocators' options have no safe interface.
pub fn keep_freed_memory() {
    unsafe extern "C" {
        fn mi_option_set(option: c_int, value: c_long);
    }
    // SAFETY: the function of the linked allocator stores a number, at any time and from any thread.
    unsafe { mi_option_set(PURGE_DELAY, NEVER) }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::keep_freed_memory();
}

/// Takes memory in small pages. Queries allocate and free in many threads: of the huge pages that the kernel would give, a
/// quarter is never used. They are not faster either.
#[allow(unsafe_code)] // The system's interface.
pub fn take_small_pages() {
    #[cfg(target_os = "linux")]
    {
        /// `PR_SET_THP_DISABLE`.
        const DISABLE_HUGE_PAGES: c_int = 41;
        unsafe extern "C" {
            fn prctl(option: c_int, ...) -> c_int;
        }
        // SAFETY: the option takes a number and three zeros and sets a flag of the process; where the kernel has no such
        // option it says so, and nothing changes.
        unsafe { prctl(DISABLE_HUGE_PAGES, 1 as c_long, 0 as c_long, 0 as c_long, 0 as c_long) };
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::ffi::c_int;

    /// `M_TRIM_THRESHOLD`: more free memory than this at the end of a heap goes back.
    const TRIM_THRESHOLD: (c_int, c_int) = (-1, 256 << 20);
    /// `M_MMAP_THRESHOLD`: larger allocations have a mapping of their own; the most that glibc allows.
    const MMAP_THRESHOLD: (c_int, c_int) = (-3, 32 << 20);

    #[allow(unsafe_code)] // As above.
    pub fn keep_freed_memory() {
        unsafe extern "C" {
            fn mallopt(option: c_int, value: c_int) -> c_int;
        }
        for (option, value) in [MMAP_THRESHOLD, TRIM_THRESHOLD] {
            // SAFETY: the function of the linked C library takes a lock and stores a number.
            unsafe { mallopt(option, value) };
        }
    }
}
