//! Which bytes of a file's value statistics say something of some columns: [`StatsParts`].
//!
//! In: the columns of a schema, and which of them are wanted. Out: ranges of bytes in the bounds, which are serialized
//! `BinaryRow`s, and in the NULL counts, which are eight bytes each. Of columns whose values do not lie in their slots
//! nothing can be said this way.

use std::ops::Range;

use super::binary_row::{is_in_slot, slot_bytes, start_bytes};
use super::data_type::DataField;

/// The bytes of one NULL count.
const COUNT_BYTES: usize = 8;

/// Ranges of bytes, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsParts {
    /// Of a serialized row of bounds.
    pub bounds: Vec<Range<usize>>,
    /// Of packed NULL counts.
    pub counts: Vec<Range<usize>>,
}

impl StatsParts {
    /// Where the wanted ones of `columns` stand, if these are all that there are statistics of.
    pub fn of(columns: &[DataField], wanted: &dyn Fn(i32) -> bool) -> Option<Self> {
        let mut parts = Self { bounds: vec![start_bytes(columns.len())], counts: vec![] };
        for (at, column) in columns.iter().enumerate().filter(|(_, column)| wanted(column.id)) {
            if !is_in_slot(&column.data_type) {
                return None;
            }
            parts.bounds.push(slot_bytes(columns.len(), at));
            parts.counts.push(at * COUNT_BYTES..(at + 1) * COUNT_BYTES);
        }
        Some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::binary_row::{BinaryRow, serialize_row};
    use crate::spec::data_type::DataType;
    use crate::spec::datum::Datum;

    fn columns(types: &[&str]) -> Vec<DataField> {
        let field = |(i, t): (usize, &&str)| DataField::new(i as i32, format!("c{i}"), DataType::parse(t).unwrap());
        types.iter().enumerate().map(field).collect()
    }

    #[test]
    fn parts_are_enough_to_decode_their_columns() {
        let columns = columns(&["STRING", "BIGINT", "DECIMAL(18, 2)", "TIMESTAMP(3)", "DATE"]);
        let values = [
            Some(Datum::String("a long text that is not in its slot".into())),
            Some(Datum::BigInt(-7)),
            Some(Datum::Decimal { unscaled: 1234, precision: 18, scale: 2 }),
            Some(Datum::Timestamp { millis: 5, nano_of_milli: 0 }),
            None,
        ];
        let row = serialize_row(columns.iter().map(|c| &c.data_type), &values).unwrap();
        for at in 1..columns.len() {
            let parts = StatsParts::of(&columns, &|id| id == at as i32).unwrap();
            let mut some = vec![0xa5; row.len()];
            for part in parts.bounds {
                some[part.clone()].copy_from_slice(&row[part]);
            }
            let decoded = BinaryRow::from_serialized(&some).unwrap().get(at, &columns[at].data_type).unwrap();
            assert_eq!(decoded, values[at]);
            assert_eq!(parts.counts.first(), Some(&(at * 8..at * 8 + 8)));
        }
    }

    #[test]
    fn values_that_are_not_in_slots_have_no_parts() {
        let types = ["STRING", "BYTES", "DECIMAL(19, 2)", "TIMESTAMP(6)", "ARRAY<INT>", "INT"];
        let columns = columns(&types);
        for (at, data_type) in types.iter().enumerate() {
            let parts = StatsParts::of(&columns, &|id| id == at as i32);
            assert_eq!(parts.is_some(), *data_type == "INT", "{data_type}");
        }
        // A column that is not there has no part.
        assert!(StatsParts::of(&columns, &|id| id == 99).unwrap().counts.is_empty());
    }
}
