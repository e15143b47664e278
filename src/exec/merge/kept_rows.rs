//! The few rows of a section that merging found under a condition on keys, kept for the next query with the same
//! condition: [`KeptRows`].
//!
//! In: a condition, and of each file the rows that survive. Out: the same, in memory as small as the rows are few. Only
//! conditions whose meaning is in themselves are kept: comparisons of columns with values.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};

use super::key_filter::KeyFilter;
use crate::cache::CacheValue;
use crate::selection::RowSelection;

/// More rows than this are not few.
const MAX_ROWS: usize = 4096;
/// Conditions of more parts than this, such as the values of a list, are not kept.
const MAX_PARTS: usize = 4096;
/// What a part of a condition takes in memory, about.
const PART_BYTES: usize = 128;

/// Rows that were found under a condition.
#[derive(Debug)]
pub struct KeptRows {
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    parts: usize,
    /// Of each file how many rows it has, and the positions of those that survive.
    files: Vec<(usize, Box<[u32]>)>,
}

impl KeptRows {
    /// What tells conditions apart, mostly; `None` where the rows of `filter` are not kept.
    pub fn name(filter: &KeyFilter) -> Option<String> {
        parts_of(filter.conditions())?;
        let mut hasher = DefaultHasher::new();
        filter.conditions().hash(&mut hasher);
        Some(format!("{:016x}", hasher.finish()))
    }

    /// The rows that survive under a condition; `None` where they are not kept.
    pub fn new(filter: &KeyFilter, rows: &[RowSelection]) -> Option<Self> {
        let parts = parts_of(filter.conditions())?;
        let (conditions, mut left) = (filter.conditions().to_vec(), MAX_ROWS);
        let mut files = vec![];
        for selection in rows {
            let positions = selection.positions();
            left = left.checked_sub(positions.len())?;
            let positions: Result<Box<[u32]>, _> = positions.into_iter().map(u32::try_from).collect();
            files.push((selection.len(), positions.ok()?));
        }
        Some(Self { conditions, parts, files })
    }

    /// Of each file the rows that survive; `None` where they were found under another condition.
    pub fn rows(&self, filter: &KeyFilter) -> Option<Vec<RowSelection>> {
        let rows = |(rows, positions): &(usize, Box<[u32]>)| {
            RowSelection::only(*rows, positions.iter().map(|position| u64::from(*position)))
        };
        (self.conditions == filter.conditions()).then(|| self.files.iter().map(rows).collect())
    }
}

impl CacheValue for KeptRows {
    fn heap_bytes(&self) -> usize {
        let positions: usize = self.files.iter().map(|(_, positions)| size_of_val(positions.as_ref())).sum();
        positions + self.files.capacity() * size_of::<(usize, Box<[u32]>)>() + self.parts * PART_BYTES
    }
}

/// How many parts conditions have; `None` where these are too many, or there is one whose meaning is not in itself.
fn parts_of(conditions: &[Arc<dyn PhysicalExpr>]) -> Option<usize> {
    let mut parts = 0;
    for condition in conditions {
        let visited = condition.apply(|node| {
            parts += 1;
            let go_on = parts <= MAX_PARTS && is_plain(node.as_ref());
            Ok(if go_on { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        });
        if !matches!(visited, Ok(TreeNodeRecursion::Continue)) {
            return None;
        }
    }
    Some(parts)
}

fn is_plain(node: &dyn PhysicalExpr) -> bool {
    node.is::<Column>()
        || node.is::<Literal>()
        || node.is::<BinaryExpr>()
        || node.is::<InListExpr>()
        || node.is::<IsNullExpr>()
        || node.is::<IsNotNullExpr>()
        || node.is::<NotExpr>()
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::functions::expr_fn::abs;
    use datafusion::physical_expr::planner::logical2physical;
    use datafusion::prelude::{Expr, col, lit};

    use super::*;

    fn filter(exprs: &[Expr]) -> KeyFilter {
        let schema = Schema::new(vec![Field::new("k", DataType::Int32, false), Field::new("s", DataType::Utf8, false)]);
        KeyFilter::of_conditions(exprs.iter().map(|expr| logical2physical(expr, &schema)).collect())
    }

    #[test]
    fn rows_come_back_under_the_same_condition_alone() {
        let conditions = || [col("k").in_list(vec![lit(1), lit(2)], false), col("s").not_eq(lit("a"))];
        let rows = vec![RowSelection::only(9, [0, 7]), RowSelection::only(3, []), RowSelection::only(70, 60..70)];
        let kept = KeptRows::new(&filter(&conditions()), &rows).unwrap();
        assert_eq!(kept.rows(&filter(&conditions())), Some(rows));
        for other in [
            vec![col("k").in_list(vec![lit(1), lit(3)], false), col("s").not_eq(lit("a"))],
            vec![col("k").in_list(vec![lit(1), lit(2)], true), col("s").not_eq(lit("a"))],
            vec![col("k").in_list(vec![lit(1), lit(2), lit(2)], false), col("s").not_eq(lit("a"))],
            vec![col("k").in_list(vec![lit(1), lit(2)], false), col("s").not_eq(lit("A"))],
            vec![col("k").in_list(vec![lit(1), lit(2)], false), col("s").eq(lit("a"))],
            vec![col("k").in_list(vec![lit(1), lit(2)], false)],
        ] {
            let other = filter(&other);
            assert_eq!(kept.rows(&other), None);
            assert_ne!(KeptRows::name(&other), KeptRows::name(&filter(&conditions())));
        }
        assert_eq!(KeptRows::name(&filter(&conditions())), KeptRows::name(&filter(&conditions())));
    }

    #[test]
    fn what_is_much_or_hangs_on_more_is_not_kept() {
        let one = filter(&[col("k").eq(lit(1))]);
        assert!(KeptRows::new(&one, &[RowSelection::without(4097, [])]).is_none());
        let called = filter(&[abs(col("k")).eq(lit(1))]);
        assert_eq!(KeptRows::name(&called), None);
        assert!(KeptRows::new(&called, &[RowSelection::only(9, [1])]).is_none());
        let long = filter(&[col("k").in_list((0..5000).map(lit).collect(), false)]);
        assert_eq!(KeptRows::name(&long), None);
    }
}
