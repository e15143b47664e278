//! Combining the versions of a key to one row: `partial-update` and `aggregation`.
//!
//! The tournament tells which keys have several versions ([`groups`]); rows that are alone with their key take the
//! path of files that need no merging. Of the rows in groups the wanted columns are read, run by run ([`runs`]), and
//! combined chunk by chunk ([`stream`]): from kinds and sequences comes a [`program`] of steps, the same for all columns
//! of a kind, and each column is then folded by itself along its steps ([`function`]). Nothing is done row by row but
//! the steps.
//!
//! ```text
//! options ─► spec ─► plan (of the wanted columns) ─┐
//! tournament ─► groups ─► runs ─► chunks of keys ──┴► program ─► a function for each column ─► batch
//! ```

mod aggregation;
pub mod function;
pub mod groups;
mod partial_update;
pub mod plan;
pub mod program;
pub mod runs;
pub mod sequence;
pub mod spec;
pub mod stream;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
