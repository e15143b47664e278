//! What the integration tests share.

pub mod canonical;
pub mod expected;
pub mod rust_source;
pub mod session;
pub mod slow_store;
