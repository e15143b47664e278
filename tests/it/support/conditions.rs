//! Conditions on the columns of a table, and rows that can be compared.

use arrow::array::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::prelude::{Expr, ident, lit};

/// A condition on each column, of one kind after the other, with values of the table.
pub fn conditions(rows: &RecordBatch) -> Result<Vec<Expr>> {
    let mut conditions = vec![];
    for (at, (column, field)) in rows.columns().iter().zip(rows.schema().fields()).enumerate() {
        let name = || ident(field.name());
        if field.data_type().is_nested() || rows.num_rows() == 0 {
            conditions.push(name().is_null());
            continue;
        }
        let middle = lit(ScalarValue::try_from_array(column, rows.num_rows() / 2)?);
        let last = lit(ScalarValue::try_from_array(column, rows.num_rows() - 1)?);
        conditions.push(match at % 4 {
            0 => name().eq(last),
            1 => name().gt_eq(middle).and(name().not_eq(last)),
            2 => name().lt(middle).or(name().is_null()),
            _ => name().in_list(vec![middle, last], false),
        });
    }
    Ok(conditions)
}

/// The rows of a frame, in an order that does not depend on how they were read.
pub fn sorted(batches: &[RecordBatch]) -> Result<Vec<String>> {
    if batches.iter().all(|batch| batch.num_rows() == 0) {
        return Ok(vec![]);
    }
    let mut lines: Vec<String> = pretty_format_batches(batches)?.to_string().lines().map(str::to_owned).collect();
    lines.retain(|line| line.starts_with('|'));
    lines.sort_unstable();
    Ok(lines)
}
