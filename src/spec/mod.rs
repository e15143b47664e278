//! The format: what the bytes and JSON of a Paimon table mean.
//!
//! Pure code: no I/O, no `async`, no DataFusion planner. In go bytes, JSON text or Arrow batches of a metadata
//! container; out come typed values. Foreign bytes never panic and never allocate by a length that was not checked.

pub mod arrow_type;
pub mod binary_row;
pub mod bucket;
pub mod column_range;
mod columns;
#[cfg(test)]
pub(crate) mod columns_for_tests;
pub mod data_file;
pub mod data_type;
pub mod datum;
pub mod datum_array;
pub mod deletion_vector;
pub mod index_manifest;
pub mod java_queue;
pub mod java_text;
pub mod json;
pub mod layout;
pub mod manifest_entry;
pub mod manifest_list;
pub mod packed;
pub mod packed_entries;
pub mod packed_statistics;
pub mod partition_match;
pub mod partition_path;
pub mod row_kind;
pub mod simple_stats;
pub mod snapshot;
pub mod statistics;
pub mod stats_parts;
pub mod table_schema;
pub mod tag;
