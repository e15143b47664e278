//! [`PaimonTableProvider`]: a Paimon table as a DataFusion table.
//!
//! In: where the table lies, a branch, dynamic options. Out: its schema, and for each query a physical plan. The schema
//! is that of the moment of opening; the snapshot is looked up anew by every scan, unless the options name one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use chrono_tz::Tz;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Constraint, Constraints};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use futures::future::join;

use super::filter::FilterTranslator;
use super::session;
use crate::cache::PaimonCache;
use crate::error::{Error, Result};
use crate::exec::merge::combine::spec::CombineSpec;
use crate::exec::merge::memory::MergeMemory;
use crate::exec::merge::section::{MergeSpec, Rule};
use crate::exec::merge::survivors::Keep;
use crate::exec::{PaimonScanExec, ScanLabel, ScanSpec, SourceSchemas};
use crate::file::FooterCache;
use crate::file::prefetch::ReadAheadSettings;
use crate::options::TableOptions;
use crate::options::enums::{MergeEngine, SortOrder};
use crate::plan::prune::bucket_key;
use crate::plan::report::{LiveEntriesFrom, ScanReport};
use crate::plan::scan_plan::{PlannedBranch, ScanPlan, ScanRequest, plan_scan};
use crate::plan::snapshot::SnapshotManager;
use crate::plan::time_travel::{ReadVersion, resolve, resolve_schema};
use crate::predicate::Predicate;
use crate::predicate::combined_partitions::CombinedPartitions;
use crate::spec::arrow_type::arrow_schema;
use crate::spec::layout::MAIN_BRANCH;
use crate::spec::statistics::Statistics;
use crate::spec::table_schema::TableSchema;
use crate::storage::{Listing, Location, Storage};

/// A Paimon table in DataFusion.
#[derive(Debug)]
pub struct PaimonTableProvider {
    name: String,
    manager: Arc<SnapshotManager>,
    /// The options of the read that the table does not store itself.
    dynamic_options: BTreeMap<String, String>,
    table_schema: Arc<TableSchema>,
    schema: SchemaRef,
    constraints: Constraints,
    /// The partition columns that are not the same in all rows of a partition.
    combined: CombinedPartitions,
    /// Whether only what compaction has merged completely is read.
    read_optimized: bool,
    /// For sessions that have none of their own.
    cache: Arc<PaimonCache>,
}

impl PaimonTableProvider {
    /// Opens the table at `location`. `options` are dynamic options, with Paimon's keys, that overlay the table's own;
    /// `branch` is a branch other than the main one; `zone` is the session's, for times in options.
    pub async fn open(
        storage: &Storage,
        location: &Location,
        branch: Option<&str>,
        options: BTreeMap<String, String>,
        zone: Tz,
    ) -> Result<Self> {
        let branch = branch.or(options.get("branch").map(String::as_str)).unwrap_or(MAIN_BRANCH);
        let manager = SnapshotManager::new(storage.clone(), location.clone(), branch)?;
        manager.check_branch().await?;
        let latest = manager.latest_schema().await?;
        Self::resolve(location.name().to_owned(), Arc::new(manager), &latest, options, zone, Arc::default()).await
    }

    /// Opens a branch of which is known that it exists and which files are in its folder of schemas.
    pub(super) async fn open_listed(
        manager: SnapshotManager,
        schemas: &Listing,
        options: BTreeMap<String, String>,
        zone: Tz,
    ) -> Result<Self> {
        let latest = manager.latest_schema_of(schemas).await?;
        let name = manager.table().name().to_owned();
        Self::resolve(name, Arc::new(manager), &latest, options, zone, Arc::default()).await
    }

    /// The same table with further dynamic options.
    pub async fn with_options(&self, options: BTreeMap<String, String>, zone: Tz) -> Result<Self> {
        let mut all = self.dynamic_options.clone();
        all.extend(options);
        let (manager, cache) = (Arc::clone(&self.manager), Arc::clone(&self.cache));
        let latest = manager.latest_schema().await?;
        let table = Self::resolve(self.name.clone(), manager, &latest, all, zone, cache).await?;
        Ok(Self { read_optimized: self.read_optimized, ..table })
    }

    /// Its system table `$ro`: of a primary-key table only the files that compaction has merged completely, so that
    /// nothing is merged on read. Java: `ReadOptimizedTable`.
    #[must_use]
    pub fn into_read_optimized(self) -> Self {
        Self { name: format!("{}$ro", self.name), read_optimized: true, ..self }
    }

    async fn resolve(
        name: String,
        manager: Arc<SnapshotManager>,
        latest: &TableSchema,
        dynamic_options: BTreeMap<String, String>,
        zone: Tz,
        cache: Arc<PaimonCache>,
    ) -> Result<Self> {
        let options = TableOptions::effective(&latest.options, &dynamic_options)?;
        let table_schema = resolve_schema(&options, &manager, latest, zone).await?;
        let schema = arrow_schema(&table_schema.fields);
        let key = table_schema.primary_keys.iter().filter_map(|k| table_schema.index_of(k)).collect::<Vec<_>>();
        let constraints = if key.is_empty() { vec![] } else { vec![Constraint::PrimaryKey(key)] };
        let constraints = Constraints::new_unverified(constraints);
        let combined = CombinedPartitions::new(&table_schema, &options);
        let read_optimized = false;
        Ok(Self { name, manager, dynamic_options, table_schema, schema, constraints, combined, read_optimized, cache })
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The table's schema, as Paimon has it.
    pub fn table_schema(&self) -> &Arc<TableSchema> {
        &self.table_schema
    }

    /// Plans a read of the snapshot that is the right one now; what an ANALYZE found comes with it.
    async fn plan(
        &self,
        cache: &PaimonCache,
        zone: Tz,
        predicate: Predicate,
        limit: Option<usize>,
    ) -> Result<(ScanPlan, Option<Statistics>)> {
        let manager = self.manager.at_this_moment();
        let travels = self.dynamic_options.keys().any(|key| key.starts_with("scan.") || key.starts_with("incremental"));
        let latest = match travels {
            true => manager.latest_schema().await?,
            // Most reads want the latest snapshot; whether this one does is known when the schema is.
            false => join(manager.latest_schema(), manager.latest_snapshot()).await.0?,
        };
        let options = TableOptions::effective(&latest.options, &self.dynamic_options)?;
        let version = resolve(&options, &manager, zone).await?;
        // The query was planned with the schema of this provider.
        let version = ReadVersion { schema: Arc::clone(&self.table_schema), ..version };
        let predicate = &CombinedPartitions::new(&self.table_schema, &options).of_partitions(predicate);
        let (manager, version, options, read_optimized) = (&manager, &version, &options, self.read_optimized);
        let plan = plan_scan(ScanRequest { cache, manager, version, options, zone, predicate, limit, read_optimized });
        let analyzed = async {
            match &version.snapshot {
                Some(snapshot) => manager.statistics(snapshot).await.ok().flatten(),
                None => None,
            }
        };
        // The optimizer does without statistics that cannot be read.
        let (plan, analyzed) = futures::join!(plan, analyzed);
        Ok((plan?, analyzed))
    }

    /// What is done about a filter: partition columns are decided completely, others as far as metadata tells.
    fn pushdown(&self, filter: &Expr) -> TableProviderFilterPushDown {
        match FilterTranslator::new(&self.table_schema.fields).translate(filter) {
            None => TableProviderFilterPushDown::Unsupported,
            Some(_) if self.decides(filter) => TableProviderFilterPushDown::Exact,
            Some(_) => TableProviderFilterPushDown::Inexact,
        }
    }

    /// Whether no row that fails the filter comes out of a scan.
    fn decides(&self, filter: &Expr) -> bool {
        let constant = self.table_schema.partition_fields().into_iter().filter(|f| !self.combined.contains(f.id));
        let partition: HashSet<i32> = constant.map(|f| f.id).collect();
        let translated = FilterTranslator::new(&self.table_schema.fields).translate(filter);
        translated.is_some_and(|t| t.exact && t.predicate.column_ids().iter().all(|id| partition.contains(id)))
    }

    /// The session's cache, or the table's own where it has none.
    fn cache_of(&self, state: &dyn Session) -> Arc<PaimonCache> {
        state.config().get_extension().unwrap_or_else(|| Arc::clone(&self.cache))
    }

    fn spec(&self, plan: &ScanPlan, state: &dyn Session, zone: Tz) -> Result<ScanSpec> {
        let own = plan.branches.first().ok_or_else(|| Error::internal("a plan without a branch"))?;
        let combined = CombinedPartitions::new(&self.table_schema, &own.options);
        let combines_more = |b: &&PlannedBranch| !combined.cover(&CombinedPartitions::new(&b.schema, &b.options));
        if let Some(other) = plan.branches.iter().find(combines_more) {
            let name = other.name.as_deref().unwrap_or_default();
            let what = "combines partition columns outside the primary key, and the table does not so";
            return Err(Error::unsupported(format!("the branch '{name}' {what}")));
        }
        let source = |b: &PlannedBranch| Ok((b.name.clone(), source_schemas(plan, b)?));
        Ok(ScanSpec {
            storage: self.manager.storage().clone(),
            cache: self.cache_of(state),
            memory: MergeMemory::new(&state.runtime_env().memory_pool),
            footers: Some(Arc::new(FooterCache::new(state.runtime_env()))),
            fields: self.table_schema.fields.clone(),
            partition_default_name: own.options.partition_default_name.clone(),
            partition_fields: self.table_schema.partition_fields(),
            combined_partitions: combined,
            sources: plan.branches.iter().map(source).collect::<Result<HashMap<_, _>>>()?,
            zone,
            orc_legacy_ltz: own.options.orc_timestamp_ltz_legacy_type,
            analyzed: None,
            read_ahead: ReadAheadSettings::of(&own.options),
        })
    }

    async fn scan_exec(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<PaimonScanExec> {
        let zone = session::zone(state.config_options())?;
        let predicate = FilterTranslator::new(&self.table_schema.fields).all(filters);
        // A limit is of rows that pass all filters; those that are not decided here may take rows away.
        let limit = limit.filter(|_| filters.iter().all(|f| self.decides(f)));
        let cache = self.cache_of(state);
        let (plan, analyzed) = self.plan(&cache, zone, predicate, limit).await?;
        let spec = ScanSpec { analyzed: analyzed.map(Arc::new), ..self.spec(&plan, state, zone)? };
        let spec = Arc::new(spec);
        let pruning = shown(&plan.report);
        let counters = plan.report.metrics();
        let label = ScanLabel { table: self.name.clone(), snapshot_id: plan.snapshot_id, pruning, counters };
        let projection = projection.cloned().unwrap_or_else(|| (0..self.table_schema.fields.len()).collect());
        let partitions = state.config_options().execution.target_partitions;
        PaimonScanExec::new(label, spec, plan.splits, projection, limit, partitions)
    }
}

/// What `EXPLAIN` shows of planning.
fn shown(report: &ScanReport) -> Vec<String> {
    let mut shown = vec![];
    if report.live_entries != LiveEntriesFrom::Nowhere {
        shown.push(format!("entries_from={}", report.live_entries.as_str()));
    }
    match report.steps() {
        steps if steps.is_empty() => {}
        steps => shown.push(format!("pruning=[{}]", steps.join(", "))),
    }
    shown
}

/// What reading needs to know of a branch.
fn source_schemas(plan: &ScanPlan, branch: &PlannedBranch) -> Result<SourceSchemas> {
    let merges = plan.splits.ready().iter().any(|s| s.branch == branch.name && !s.sections.is_empty());
    let merge = if merges { Some(Arc::new(merge_spec(&branch.schema, &branch.options)?)) } else { None };
    Ok(SourceSchemas {
        fields: branch.schema.fields.clone(),
        by_id: branch.file_schemas.clone(),
        merge,
        predicate: (!branch.predicate.is_always()).then(|| Arc::clone(&branch.predicate)),
        asks_indexes: branch.options.file_index_read_enabled,
        bucket_key: bucket_key(&branch.schema, &branch.options).map(Arc::new),
    })
}

/// How versions of a key are merged.
fn merge_spec(schema: &TableSchema, options: &TableOptions) -> Result<MergeSpec> {
    let ignore_delete = options.ignore_delete;
    let rule = match CombineSpec::new(schema, options)? {
        Some(spec) => Rule::Combine(Arc::new(spec)),
        None if options.merge_engine == MergeEngine::FirstRow => Rule::Keep(Keep::Oldest { ignore_delete }),
        None => Rule::Keep(Keep::Newest { ignore_delete }),
    };
    // All versions of a key are of one partition, whatever their files hold.
    let sequence = options.sequence_field.iter().flatten().filter(|name| !schema.partition_keys.contains(name));
    let sequence = sequence.map(|name| {
        let field = schema.field(name).cloned();
        field.ok_or_else(|| Error::invalid_option(format!("sequence.field: there is no column '{name}'")))
    });
    Ok(MergeSpec {
        key_fields: schema.trimmed_primary_key_fields(),
        sequence_fields: sequence.collect::<Result<_>>()?,
        sequence_descending: options.sequence_field_sort_order == SortOrder::Descending,
        sort_engine: options.sort_engine,
        ordered_by_key: !options.pk_clustering_override,
        rule,
        lowest_level_only: options.needs_lookup() && options.merge_engine != MergeEngine::FirstRow,
    })
}

#[async_trait]
impl TableProvider for PaimonTableProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.scan_exec(state, projection, filters, limit).await?))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        Ok(filters.iter().map(|filter| self.pushdown(filter)).collect())
    }
}
