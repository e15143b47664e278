//! The function of a column: [`Function`].
//!
//! In: the versions of a chunk of keys with their steps. Out: the column's merged values. Functions that give one of the
//! values as it is only pick places, which columns on the same track share; the values are gathered at once.

use arrow::array::{Array, ArrayRef, new_empty_array, new_null_array};
use arrow::compute::interleave;

use super::program::Program;
use super::spec::{LAST_NON_NULL_VALUE, LAST_VALUE, PRIMARY_KEY, ignores_retract};
use crate::error::{Error, Result};
use crate::exec::merge::aggregate::{Aggregator, FieldOptions, Member, Step, Versions, aggregator};
use crate::options::TableOptions;
use crate::spec::data_type::DataField;

/// What a column does at each step.
#[derive(Debug)]
pub enum Function {
    /// It takes one of the values.
    Pick(Pick),
    /// It computes a value.
    Fold(Box<dyn Aggregator>),
}

/// Which value is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// The newest version's, be it an add or a retract: `primary-key`.
    Key,
    /// The newest one, NULL too: `last_value`.
    Latest {
        /// Option `fields.NAME.ignore-retract`.
        ignore_retract: bool,
    },
    /// The newest one that is not NULL: `last_non_null_value`.
    LatestNonNull {
        /// Option `fields.NAME.ignore-retract`.
        ignore_retract: bool,
    },
}

impl Function {
    /// The function of a name. An error where there is none, or not for the column's type.
    pub fn named(name: &str, field: &DataField, options: &TableOptions) -> Result<Self> {
        let ignore_retract = ignores_retract(options, &field.name)?;
        Ok(match name {
            PRIMARY_KEY => Function::Pick(Pick::Key),
            LAST_VALUE => Function::Pick(Pick::Latest { ignore_retract }),
            LAST_NON_NULL_VALUE => Function::Pick(Pick::LatestNonNull { ignore_retract }),
            _ => Function::Fold(fold(name, field, options)?),
        })
    }

    /// The newest value, for columns that have no function.
    pub fn latest() -> Self {
        Function::Pick(Pick::Latest { ignore_retract: false })
    }

    /// The newest value that is not NULL, for columns that have no function.
    pub fn latest_non_null() -> Self {
        Function::Pick(Pick::LatestNonNull { ignore_retract: false })
    }
}

fn fold(name: &str, field: &DataField, options: &TableOptions) -> Result<Box<dyn Aggregator>> {
    #[cfg(test)]
    if name == "trace" {
        return Ok(Box::new(super::model::Trace));
    }
    aggregator(name, field, &FieldOptions::of(options.raw(), &field.name)?)
}

/// A place in the inputs; the place behind all inputs is NULL.
type Place = (usize, usize);

/// Folds the columns of one chunk.
pub struct Folder<'a> {
    program: &'a Program,
    /// What was picked for columns without NULLs, by track.
    shared: Vec<(usize, Pick, Vec<Place>)>,
}

impl<'a> Folder<'a> {
    /// A folder of the columns of a chunk.
    pub fn new(program: &'a Program) -> Self {
        Self { program, shared: vec![] }
    }

    /// The merged values of a column; `inputs` are its arrays in all inputs.
    pub fn column(&mut self, track: usize, function: &Function, inputs: &[ArrayRef]) -> Result<ArrayRef> {
        let steps = self.program.steps(track);
        let (members, offsets) = (self.program.members(), self.program.offsets());
        match function {
            Function::Fold(aggregator) => aggregator.aggregate(&Versions { inputs, members, steps, offsets }),
            Function::Pick(pick @ Pick::LatestNonNull { .. }) if inputs.iter().any(|i| i.null_count() > 0) => {
                let nulls: Vec<_> = inputs.iter().map(|i| i.nulls()).collect();
                let nulls = |m: Member| nulls.get(m.input as usize).copied().flatten();
                let is_null = |m: Member| nulls(m).is_some_and(|n| n.is_null(m.row as usize));
                gather(inputs, &places(self.program, track, *pick, is_null, inputs.len()))
            }
            Function::Pick(pick) => {
                if !self.shared.iter().any(|(t, p, _)| (*t, *p) == (track, *pick)) {
                    let places = places(self.program, track, *pick, |_| false, inputs.len());
                    self.shared.push((track, *pick, places));
                }
                let shared = self.shared.iter().find(|(t, p, _)| (*t, *p) == (track, *pick));
                gather(inputs, shared.map(|(_, _, places)| places.as_slice()).unwrap_or_default())
            }
        }
    }
}

/// The place of each key's value.
fn places(program: &Program, track: usize, pick: Pick, is_null: impl Fn(Member) -> bool, inputs: usize) -> Vec<Place> {
    let (members, steps, offsets) = (program.members(), program.steps(track), program.offsets());
    let bounds = offsets.iter().zip(offsets.iter().skip(1));
    let place = |picked: Option<Member>| picked.map_or((inputs, 0), |m| (m.input as usize, m.row as usize));
    if program.only_aggregates(track) {
        // The newest version is taken, or the newest one that has a value.
        let any = !matches!(pick, Pick::LatestNonNull { .. });
        let key = |(begin, end): (&u32, &u32)| {
            let versions = members.get(*begin as usize..*end as usize).unwrap_or_default();
            place(versions.iter().rev().find(|member| any || !is_null(**member)).copied())
        };
        return bounds.map(key).collect();
    }
    let key = |(begin, end): (&u32, &u32)| {
        let range = *begin as usize..*end as usize;
        let (members, steps) = (members.get(range.clone()), steps.get(range));
        let versions = members.unwrap_or_default().iter().zip(steps.unwrap_or_default());
        place(versions.fold(None, |acc, (member, step)| next(pick, acc, *member, *step, &is_null)))
    };
    bounds.map(key).collect()
}

/// What a column holds after a step; `None` is NULL.
fn next(pick: Pick, acc: Option<Member>, new: Member, step: Step, is_null: impl Fn(Member) -> bool) -> Option<Member> {
    match (step, pick) {
        (Step::Skip, _) => acc,
        (Step::Set, _) => Some(new),
        (Step::Clear, _) => None,
        (Step::Aggregate | Step::Retract, Pick::Key) => Some(new),
        (Step::Retract, Pick::Latest { ignore_retract: true } | Pick::LatestNonNull { ignore_retract: true }) => acc,
        (Step::Aggregate, Pick::Latest { .. }) => Some(new),
        (Step::Retract, Pick::Latest { .. }) => None,
        (Step::Aggregate, Pick::LatestNonNull { .. }) => {
            if is_null(new) {
                acc
            } else {
                Some(new)
            }
        }
        (Step::Retract, Pick::LatestNonNull { .. }) => {
            if is_null(new) {
                acc
            } else {
                None
            }
        }
        // agg(in, acc): the older value is overwritten by what there is.
        (Step::AggregateReversed, Pick::Key | Pick::Latest { .. }) => acc,
        (Step::AggregateReversed, Pick::LatestNonNull { .. }) => acc.filter(|a| !is_null(*a)).or(Some(new)),
    }
}

/// The values at places.
fn gather(inputs: &[ArrayRef], places: &[Place]) -> Result<ArrayRef> {
    let Some(first) = inputs.first() else { return Err(Error::internal("no inputs to gather from")) };
    if places.is_empty() {
        return Ok(new_empty_array(first.data_type()));
    }
    let mut arrays: Vec<&dyn Array> = inputs.iter().map(|i| i.as_ref()).collect();
    let null = new_null_array(first.data_type(), 1);
    if places.iter().any(|place| place.0 == inputs.len()) {
        arrays.push(null.as_ref());
    }
    Ok(interleave(&arrays, places)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::Int32Type;

    use super::*;

    fn folded(pick: Pick, values: &[Option<i32>], steps: &[Step]) -> Option<i32> {
        let mut program = Program::new(1);
        for (row, step) in steps.iter().enumerate() {
            program.push(Member { input: 0, row: row as u32 }, |_| *step);
        }
        program.end_key(true);
        let inputs: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(values.to_vec()))];
        let column = Folder::new(&program).column(0, &Function::Pick(pick), &inputs).unwrap();
        let column = column.as_primitive::<Int32Type>();
        column.is_valid(0).then(|| column.value(0))
    }

    #[test]
    fn picks_follow_the_steps() {
        use Step::*;
        let latest = |ignore_retract| Pick::Latest { ignore_retract };
        let non_null = |ignore_retract| Pick::LatestNonNull { ignore_retract };
        let (a, b) = (Some(1), Some(2));
        for (pick, values, steps, want) in [
            (latest(false), [a, None], [Aggregate, Aggregate], None),
            (latest(false), [a, b], [Aggregate, Retract], None),
            (latest(true), [a, b], [Aggregate, Retract], a),
            (latest(false), [a, b], [Aggregate, AggregateReversed], a),
            (latest(false), [a, b], [Aggregate, Skip], a),
            (latest(false), [a, b], [Set, Clear], None),
            (non_null(false), [a, None], [Aggregate, Aggregate], a),
            (non_null(false), [a, b], [Aggregate, Aggregate], b),
            (non_null(false), [None, None], [Aggregate, Aggregate], None),
            (Pick::Key, [a, None], [Aggregate, Aggregate], None),
            (non_null(false), [a, None], [Aggregate, Set], None),
            (non_null(false), [a, None], [Aggregate, Retract], a),
            (non_null(false), [a, b], [Aggregate, Retract], None),
            (non_null(true), [a, b], [Aggregate, Retract], a),
            (non_null(false), [None, b], [Set, AggregateReversed], b),
            (non_null(false), [a, b], [Set, AggregateReversed], a),
            (Pick::Key, [a, b], [Aggregate, Retract], b),
        ] {
            assert_eq!(folded(pick, &values, &steps), want, "{pick:?} {values:?} {steps:?}");
        }
    }

    #[test]
    fn a_function_that_nobody_knows_is_named() {
        let options = TableOptions::parse(Default::default()).unwrap();
        let field = DataField::new(1, "c", crate::spec::data_type::TypeKind::Int.nullable());
        let e = Function::named("summ", &field, &options).unwrap_err();
        assert!(e.to_string().contains("'summ' of column 'c'"), "{e}");
    }
}
