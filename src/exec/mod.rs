//! Reading: splits in, streams of `RecordBatch`es out.
//!
//! [`PaimonScanExec`] is the leaf of the physical plan. It deals files out to output partitions (`assign`), and each
//! partition's stream (`split_stream`) reads its files one after the other (`raw_read`), brought to the table's schema
//! (`evolution`). This stage knows DataFusion's executor and the file formats; it knows nothing of snapshots.

pub mod assign;
pub mod context;
mod dealt;
pub mod dynamic;
pub mod evolution;
mod few_rows;
pub mod file_index;
pub mod filter;
pub mod kept_rows;
mod lookup;
mod lost_folder;
pub mod merge;
pub mod metrics;
pub mod order;
pub mod raw_read;
pub mod scan_exec;
pub mod split_stream;
pub mod statistics;
pub mod unit_filter;
pub mod unit_rows;
pub mod work;

pub use context::{ScanSpec, SourceSchemas};
pub use scan_exec::{PaimonScanExec, ScanLabel};
