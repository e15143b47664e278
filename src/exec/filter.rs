//! Conditions that the rows of a scan must fulfil: [`ScanFilters`].
//!
//! In: physical expressions on the scan's output, handed down by the plan. Out: the same on the table's columns, so that
//! they outlive a change of the projection, and for each file what it can make of them ([`unit_filter`](super::unit_filter)).
//! A filter that is *exact* is applied to every row by the scan; the others only spare it work, and the plan applies them.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, conjunction_opt, split_conjunction};
use datafusion::physical_expr_common::physical_expr::is_volatile;

use crate::error::{Error, Result};
use crate::spec::data_type::DataField;

/// One condition.
#[derive(Debug, Clone)]
pub struct ScanFilter {
    /// The condition; its columns are positions in the table's columns.
    pub expr: Arc<dyn PhysicalExpr>,
    /// Whether the scan applies it to every row.
    pub exact: bool,
}

/// All conditions of a scan, connected by AND.
#[derive(Debug, Clone, Default)]
pub struct ScanFilters {
    filters: Vec<ScanFilter>,
}

impl ScanFilters {
    /// The conditions, in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = &ScanFilter> {
        self.filters.iter()
    }

    /// The columns that they are about, as positions in the table's columns.
    pub fn columns(&self) -> HashSet<usize> {
        let columns = self.filters.iter().flat_map(|filter| collect_columns(&filter.expr));
        columns.map(|column| column.index()).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// Whether the scan takes rows away.
    pub fn any_exact(&self) -> bool {
        self.filters.iter().any(|filter| filter.exact)
    }

    /// The conditions as one; `None` where there are none.
    pub fn predicate(&self) -> Option<Arc<dyn PhysicalExpr>> {
        conjunction_opt(self.filters.iter().map(|filter| Arc::clone(&filter.expr)))
    }

    /// Takes on a condition on the columns of `output`, which are `projection` of the table's columns, conjunct by
    /// conjunct. Returns false where it cannot be one of a scan's.
    pub fn add(
        &mut self,
        expr: &Arc<dyn PhysicalExpr>,
        exact: bool,
        fields: &[DataField],
        projection: &[usize],
    ) -> Result<bool> {
        if is_volatile(expr) {
            return Ok(false);
        }
        let on_table = on_table(expr, fields, projection)?;
        for conjunct in split_conjunction(&on_table) {
            match self.filters.iter_mut().find(|known| known.expr.eq(conjunct)) {
                Some(known) => known.exact |= exact,
                None => self.filters.push(ScanFilter { expr: Arc::clone(conjunct), exact }),
            }
        }
        Ok(true)
    }
}

/// An expression on the output as one on the table's columns.
fn on_table(expr: &Arc<dyn PhysicalExpr>, fields: &[DataField], projection: &[usize]) -> Result<Arc<dyn PhysicalExpr>> {
    replace_columns(expr, &mut |column| {
        let at = projection.get(column.index()).copied();
        let field = at.and_then(|at| Some((at, fields.get(at)?)));
        let (at, field) = field.ok_or_else(|| Error::internal(format!("a filter names the column {column}")))?;
        Ok(Arc::new(Column::new(&field.name, at)))
    })
}

/// The expression with other expressions in place of its columns.
pub fn replace_columns(
    expr: &Arc<dyn PhysicalExpr>,
    replace: &mut dyn FnMut(&Column) -> Result<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>> {
    let replaced = Arc::clone(expr).transform_up(|node| match node.downcast_ref::<Column>() {
        Some(column) => Ok(Transformed::yes(replace(column)?)),
        None => Ok(Transformed::no(node)),
    });
    Ok(replaced.map_err(|e| Error::internal("a filter cannot be rewritten").caused_by(e))?.data)
}
