//! The format: what the bytes and JSON of a Paimon table mean.
//!
//! Pure code: no I/O, no `async`, no DataFusion planner. In go bytes, JSON text or Arrow batches of a metadata
//! container; out come typed values. Foreign bytes never panic and never allocate by a length that was not checked.

pub mod arrow_type;
pub mod data_file;
pub mod data_type;
pub mod java_text;
pub mod simple_stats;
pub mod table_schema;
