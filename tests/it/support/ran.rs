//! A query that ran, with its plan and what its scan counted.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::physical_plan::metrics::MetricValue;
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use datafusion::prelude::SessionContext;

/// A query that ran, with what its scan counted.
pub struct Ran {
    plan: Arc<dyn ExecutionPlan>,
    pub rows: usize,
    pub batches: Vec<RecordBatch>,
}

impl Ran {
    pub async fn new(context: &SessionContext, sql: &str) -> Result<Self> {
        let plan = context.sql(sql).await?.create_physical_plan().await?;
        let batches = collect(Arc::clone(&plan), context.task_ctx()).await?;
        Ok(Self { plan, rows: batches.iter().map(RecordBatch::num_rows).sum(), batches })
    }

    pub fn text(&self) -> String {
        displayable(self.plan.as_ref()).indent(false).to_string()
    }

    /// A counter of the scan; for those of pruning what was pruned and what was left.
    pub fn counted(&self, name: &str) -> (usize, usize) {
        let metrics = scan(&self.plan).unwrap().metrics().unwrap().aggregate_by_name();
        match metrics.sum(|m| m.value().name() == name).unwrap() {
            MetricValue::PruningMetrics { pruning_metrics, .. } => {
                (pruning_metrics.pruned(), pruning_metrics.matched())
            }
            other => (other.as_usize(), 0),
        }
    }
}

fn scan(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    if plan.name() == "PaimonScanExec" {
        return Some(Arc::clone(plan));
    }
    plan.children().into_iter().find_map(scan)
}
