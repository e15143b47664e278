//! Functions whose result is one of the versions' values: an index vector is folded, then all values are gathered at once.
//!
//! In: versions of a column of any type. Out: the column, its text and bytes still views of the inputs. `primary-key` keeps
//! the latest value, `last_…` and `first_…` what their names say. Java: `FieldLastValueAgg`, `FieldLastNonNullValueAgg`,
//! `FieldFirstValueAgg`, `FieldFirstNonNullValueAgg`, `FieldPrimaryKeyAgg`.

use arrow::array::{Array, ArrayRef, UInt32Array, new_empty_array, new_null_array};
use arrow::compute::{interleave, take};
use arrow::datatypes::DataType as ArrowType;

use super::fold::{Operations, Subject, input_of, outside};
use super::{Aggregator, Member, Versions};
use crate::error::{Error, Result};

/// Which version's value is the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// The latest, NULL or not; a retract leaves NULL.
    Last,
    /// The latest that is not NULL.
    LastNonNull,
    /// The first since the key began, NULL or not.
    First,
    /// The first since the key began that is not NULL.
    FirstNonNull,
    /// The latest, retracted or not.
    PrimaryKey,
}

/// A function that picks a version.
#[derive(Debug)]
pub(super) struct Pick {
    pub subject: Subject,
    pub rule: Rule,
    pub arrow_type: ArrowType,
}

impl Aggregator for Pick {
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        let mut operations = PickOperations { rule: self.rule, inputs: versions.inputs, begun: false };
        let mut picks = Vec::with_capacity(versions.key_count());
        self.subject.fold(versions, &mut operations, |pick| {
            picks.push(pick);
            Ok(())
        })?;
        gather(versions.inputs, &picks, &self.arrow_type)
    }
}

struct PickOperations<'a> {
    rule: Rule,
    inputs: &'a [ArrayRef],
    /// Whether `First` and `FirstNonNull` have had their value.
    begun: bool,
}

impl Operations for PickOperations<'_> {
    type Value = Member;

    fn read(&self, member: Member) -> Result<Option<Member>> {
        valid(self.inputs, member)
    }

    fn aggregate(&mut self, acc: Option<Member>, input: Option<Member>) -> Result<Option<Member>> {
        Ok(match self.rule {
            Rule::Last | Rule::PrimaryKey => input,
            Rule::LastNonNull => input.or(acc),
            Rule::First | Rule::FirstNonNull => {
                if self.begun || (self.rule == Rule::FirstNonNull && input.is_none()) {
                    acc
                } else {
                    self.begun = true;
                    input
                }
            }
        })
    }

    fn retract(&mut self, acc: Option<Member>, input: Option<Member>) -> Option<Result<Option<Member>>> {
        match self.rule {
            Rule::Last => Some(Ok(None)),
            Rule::LastNonNull => Some(Ok(if input.is_some() { None } else { acc })),
            Rule::PrimaryKey => Some(Ok(input)),
            Rule::First | Rule::FirstNonNull => None,
        }
    }

    fn begin(&mut self) {
        self.begun = false;
    }
}

/// The member itself, `None` where its value is NULL.
pub(super) fn valid(inputs: &[ArrayRef], member: Member) -> Result<Option<Member>> {
    let input = input_of(inputs, member)?;
    if member.row as usize >= input.len() {
        return Err(outside(member));
    }
    Ok(input.is_valid(member.row as usize).then_some(member))
}

/// The values of the picked rows of `inputs`, NULL where there is no pick.
pub(super) fn gather(inputs: &[ArrayRef], picks: &[Option<Member>], arrow_type: &ArrowType) -> Result<ArrayRef> {
    if picks.is_empty() {
        return Ok(new_empty_array(arrow_type));
    }
    match inputs {
        [] => Ok(new_null_array(arrow_type, picks.len())),
        [input] => {
            if let Some(member) = picks.iter().flatten().find(|p| p.input != 0 || p.row as usize >= input.len()) {
                return Err(outside(*member));
            }
            let rows: UInt32Array = picks.iter().map(|pick| pick.map(|p| p.row)).collect();
            Ok(take(input, &rows, None)?)
        }
        _ => gather_from_many(inputs, picks, arrow_type),
    }
}

fn gather_from_many(inputs: &[ArrayRef], picks: &[Option<Member>], arrow_type: &ArrowType) -> Result<ArrayRef> {
    let null = picks.iter().any(Option::is_none).then(|| new_null_array(arrow_type, 1));
    let mut arrays: Vec<&dyn Array> = inputs.iter().map(|input| input.as_ref()).collect();
    arrays.extend(null.as_deref());
    let place = |pick: &Option<Member>| match pick {
        None => Ok((inputs.len(), 0)),
        Some(member) if (member.row as usize) < input_of(inputs, *member)?.len() => {
            Ok((member.input as usize, member.row as usize))
        }
        Some(member) => Err(outside(*member)),
    };
    let places = picks.iter().map(place).collect::<Result<Vec<_>>>()?;
    if arrays.iter().any(|array| array.data_type() != arrow_type) {
        return Err(Error::internal(format!("values to be merged are not all of type {arrow_type}")));
    }
    Ok(interleave(&arrays, &places)?)
}
