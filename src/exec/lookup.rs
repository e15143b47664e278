//! Which rows of a batch fulfil a condition: [`fulfilling`].
//!
//! In: a condition, and a batch. Out: true for each row that fulfils it, and false, never NULL, for the others. A [`Lookup`]
//! of a few whole numbers or dates is done by bisection where the batch is sorted by the column, as it mostly is by its
//! key; else a small table of bits leaves out nearly all rows. Any other condition is evaluated by DataFusion.

use arrow::array::{Array, AsArray, BooleanArray, BooleanBufferBuilder, PrimitiveArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Date32Type, Int16Type, Int32Type, Int64Type};
use datafusion::common::exec_datafusion_err;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, Literal};

/// More values are looked up by DataFusion.
const MAX_VALUES: usize = 128;
/// Words of the table of bits, a power of two: it has many more bits than there are values.
const TABLE_WORDS: usize = 32;

/// The rows of a batch that fulfil a condition.
pub fn fulfilling(condition: &dyn PhysicalExpr, batch: &RecordBatch) -> DataFusionResult<BooleanArray> {
    if let Some(found) = Lookup::of(condition).and_then(|lookup| lookup.matches(batch)) {
        return Ok(found);
    }
    let value = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    let matches = value.as_boolean_opt().ok_or_else(|| exec_datafusion_err!("a filter is no condition"))?;
    Ok(if matches.null_count() > 0 { prep_null_mask_filter(matches) } else { matches.clone() })
}

/// An equality, or an IN, of a column with values.
#[derive(Debug, Clone, Copy)]
pub struct Lookup<'a> {
    /// The column.
    pub column: &'a Column,
    values: Values<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Values<'a> {
    One(&'a Literal),
    List(&'a InListExpr),
}

impl<'a> Lookup<'a> {
    /// The lookup that an expression is, if it is one.
    pub fn of(expr: &'a dyn PhysicalExpr) -> Option<Self> {
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            let literals = list.list().iter().all(|value| value.is::<Literal>());
            let column = list.expr().downcast_ref::<Column>().filter(|_| literals && !list.negated())?;
            return Some(Self { column, values: Values::List(list) });
        }
        let equal = expr.downcast_ref::<BinaryExpr>().filter(|binary| *binary.op() == Operator::Eq)?;
        let sides = [(equal.left(), equal.right()), (equal.right(), equal.left())];
        sides.into_iter().find_map(|(column, value)| {
            Some(Self { column: column.downcast_ref()?, values: Values::One(value.downcast_ref()?) })
        })
    }

    /// How many values are looked up.
    pub fn len(&self) -> usize {
        match self.values {
            Values::One(_) => 1,
            Values::List(list) => list.list().len(),
        }
    }

    /// The rows of a batch that have one of the values; `None` where that is not found faster than by evaluating it.
    fn matches(&self, batch: &RecordBatch) -> Option<BooleanArray> {
        let column = batch.columns().get(self.column.index()).filter(|column| column.null_count() == 0)?;
        if self.len() > MAX_VALUES {
            return None;
        }
        match column.data_type() {
            DataType::Int16 => self.find::<Int16Type>(column.as_primitive_opt()?),
            DataType::Int32 => self.find::<Int32Type>(column.as_primitive_opt()?),
            DataType::Int64 => self.find::<Int64Type>(column.as_primitive_opt()?),
            DataType::Date32 => self.find::<Date32Type>(column.as_primitive_opt()?),
            _ => None,
        }
    }

    fn find<T: ArrowPrimitiveType>(&self, column: &PrimitiveArray<T>) -> Option<BooleanArray>
    where
        T::Native: Ord + Into<i64>,
    {
        let (rows, mut values) = (column.values(), Vec::<T::Native>::with_capacity(self.len()));
        for literal in self.literals() {
            // NULL equals nothing.
            values.extend(literal.value().to_array().ok()?.as_primitive_opt::<T>()?.iter().flatten());
        }
        values.sort_unstable();
        let found = if rows.is_sorted() { by_bisection(rows, &values) } else { by_bits(rows, &values) };
        Some(BooleanArray::new(found, None))
    }

    fn literals(&self) -> impl Iterator<Item = &'a Literal> {
        let (one, list) = match self.values {
            Values::One(value) => (Some(value), [].as_slice()),
            Values::List(list) => (None, list.list()),
        };
        one.into_iter().chain(list.iter().filter_map(|value| value.downcast_ref()))
    }
}

/// The rows, which are sorted, that have one of some values.
fn by_bisection<N: Ord>(rows: &[N], values: &[N]) -> BooleanBuffer {
    let mut found = BooleanBufferBuilder::new(rows.len());
    found.append_n(rows.len(), false);
    for wanted in values {
        let begin = rows.partition_point(|row| row < wanted);
        let same = rows.iter().skip(begin).take_while(|row| *row == wanted).count();
        (begin..begin + same).for_each(|row| found.set_bit(row, true));
    }
    found.finish()
}

/// The rows that have one of some values, which are sorted.
fn by_bits<N: Ord + Copy + Into<i64>>(rows: &[N], values: &[N]) -> BooleanBuffer {
    let mut bits = [0u64; TABLE_WORDS];
    let place = |value: N| {
        let hash = (Into::<i64>::into(value) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((hash >> 32) as usize & (TABLE_WORDS - 1), hash >> 58)
    };
    for value in values {
        let (word, bit) = place(*value);
        bits.get_mut(word).into_iter().for_each(|bits| *bits |= 1 << bit);
    }
    let is_wanted = |row: &N| {
        let (word, bit) = place(*row);
        bits.get(word).is_some_and(|bits| bits >> bit & 1 == 1) && values.binary_search(row).is_ok()
    };
    BooleanBuffer::collect_bool(rows.len(), |at| rows.get(at).is_some_and(is_wanted))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array};
    use arrow::datatypes::{Field, Schema};
    use datafusion::common::ScalarValue;
    use datafusion::physical_expr::planner::logical2physical;
    use datafusion::prelude::{Expr, col, lit};
    use proptest::prelude::*;

    use super::*;

    fn schema() -> Arc<Schema> {
        Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, true)]))
    }

    fn looked_up(expr: &Expr, rows: Vec<Option<i64>>) -> (bool, Vec<bool>, Vec<bool>) {
        let batch = RecordBatch::try_new(schema(), vec![Arc::new(Int64Array::from(rows)) as ArrayRef]).unwrap();
        let expr = logical2physical(expr, &schema());
        let fast = Lookup::of(expr.as_ref()).and_then(|lookup| lookup.matches(&batch)).is_some();
        let bits = |array: BooleanArray| array.iter().map(|bit| bit.unwrap_or(false)).collect::<Vec<_>>();
        let plain = expr.evaluate(&batch).unwrap().into_array(batch.num_rows()).unwrap();
        (fast, bits(fulfilling(expr.as_ref(), &batch).unwrap()), bits(plain.as_boolean().clone()))
    }

    #[test]
    fn few_values_in_rows_without_null_are_looked_up() {
        let sorted = || (0..200).map(|row| Some(row / 3)).collect::<Vec<_>>();
        let mut unsorted = sorted();
        unsorted.swap(0, 199);
        let mut with_null = sorted();
        with_null[0] = None;
        let list = |values: i64| col("k").in_list((0..values).map(|value| lit(value * 2)).collect(), false);
        for (expr, rows, want) in [
            (list(9), sorted(), true),
            (lit(7i64).eq(col("k")), sorted(), true),
            (col("k").eq(lit(1000i64)), sorted(), true),
            (list(129), sorted(), false),
            (list(9), unsorted.clone(), true),
            (lit(7i64).eq(col("k")), unsorted, true),
            (list(9), with_null, false),
            (col("k").in_list(vec![lit(1i64), lit(ScalarValue::Null)], false), sorted(), false),
            (col("k").in_list(vec![lit(1i64)], true), sorted(), false),
            (col("k").lt(lit(7i64)), sorted(), false),
            (list(9), vec![], true),
        ] {
            let (fast, got, plain) = looked_up(&expr, rows);
            assert_eq!((fast, &got), (want, &plain), "{expr}");
        }
    }

    proptest! {
        #[test]
        fn a_lookup_finds_what_evaluation_finds(
            mut rows in prop_oneof![
                proptest::collection::vec(-20i64..20, 0..300),
                proptest::collection::vec(prop_oneof![any::<i64>(), -3i64..3, Just(i64::MIN), Just(i64::MAX)], 0..300),
            ],
            values in proptest::collection::vec(proptest::option::of(prop_oneof![-25i64..25, Just(i64::MIN)]), 1..6),
            sorted in any::<bool>(),
        ) {
            if sorted {
                rows.sort_unstable();
            }
            let values = values.into_iter().map(|value| lit(ScalarValue::Int64(value))).collect();
            let (_, got, plain) = looked_up(&col("k").in_list(values, false), rows.into_iter().map(Some).collect());
            prop_assert_eq!(got, plain);
        }
    }
}
