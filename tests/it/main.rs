//! The integration tests: one binary, a module per topic.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A test that cannot go on fails.

mod damage;
mod filters;
mod golden;
mod indexes;
mod layout;
mod merge;
mod options;
mod order;
mod planning;
mod read_ahead;
mod requests;
mod spans;
mod statistics;
mod support;
mod switches;
