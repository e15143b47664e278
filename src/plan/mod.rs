//! From a table to what must be read of it: references to snapshots, then their metadata, then splits.
//!
//! In: a table and the options of a read. Out: which snapshot and schema the read sees ([`time_travel`]), and the splits
//! of it ([`scan_plan`]). Reads metadata only; knows nothing of how splits are executed.

pub mod bucket_facts;
pub mod bucket_statistics;
pub mod chain;
mod decoders;
pub mod deferred;
pub mod deletion_files;
pub mod entry_cache;
pub mod intervals;
pub mod live_entries;
pub mod manifests;
pub mod paths;
pub mod prune;
pub mod report;
pub mod scan_plan;
pub mod snapshot;
pub mod splits;
pub mod supported;
mod threads;
pub mod time_travel;
pub mod visible;
