//! Chain tables: partitions that are whole in one branch, or begin there and go on with the changes of another.
//!
//! In: a read of the table's main branch. Out: a [`ScanPlan`] of the branches `scan.fallback-snapshot-branch` (S) and
//! `scan.fallback-delta-branch` (D). A partition that S has is read from S. Another one that D has is the nearest earlier
//! partition of its group in S, if there is one, merged with the changes in D since then:
//!
//! ```text
//! S    day 1           day 4                  reads    day 1 = S1        day 2 = S1 + D2    day 3 = S1 + D2 + D3
//! D    day 1  day 2  day 3  day 4  day 5               day 4 = S4        day 5 = S4 + D5
//! ```
//!
//! The last partition columns, `chain-table.chain-partition-keys`, are the order, those before it the group. Java:
//! `ChainGroupReadTable`, `ChainTableUtils`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::intervals::{compare, planned_sections};
use super::prune::Pruning;
use super::scan_plan::{BranchPlan, PlannedBranch, ScanPlan, ScanRequest, plan_other_branch};
use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::options::enums::MergeEngine;
use crate::predicate::Predicate;
use crate::spec::binary_row::BinaryRow;
use crate::spec::data_type::DataType;
use crate::spec::datum::Datum;
use crate::spec::table_schema::TableSchema;
use crate::split::{DataSplit, Section, SplitFile, Splits};

/// Plans a read of a chain table.
pub async fn plan_chain(request: ScanRequest<'_>) -> Result<ScanPlan> {
    let options = request.options;
    check_chain(&request)?;
    let branch = |name: &Option<String>, key: &str| {
        name.clone().ok_or_else(|| Error::invalid_option(format!("a chain table needs the option '{key}'")))
    };
    let whole = branch(&options.scan_fallback_snapshot_branch, "scan.fallback-snapshot-branch")?;
    let changes = branch(&options.scan_fallback_delta_branch, "scan.fallback-delta-branch")?;
    // Where a chain begins and what it goes on with is asked of all partitions, whatever the read wants.
    let all = Predicate::always();
    let all = ScanRequest { predicate: &all, limit: None, ..request };
    let asked = ScanRequest { limit: None, ..request };
    let (asked, starts, changes) = futures::try_join!(
        plan_other_branch(asked, &whole, BTreeMap::new()),
        plan_other_branch(all, &whole, BTreeMap::new()),
        plan_other_branch(all, &changes, BTreeMap::new()),
    )?;
    let order = ChainOrder::new(&request.version.schema, options)?;
    let pruning = Pruning::new(request.predicate, &request.version.schema, options);
    let mut splits = asked.splits.get()?.to_vec();
    for link in links(&order, &starts, &changes)? {
        if pruning.partition(&link.partition)?.is_kept() {
            splits.extend(link.splits(&starts, &changes)?);
        }
    }
    let changes = with_schemas(changes.branch, &starts.branch)?;
    let own = PlannedBranch {
        name: None,
        schema: Arc::clone(&request.version.schema),
        options: options.clone(),
        predicate: Arc::new(request.predicate.clone()),
        file_schemas: Default::default(),
    };
    let branches = vec![own, asked.branch, changes];
    Ok(ScanPlan { snapshot_id: None, splits: Splits::new(splits), branches, report: asked.report })
}

fn check_chain(request: &ScanRequest<'_>) -> Result<()> {
    let (schema, options) = (&request.version.schema, request.options);
    let refuse = |what: &str| Err(Error::unsupported(format!("chain tables {what}")));
    match options.merge_engine {
        _ if schema.primary_keys.is_empty() || schema.partition_keys.is_empty() => {
            refuse("without primary key or partitions")
        }
        MergeEngine::FirstRow => refuse("with the merge engine 'first-row'"),
        _ if options.deletion_vectors_enabled => refuse("with deletion vectors"),
        _ if !options.time_travel().is_empty() => refuse("at an earlier time"),
        MergeEngine::Deduplicate | MergeEngine::PartialUpdate | MergeEngine::Aggregation => Ok(()),
    }
}

/// The schemas that splits of changes need: those of S, too, whose files are merged with them.
fn with_schemas(mut changes: PlannedBranch, starts: &PlannedBranch) -> Result<PlannedBranch> {
    for (id, schema) in &starts.file_schemas {
        let known = changes.file_schemas.entry(*id).or_insert_with(|| Arc::clone(schema));
        if known.fields != schema.fields {
            return Err(Error::unsupported(format!("a chain table whose branches have different schemas {id}")));
        }
    }
    Ok(changes)
}

/// A partition's values: those of the group, and those of the order.
type Place = (Vec<Option<Datum>>, Vec<Option<Datum>>);

/// How the partitions of a chain table are ordered.
struct ChainOrder {
    types: Vec<DataType>,
    group_columns: usize,
}

impl ChainOrder {
    fn new(schema: &TableSchema, options: &TableOptions) -> Result<Self> {
        let all = schema.partition_keys.as_slice();
        let keys = options.chain_table_chain_partition_keys.as_deref().unwrap_or(all);
        if !all.ends_with(keys) {
            return Err(Error::invalid_option("'chain-table.chain-partition-keys' are not the last partition columns"));
        }
        let group_columns = all.len() - keys.len();
        Ok(Self { types: schema.partition_fields().into_iter().map(|f| f.data_type).collect(), group_columns })
    }

    fn place(&self, partition: &[u8]) -> Result<Place> {
        let mut group = BinaryRow::from_serialized(partition)?.decode(&self.types)?;
        let order = group.split_off(self.group_columns.min(group.len()));
        Ok((group, order))
    }
}

/// A partition that S does not have.
struct Link {
    partition: Arc<[u8]>,
    /// The partition of S that it begins with.
    start: Option<Arc<[u8]>>,
    /// The partitions of D that it goes on with, itself included.
    changes: BTreeSet<Arc<[u8]>>,
}

/// The partitions that D has and S has not.
fn links(order: &ChainOrder, starts: &BranchPlan, changes: &BranchPlan) -> Result<Vec<Link>> {
    let placed = |branch: &BranchPlan| {
        let place = |partition: &Arc<[u8]>| Ok((order.place(partition)?, Arc::clone(partition)));
        branch.partitions.iter().map(place).collect::<Result<Vec<_>>>()
    };
    let (starts, changes) = (placed(starts)?, placed(changes)?);
    let has = |partition: &Arc<[u8]>| starts.iter().any(|(_, start)| start == partition);
    let link = |((group, at), partition): &(Place, Arc<[u8]>)| {
        let in_group = |other: &Place| compare(&other.0, group) == Ordering::Equal;
        let earlier = |place: &&(Place, Arc<[u8]>)| in_group(&place.0) && compare(&place.0.1, at) == Ordering::Less;
        let start = starts.iter().filter(earlier).max_by(|a, b| compare(&a.0.1, &b.0.1));
        let since = |place: &&(Place, Arc<[u8]>)| {
            in_group(&place.0)
                && compare(&place.0.1, at) != Ordering::Greater
                && start.is_none_or(|start| compare(&place.0.1, &start.0.1) == Ordering::Greater)
        };
        let changes = changes.iter().filter(since).map(|(_, partition)| Arc::clone(partition)).collect();
        Link { partition: Arc::clone(partition), start: start.map(|(_, p)| Arc::clone(p)), changes }
    };
    Ok(changes.iter().filter(|(_, partition)| !has(partition)).map(link).collect())
}

impl Link {
    /// A split of each bucket: everything is merged.
    fn splits(&self, starts: &BranchPlan, changes: &BranchPlan) -> Result<Vec<DataSplit>> {
        let fields = changes.branch.schema.trimmed_primary_key_fields();
        let key_types: Vec<_> = fields.into_iter().map(|f| f.data_type).collect();
        let start = starts.splits.get()?.iter().filter(|split| Some(&split.partition) == self.start.as_ref());
        let change = changes.splits.get()?.iter().filter(|split| self.changes.contains(&split.partition));
        let mut buckets: BTreeMap<i32, (DataSplit, Vec<SplitFile>)> = BTreeMap::new();
        // In this order files decide between versions of equal age. Java: `ChainSplit`.
        for split in change.chain(start) {
            let empty = || (self.empty_split(split, changes), vec![]);
            let (merged, files) = buckets.entry(split.bucket).or_insert_with(empty);
            if merged.total_buckets != split.total_buckets {
                merged.total_buckets = -1;
            }
            files.extend(split.all_files().cloned());
        }
        let merged = |(mut split, files): (DataSplit, Vec<SplitFile>)| {
            let sections = planned_sections(files, &key_types, |file| &file.meta)?;
            split.sections = sections.into_iter().map(|runs| Section { runs }).collect();
            Ok(split)
        };
        buckets.into_values().map(merged).collect()
    }

    fn empty_split(&self, like: &DataSplit, changes: &BranchPlan) -> DataSplit {
        DataSplit {
            branch: changes.branch.name.clone(),
            partition: Arc::clone(&self.partition),
            files: vec![],
            sections: vec![],
            ..like.clone()
        }
    }
}
