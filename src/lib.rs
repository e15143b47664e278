//! Apache Paimon tables in DataFusion.

pub mod error;
pub mod exec;
pub mod file;
pub mod spec;
pub mod split;
pub mod storage;
