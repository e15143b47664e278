//! Columns that take little memory: [`PackedLongs`], [`PackedBytes`], [`Dictionary`].
//!
//! In: the values of a column, one after another. Out: any value by its row. A column is packed once and never changed.
//! What all values have in common is kept once, so a column of one value takes next to nothing.

mod bytes;
mod dictionary;
pub(super) mod lists;
mod longs;
mod shape;

pub use bytes::PackedBytes;
pub use dictionary::Dictionary;
pub use longs::PackedLongs;
