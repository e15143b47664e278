//! From a snapshot to splits: [`plan_scan`].
//!
//! In: what a read sees of a table. Out: a [`ScanPlan`]. The steps, in order:
//!
//! ```text
//! manifest lists ─► manifests ─► live entries ─► visible entries ─► splits
//!         cache ──────────────────────┘              │
//!      index manifest ─► deletion vectors ───────────┘
//! ```
//!
//! What the predicate rules out is left out at every step ([`prune`](super::prune)), and counted ([`ScanReport`]).
//!
//! Table option `scan.fallback-branch` adds the splits of another branch for the partitions that this one lacks. Chain
//! tables are put together of two other branches ([`chain`](super::chain)).
//! Java: `AbstractFileStoreScan`, `SnapshotReaderImpl`, `FallbackReadFileStoreTable`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use chrono_tz::Tz;
use futures::future::try_join_all;

use super::chain::plan_chain;
use super::deferred::DeferredAppend;
use super::deletion_files::{BucketPath, DeletionFiles};
use super::entry_cache::EntryCache;
use super::live_entries::{BucketEntries, LiveEntries};
use super::manifests::ManifestReader;
use super::paths::DataPaths;
use super::prune::files::FilePruning;
use super::prune::{Pruning, SelectedBucket, select};
use super::report::ScanReport;
use super::snapshot::SnapshotManager;
use super::splits::{KeyRules, SplitMaker, SplitSizes, pruned};
use super::supported::check_supported;
use super::time_travel::{ReadVersion, ScanKind, resolve};
use super::visible::{Visible, levels};
use crate::cache::PaimonCache;
use crate::error::{Error, Result};
use crate::file::FileFormat;
use crate::options::TableOptions;
use crate::options::enums::MergeEngine;
use crate::predicate::{ColumnRef, Predicate};
use crate::spec::index_manifest::IndexManifestEntry;
use crate::spec::layout::MAIN_BRANCH;
use crate::spec::snapshot::Snapshot;
use crate::spec::table_schema::TableSchema;
use crate::split::{DataSplit, Splits};

/// Splits of so many files are made when they are asked for.
const DEFERRED_FILES: usize = 256;

/// What is to be planned.
#[derive(Debug, Clone, Copy)]
pub struct ScanRequest<'a> {
    /// What is kept between plans.
    pub cache: &'a PaimonCache,
    /// The table's branch.
    pub manager: &'a SnapshotManager,
    /// The snapshot and schema that the read sees.
    pub version: &'a ReadVersion,
    /// The options of the read.
    pub options: &'a TableOptions,
    /// The session's zone.
    pub zone: Tz,
    /// What rows must satisfy, in columns of the version's schema; what it says of partition columns alone is decided
    /// here completely.
    pub predicate: &'a Predicate,
    /// How many rows are enough, of those that files hold; to be given only where the predicate leaves out no row of a
    /// file.
    pub limit: Option<usize>,
    /// Whether of a primary-key table only the files of the top level are read: system table `$ro`.
    pub read_optimized: bool,
}

/// What a scan reads.
#[derive(Debug, Default)]
pub struct ScanPlan {
    /// The snapshot, where there is one.
    pub snapshot_id: Option<i64>,
    /// The files.
    pub splits: Splits,
    /// The schemas of the branches that splits are of, the table's own first.
    pub branches: Vec<PlannedBranch>,
    /// What was left out.
    pub report: ScanReport,
}

/// The schemas of a branch that splits come from.
#[derive(Debug)]
pub struct PlannedBranch {
    /// Its name, unless it is the branch that is read.
    pub name: Option<Arc<str>>,
    /// Its schema.
    pub schema: Arc<TableSchema>,
    /// Its options.
    pub options: TableOptions,
    /// What its rows must satisfy, in columns of its schema.
    pub predicate: Arc<Predicate>,
    /// The schemas of its files by their ids.
    pub file_schemas: HashMap<i64, Arc<TableSchema>>,
}

/// Plans a read.
pub async fn plan_scan(request: ScanRequest<'_>) -> Result<ScanPlan> {
    if request.options.chain_table_enabled && request.manager.branch() == MAIN_BRANCH {
        return plan_chain(request).await;
    }
    let snapshot_id = request.version.snapshot.as_ref().map(|s| s.id);
    let own = plan_branch(request, None).await?;
    let (mut splits, mut report) = (own.splits, own.report);
    let mut branches = vec![own.branch];
    if let Some(fallback) = &request.options.scan_fallback_branch {
        let more = plan_fallback(request, fallback).await?;
        let others = more.splits.get()?.iter().filter(|s| !own.partitions.contains(&s.partition)).cloned();
        splits = Splits::new(splits.get()?.iter().cloned().chain(others).collect());
        branches.push(more.branch);
        report.add(more.report);
    }
    if let Some(limit) = request.limit
        && splits.summary().is_none()
    {
        let mut limited = splits.ready().to_vec();
        truncate(&mut limited, limit);
        splits = Splits::new(limited);
    }
    Ok(ScanPlan { snapshot_id, splits, branches, report })
}

/// What a scan reads of one branch.
pub(super) struct BranchPlan {
    pub(super) splits: Splits,
    pub(super) branch: PlannedBranch,
    /// The partitions that the branch has, whether or not anything is read of them.
    pub(super) partitions: HashSet<Arc<[u8]>>,
    pub(super) report: ScanReport,
}

/// Plans another branch with the options of its own, at the time of the snapshot that is read of the first branch.
async fn plan_fallback(request: ScanRequest<'_>, branch: &str) -> Result<BranchPlan> {
    if request.version.schema.partition_keys.is_empty() {
        return Err(Error::invalid_option("'scan.fallback-branch' needs a partitioned table"));
    }
    let travel = travel_of_fallback(request, &request.manager.with_branch(branch)?).await?;
    plan_other_branch(request, branch, travel).await
}

/// Plans another branch with the options of its own, at the snapshot that `travel` chooses of it.
pub(super) async fn plan_other_branch(
    request: ScanRequest<'_>,
    branch: &str,
    travel: BTreeMap<String, String>,
) -> Result<BranchPlan> {
    let manager = request.manager.with_branch(branch)?;
    manager.check_branch().await?;
    let schema = manager.latest_schema().await?;
    let options = TableOptions::effective(&schema.options, &travel)?;
    let version = resolve(&options, &manager, request.zone).await?;
    check_same_partitions(&request.version.schema, &version.schema)?;
    // Field ids are a branch's own, names are common.
    let predicate = request.predicate.with_columns(&|column| {
        let field = version.schema.field(&column.name).filter(|f| f.data_type.kind == column.data_type.kind)?;
        Some(ColumnRef { id: field.id, ..column.clone() })
    });
    let (manager, version, options) = (&manager, &version, &options);
    let request = ScanRequest { manager, version, options, predicate: &predicate, ..request };
    plan_branch(request, Some(branch.into())).await
}

/// What chooses the snapshot of a fallback branch. Snapshot ids are a branch's own, so one stands for its time, and for
/// the branch's first snapshot where that is later; tags, times and watermarks mean the same in every branch.
/// Java: `FallbackReadFileStoreTable.rewriteFallbackOptions`.
async fn travel_of_fallback(request: ScanRequest<'_>, manager: &SnapshotManager) -> Result<BTreeMap<String, String>> {
    let mut travel = request.options.time_travel();
    let Some(snapshot) = &request.version.snapshot else { return Ok(travel) };
    let names_id = |key: &&str| travel.get(*key).is_some_and(|value| *value == snapshot.id.to_string());
    let Some(key) = ["scan.snapshot-id", "scan.version"].into_iter().find(names_id) else { return Ok(travel) };
    let mut at = None;
    for id in manager.snapshot_ids().await? {
        if at.is_none() || manager.snapshot(id).await?.time_millis <= snapshot.time_millis {
            at = Some(id);
        }
    }
    match at {
        Some(id) => travel.insert(key.to_owned(), id.to_string()),
        None => travel.remove(key),
    };
    Ok(travel)
}

/// Partitions of two branches are compared by their bytes.
fn check_same_partitions(own: &TableSchema, other: &TableSchema) -> Result<()> {
    let columns = |schema: &TableSchema| -> Vec<_> {
        schema.partition_fields().into_iter().map(|f| (f.name, f.data_type.kind)).collect()
    };
    match columns(own) == columns(other) {
        true => Ok(()),
        false => Err(Error::unsupported("another branch with other partition columns")),
    }
}

async fn plan_branch(request: ScanRequest<'_>, name: Option<Arc<str>>) -> Result<BranchPlan> {
    let ScanRequest { version, options, .. } = request;
    check_supported(&version.schema, options)?;
    let pruning = Pruning::new(request.predicate, &version.schema, options);
    let pruning = match options.scan_fallback_branch.is_some() && name.is_none() {
        true => pruning.with_late_buckets(),
        false => pruning,
    };
    let planner = BranchPlanner { request, name: name.clone(), pruning: Arc::new(pruning) };
    let (splits, file_schemas, partitions) = match (&version.kind, &version.snapshot) {
        (ScanKind::All, None) => Default::default(),
        (ScanKind::All, Some(snapshot)) => planner.of_snapshot(snapshot).await?,
        (ScanKind::Delta, _) => {
            return Err(Error::unsupported("reads of one commit's changes (scan.mode latest-delta)"));
        }
        (ScanKind::Incremental(_), _) => return Err(Error::unsupported("incremental reads (incremental-between)")),
    };
    let (schema, options) = (Arc::clone(&version.schema), options.clone());
    let branch = PlannedBranch { name, schema, options, predicate: Arc::new(request.predicate.clone()), file_schemas };
    Ok(BranchPlan { splits, branch, partitions, report: planner.pruning.report() })
}

/// Schemas by their ids.
type Schemas = HashMap<i64, Arc<TableSchema>>;

/// Plans one branch.
struct BranchPlanner<'a> {
    request: ScanRequest<'a>,
    name: Option<Arc<str>>,
    pruning: Arc<Pruning>,
}

impl BranchPlanner<'_> {
    /// The splits of a snapshot, the schemas of their files, and the partitions that the snapshot has.
    async fn of_snapshot(&self, snapshot: &Snapshot) -> Result<(Splits, Schemas, HashSet<Arc<[u8]>>)> {
        let manager = self.request.manager;
        let reader = ManifestReader::new(manager.storage().clone(), manager.table().clone());
        // Vectors count where the table has them now. Java: `SnapshotReaderImpl.generateSplits`.
        let vectors = self.request.options.deletion_vectors_enabled;
        let index_files = async { if vectors { reader.index_files(snapshot).await } else { Ok(vec![]) } };
        let (live, index_files) = futures::try_join!(self.live_entries(&reader, snapshot), index_files)?;
        let unknown = self.pruning.unknown_schemas(live.schema_ids().iter().copied());
        self.pruning.learn_schemas(manager, &unknown).await;
        let ScanRequest { version, options, read_optimized, .. } = self.request;
        let levels = levels(&version.schema, options, read_optimized);
        let visible = Visible::new(levels, version.file_creation_time_millis);
        let selected = select(&live, &self.pruning, &visible)?;
        check_formats(&live, &selected.buckets)?;
        let schemas = self.schemas(&live, &selected.buckets).await?;
        let splits = self.splits(snapshot.id, &live, selected.buckets, index_files, &schemas)?;
        Ok((splits, schemas, selected.partitions))
    }

    async fn live_entries(&self, reader: &ManifestReader, snapshot: &Snapshot) -> Result<Arc<LiveEntries>> {
        let ScanRequest { manager, options, cache, .. } = self.request;
        let max_snapshots = usize::try_from(options.scan_manifest_entry_cache_max_snapshots).unwrap_or(0);
        let cache = EntryCache { cache, max_snapshots, reader, manager, pruning: &self.pruning };
        let live = cache.live_entries(snapshot).await?;
        if !options.scan_manifest_entry_lazy_decode_enabled {
            live.decode_all();
        }
        Ok(live)
    }

    async fn schemas(&self, live: &LiveEntries, buckets: &[SelectedBucket]) -> Result<Schemas> {
        let manager = self.request.manager;
        let ids: HashSet<i64> = match live.schema_ids() {
            [only] => buckets.first().map(|_| *only).into_iter().collect(),
            _ => buckets.iter().flat_map(|bucket| bucket.schema_ids(live)).collect(),
        };
        let schemas = ids.into_iter().map(|id| async move { Ok::<_, Error>((id, manager.schema(id).await?)) });
        Ok(try_join_all(schemas).await?.into_iter().collect())
    }

    fn splits(
        &self,
        snapshot_id: i64,
        live: &Arc<LiveEntries>,
        buckets: Vec<SelectedBucket>,
        index_files: Vec<IndexManifestEntry>,
        schemas: &Schemas,
    ) -> Result<Splits> {
        let ScanRequest { manager, version, options, zone, .. } = self.request;
        let schema = &version.schema;
        let root = manager.table().to_string();
        let mut paths = DataPaths::new(root.clone(), schema.partition_fields(), options, zone);
        let mut bucket_path = |partition: &[u8], bucket: i32| paths.bucket(partition, bucket);
        let bucket_path: Option<BucketPath<'_>> =
            if options.index_file_in_data_file_dir { Some(&mut bucket_path) } else { None };
        let deletions = Arc::new(DeletionFiles::new(index_files, &root, bucket_path)?);
        let sizes = SplitSizes {
            target_bytes: options.source_split_target_size.bytes,
            open_cost_bytes: options.source_split_open_file_cost.bytes,
        };
        let (live, branch) = (Arc::clone(live), self.name.clone());
        let maker = SplitMaker { live, snapshot_id, branch, sizes, paths, deletions };
        let pruning = FilePruning::new(&self.pruning, schema, schemas);
        match schema.primary_keys.is_empty() {
            true => self.append_splits(maker, buckets, &pruning, schemas),
            false => Ok(Splits::new(self.key_splits(&maker, &buckets, &pruning)?)),
        }
    }

    /// Splits of an append table; those of many files are made when they are asked for.
    fn append_splits(
        &self,
        maker: SplitMaker,
        buckets: Vec<SelectedBucket>,
        pruning: &FilePruning<'_>,
        schemas: &Schemas,
    ) -> Result<Splits> {
        let mut buckets = pruned(&maker.live, buckets, pruning)?;
        let files = |buckets: &[SelectedBucket]| buckets.iter().map(|b| b.rows.len()).sum::<usize>();
        if let Some(limit) = self.request.limit
            && maker.deletions.is_empty()
        {
            limit_rows(&maker.live, &mut buckets, limit);
        }
        if files(&buckets) < DEFERRED_FILES || !maker.deletions.is_empty() {
            return Ok(Splits::new(maker.append_splits(&buckets)?));
        }
        Ok(Splits::deferred(Box::new(DeferredAppend::new(maker, buckets, schemas.clone()))))
    }

    fn key_splits(
        &self,
        maker: &SplitMaker,
        buckets: &[SelectedBucket],
        pruning: &FilePruning<'_>,
    ) -> Result<Vec<DataSplit>> {
        let ScanRequest { version, options, .. } = self.request;
        let fields = version.schema.trimmed_primary_key_fields();
        let key_types: Vec<_> = fields.into_iter().map(|f| f.data_type).collect();
        let engine = options.merge_engine;
        let rules = KeyRules {
            key_types: &key_types,
            ordered_by_key: !options.pk_clustering_override,
            deletions_cover_versions: options.deletion_vectors_enabled || engine == MergeEngine::FirstRow,
            pruning,
            merge_chooses: matches!(engine, MergeEngine::Deduplicate | MergeEngine::FirstRow),
        };
        maker.key_splits(buckets, &rules)
    }
}

/// A format that cannot be read is an error before the first row is given out.
fn check_formats(live: &LiveEntries, buckets: &[SelectedBucket]) -> Result<()> {
    let known = |extension: &str| FileFormat::of_file_name(&format!("f.{extension}")).is_ok();
    if live.extensions().iter().all(|extension| known(extension)) {
        return Ok(());
    }
    let entries = buckets.iter().flat_map(|bucket| bucket.rows.of(live)).filter_map(|entry| live.get(*entry));
    let mut names = entries.map(|(chunk, row)| chunk.file_name(row));
    names.try_for_each(|name| FileFormat::of_file_name(&name).map(drop))
}

/// Drops the files behind those that have `limit` rows.
fn limit_rows(live: &LiveEntries, buckets: &mut Vec<SelectedBucket>, limit: usize) {
    let mut rows: usize = 0;
    buckets.retain_mut(|bucket| {
        let of_bucket = bucket.rows.facts(live).map_or(0, |facts| facts.rows);
        if rows.saturating_add(of_bucket) < limit {
            rows += of_bucket;
            return true;
        }
        let entries = bucket.rows.of(live).iter().take_while(|entry| {
            let needed = rows < limit;
            if let Some((chunk, row)) = live.get(**entry).filter(|_| needed) {
                rows = rows.saturating_add(usize::try_from(chunk.row_count(row)).unwrap_or(0));
            }
            needed
        });
        bucket.rows = BucketEntries::Some(entries.copied().collect());
        !bucket.rows.is_empty()
    });
}

/// Drops the files that are not needed for `limit` rows: those behind files that surely have as many.
fn truncate(splits: &mut Vec<DataSplit>, limit: usize) {
    let mut rows = 0;
    splits.retain_mut(|split| {
        split.files.retain(|file| {
            let needed = rows < limit;
            if file.deletion.is_none() && needed {
                rows += usize::try_from(file.meta.row_count).unwrap_or(0);
            }
            needed
        });
        split.sections.retain(|_| rows < limit);
        !(split.files.is_empty() && split.sections.is_empty())
    });
}
