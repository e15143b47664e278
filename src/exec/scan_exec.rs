//! [`PaimonScanExec`]: the leaf of a physical plan that reads a Paimon table.
//!
//! In: splits and the columns wanted of them. Out: one stream per output partition; each reads files of its own. The
//! partitioning is always unknown: DataFusion's hash partitioning is not Paimon's buckets.

use std::fmt;
use std::sync::{Arc, OnceLock};

use datafusion::common::Statistics;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_expr_common::physical_expr::fmt_sql;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions, SchedulingType, apply_expression_roots,
};
use datafusion::physical_plan::expressions::Column;
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream, SortOrderPushdownResult,
};
use futures::TryFutureExt;

use super::assign::ScanTask;
use super::context::{ScanContext, ScanSpec};
use super::dealt::{Dealt, Ordered};
use super::filter::ScanFilters;
use super::metrics::ScanMetrics;
use super::order::{FileOrder, SortKey};
use super::split_stream::SplitStream;
use super::statistics::{deferred_statistics, scan_statistics};
use super::work::ScanRuns;
use crate::error::{Error, Result};
use crate::file::PruneSwitches;
use crate::split::{DataSplit, Splits};

/// Rows may take so many times the bytes that they are estimated at: texts are longer, and batches hold room.
const MOST_OF_ESTIMATED_BYTES: usize = 8;

/// What a scan is of, as `EXPLAIN` shows it.
#[derive(Debug, Clone, Default)]
pub struct ScanLabel {
    /// The table's name.
    pub table: String,
    /// The snapshot; `None` for a table without one.
    pub snapshot_id: Option<i64>,
    /// What planning kept of what it saw, one `name=kept/seen` per step.
    pub pruning: Vec<String>,
    /// What planning counted, for `EXPLAIN ANALYZE`.
    pub counters: Vec<(&'static str, usize)>,
}

/// Reads the splits of a table.
#[derive(Debug, Clone)]
pub struct PaimonScanExec {
    label: Arc<ScanLabel>,
    splits: Splits,
    /// Positions in the table's columns.
    projection: Vec<usize>,
    context: Arc<ScanContext>,
    partitions: Arc<Dealt>,
    order: Option<ScanOrder>,
    fetch: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// Of all rows, without the limit; made when they are asked for.
    statistics: Arc<OnceLock<Statistics>>,
    runs: ScanRuns,
}

/// The order that files are read in.
#[derive(Debug, Clone)]
struct ScanOrder {
    by: FileOrder,
    /// Whether the rows of each output partition come sorted by it.
    sorted: bool,
}

impl PaimonScanExec {
    /// A scan of `splits` in at most `target_partitions` output partitions.
    pub fn new(
        label: ScanLabel,
        spec: Arc<ScanSpec>,
        splits: Splits,
        projection: Vec<usize>,
        fetch: Option<usize>,
        target_partitions: usize,
    ) -> Result<Self> {
        let context = Arc::new(ScanContext::new(spec, &projection)?);
        let partitions = Arc::new(Dealt::new(splits.clone(), Arc::clone(context.spec()), target_partitions)?);
        let properties = properties(&context, partitions.len(), vec![]);
        let label = Arc::new(label);
        let (metrics, statistics, runs) = (metrics_of(&label), Arc::default(), ScanRuns::default());
        Ok(Self {
            label,
            splits,
            projection,
            context,
            partitions,
            order: None,
            fetch,
            properties,
            metrics,
            statistics,
            runs,
        })
    }

    /// The splits that are read; they are made now, if they were not yet.
    pub fn splits(&self) -> Result<Arc<[DataSplit]>> {
        self.splits.get().map(Arc::clone)
    }

    /// The same scan, dealt out otherwise: the tasks of each output partition.
    #[must_use]
    pub fn with_tasks(&self, tasks: Vec<Vec<ScanTask>>) -> Self {
        let partitions = Dealt::of_tasks(self.splits.clone(), Arc::clone(self.context.spec()), tasks);
        self.dealt(partitions, None)
    }

    /// The same scan, dealt out otherwise.
    fn dealt(&self, partitions: Dealt, order: Option<ScanOrder>) -> Self {
        let ordering = order.as_ref().map(|order| order.ordering(&self.context, &self.projection)).unwrap_or_default();
        let properties = properties(&self.context, partitions.len(), ordering);
        let (partitions, metrics) = (Arc::new(partitions), metrics_of(&self.label));
        Self { partitions, order, properties, metrics, ..self.clone() }
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
        let ordering = self.order.as_ref().map(|order| order.ordering(&context, &projection)).unwrap_or_default();
        let properties = properties(&context, self.partitions.len(), ordering);
        let (metrics, statistics) = (metrics_of(&self.label), Arc::default());
        Ok(Self { projection, context, properties, metrics, statistics, ..self.clone() })
    }

    /// Statistics of all rows, without the limit.
    fn all_statistics(&self) -> &Statistics {
        self.statistics.get_or_init(|| match self.splits.to_be_made() {
            Some(splits) => deferred_statistics(&self.context, splits),
            None => scan_statistics(&self.context, &self.partitions.units()),
        })
    }

    /// Whether the session has memory for what DataFusion puts in the place of a sort: a buffer above each output
    /// partition, which may come to hold all its rows, and neither spills nor waits.
    fn may_be_buffered(&self) -> bool {
        let bytes = self.all_statistics().total_byte_size.get_value().copied().unwrap_or(usize::MAX);
        self.context.spec().memory.has(bytes.saturating_mul(MOST_OF_ESTIMATED_BYTES))
    }

    /// How many rows all output partitions give with a limit for each of them.
    fn rows_within_fetch(&self) -> Precision<usize> {
        let rows = (0..self.partitions.len()).map(|at| self.limited(self.partitions.rows_of(at)));
        let rows = rows.reduce(|a, b| a.add(&b)).unwrap_or(Precision::Exact(0));
        match self.all_statistics().num_rows {
            Precision::Exact(_) => rows,
            _ => rows.to_inexact(),
        }
    }

    /// At most the limit, yet perhaps less where the rows are not certain.
    fn limited(&self, rows: Precision<usize>) -> Precision<usize> {
        match self.fetch {
            Some(fetch) => rows.map(|rows| rows.min(fetch)),
            None => rows,
        }
    }

    /// Whether rows come from several versions: conditions on such rows are not applied by the scan.
    fn combines(&self) -> bool {
        self.partitions.combines()
    }

    fn files(&self) -> usize {
        self.splits.files()
    }

    fn table_partitions(&self) -> usize {
        self.splits.partitions()
    }

    /// The columns of the table that an `ORDER BY` begins with.
    fn sort_keys(&self, order: &[PhysicalSortExpr]) -> Vec<SortKey> {
        let key = |sort: &PhysicalSortExpr| {
            let column = self.projection.get(sort.expr.downcast_ref::<Column>()?.index()).copied()?;
            Some(SortKey { column, options: sort.options })
        };
        order.iter().map_while(key).collect()
    }

    fn columns(&self) -> String {
        self.context.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Metrics that say already what planning counted.
fn metrics_of(label: &ScanLabel) -> ExecutionPlanMetricsSet {
    let metrics = ExecutionPlanMetricsSet::new();
    for (name, value) in &label.counters {
        MetricBuilder::new(&metrics).global_counter(*name).add(*value);
    }
    metrics
}

impl ScanOrder {
    /// How the output is sorted, as far as it has the columns.
    fn ordering(&self, context: &ScanContext, projection: &[usize]) -> Vec<PhysicalSortExpr> {
        let sort = |key: &SortKey| {
            let at = projection.iter().position(|column| *column == key.column)?;
            let name = context.output_fields().get(at)?.name.as_str();
            Some(PhysicalSortExpr::new(Arc::new(Column::new(name, at)), key.options))
        };
        if self.sorted { self.by.keys().iter().map_while(sort).collect() } else { vec![] }
    }
}

impl fmt::Display for ScanOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=[{}]", if self.sorted { "output_ordering" } else { "file_order" }, self.by)
    }
}

fn properties(context: &ScanContext, partitions: usize, ordering: Vec<PhysicalSortExpr>) -> Arc<PlanProperties> {
    let mut equivalence = EquivalenceProperties::new(Arc::clone(context.schema()));
    if !ordering.is_empty() {
        equivalence.add_orderings([ordering]);
    }
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
            for step in &self.label.pruning {
                writeln!(f, "{step}")?;
            }
            if let Some(order) = &self.order {
                writeln!(f, "{order}")?;
            }
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
        if let Some(order) = &self.order {
            write!(f, ", {order}")?;
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
        if self.order.is_some() {
            return Ok(None);
        }
        let partitions = Dealt::new(self.splits.clone(), Arc::clone(self.context.spec()), target_partitions)?;
        if partitions.len() == self.partitions.len() {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.dealt(partitions, None))))
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> DataFusionResult<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        let keys = self.sort_keys(order);
        // The rows that a limit counts are those before they are sorted.
        if keys.is_empty() || self.fetch.is_some() {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let whole = keys.len() == order.len();
        let by = FileOrder::new(self.context.spec(), keys)?;
        let scan = |dealt, sorted| Arc::new(self.dealt(dealt, Some(ScanOrder { by: by.clone(), sorted })));
        Ok(match self.partitions.ordered(&by, whole && self.may_be_buffered()) {
            Ordered::Sorted(dealt) => SortOrderPushdownResult::Exact { inner: scan(dealt, true) },
            Ordered::FirstFirst(dealt) => SortOrderPushdownResult::Inexact { inner: scan(dealt, false) },
            Ordered::Alike => SortOrderPushdownResult::Unsupported,
        })
    }

    fn execute(&self, partition: usize, task: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        if partition >= self.partitions.len() {
            return Err(Error::internal(format!("there is no output partition {partition}")).into());
        }
        let metrics = ScanMetrics::new(&self.metrics, partition);
        let config = task.session_config();
        let read = (config.batch_size(), PruneSwitches::of(config.options()));
        let keeps_order = self.properties.output_ordering().is_some();
        let (context, runs, fetch) = (Arc::clone(&self.context), self.runs.handle(), self.fetch);
        let stream = move |tasks| {
            let run = runs.join(partition, tasks, &task, context.spec().read_ahead, keeps_order);
            cooperative(SplitStream::new(context, (run, partition), read, fetch, metrics))
        };
        if let Some(tasks) = self.partitions.ready(partition) {
            return Ok(Box::pin(stream(tasks)));
        }
        let partitions = Arc::clone(&self.partitions);
        let later = async move { Ok::<_, DataFusionError>(stream(partitions.later(partition).await?)) };
        let schema = Arc::clone(self.context.schema());
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, later.try_flatten_stream())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> DataFusionResult<Arc<Statistics>> {
        let all = self.all_statistics();
        Ok(Arc::new(match (args.partition(), self.fetch) {
            (None, None) => all.clone(),
            (None, Some(_)) => Statistics { num_rows: self.rows_within_fetch(), ..all.clone().to_inexact() },
            (Some(at), _) => {
                let rows = self.limited(self.partitions.rows_of(at));
                // An idle output partition takes over tasks of others.
                let exact = matches!(all.num_rows, Precision::Exact(_)) && self.partitions.len() == 1;
                Statistics {
                    num_rows: if exact { rows } else { rows.to_inexact() },
                    ..Statistics::new_unknown(self.context.schema())
                }
            }
        }))
    }

    fn supports_limit_pushdown(&self) -> bool {
        false
    }

    fn with_fetch(&self, fetch: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Self { fetch, metrics: metrics_of(&self.label), ..self.clone() }))
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
