//! The one loop over the versions of keys that all aggregate functions share.
//!
//! In: [`Versions`] and the operations of a function on its kind of value. Out: each key's value, handed to a sink in
//! order. What a step means, and what `ignore-retract` changes, is said here and nowhere else. The loop is compiled once
//! for each kind of value, so numbers stay in registers and rows stay indexes.

use super::{Member, Step, Versions};
use crate::error::{Error, Result};

/// What a function does with values of its kind.
pub(super) trait Operations {
    /// A value that is not NULL.
    type Value;

    /// The value of a version.
    fn read(&self, member: Member) -> Result<Option<Self::Value>>;

    /// `agg(acc, input)`
    fn aggregate(&mut self, acc: Option<Self::Value>, input: Option<Self::Value>) -> Result<Option<Self::Value>>;

    /// `aggReversed(acc, input)`
    fn aggregate_reversed(
        &mut self,
        acc: Option<Self::Value>,
        input: Option<Self::Value>,
    ) -> Result<Option<Self::Value>> {
        self.aggregate(input, acc)
    }

    /// `retract(acc, input)`; `None` where the function has none.
    fn retract(
        &mut self,
        _acc: Option<Self::Value>,
        _input: Option<Self::Value>,
    ) -> Option<Result<Option<Self::Value>>> {
        None
    }

    /// A key begins: what is remembered of the one before is forgotten.
    fn begin(&mut self) {}
}

/// What all functions of a column have in common.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    /// The name of the function.
    pub function: String,
    /// The name of the column.
    pub column: String,
    /// Whether retracts are ignored.
    pub ignore_retract: bool,
}

impl Subject {
    /// Adds function and column to an error's message.
    pub fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::corrupt(self.text(what))
    }

    fn text(&self, what: impl std::fmt::Display) -> String {
        format!("aggregate function '{}' of column '{}': {what}", self.function, self.column)
    }

    fn cannot_retract(&self) -> Error {
        Error::unsupported(self.text(format_args!(
            "it cannot retract; 'fields.{}.ignore-retract' = 'true' lets it ignore retracts",
            self.column
        )))
    }

    /// Folds the versions of each key and gives the results to `emit`, in the order of the keys.
    pub fn fold<O: Operations>(
        &self,
        versions: &Versions<'_>,
        operations: &mut O,
        mut emit: impl FnMut(Option<O::Value>) -> Result<()>,
    ) -> Result<()> {
        let plain = versions.steps.iter().all(|step| *step == Step::Aggregate);
        for key in versions.keys() {
            let (members, steps) = key?;
            operations.begin();
            let mut acc = None;
            if plain {
                for member in members {
                    let input = operations.read(*member)?;
                    acc = operations.aggregate(acc, input)?;
                }
            } else {
                for (member, step) in members.iter().zip(steps) {
                    acc = self.step(operations, acc, *member, *step)?;
                }
            }
            emit(acc)?;
        }
        Ok(())
    }

    fn step<O: Operations>(
        &self,
        operations: &mut O,
        acc: Option<O::Value>,
        member: Member,
        step: Step,
    ) -> Result<Option<O::Value>> {
        match step {
            Step::Skip => Ok(acc),
            Step::Clear => Ok(None),
            Step::Set => operations.read(member),
            Step::Aggregate => {
                let input = operations.read(member)?;
                operations.aggregate(acc, input)
            }
            // What ignores retracts is wrapped in Java, and the wrapper turns the arguments of every function around.
            Step::AggregateReversed if self.ignore_retract => {
                let input = operations.read(member)?;
                operations.aggregate(input, acc)
            }
            Step::AggregateReversed => {
                let input = operations.read(member)?;
                operations.aggregate_reversed(acc, input)
            }
            Step::Retract if self.ignore_retract => Ok(acc),
            Step::Retract => {
                let input = operations.read(member)?;
                operations.retract(acc, input).unwrap_or_else(|| Err(self.cannot_retract()))
            }
        }
    }
}

impl<'a> Versions<'a> {
    /// The number of keys.
    pub(super) fn key_count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The members and steps of each key.
    pub(super) fn keys(&self) -> impl Iterator<Item = Result<(&'a [Member], &'a [Step])>> + use<'a> {
        let Versions { members, steps, offsets, .. } = *self;
        offsets.iter().zip(offsets.iter().skip(1)).map(move |(from, to)| {
            let range = *from as usize..*to as usize;
            members
                .get(range.clone())
                .zip(steps.get(range))
                .ok_or_else(|| Error::internal("the versions of a key are not where its offsets say"))
        })
    }
}

/// The error of a member that stands outside the inputs.
pub(super) fn outside(member: Member) -> Error {
    Error::internal(format!("no row {} in input {}", member.row, member.input))
}

/// The element of `inputs` that a member stands in.
pub(super) fn input_of<T>(inputs: &[T], member: Member) -> Result<&T> {
    inputs.get(member.input as usize).ok_or_else(|| outside(member))
}
