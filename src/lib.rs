//! Apache Paimon tables in DataFusion.

pub mod cache;
pub mod error;
pub mod exec;
pub mod file;
pub mod options;
pub mod plan;
pub mod predicate;
pub mod selection;
pub mod spec;
pub mod split;
pub mod sql;
pub mod storage;
