//! Leaves out what a predicate rules out, as early as it can: [`Pruning`].
//!
//! In: the predicate of a scan and the schema of the branch that is planned. Out, one after another: which manifests are
//! read, by bounds of their partitions and buckets; which of their entries are decoded, by partition and bucket
//! ([`select`]); which live files are kept, by statistics ([`files`]). ADD and DELETE entries are selected alike,
//! by what both have, so that a DELETE always meets its ADD; statistics are asked of live files only.
//!
//! Partition columns are decided for each distinct partition once: what the predicate says there of the other columns is
//! its *residual*. A predicate on partition columns alone is decided completely, so nothing that fails it is kept.

pub mod files;
mod selection;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::future::join_all;

use super::report::{Kept, ScanReport};
use super::snapshot::SnapshotManager;
use crate::error::Result;
use crate::options::TableOptions;
use crate::options::enums::BucketFunctionType;
use crate::predicate::Predicate;
use crate::predicate::bucket::{BucketKey, BucketSet};
use crate::predicate::stats::RowStats;
use crate::spec::binary_row::BinaryRow;
use crate::spec::bucket::BucketFunction;
use crate::spec::data_type::{DataField, DataType};
use crate::spec::layout::POSTPONE_BUCKET;
use crate::spec::manifest_list::ManifestFileMeta;
use crate::spec::simple_stats::ColumnStats;
use crate::spec::stats_parts::StatsParts;
use crate::spec::table_schema::TableSchema;

pub use selection::{Selected, SelectedBucket, select};

/// Of more schemas than this it is not looked up how they deal rows to buckets, only to skip a manifest.
const MAX_SCHEMAS: i64 = 16;

/// What may be left out of one branch.
#[derive(Debug)]
pub struct Pruning {
    predicate: Predicate,
    partition_fields: Vec<DataField>,
    partition_types: Vec<DataType>,
    bucket_key: Option<BucketKey>,
    /// The only bucket that is read, by option.
    only_bucket: Option<i32>,
    /// Whether buckets are told before entries are decoded.
    early_buckets: bool,
    /// Whether file indexes are asked.
    file_index: bool,
    schema_id: i64,
    /// Whether files of a schema lie in the buckets that this one says.
    bucketed_alike: Mutex<HashMap<i64, bool>>,
    partitions: Mutex<HashMap<Arc<[u8]>, Arc<PartitionVerdict>>>,
    report: Mutex<ScanReport>,
}

/// What a predicate says of one partition.
#[derive(Debug)]
pub struct PartitionVerdict {
    /// The partition's values, as a serialized `BinaryRow`.
    pub partition: Arc<[u8]>,
    /// What is left to be asked of the columns that are no partition columns; never, where the partition is left out.
    pub residual: Predicate,
    /// What that says of the primary key alone.
    of_key: OnceLock<Predicate>,
    /// Where the statistics of its columns stand, by schema.
    parts: OnceLock<Vec<(i64, StatsParts)>>,
    buckets: Option<BucketSet>,
    by_total_buckets: Mutex<HashMap<i32, Option<Arc<HashSet<i32>>>>>,
}

impl PartitionVerdict {
    /// Whether the partition may hold rows that are taken.
    pub fn is_kept(&self) -> bool {
        !self.residual.is_never()
    }

    /// The buckets that may hold them, where there are so many in all; `None` where that may be any.
    fn buckets(&self, total_buckets: i32) -> Option<Arc<HashSet<i32>>> {
        let set = self.buckets.as_ref()?;
        let mut known = self.by_total_buckets.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(total_buckets).or_insert_with(|| set.buckets(total_buckets).map(Arc::new)).clone()
    }
}

impl Pruning {
    /// What `predicate`, in columns of `schema`, leaves out of a branch.
    pub fn new(predicate: &Predicate, schema: &TableSchema, options: &TableOptions) -> Self {
        let partition_fields = schema.partition_fields();
        Self {
            predicate: predicate.clone(),
            partition_types: partition_fields.iter().map(|f| f.data_type.clone()).collect(),
            partition_fields,
            bucket_key: bucket_key(schema, options).filter(|_| !predicate.is_always()),
            only_bucket: options.scan_bucket,
            early_buckets: true,
            file_index: options.file_index_read_enabled,
            schema_id: schema.id,
            bucketed_alike: Mutex::default(),
            partitions: Mutex::default(),
            report: Mutex::new(ScanReport {
                has_filter: !predicate.is_always() || options.scan_bucket.is_some(),
                ..ScanReport::default()
            }),
        }
    }

    /// The same, but all live files of the partitions become known before buckets are left out.
    #[must_use]
    pub fn with_late_buckets(self) -> Self {
        Self { early_buckets: false, ..self }
    }

    /// Whether nothing is left out before entries are decoded.
    pub fn is_idle(&self) -> bool {
        self.only_bucket.is_none() && self.predicate.is_always()
    }

    /// The counters so far.
    pub fn report(&self) -> ScanReport {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut ScanReport)) {
        count(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The manifests that must be read.
    pub async fn manifests<'m>(
        &self,
        manager: &SnapshotManager,
        all: &'m [ManifestFileMeta],
    ) -> Vec<&'m ManifestFileMeta> {
        let seen = all.len();
        let of_partitions = self.predicate.on_columns(&|c| self.partition_at(c.id).is_some());
        let mut kept: Vec<_> = all.iter().collect();
        if !self.is_idle() {
            kept.retain(|m| self.may_hold_partition(m, &of_partitions));
        }
        if self.early_buckets {
            let of_buckets = self.predicate.on_columns(&|c| self.partition_at(c.id).is_none());
            let buckets = self.bucket_key.as_ref().and_then(|key| key.select(&of_buckets));
            if let Some(ids) = buckets.as_ref().and_then(|_| schemas_of(&kept)) {
                self.learn_schemas(manager, &self.unknown_schemas(ids)).await;
            }
            kept.retain(|m| self.may_hold_bucket(m, buckets.as_ref()));
        }
        self.count(|report| report.manifests = Kept { seen, kept: kept.len() });
        kept
    }

    /// Statistics that cannot be read leave nothing out.
    fn may_hold_partition(&self, manifest: &ManifestFileMeta, of_partitions: &Predicate) -> bool {
        if of_partitions.is_always() {
            return true;
        }
        let column = |(at, t): (usize, &DataType)| manifest.partition_stats.column(at, t).ok();
        let stats: Vec<Option<ColumnStats>> = self.partition_types.iter().enumerate().map(column).collect();
        let rows = manifest.num_added_files.saturating_add(manifest.num_deleted_files);
        let of_column = |id: i32| self.partition_at(id).and_then(|at| stats.get(at)).and_then(Option::as_ref);
        of_partitions.may_match(RowStats { row_count: rows, columns: &of_column })
    }

    /// Which bucket a key is in depends on how many there were, and on the schemas of all entries.
    fn may_hold_bucket(&self, manifest: &ManifestFileMeta, buckets: Option<&BucketSet>) -> bool {
        let (Some(min), Some(max)) = (manifest.min_bucket, manifest.max_bucket) else { return true };
        let within = |bucket: &i32| (min..=max).contains(bucket);
        if self.only_bucket.is_some_and(|only| !within(&only)) {
            return false;
        }
        let (Some(buckets), Some(total)) = (buckets, manifest.total_buckets) else { return true };
        let told = min >= 0 && schema_ids(manifest).is_some_and(|mut ids| ids.all(|id| self.is_bucketed_alike(id)));
        !told || buckets.buckets(total).is_none_or(|buckets| buckets.iter().any(within))
    }

    fn partition_at(&self, id: i32) -> Option<usize> {
        self.partition_fields.iter().position(|f| f.id == id)
    }

    /// What the predicate says of a partition.
    pub fn partition(&self, partition: &[u8]) -> Result<Arc<PartitionVerdict>> {
        let known = self.partitions.lock().unwrap_or_else(PoisonError::into_inner).get(partition).cloned();
        if let Some(verdict) = known {
            return Ok(verdict);
        }
        let values = BinaryRow::from_serialized(partition)?.decode(&self.partition_types)?;
        let residual = self.predicate.residual(&mut |leaf| {
            let value = values.get(self.partition_at(leaf.column.id)?)?;
            Some(leaf.evaluate(value.as_ref()) == Some(true))
        });
        let buckets = self.bucket_key.as_ref().and_then(|key| key.select(&residual));
        let partition: Arc<[u8]> = partition.into();
        let verdict = PartitionVerdict {
            partition,
            residual,
            of_key: OnceLock::new(),
            parts: OnceLock::new(),
            buckets,
            by_total_buckets: Mutex::default(),
        };
        let verdict = Arc::new(verdict);
        let mut partitions = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(partitions.entry(Arc::clone(&verdict.partition)).or_insert(verdict)))
    }

    /// Whether the bucket of a kept partition may hold rows that are taken. Files of a schema that is not known to deal
    /// rows to buckets alike are kept.
    pub fn keeps_bucket(&self, of: &PartitionVerdict, bucket: i32, total_buckets: i32, schema_id: i64) -> bool {
        if self.only_bucket.is_some_and(|only| only != bucket) {
            return false;
        }
        if self.bucket_key.is_none() || bucket < 0 || !self.is_bucketed_alike(schema_id) {
            return true;
        }
        of.buckets(total_buckets).is_none_or(|buckets| buckets.contains(&bucket))
    }

    fn is_bucketed_alike(&self, schema_id: i64) -> bool {
        let known = || self.bucketed_alike.lock().unwrap_or_else(PoisonError::into_inner).get(&schema_id).copied();
        schema_id == self.schema_id || known() == Some(true)
    }

    /// Of schema ids, those of which [`Pruning::learn_schemas`] must be told.
    pub fn unknown_schemas(&self, ids: impl IntoIterator<Item = i64>) -> Vec<i64> {
        if self.bucket_key.is_none() {
            return vec![];
        }
        let known = self.bucketed_alike.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unknown: Vec<i64> =
            ids.into_iter().filter(|id| *id != self.schema_id && !known.contains_key(id)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown
    }

    /// Looks up how schemas deal rows to buckets. A schema that cannot be read is not known to do so alike.
    pub async fn learn_schemas(&self, manager: &SnapshotManager, ids: &[i64]) {
        let looked_up = ids
            .iter()
            .map(|id| async move { (*id, manager.schema(*id).await.is_ok_and(|schema| self.deals_alike(&schema))) });
        let alike = join_all(looked_up).await;
        self.bucketed_alike.lock().unwrap_or_else(PoisonError::into_inner).extend(alike);
    }

    fn deals_alike(&self, schema: &TableSchema) -> bool {
        self.bucket_key.as_ref().is_some_and(|ours| ours.is_of(schema))
    }
}

/// How a table with a fixed number of buckets deals rows to them.
pub fn bucket_key(schema: &TableSchema, options: &TableOptions) -> Option<BucketKey> {
    let function = match options.bucket_function_type {
        BucketFunctionType::Default => BucketFunction::Default,
        BucketFunctionType::Mod => BucketFunction::Mod,
        BucketFunctionType::Hive => BucketFunction::Hive,
    };
    let fixed = options.bucket > 0 || options.bucket == POSTPONE_BUCKET;
    BucketKey::new(schema, function).filter(|_| fixed)
}

/// The ids of all schemas that the entries of a manifest may have; `None` where these are many. A manifest has the
/// greatest of its entries.
fn schema_ids(manifest: &ManifestFileMeta) -> Option<std::ops::RangeInclusive<i64>> {
    (0..MAX_SCHEMAS).contains(&manifest.schema_id).then_some(0..=manifest.schema_id)
}

/// The ids of all schemas of the manifests of which the number of buckets is known.
fn schemas_of(manifests: &[&ManifestFileMeta]) -> Option<std::ops::RangeInclusive<i64>> {
    let told = manifests.iter().filter(|m| m.total_buckets.is_some());
    told.filter_map(|m| schema_ids(m)).max_by_key(|ids| *ids.end())
}

#[cfg(test)]
mod tests;
