//! What the integration tests share.

pub mod rust_source;
