//! Leaves out live files by their statistics: [`FilePruning`].
//!
//! In: the residual predicate of a file's partition, the file's schema and its key and value statistics. Out: whether it
//! may hold rows that are taken. Statistics are in the types of the file's schema; a column is found there by its id. A
//! column that the file lacks is NULL in all its rows. Where a type has changed, bounds are brought over only if that is
//! exact; else nothing is known of the column. Java: `SimpleStatsEvolution`, `AppendOnlyFileStoreScan`,
//! `KeyValueFileStoreScan`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;

use super::{PartitionVerdict, Pruning};
use crate::error::Result;
use crate::plan::report::Kept;
use crate::predicate::evaluate::as_seen;
use crate::predicate::file_index::{FileIndexResult, FileIndexes, IndexedColumn, is_comparable};
use crate::predicate::stats::RowStats;
use crate::predicate::{ColumnRef, Predicate};
use crate::spec::binary_row::BinaryRow;
use crate::spec::data_file::DataFileMeta;
use crate::spec::data_type::{DataField, DataType, TypeKind};
use crate::spec::datum::Datum;
use crate::spec::simple_stats::{ColumnStats, SimpleStats, value_stats_position};
use crate::spec::table_schema::TableSchema;

/// ORC's writers take times through calendars and zones of the JVM: bounds may be off by less than this.
const ORC_TIME_SLACK_MILLIS: i64 = 86_400_000;

/// Prunes the live files of a branch.
#[derive(Debug)]
pub struct FilePruning<'p> {
    pruning: &'p Pruning,
    schemas: &'p HashMap<i64, Arc<TableSchema>>,
    /// The trimmed primary key, by ids; none in an append table.
    key_ids: HashSet<i32>,
}

impl<'p> FilePruning<'p> {
    /// Prunes files of `schemas`, which are those of all live files; `schema` is the one that is read.
    pub fn new(pruning: &'p Pruning, schema: &TableSchema, schemas: &'p HashMap<i64, Arc<TableSchema>>) -> Self {
        let key_ids = match schema.primary_keys.is_empty() {
            true => HashSet::new(),
            false => schema.trimmed_primary_key_fields().iter().map(|f| f.id).collect(),
        };
        Self { pruning, schemas, key_ids }
    }

    /// Whether the bounds of a file's key let it hold keys that are taken. All versions of a key are in files that are
    /// kept, so this may be asked before files are merged.
    pub fn keeps_by_key(&self, partition: &[u8], file: &DataFileMeta) -> Result<bool> {
        if self.key_ids.is_empty() || self.pruning.predicate.is_always() {
            return Ok(true);
        }
        let verdict = self.pruning.partition(partition)?;
        let of_key = || verdict.residual.on_columns(&|c| self.key_ids.contains(&c.id));
        let predicate = verdict.of_key.get_or_init(of_key);
        let Some(schema) = self.schemas.get(&file.schema_id) else { return Ok(true) };
        if predicate.is_always() {
            return Ok(true);
        }
        let fields = schema.trimmed_primary_key_fields();
        let arity = fields.len();
        let stats = |column: &ColumnRef| {
            let at = fields.iter().position(|f| f.id == column.id)?;
            decoded(&file.key_stats, at, arity, fields.get(at)?, column, file)
        };
        Ok(may_match(predicate, file, &stats))
    }

    /// Whether the bounds of a file's columns let it hold rows that are taken. To be asked only of a file whose rows are
    /// rows of the table, or of all files together of which such rows are chosen.
    pub fn keeps_by_value(&self, partition: &[u8], file: &DataFileMeta) -> Result<bool> {
        Ok(self.of_partition(partition)?.is_none_or(|verdict| self.keeps(&verdict, file)))
    }

    /// What is asked of the columns of files of a partition; `None` where nothing is.
    pub fn of_partition(&self, partition: &[u8]) -> Result<Option<Arc<PartitionVerdict>>> {
        if self.pruning.predicate.is_always() {
            return Ok(None);
        }
        Ok(Some(self.pruning.partition(partition)?).filter(|verdict| !verdict.residual.is_always()))
    }

    /// Whether the bounds of a file's columns, and the index in its manifest entry, let it hold rows that are taken.
    pub fn keeps(&self, verdict: &PartitionVerdict, file: &DataFileMeta) -> bool {
        let Some(schema) = self.schemas.get(&file.schema_id) else { return true };
        let listed = file.value_stats_cols.as_ref().or(file.write_cols.as_ref());
        let arity = listed.map_or(schema.fields.len(), Vec::len);
        let stats = |column: &ColumnRef| {
            let Some(field) = schema.fields.iter().find(|f| f.id == column.id) else {
                return Some(ColumnStats { min: None, max: None, null_count: Some(file.row_count) });
            };
            let at = value_stats_position(file, &schema.fields, &field.name)?;
            decoded(&file.value_stats, at, arity, field, column, file)
        };
        may_match(&verdict.residual, file, &stats) && self.keeps_by_index(&verdict.residual, file, schema)
    }

    /// Whether the index in a file's manifest entry lets it hold rows that are taken. One that cannot be read leaves
    /// nothing out.
    fn keeps_by_index(&self, predicate: &Predicate, file: &DataFileMeta, schema: &TableSchema) -> bool {
        let Some(index) = file.embedded_index.as_ref().filter(|_| self.pruning.file_index) else { return true };
        let column = |column: &ColumnRef| {
            let field = schema.fields.iter().find(|f| f.id == column.id)?;
            let comparable = is_comparable(&field.data_type, &column.data_type, &file.file_name);
            comparable.then(|| IndexedColumn { name: field.name.clone(), data_type: field.data_type.clone() })
        };
        let index = Bytes::copy_from_slice(index);
        let said = FileIndexes::from_container(file.row_count, &index, predicate, &column)
            .and_then(|indexes| indexes.evaluate(predicate, &column));
        let kept = !matches!(said, Ok(FileIndexResult::Skip));
        self.pruning.count(|report| report.index.count(kept));
        kept
    }

    /// Counts a file that statistics were asked about.
    pub fn count(&self, kept: bool) {
        self.count_all(1, usize::from(kept));
    }

    /// Counts files that statistics were asked about.
    pub fn count_all(&self, seen: usize, kept: usize) {
        if !self.pruning.is_idle() {
            self.pruning.count(|report| report.files.add(Kept { seen, kept }));
        }
    }
}

fn may_match(predicate: &Predicate, file: &DataFileMeta, stats: &dyn Fn(&ColumnRef) -> Option<ColumnStats>) -> bool {
    let mut columns = vec![];
    collect(predicate, &mut columns);
    let known: Vec<(i32, Option<ColumnStats>)> = columns.iter().map(|c| (c.id, stats(c))).collect();
    let of_column = |id: i32| known.iter().find(|(i, _)| *i == id).and_then(|(_, stats)| stats.as_ref());
    predicate.may_match(RowStats { row_count: file.row_count, columns: &of_column })
}

/// The columns of a predicate, each once.
fn collect<'p>(predicate: &'p Predicate, columns: &mut Vec<&'p ColumnRef>) {
    match predicate {
        Predicate::And(list) | Predicate::Or(list) => list.iter().for_each(|p| collect(p, columns)),
        Predicate::Leaf(leaf) => {
            if !columns.iter().any(|c| c.id == leaf.column.id) {
                columns.push(&leaf.column);
            }
        }
    }
}

/// The statistics of a column, in the column's type; `None` where they cannot be used. Rows of another number of columns
/// than expected are of a writer that lays them out otherwise.
fn decoded(
    stats: &SimpleStats,
    at: usize,
    arity: usize,
    field: &DataField,
    column: &ColumnRef,
    file: &DataFileMeta,
) -> Option<ColumnStats> {
    if is_nested(&field.data_type.kind) {
        return None;
    }
    let laid_out = |row: &[u8]| BinaryRow::from_serialized(row).is_ok_and(|row| row.arity() == arity);
    let counted = stats.null_counts.len() == arity;
    let bounded = laid_out(&stats.min_values) && laid_out(&stats.max_values);
    if !bounded && !counted {
        return None;
    }
    let found = if bounded {
        stats.column(at, &field.data_type).ok()?
    } else {
        ColumnStats { null_count: stats.null_counts.get(at).copied().flatten(), ..ColumnStats::default() }
    };
    let is_orc = file.file_name.ends_with(".orc");
    let lift = |bound: Option<Datum>, slack: i64| {
        let bound = if is_orc { with_slack(bound?, slack)? } else { bound? };
        lifted(bound, &field.data_type, &column.data_type)
    };
    Some(ColumnStats {
        min: lift(found.min, -1),
        max: lift(found.max, 1),
        null_count: found.null_count.filter(|n| counted && *n >= 0 && keeps_nulls(&field.data_type, &column.data_type)),
    })
}

/// Formats count the NULLs of their leaves, not those of the whole.
fn is_nested(kind: &TypeKind) -> bool {
    use TypeKind::*;
    matches!(kind, Array(_) | Vector(..) | Map(..) | Multiset(_) | Row(_) | Variant)
}

/// A bound of a time in an ORC file, moved outwards; `None` beyond what can be said.
fn with_slack(bound: Datum, direction: i64) -> Option<Datum> {
    Some(match bound {
        Datum::Timestamp { millis, nano_of_milli } => {
            Datum::Timestamp { millis: millis.checked_add(direction * ORC_TIME_SLACK_MILLIS)?, nano_of_milli }
        }
        // Days after 1970 are whole.
        Datum::Date(days) if days <= 0 => Datum::Date(days.checked_add(i32::try_from(direction).ok()?)?),
        other => other,
    })
}

/// Whether a change of type leaves every value a value.
fn keeps_nulls(from: &DataType, to: &DataType) -> bool {
    from.kind == to.kind || is_exact_change(&from.kind, &to.kind)
}

/// Whether a change of type keeps all values and their order.
fn is_exact_change(from: &TypeKind, to: &TypeKind) -> bool {
    use TypeKind::*;
    match (from, to) {
        (TinyInt, SmallInt | Int | BigInt) | (SmallInt, Int | BigInt) | (Int, BigInt) | (Float, Double) => true,
        (Decimal { precision: p, scale: s }, Decimal { precision: q, scale: t }) => {
            t >= s && i16::from(*q) - i16::from(*t) >= i16::from(*p) - i16::from(*s)
        }
        (VarChar(n), VarChar(m)) => m >= n,
        (Timestamp(p), Timestamp(q)) | (TimestampLtz(p), TimestampLtz(q)) => q >= p,
        _ => false,
    }
}

/// A bound in the type of the file as one in the type of the column.
fn lifted(bound: Datum, from: &DataType, to: &DataType) -> Option<Datum> {
    if from.kind == to.kind {
        return Some(bound);
    }
    if !is_exact_change(&from.kind, &to.kind) {
        return None;
    }
    let whole = |value: i64| match to.kind {
        TypeKind::SmallInt => i16::try_from(value).ok().map(Datum::SmallInt),
        TypeKind::Int => i32::try_from(value).ok().map(Datum::Int),
        TypeKind::BigInt => Some(Datum::BigInt(value)),
        _ => None,
    };
    match (bound, &to.kind) {
        (Datum::TinyInt(v), _) => whole(v.into()),
        (Datum::SmallInt(v), _) => whole(v.into()),
        (Datum::Int(v), _) => whole(v.into()),
        (Datum::Float(v), _) => Some(Datum::Double(v.into())),
        (Datum::Decimal { unscaled, scale: s, .. }, TypeKind::Decimal { precision, scale }) => {
            let by = 10i128.checked_pow(u32::from(scale.checked_sub(s)?))?;
            Some(Datum::Decimal { unscaled: unscaled.checked_mul(by)?, precision: *precision, scale: *scale })
        }
        (bound @ Datum::String(_), _) => Some(bound),
        // What the file's type does not hold is cut before the type changes.
        (bound @ Datum::Timestamp { .. }, _) => Some(as_seen(&bound, from).into_owned()),
        _ => None,
    }
}
