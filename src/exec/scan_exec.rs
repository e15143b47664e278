//! [`PaimonScanExec`]: the leaf of a physical plan that reads a Paimon table.
//!
//! In: splits and the columns wanted of them. Out: one stream per output partition; each reads files of its own. The
//! partitioning is always unknown: DataFusion's hash partitioning is not Paimon's buckets.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_expr_common::physical_expr::fmt_sql;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions, SchedulingType, apply_expression_roots,
};
use datafusion::physical_plan::expressions::Column;
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};

use super::assign::{ScanTask, ScanTasks};
use super::context::{ScanContext, ScanSpec};
use super::filter::ScanFilters;
use super::metrics::ScanMetrics;
use super::split_stream::SplitStream;
use super::work::ScanRuns;
use crate::error::{Error, Result};
use crate::file::PruneSwitches;
use crate::split::DataSplit;

/// What a scan is of, as `EXPLAIN` shows it.
#[derive(Debug, Clone, Default)]
pub struct ScanLabel {
    /// The table's name.
    pub table: String,
    /// The snapshot; `None` for a table without one.
    pub snapshot_id: Option<i64>,
    /// What planning kept of what it saw, one `name=kept/seen` per step.
    pub pruning: Vec<String>,
}

/// Reads the splits of a table.
#[derive(Debug, Clone)]
pub struct PaimonScanExec {
    label: Arc<ScanLabel>,
    splits: Arc<[DataSplit]>,
    /// Positions in the table's columns.
    projection: Vec<usize>,
    context: Arc<ScanContext>,
    partitions: Arc<[Vec<ScanTask>]>,
    fetch: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    runs: ScanRuns,
}

impl PaimonScanExec {
    /// A scan of `splits` in at most `target_partitions` output partitions.
    pub fn new(
        label: ScanLabel,
        spec: Arc<ScanSpec>,
        splits: Vec<DataSplit>,
        projection: Vec<usize>,
        fetch: Option<usize>,
        target_partitions: usize,
    ) -> Result<Self> {
        let context = Arc::new(ScanContext::new(spec, &projection)?);
        let partitions: Arc<[_]> = ScanTasks::new(&splits, context.spec()).assign(target_partitions).into();
        let properties = properties(&context, partitions.len());
        let (label, splits) = (Arc::new(label), splits.into());
        let (metrics, runs) = (ExecutionPlanMetricsSet::new(), ScanRuns::default());
        Ok(Self { label, splits, projection, context, partitions, fetch, properties, metrics, runs })
    }

    /// The splits that are read.
    pub fn splits(&self) -> &[DataSplit] {
        &self.splits
    }

    /// What the rows are filtered by, or spared by.
    pub fn filters(&self) -> &ScanFilters {
        self.context.filters()
    }

    /// The same scan of other columns, given as positions in this scan's output.
    fn with_projection(&self, columns: &[usize]) -> Result<Self> {
        let of = |at: &usize| self.projection.get(*at).copied().ok_or_else(|| Error::internal("no such column"));
        let projection = columns.iter().map(of).collect::<Result<Vec<_>>>()?;
        self.with_context(projection, self.filters().clone())
    }

    /// The same scan of other columns of the table, or with other filters.
    fn with_context(&self, projection: Vec<usize>, filters: ScanFilters) -> Result<Self> {
        let context = ScanContext::new(Arc::clone(self.context.spec()), &projection)?;
        let context = Arc::new(context.with_filters(filters));
        let properties = properties(&context, self.partitions.len());
        Ok(Self { projection, context, properties, metrics: ExecutionPlanMetricsSet::new(), ..self.clone() })
    }

    /// How many rows an output partition gives (`None`: all of them); exact where every file is read whole.
    fn rows(&self, partition: Option<usize>) -> Precision<usize> {
        let rows = self.rows_read(partition);
        // Rows that a filter spares the plan are no rows of this node, even where the plan filters them itself.
        if self.filters().is_empty() { rows } else { rows.to_inexact() }
    }

    fn rows_read(&self, partition: Option<usize>) -> Precision<usize> {
        match (partition, self.fetch) {
            // An idle output partition takes over tasks of others.
            (Some(at), _) if self.partitions.len() > 1 => self.rows_of_partition(at).to_inexact(),
            (Some(at), _) => self.rows_of_partition(at),
            (None, None) => ScanTasks::new(&self.splits, self.context.spec()).rows(),
            (None, Some(_)) => {
                let rows = self.partitions.iter().map(|tasks| self.rows_of(tasks));
                rows.reduce(|a, b| a.add(&b)).unwrap_or(Precision::Exact(0))
            }
        }
    }

    fn rows_of_partition(&self, at: usize) -> Precision<usize> {
        self.partitions.get(at).map_or(Precision::Absent, |tasks| self.rows_of(tasks))
    }

    fn rows_of(&self, tasks: &[ScanTask]) -> Precision<usize> {
        let rows = tasks.iter().map(ScanTask::rows).reduce(|a, b| a.add(&b)).unwrap_or(Precision::Exact(0));
        match self.fetch {
            // At most the limit, yet perhaps less where the rows are not certain.
            Some(fetch) => rows.map(|rows| rows.min(fetch)),
            None => rows,
        }
    }

    /// Whether rows come from several versions: conditions on such rows are not applied by the scan.
    fn combines(&self) -> bool {
        self.partitions.iter().flatten().any(|task| matches!(task, ScanTask::Combine(_)))
    }

    fn files(&self) -> usize {
        self.splits.iter().map(|s| s.all_files().count()).sum()
    }

    fn table_partitions(&self) -> usize {
        self.splits.iter().map(|s| &s.partition).collect::<std::collections::HashSet<_>>().len()
    }

    fn columns(&self) -> String {
        self.context.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>().join(", ")
    }
}

fn properties(context: &ScanContext, partitions: usize) -> Arc<PlanProperties> {
    let equivalence = EquivalenceProperties::new(Arc::clone(context.schema()));
    let partitioning = Partitioning::UnknownPartitioning(partitions);
    let properties = PlanProperties::new(equivalence, partitioning, EmissionType::Incremental, Boundedness::Bounded);
    Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative))
}

impl DisplayAs for PaimonScanExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.label.snapshot_id.map_or("none".to_owned(), |id| id.to_string());
        let (files, partitions) = (self.files(), self.table_partitions());
        if matches!(t, DisplayFormatType::TreeRender) {
            writeln!(f, "table={}", self.label.table)?;
            writeln!(f, "snapshot={snapshot}")?;
            writeln!(f, "files={files}")?;
            if let Some(predicate) = self.filters().predicate() {
                writeln!(f, "predicate={}", fmt_sql(predicate.as_ref()))?;
            }
            return writeln!(f, "partitions={partitions}");
        }
        write!(f, "PaimonScanExec: table={}, snapshot={snapshot}, files={files}, ", self.label.table)?;
        write!(f, "partitions={partitions}, output_partitions={}, ", self.partitions.len())?;
        write!(f, "projection=[{}]", self.columns())?;
        for step in &self.label.pruning {
            write!(f, ", {step}")?;
        }
        if let Some(predicate) = self.filters().predicate() {
            write!(f, ", predicate={predicate}")?;
        }
        self.fetch.map_or(Ok(()), |fetch| write!(f, ", limit={fetch}"))
    }
}

impl ExecutionPlan for PaimonScanExec {
    fn name(&self) -> &str {
        "PaimonScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        apply_expression_roots(self.filters().iter().map(|filter| &filter.expr), f)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn repartitioned(
        &self,
        target_partitions: usize,
        _: &ConfigOptions,
    ) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
        let tasks = ScanTasks::new(&self.splits, self.context.spec());
        let partitions: Arc<[_]> = tasks.assign(target_partitions).into();
        if partitions.len() == self.partitions.len() {
            return Ok(None);
        }
        let properties = properties(&self.context, partitions.len());
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Some(Arc::new(Self { partitions, properties, metrics, ..self.clone() })))
    }

    fn execute(&self, partition: usize, task: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        let tasks = self.partitions.get(partition).cloned();
        let tasks = tasks.ok_or_else(|| Error::internal(format!("there is no output partition {partition}")))?;
        let metrics = ScanMetrics::new(&self.metrics, partition);
        let config = task.session_config();
        let read = (config.batch_size(), PruneSwitches::of(config.options()));
        let keeps_order = self.properties.output_ordering().is_some();
        let run = self.runs.join(partition, tasks, &task, self.context.spec().read_ahead, keeps_order);
        let stream = SplitStream::new(Arc::clone(&self.context), (run, partition), read, self.fetch, metrics);
        Ok(Box::pin(cooperative(stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> DataFusionResult<Arc<Statistics>> {
        let columns = self.context.schema().fields().len();
        let bytes =
            self.splits.iter().flat_map(DataSplit::all_files).map(|f| usize::try_from(f.meta.file_size).unwrap_or(0));
        Ok(Arc::new(Statistics {
            num_rows: self.rows(args.partition()),
            total_byte_size: Precision::Inexact(bytes.sum()),
            column_statistics: vec![ColumnStatistics::new_unknown(); columns],
        }))
    }

    fn supports_limit_pushdown(&self) -> bool {
        false
    }

    fn with_fetch(&self, fetch: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Self { fetch, metrics: ExecutionPlanMetricsSet::new(), ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        pushed: ChildPushdownResult,
        config: &ConfigOptions,
    ) -> DataFusionResult<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        // The rows that a limit counts are those before a filter that comes after it.
        if self.fetch.is_some() {
            return Ok(FilterPushdownPropagation::all_unsupported(pushed));
        }
        let exact = config.execution.parquet.pushdown_filters && !self.combines();
        let (mut filters, mut answers) = (self.filters().clone(), vec![]);
        for filter in &pushed.parent_filters {
            let taken = filters.add(&filter.filter, exact, &self.context.spec().fields, &self.projection)?;
            answers.push(if taken && exact { PushedDown::Yes } else { PushedDown::No });
        }
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(answers);
        if pushed.parent_filters.is_empty() || filters.is_empty() {
            return Ok(answer);
        }
        Ok(answer.with_updated_node(Arc::new(self.with_context(self.projection.clone(), filters)?)))
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
        let mut columns = vec![];
        for expr in projection.expr() {
            match expr.expr.downcast_ref::<Column>() {
                Some(column) if column.name() == expr.alias => columns.push(column.index()),
                _ => return Ok(None),
            }
        }
        Ok(Some(Arc::new(self.with_projection(&columns)?)))
    }
}
