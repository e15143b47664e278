//! From a table to what must be read of it: references to snapshots, then their metadata, then splits.
//!
//! In: a table and the options of a read. Out: which snapshot and schema the read sees, and in the end splits. Reads
//! metadata only; knows nothing of how splits are executed.

pub mod snapshot;
pub mod time_travel;
