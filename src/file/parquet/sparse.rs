//! Batches of few rows out of many do not hold what the other rows are made of: [`compacted`].
//!
//! In: a batch whose texts and bytes are views into decoded pages. Out: the same batch; where views use little of the pages
//! that they hold in memory, with a copy of what they use. A query that keeps ninety rows, in a join or a sort, would
//! keep ninety pages otherwise.

use std::sync::Arc;

use arrow::array::types::ByteViewType;
use arrow::array::{Array, ArrayRef, AsArray, GenericByteViewArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::DataType;

use crate::error::Result;

/// Less than this is not worth a copy.
const HELD_BYTES: usize = 64 << 10;

/// A copy is made where at least so many times the bytes are held that are used.
const HELD_TO_USED: usize = 16;

/// The batch, with copies of the columns that hold much more than they use.
pub(super) fn compacted(batch: RecordBatch) -> Result<RecordBatch> {
    let copies: Vec<Option<ArrayRef>> = batch.columns().iter().map(copy).collect();
    if copies.iter().all(Option::is_none) {
        return Ok(batch);
    }
    let columns =
        copies.into_iter().zip(batch.columns()).map(|(copy, column)| copy.unwrap_or_else(|| Arc::clone(column)));
    let columns = columns.collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

/// A copy of a column, if it is worth one.
fn copy(column: &ArrayRef) -> Option<ArrayRef> {
    match column.data_type() {
        DataType::Utf8View => copy_views(column.as_string_view()),
        DataType::BinaryView => copy_views(column.as_binary_view()),
        _ => None,
    }
}

fn copy_views<T: ByteViewType>(views: &GenericByteViewArray<T>) -> Option<ArrayRef> {
    let held: usize = views.data_buffers().iter().map(|buffer| buffer.len()).sum();
    let worth = held > HELD_BYTES && views.total_buffer_bytes_used().saturating_mul(HELD_TO_USED) < held;
    worth.then(|| Arc::new(views.gc()) as ArrayRef)
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryViewArray, Int32Array, StringViewArray};
    use arrow::datatypes::Schema;

    use super::*;

    #[test]
    fn a_copy_is_made_where_little_is_used_of_much() {
        let long = "a text that is longer than a view";
        let many = StringViewArray::from_iter((0..5000).map(|i| (i % 7 != 0).then(|| format!("{long} {i}"))));
        let bytes = BinaryViewArray::from_iter((0..5000).map(|i| Some(format!("{long} {i}").into_bytes())));
        let numbers = Int32Array::from_iter_values(0..5000);
        let columns: [(&str, ArrayRef); 3] = [("s", Arc::new(many)), ("b", Arc::new(bytes)), ("n", Arc::new(numbers))];
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
        let held = |batch: &RecordBatch| {
            let (texts, bytes) = (batch.column(0).as_string_view(), batch.column(1).as_binary_view());
            texts.data_buffers().iter().chain(bytes.data_buffers()).map(|buffer| buffer.len()).sum::<usize>()
        };
        for (rows, copied) in [(5000, false), (2500, false), (100, true), (1, true), (0, true)] {
            let some = batch.slice(4000 - rows.min(4000), rows);
            let compact = compacted(some.clone()).unwrap();
            assert_eq!(compact, some);
            assert_eq!(held(&compact) < held(&some), copied, "{rows} rows");
            assert!(!copied || held(&compact) <= rows * 2 * 64, "{rows} rows");
        }
        let small = batch.slice(0, 5);
        let small = compacted(compacted(small).unwrap().slice(0, 1)).unwrap();
        assert!(held(&small) > 100, "what is little is left as it is");
        let without_columns = RecordBatch::try_new_with_options(
            Arc::new(Schema::empty()),
            vec![],
            &RecordBatchOptions::new().with_row_count(Some(7)),
        );
        assert_eq!(compacted(without_columns.unwrap()).unwrap().num_rows(), 7);
    }
}
