//! The sequences of a sequence group, in a form that compares: [`SequenceValues`].
//!
//! In: the group's sequence columns of a batch. Out: for each row whether it has a sequence at all, which it has where
//! one of the columns is not NULL, and how it compares: column by column, ascending, NULL first. Java:
//! `UserDefinedSeqComparator`.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::BooleanBuffer;

use crate::error::{Error, Result};
use crate::exec::merge::keys::{KeyEncoder, Keys};
use crate::spec::data_type::DataField;

/// Encodes the sequences of one group.
#[derive(Debug)]
pub struct SequenceEncoder {
    keys: KeyEncoder,
    /// Where the sequence columns stand in batches.
    columns: Vec<usize>,
}

/// The sequences of a batch.
#[derive(Debug)]
pub struct SequenceValues {
    keys: Keys,
    /// The rows that have one; `None` where all have.
    present: Option<BooleanBuffer>,
}

impl SequenceEncoder {
    /// An encoder of columns that stand in batches at the given places.
    pub fn new(fields: &[DataField], columns: Vec<usize>) -> Result<Self> {
        Ok(Self { keys: KeyEncoder::new(fields)?, columns })
    }

    /// The sequences of a batch.
    pub fn encode(&self, batch: &RecordBatch) -> Result<SequenceValues> {
        let lacks = || Error::internal("a batch lacks a sequence column");
        let column = |at: &usize| batch.columns().get(*at).cloned().ok_or_else(lacks);
        let columns: Vec<ArrayRef> = self.columns.iter().map(column).collect::<Result<_>>()?;
        let nulls: Option<Vec<_>> = columns.iter().map(|c| c.logical_nulls()).collect();
        let present = nulls.and_then(|nulls| nulls.into_iter().map(|n| n.into_inner()).reduce(|a, b| &a | &b));
        Ok(SequenceValues { keys: self.keys.encode(&columns)?, present })
    }
}

impl SequenceValues {
    /// Whether a row has no sequence.
    pub fn is_absent(&self, row: usize) -> bool {
        self.present.as_ref().is_some_and(|present| row < present.len() && !present.value(row))
    }

    /// How the sequence of a row compares with one of another batch.
    pub fn compare(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        self.keys.compare(row, &other.keys, other_row)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int64Array};

    use super::*;
    use crate::spec::arrow_type::arrow_schema;
    use crate::spec::data_type::{DataType, TypeKind};

    #[test]
    fn sequences_compare_column_by_column_and_are_absent_only_as_a_whole() {
        let fields = [
            DataField::new(1, "s", TypeKind::BigInt.nullable()),
            DataField::new(2, "t", DataType::parse("DOUBLE").unwrap()),
        ];
        let s: ArrayRef = Arc::new(Int64Array::from(vec![None, None, Some(-1), Some(-1), Some(2)]));
        let t: ArrayRef = Arc::new(Float64Array::from(vec![None, Some(5.0), Some(-0.0), Some(0.0), None]));
        let batch = RecordBatch::try_new(arrow_schema(&fields), vec![s, t]).unwrap();
        let values = SequenceEncoder::new(&fields, vec![0, 1]).unwrap().encode(&batch).unwrap();
        assert_eq!((0..5).map(|row| values.is_absent(row)).collect::<Vec<_>>(), [true, false, false, false, false]);
        let orders: Vec<_> = (1..5).map(|row| values.compare(row - 1, &values, row)).collect();
        assert_eq!(orders, [Ordering::Less, Ordering::Less, Ordering::Equal, Ordering::Less]);
    }
}
