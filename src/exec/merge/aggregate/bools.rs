//! `bool_and` and `bool_or`, which are also `min` and `max` of booleans.
//!
//! In: versions of a BOOLEAN column. Out: the conjunction or disjunction of each key's values, NULLs left out. Neither can
//! retract. Java: `FieldBoolAndAgg`, `FieldBoolOrAgg`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder};

use super::fold::{Operations, Subject, input_of, outside};
use super::{Aggregator, Member, Versions};
use crate::error::{Error, Result};

/// The conjunction or disjunction.
#[derive(Debug)]
pub(super) struct Bools {
    pub subject: Subject,
    /// Whether all values must be true, rather than one.
    pub all: bool,
}

impl Aggregator for Bools {
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        let typed = |input: &'_ ArrayRef| {
            input.as_boolean_opt().cloned().ok_or_else(|| Error::internal("a column that is not of booleans"))
        };
        let inputs: Vec<BooleanArray> = versions.inputs.iter().map(typed).collect::<Result<_>>()?;
        let mut values = BooleanBuilder::with_capacity(versions.key_count());
        self.subject.fold(versions, &mut BoolOperations { all: self.all, inputs }, |value| {
            values.append_option(value);
            Ok(())
        })?;
        Ok(Arc::new(values.finish()))
    }
}

struct BoolOperations {
    all: bool,
    inputs: Vec<BooleanArray>,
}

impl Operations for BoolOperations {
    type Value = bool;

    #[inline]
    fn read(&self, member: Member) -> Result<Option<bool>> {
        let array = input_of(&self.inputs, member)?;
        let row = member.row as usize;
        if row >= array.len() {
            return Err(outside(member));
        }
        Ok(array.is_valid(row).then(|| array.value(row)))
    }

    #[inline]
    fn aggregate(&mut self, acc: Option<bool>, input: Option<bool>) -> Result<Option<bool>> {
        Ok(match (acc, input) {
            (Some(acc), Some(input)) => Some(if self.all { acc && input } else { acc || input }),
            _ => acc.or(input),
        })
    }
}
