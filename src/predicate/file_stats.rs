//! Whether a data file can hold rows that a predicate takes, by the statistics in its manifest entry.
//!
//! In: a predicate, what the manifest says of the file, the schema that the file was written with. Out: `false` only
//! where surely no row is taken. Statistics are in the types of the file's schema; a column is found there by its id. A
//! column that the file lacks is NULL in all its rows. Where a type has changed, bounds are brought over only if that is
//! exact; else nothing is known of the column. Java: `SimpleStatsEvolution`.

use super::evaluate::as_seen;
use super::stats::RowStats;
use super::{ColumnRef, Predicate};
use crate::spec::binary_row::BinaryRow;
use crate::spec::column_range::ColumnRange;
use crate::spec::data_file::DataFileMeta;
use crate::spec::data_type::{DataField, DataType, TypeKind};
use crate::spec::datum::Datum;
use crate::spec::simple_stats::{ColumnStats, SimpleStats, value_stats_position};
use crate::spec::table_schema::TableSchema;

/// ORC's writers take times through calendars and zones of the JVM: bounds may be off by less than this.
const ORC_TIME_SLACK_MILLIS: i64 = 86_400_000;

/// Whether the bounds of a file's key let it hold keys that are taken.
pub fn may_match_by_key(predicate: &Predicate, file: &DataFileMeta, schema: &TableSchema) -> bool {
    let fields = schema.trimmed_primary_key_fields();
    let arity = fields.len();
    let stats = |column: &ColumnRef| {
        let at = fields.iter().position(|f| f.id == column.id)?;
        decoded(&file.key_stats, at, arity, fields.get(at)?, column, file)
    };
    let mut columns = vec![];
    collect(predicate, &mut columns);
    may_match(predicate, &columns, file, &stats)
}

/// Whether the bounds of a file's columns let it hold rows that are taken.
pub fn may_match_by_value(predicate: &Predicate, file: &DataFileMeta, schema: &TableSchema) -> bool {
    ByValue::new(predicate).may_match(file, schema)
}

/// Asks files for rows that a predicate takes.
pub struct ByValue<'p> {
    predicate: &'p Predicate,
    /// The columns of the predicate, each once.
    columns: Vec<&'p ColumnRef>,
}

impl<'p> ByValue<'p> {
    /// What asks for rows that `predicate` takes.
    pub fn new(predicate: &'p Predicate) -> Self {
        let mut columns = vec![];
        collect(predicate, &mut columns);
        Self { predicate, columns }
    }

    /// The predicate.
    pub fn predicate(&self) -> &'p Predicate {
        self.predicate
    }

    /// Whether the bounds of a file's columns let it hold rows that are taken.
    pub fn may_match(&self, file: &DataFileMeta, schema: &TableSchema) -> bool {
        may_match(self.predicate, &self.columns, file, &|column| value_stats(column, file, schema))
    }
}

/// What values a column has in a file; nothing is said that may be too narrow.
pub fn column_range(column: &ColumnRef, file: &DataFileMeta, schema: &TableSchema) -> ColumnRange {
    let rows = usize::try_from(file.row_count).unwrap_or(0);
    let Some(stats) = value_stats(column, file, schema).filter(|_| rows > 0) else {
        return if rows == 0 { ColumnRange::default() } else { ColumnRange::unknown(rows) };
    };
    let nulls = stats.null_count.and_then(|nulls| usize::try_from(nulls).ok());
    if nulls.is_some_and(|nulls| nulls >= rows) {
        return ColumnRange::all_null(rows);
    }
    ColumnRange { rows, values: stats.min.zip(stats.max).map(Some), nulls }
}

/// What the manifest says of a column's values, in the column's type.
fn value_stats(column: &ColumnRef, file: &DataFileMeta, schema: &TableSchema) -> Option<ColumnStats> {
    let Some(at) = schema.fields.iter().position(|f| f.id == column.id) else {
        return Some(ColumnStats { min: None, max: None, null_count: Some(file.row_count) });
    };
    let field = schema.fields.get(at)?;
    // Statistics are of all columns of the schema, unless those that they are of are listed.
    let (at, arity) = match file.value_stats_cols.as_ref().or(file.write_cols.as_ref()) {
        Some(listed) => (value_stats_position(file, &schema.fields, &field.name)?, listed.len()),
        None => (at, schema.fields.len()),
    };
    decoded(&file.value_stats, at, arity, field, column, file)
}

fn may_match(
    predicate: &Predicate,
    columns: &[&ColumnRef],
    file: &DataFileMeta,
    stats: &dyn Fn(&ColumnRef) -> Option<ColumnStats>,
) -> bool {
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
    if field.data_type.is_nested() {
        return None;
    }
    let laid_out = |row| BinaryRow::from_serialized(row).ok().filter(|row| row.arity() == arity);
    let counted = stats.null_counts.len() == arity;
    let bounds = laid_out(&stats.min_values).zip(laid_out(&stats.max_values));
    let found = match bounds {
        Some((min, max)) => stats.column_of(&min, &max, at, &field.data_type).ok()?,
        None if counted => {
            ColumnStats { null_count: stats.null_counts.get(at).copied().flatten(), ..ColumnStats::default() }
        }
        None => return None,
    };
    let lift = |bound: Option<Datum>, slack: i64| {
        let bound = if file.is_orc() { with_slack(bound?, slack)? } else { bound? };
        lifted(bound, &field.data_type, &column.data_type)
    };
    let nulls = found.null_count.filter(|n| counted && *n >= 0 && keeps_nulls(&field.data_type, &column.data_type));
    Some(ColumnStats {
        min: lift(found.min, -1),
        max: lift(found.max, 1),
        null_count: nulls.and_then(|nulls| file.believed_nulls(nulls)),
    })
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
