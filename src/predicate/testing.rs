//! Columns and values for tests, and random predicates over a small table.

use proptest::prelude::*;

use super::{ColumnRef, Predicate, Test};
use crate::spec::data_type::DataType;
use crate::spec::datum::Datum;

/// The column of an id, named after it.
pub(crate) fn column(id: i32, data_type: &str) -> ColumnRef {
    ColumnRef { id, name: format!("c{id}"), data_type: DataType::parse(data_type).unwrap() }
}

/// An INT.
pub(crate) fn int(value: i32) -> Datum {
    Datum::Int(value)
}

/// A STRING.
pub(crate) fn text(value: &str) -> Datum {
    Datum::String(value.into())
}

/// The types of the columns 0 to 2 of [`predicates`] and [`rows`].
pub(crate) const TYPES: [&str; 3] = ["INT", "STRING", "DOUBLE"];

/// Small values, so that they meet.
pub(crate) fn value(column: usize) -> BoxedStrategy<Datum> {
    match column {
        0 => (-3..4i32).prop_map(Datum::Int).boxed(),
        1 => "[ab]{0,3}".prop_map(Datum::String).boxed(),
        _ => prop_oneof![(-2..3i32).prop_map(|v| Datum::Double(v.into())), Just(Datum::Double(-0.0))].boxed(),
    }
}

/// Rows of three columns.
pub(crate) fn rows() -> impl Strategy<Value = Vec<Vec<Option<Datum>>>> {
    let cell = |at| proptest::option::weighted(0.8, value(at));
    let row = (cell(0), cell(1), cell(2)).prop_map(|(a, b, c)| vec![a, b, c]);
    proptest::collection::vec(row, 0..6)
}

/// Predicates over these rows.
pub(crate) fn predicates() -> impl Strategy<Value = Predicate> {
    let leaf = (0..3usize).prop_flat_map(|at| {
        let test = (0..11u8, proptest::collection::vec(value(at), 1..4)).prop_map(|(kind, values)| {
            let first = values.first().cloned().unwrap();
            match (kind, first) {
                (0, v) => Test::Equal(v),
                (1, v) => Test::NotEqual(v),
                (2, v) => Test::Less(v),
                (3, v) => Test::LessOrEqual(v),
                (4, v) => Test::Greater(v),
                (5, v) => Test::GreaterOrEqual(v),
                (6, _) => Test::is_in(values),
                (7, _) => Test::is_not_in(values),
                (8, _) => Test::IsNull,
                (9, Datum::String(prefix)) => Test::StartsWith(prefix),
                _ => Test::IsNotNull,
            }
        });
        test.prop_map(move |test| Predicate::leaf(column(at as i32, TYPES[at]), test))
    });
    leaf.prop_recursive(3, 12, 3, |inner| {
        let list = || proptest::collection::vec(inner.clone(), 0..4);
        prop_oneof![list().prop_map(Predicate::And), list().prop_map(Predicate::Or)]
    })
}

/// What a predicate says of a row of these columns.
pub(crate) fn takes(predicate: &Predicate, row: &[Option<Datum>]) -> bool {
    predicate.evaluate(&|leaf| row[leaf.column.id as usize].as_ref()) == Some(true)
}
