//! Conditions on keys, which can be applied before merging: [`KeyFilter`].
//!
//! In: the conditions of a scan. Out: those that are about key and partition columns alone, on the key columns. All
//! versions of a key fulfil such a condition or none does, so that keys can be left out as a whole. A condition that
//! changes while the query runs is none of them: what it leaves out must be the same in all files.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::and;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr};

use super::section::MergeSpec;
use crate::error::{Error, Result};
use crate::exec::assign::ScanUnit;
use crate::exec::context::ScanContext;
use crate::exec::filter::{ScanFilter, replace_columns};
use crate::exec::unit_filter::partition_values;
use crate::exec::{few_rows, lookup};
use crate::spec::data_type::DataField;

/// What keys must fulfil.
#[derive(Debug, Clone)]
pub struct KeyFilter {
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    /// The same, as the scan has them.
    filters: Vec<ScanFilter>,
}

impl KeyFilter {
    /// The conditions of a scan that are about keys of a partition; `None` where there are none.
    pub fn new(context: &ScanContext, spec: &MergeSpec, partition: &[u8]) -> Result<Option<Self>> {
        let of_keys = |filter: &&ScanFilter| {
            !DynamicFilterTracking::classify(&filter.expr).contains_dynamic_filter()
                && is_of_keys(context, spec, &filter.expr)
        };
        let filters: Vec<_> = context.filters().iter().filter(of_keys).cloned().collect();
        if filters.is_empty() {
            return Ok(None);
        }
        let values = partition_values(context, partition)?;
        let on_keys = |filter: &ScanFilter| {
            replace_columns(&filter.expr, &mut |column| {
                if let Some(at) = key_position(context, spec, column) {
                    return Ok(Arc::new(Column::new(column.name(), at)));
                }
                let value = partition_position(context, column).and_then(|at| values.get(at));
                let value = value.ok_or_else(|| Error::internal("a condition on keys is on no key"))?;
                Ok(Arc::new(Literal::new(value.clone())))
            })
        };
        let conditions = filters.iter().map(on_keys).collect::<Result<_>>()?;
        Ok(Some(Self { conditions, filters }))
    }

    /// Whether one of them leaves few rows of a file, most likely.
    pub fn leaves_few(&self, context: &ScanContext, unit: &ScanUnit) -> bool {
        self.filters.iter().any(|filter| few_rows::leaves_few(context, unit, filter))
    }

    /// The conditions; columns are numbered as those of the key.
    pub fn conditions(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.conditions
    }

    /// Which rows of a batch, which begins with the key columns, fulfil it; all where that cannot be told.
    pub fn matches(&self, batch: &RecordBatch) -> Option<BooleanArray> {
        let each = self.conditions.iter().map(|condition| lookup::fulfilling(condition.as_ref(), batch).ok());
        each.reduce(|all, one| and(&all?, &one?).ok())?
    }

    /// A text that no other filter has.
    pub fn name(&self) -> String {
        format!("{:?}", self.conditions)
    }
}

fn is_of_keys(context: &ScanContext, spec: &MergeSpec, expr: &Arc<dyn PhysicalExpr>) -> bool {
    let columns = collect_columns(expr);
    let known = |c: &Column| key_position(context, spec, c).is_some() || partition_position(context, c).is_some();
    columns.iter().all(known) && columns.iter().any(|c| key_position(context, spec, c).is_some())
}

/// Ids of columns are a branch's own, names are common.
fn key_position(context: &ScanContext, spec: &MergeSpec, column: &Column) -> Option<usize> {
    let field = context.spec().fields.get(column.index())?;
    let same = |key: &DataField| key.name == field.name && key.data_type == field.data_type;
    spec.key_fields.iter().position(same)
}

fn partition_position(context: &ScanContext, column: &Column) -> Option<usize> {
    let field = context.spec().fields.get(column.index())?;
    context.spec().partition_constant(field)
}
