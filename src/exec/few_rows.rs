//! Which conditions are so selective that it pays to decode their columns first: [`leaves_few`].
//!
//! In: a condition that the plan applies to every row anyway, and a unit. Out: whether the scan applies it too, so that of
//! the other columns only the rows that are left are decoded. So it is with equality and IN on a column of numbers or dates
//! whose bounds in the file are far apart, compared with how many values are asked for. Only of Parquet files, whose pages
//! can be passed over. The reader passes such a condition over ([`RowFilter::is_needed`]) where it would not pay: where
//! statistics of pages leave little of a row group anyway, or where few bytes are spared for one more wait for the store.
//!
//! [`RowFilter::is_needed`]: crate::file::RowFilter::is_needed

use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::BinaryExpr;

use super::assign::ScanUnit;
use super::context::ScanContext;
use super::filter::ScanFilter;
use super::lookup::Lookup;
use super::statistics::column_ranges;
use crate::file::FileFormat;
use crate::spec::datum::Datum;

/// A value that is asked for stands for one of at least so many between a file's bounds.
const ONE_OF: i128 = 256;

/// Whether a condition leaves few rows of a unit's file, most likely.
pub fn leaves_few(context: &ScanContext, unit: &ScanUnit, filter: &ScanFilter) -> bool {
    let Some((column, values)) = wanted_values(filter.expr.as_ref()) else { return false };
    if !FileFormat::of_file_name(&unit.file.meta.file_name).is_ok_and(|format| format == FileFormat::Parquet) {
        return false;
    }
    let field = context.spec().fields.get(column);
    let at = field.and_then(|field| context.output_fields().iter().position(|output| output.id == field.id));
    let range = at.and_then(|at| column_ranges(context, unit).into_iter().nth(at));
    let Some((min, max)) = range.and_then(|range| range.values).flatten() else { return false };
    let distance = number(&max).zip(number(&min)).map(|(max, min)| max - min);
    distance.is_some_and(|distance| distance / ONE_OF >= values as i128)
}

/// The column of an equality, of IN, or of several of them connected by OR, and how many values it may have.
fn wanted_values(expr: &dyn PhysicalExpr) -> Option<(usize, usize)> {
    if let Some(lookup) = Lookup::of(expr) {
        return Some((lookup.column.index(), lookup.len()));
    }
    let either = expr.downcast_ref::<BinaryExpr>().filter(|binary| *binary.op() == Operator::Or)?;
    let (column, some) = wanted_values(either.left().as_ref())?;
    let (same, more) = wanted_values(either.right().as_ref())?;
    (column == same).then_some((column, some.saturating_add(more)))
}

/// A value of a type whose values are about as far apart as their numbers.
fn number(value: &Datum) -> Option<i128> {
    match value {
        Datum::SmallInt(n) => Some(i128::from(*n)),
        Datum::Int(n) | Datum::Date(n) => Some(i128::from(*n)),
        Datum::BigInt(n) => Some(i128::from(*n)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::physical_expr::planner::logical2physical;
    use datafusion::prelude::{Expr, col, lit};

    use super::*;

    #[test]
    fn equality_and_in_ask_for_values_of_one_column() {
        let schema = Schema::new(vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Int32, true)]);
        let list = |negated| col("b").in_list((0..20).map(lit).collect(), negated);
        let cases: Vec<(Expr, Option<(usize, usize)>)> = vec![
            (col("a").eq(lit(1)), Some((0, 1))),
            (lit(1).eq(col("b")), Some((1, 1))),
            (list(false), Some((1, 20))),
            (list(true), None),
            (col("a").eq(col("b")), None),
            (col("a").not_eq(lit(1)), None),
            (col("a").lt(lit(1)), None),
            ((col("a") + lit(1)).eq(lit(1)), None),
            (col("a").eq(lit(1)).or(lit(2).eq(col("a"))), Some((0, 2))),
            (col("a").eq(lit(1)).or(col("b").eq(lit(1))), None),
            (col("a").eq(lit(1)).or(col("a").lt(lit(1))), None),
        ];
        for (expr, want) in cases {
            let physical = logical2physical(&expr, &schema);
            assert_eq!(wanted_values(physical.as_ref()), want, "{expr}");
        }
    }

    #[test]
    fn numbers_and_dates_are_so_far_apart() {
        for (value, want) in [
            (Datum::SmallInt(-3), Some(-3)),
            (Datum::Int(i32::MIN), Some(i128::from(i32::MIN))),
            (Datum::BigInt(i64::MAX), Some(i128::from(i64::MAX))),
            (Datum::Date(19_000), Some(19_000)),
            (Datum::Boolean(true), None),
            (Datum::Double(1.0), None),
        ] {
            assert_eq!(number(&value), want, "{value:?}");
        }
    }
}
