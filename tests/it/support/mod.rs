//! What the integration tests share.

pub mod canonical;
pub mod conditions;
pub mod copy;
pub mod expected;
pub mod ran;
pub mod rust_source;
pub mod session;
pub mod slow_store;
