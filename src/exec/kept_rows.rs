//! The few rows of files that were found under conditions, kept for the next query with the same ones: [`KeptRows`].
//!
//! In: conditions, and of each file the rows that they leave. Out: the same, in memory as small as the rows are few. Only
//! conditions whose meaning is in themselves are kept: comparisons of columns with values. Two use it: merging, for the
//! rows of a section ([`merge::section`](super::merge::section)), and reading, for those of one file
//! ([`unit_rows`](super::unit_rows)).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};

use crate::cache::CacheValue;
use crate::selection::RowSelection;

/// More rows than this are not few.
pub const MAX_ROWS: usize = 4096;
/// Conditions of more parts than this, such as the values of a list, are not kept.
const MAX_PARTS: usize = 4096;
/// What a part of a condition takes in memory, about.
const PART_BYTES: usize = 128;

/// Conditions, connected by AND, under which rows can be kept. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Conditions {
    exprs: Arc<[Arc<dyn PhysicalExpr>]>,
    parts: usize,
    name: Arc<str>,
}

impl Conditions {
    /// Conditions on columns that the caller numbers, and a text for what these are; `None` where there are none, or rows
    /// cannot be kept under them.
    pub fn new(exprs: impl IntoIterator<Item = Arc<dyn PhysicalExpr>>, columns: &str) -> Option<Self> {
        let exprs: Arc<[_]> = exprs.into_iter().collect();
        let parts = parts_of(&exprs).filter(|parts| *parts > 0)?;
        let mut hasher = DefaultHasher::new();
        exprs.hash(&mut hasher);
        let name = format!("{:016x} {columns}", hasher.finish()).into();
        Some(Self { exprs, parts, name })
    }

    /// What tells conditions apart, mostly, and columns always.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Rows that were found under conditions.
#[derive(Debug)]
pub struct KeptRows {
    conditions: Conditions,
    /// Of each file how many rows it has, and the positions of those that are left.
    files: Vec<(usize, Box<[u32]>)>,
}

impl KeptRows {
    /// The rows that conditions leave; `None` where they are too many to be kept.
    pub fn new(conditions: &Conditions, rows: &[RowSelection]) -> Option<Self> {
        let (mut left, mut files) = (MAX_ROWS, vec![]);
        for selection in rows {
            left = left.checked_sub(selection.wanted_rows())?;
            let positions: Result<Box<[u32]>, _> = selection.positions().into_iter().map(u32::try_from).collect();
            files.push((selection.len(), positions.ok()?));
        }
        Some(Self { conditions: conditions.clone(), files })
    }

    /// Of each file the rows that are left; `None` where they were found under other conditions.
    pub fn rows(&self, conditions: &Conditions) -> Option<Vec<RowSelection>> {
        let rows = |(rows, positions): &(usize, Box<[u32]>)| {
            RowSelection::only(*rows, positions.iter().map(|position| u64::from(*position)))
        };
        (self.conditions.exprs == conditions.exprs).then(|| self.files.iter().map(rows).collect())
    }
}

impl CacheValue for KeptRows {
    fn heap_bytes(&self) -> usize {
        let positions: usize = self.files.iter().map(|(_, positions)| size_of_val(positions.as_ref())).sum();
        positions + self.files.capacity() * size_of::<(usize, Box<[u32]>)>() + self.conditions.parts * PART_BYTES
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

    fn conditions(exprs: &[Expr]) -> Option<Conditions> {
        let schema = Schema::new(vec![Field::new("k", DataType::Int32, false), Field::new("s", DataType::Utf8, false)]);
        Conditions::new(exprs.iter().map(|expr| logical2physical(expr, &schema)), "")
    }

    #[test]
    fn rows_come_back_under_the_same_conditions_alone() {
        let same = || conditions(&[col("k").in_list(vec![lit(1), lit(2)], false), col("s").not_eq(lit("a"))]).unwrap();
        let rows = vec![RowSelection::only(9, [0, 7]), RowSelection::only(3, []), RowSelection::only(70, 60..70)];
        let kept = KeptRows::new(&same(), &rows).unwrap();
        assert_eq!(kept.rows(&same()), Some(rows));
        for other in [
            vec![col("k").in_list(vec![lit(1), lit(3)], false), col("s").not_eq(lit("a"))],
            vec![col("k").in_list(vec![lit(1), lit(2)], true), col("s").not_eq(lit("a"))],
            vec![col("k").in_list(vec![lit(1), lit(2), lit(2)], false), col("s").not_eq(lit("a"))],
            vec![col("k").in_list(vec![lit(1), lit(2)], false), col("s").not_eq(lit("A"))],
            vec![col("k").in_list(vec![lit(1), lit(2)], false), col("s").eq(lit("a"))],
            vec![col("k").in_list(vec![lit(1), lit(2)], false)],
        ] {
            let other = conditions(&other).unwrap();
            assert_eq!(kept.rows(&other), None);
            assert_ne!(other.name(), same().name());
        }
    }

    #[test]
    fn what_is_much_or_hangs_on_more_is_not_kept() {
        let one = conditions(&[col("k").eq(lit(1))]).unwrap();
        assert!(KeptRows::new(&one, &[RowSelection::without(4097, [])]).is_none());
        assert!(conditions(&[col("k").eq(lit(1)), abs(col("k")).eq(lit(1))]).is_none());
        assert!(conditions(&[col("k").in_list((0..5000).map(lit).collect(), false)]).is_none());
        assert!(conditions(&[]).is_none());
    }
}
