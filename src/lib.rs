//! Apache Paimon tables in DataFusion.

pub mod error;
pub mod file;
pub mod spec;
pub mod split;
pub mod sql;
pub mod storage;
