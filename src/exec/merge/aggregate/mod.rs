//! Aggregate functions over the versions of keys, a column at a time.
//!
//! In: for a chunk of keys, the versions of each key in the order in which they are merged, and what is to be done with
//! each version's value of one column ([`Step`]). Out: the column's merged value, one for each key. Java:
//! `FieldAggregator` and its subclasses in `mergetree.compact.aggregate`.
//!
//! ```text
//! keys      |     k1      |  k2   |       k3       |      offsets  0  3  5  9
//! versions  | v0  v1  v2  | v3 v4 | v5  v6  v7  v8 |      members  (input, row) of each
//! steps     | agg agg ret | agg.. | agg agg agg rev|
//! out       |     a1      |  a2   |       a3       |
//! ```

mod art;
mod bitmaps;
mod bools;
mod collect;
mod decimal;
mod extreme;
mod factory;
mod fold;
mod hll;
mod listagg;
mod lists;
mod maps;
mod nested_partial_update;
mod nested_update;
mod numeric;
mod options;
mod ordered_map;
mod pick;
mod theta;
mod value_bytes;

#[cfg(test)]
mod java_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod testing;

use arrow::array::ArrayRef;

pub use self::factory::aggregator;
pub use self::options::{FieldOptions, NullKeys};
use crate::error::Result;

/// Where the value of a version stands: row `row` of input `input`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The number of the input array.
    pub input: u32,
    /// The row in it.
    pub row: u32,
}

/// What is done with the value of a version, given what its key has so far (`acc`, NULL at first).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing: `acc` stays.
    Skip,
    /// `acc = agg(acc, in)`
    Aggregate,
    /// `acc = aggReversed(acc, in)`: the value is older than what `acc` holds.
    AggregateReversed,
    /// `acc = retract(acc, in)`
    Retract,
    /// `acc = in`, whatever it is. As in Java, a function that remembers that it has begun (`first_value`,
    /// `first_non_null_value`) still does: only a new key lets it begin anew.
    Set,
    /// `acc = NULL`; else as `Set`.
    Clear,
}

/// One column of the versions of a chunk of keys.
#[derive(Debug, Clone, Copy)]
pub struct Versions<'a> {
    /// The arrays that values stand in, all of the column's canonical Arrow type.
    pub inputs: &'a [ArrayRef],
    /// All versions, key by key, each key's oldest first.
    pub members: &'a [Member],
    /// What to do with each of `members`.
    pub steps: &'a [Step],
    /// Where each key's versions begin in `members`, and at last their number: one more than there are keys.
    pub offsets: &'a [u32],
}

/// An aggregate function of one column.
pub trait Aggregator: std::fmt::Debug + Send + Sync {
    /// The merged value of each key, in the type of the inputs.
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef>;
}
