//! What a scan tells DataFusion's optimizer of its rows: [`scan_statistics`].
//!
//! In: the files of a scan with what their manifests say of them, and the results of an ANALYZE. Out: rows, bytes and
//! for each column bounds, NULLs and number of different values. `Exact` is only what is certain, since counts, minima
//! and maxima are answered by it without reading: of files whose rows are all rows of the table, none deleted, merged or
//! filtered; bounds of types whose bounds are never cut, by formats that do not move them. Everything else is `Inexact`,
//! or absent.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};

use super::assign::ScanUnit;
use super::context::{ColumnSource, ScanContext};
use super::evolution::Origin;
use super::file_index;
use crate::predicate::evaluate::as_seen;
use crate::spec::binary_row::BinaryRow;
use crate::spec::data_file::DataFileMeta;
use crate::spec::data_type::{DataField, DataType, TypeKind};
use crate::spec::datum::Datum;
use crate::spec::datum_array::datums_to_array;
use crate::spec::simple_stats::value_stats_position;
use crate::spec::statistics::Statistics as Analyzed;
use crate::spec::table_schema::TableSchema;

/// Statistics of more files times columns than this are not worth decoding.
const MAX_DECODED: usize = 200_000;

/// What a text or a nested value is taken to weigh, in bytes, where nothing is known.
const UNKNOWN_BYTES: usize = 24;

/// Statistics of all rows that some files give.
pub fn scan_statistics(context: &ScanContext, files: &[ScanUnit]) -> Statistics {
    // Rows that a filter spares the plan are no rows of the scan, even where the plan filters them itself.
    let certain = context.filters().is_empty() && !files.iter().any(|unit| file_index::is_asked(context, unit));
    let rows = files.iter().map(ScanUnit::rows).reduce(|a, b| a.add(&b)).unwrap_or(Precision::Exact(0));
    let rows = if certain { rows } else { rows.to_inexact() };
    let fields = context.output_fields();
    let mut columns = vec![Summary::default(); fields.len()];
    if files.len().saturating_mul(fields.len()) <= MAX_DECODED {
        files.iter().for_each(|unit| add_unit(context, unit, fields, &mut columns));
    } else {
        columns.iter_mut().for_each(Summary::forget);
    }
    let analyzed = context.spec().analyzed.as_deref();
    let column = |(field, summary): (&DataField, Summary)| summary.statistics(field, certain, rows, analyzed);
    let column_statistics: Vec<_> = fields.iter().zip(columns).map(column).collect();
    let bytes = column_statistics.iter().map(|c| c.byte_size.get_value().copied().unwrap_or(0));
    Statistics { num_rows: rows, total_byte_size: Precision::Inexact(bytes.sum()), column_statistics }
}

/// Statistics of so many files that they are not looked at one by one.
pub fn row_statistics(context: &ScanContext, rows: Precision<usize>, bytes: usize) -> Statistics {
    let asked = context.spec().sources.values().any(|source| source.predicate.is_some() && source.asks_indexes);
    let certain = context.filters().is_empty() && !asked;
    Statistics {
        num_rows: if certain { rows } else { rows.to_inexact() },
        total_byte_size: Precision::Inexact(bytes),
        ..Statistics::new_unknown(context.schema())
    }
}

/// What is known of one column of several files.
#[derive(Debug, Clone)]
struct Summary {
    /// `None` where a file's bounds are not known.
    bounds: Option<Bounds>,
    /// `None` where a file's NULLs are not counted.
    nulls: Option<usize>,
    /// Whether that is all certain.
    exact_bounds: bool,
    exact_nulls: bool,
}

/// The least and the greatest value; none of no values.
#[derive(Debug, Clone, Default)]
struct Bounds(Option<(Datum, Datum)>);

impl Default for Summary {
    fn default() -> Self {
        Self { bounds: Some(Bounds(None)), nulls: Some(0), exact_bounds: true, exact_nulls: true }
    }
}

impl Bounds {
    fn add(&mut self, other: Self) {
        let Some((min, max)) = other.0 else { return };
        match &mut self.0 {
            None => self.0 = Some((min, max)),
            Some((least, greatest)) => {
                if min.compare(least) == Some(Ordering::Less) {
                    *least = min;
                }
                if max.compare(greatest) == Some(Ordering::Greater) {
                    *greatest = max;
                }
            }
        }
    }
}

impl Summary {
    fn forget(&mut self) {
        (self.bounds, self.nulls) = (None, None);
    }

    fn add(&mut self, other: Self) {
        match (&mut self.bounds, other.bounds) {
            (Some(bounds), Some(more)) => bounds.add(more),
            (bounds, _) => *bounds = None,
        }
        self.nulls = self.nulls.zip(other.nulls).map(|(a, b)| a.saturating_add(b));
        self.exact_bounds &= other.exact_bounds;
        self.exact_nulls &= other.exact_nulls;
    }

    fn statistics(
        self,
        field: &DataField,
        certain: bool,
        rows: Precision<usize>,
        analyzed: Option<&Analyzed>,
    ) -> ColumnStatistics {
        let (min, max) = self.bounds.and_then(|bounds| bounds.0).filter(is_interval).unzip();
        let bound = |datum: Option<Datum>| match datum.and_then(|d| scalar(&field.data_type, d)) {
            Some(value) if certain && self.exact_bounds => Precision::Exact(value),
            Some(value) => Precision::Inexact(value),
            None => Precision::Absent,
        };
        let null_count = match self.nulls {
            Some(nulls) if certain && self.exact_nulls => Precision::Exact(nulls),
            Some(nulls) => Precision::Inexact(nulls),
            None => Precision::Absent,
        };
        let analyzed = analyzed.and_then(|a| a.columns.values().find(|c| c.field_id == i64::from(field.id)));
        let count = |n: Option<i64>| n.and_then(|n| usize::try_from(n).ok());
        let all = rows.get_value().copied().unwrap_or(0);
        let distinct = analyzed.and_then(|a| count(a.distinct_count)).map(|n| Precision::Inexact(n.min(all)));
        let width = value_bytes(&field.data_type)
            .or_else(|| analyzed.and_then(|a| count(a.average_length)))
            .unwrap_or(UNKNOWN_BYTES);
        ColumnStatistics {
            null_count,
            max_value: bound(max),
            min_value: bound(min),
            distinct_count: distinct.unwrap_or(Precision::Absent),
            byte_size: Precision::Inexact(all.saturating_mul(width)),
            ..ColumnStatistics::new_unknown()
        }
    }
}

/// Whether bounds are an interval, as the optimizer takes for granted: writers have put NaN into bounds, and there the
/// least may be greater than the greatest.
fn is_interval((min, max): &(Datum, Datum)) -> bool {
    let is_nan = |value: &Datum| match value {
        Datum::Float(v) => v.is_nan(),
        Datum::Double(v) => v.is_nan(),
        _ => false,
    };
    !is_nan(min) && !is_nan(max) && min.compare(max).is_some_and(Ordering::is_le)
}

fn scalar(data_type: &DataType, value: Datum) -> Option<ScalarValue> {
    let array = datums_to_array(data_type, &[Some(value)]).ok()?;
    ScalarValue::try_from_array(&array, 0).ok()
}

/// How long all values of a type are.
fn value_bytes(data_type: &DataType) -> Option<usize> {
    use TypeKind::*;
    Some(match data_type.kind {
        Boolean | TinyInt => 1,
        SmallInt => 2,
        Int | Float | Date | Time(_) => 4,
        BigInt | Double | Timestamp(_) | TimestampLtz(_) => 8,
        Decimal { .. } => 16,
        _ => return None,
    })
}

fn add_unit(context: &ScanContext, unit: &ScanUnit, fields: &[DataField], columns: &mut [Summary]) {
    let exact = matches!(unit.rows(), Precision::Exact(_)) && unit.file.deletion.is_none();
    let schema = context.source(&unit.branch).ok().and_then(|source| source.by_id.get(&unit.file.meta.schema_id));
    let mapping = context.mapping(unit).ok();
    let file = UnitColumns { file: &unit.file.meta, schema: schema.map(Arc::as_ref), exact };
    let partition = partition_values(context, unit);
    for ((source, field), column) in context.sources().iter().zip(fields).zip(columns) {
        column.add(match *source {
            ColumnSource::Partition(at) => file.of_partition(partition.as_ref().and_then(|values| values.get(at))),
            ColumnSource::File(at) => file.of_file(mapping.as_ref().map(|mapping| mapping.origin(at)), field),
        });
    }
}

fn partition_values(context: &ScanContext, unit: &ScanUnit) -> Option<Vec<Option<Datum>>> {
    let types = context.spec().partition_fields.iter().map(|f| &f.data_type);
    BinaryRow::from_serialized(&unit.partition).ok()?.decode(types).ok()
}

/// The columns that one file gives.
struct UnitColumns<'a> {
    file: &'a DataFileMeta,
    schema: Option<&'a TableSchema>,
    /// Whether every row of the file is one of the table's.
    exact: bool,
}

impl UnitColumns<'_> {
    fn rows(&self) -> usize {
        usize::try_from(self.file.row_count).unwrap_or(0)
    }

    fn known(&self, values: Option<(Datum, Datum)>, nulls: usize, exact: bool) -> Summary {
        let (bounds, nulls) = (Some(Bounds(values)), Some(nulls));
        Summary { bounds, nulls, exact_bounds: self.exact && exact, exact_nulls: self.exact }
    }

    fn unknown(&self) -> Summary {
        Summary { bounds: None, nulls: None, exact_bounds: false, exact_nulls: false }
    }

    fn of_partition(&self, value: Option<&Option<Datum>>) -> Summary {
        match value {
            _ if self.rows() == 0 => Summary::default(),
            Some(Some(value)) => self.known(Some((value.clone(), value.clone())), 0, !is_float(value)),
            Some(None) => self.known(None, self.rows(), true),
            None => self.unknown(),
        }
    }

    fn of_file(&self, origin: Option<Origin<'_>>, wanted: &DataField) -> Summary {
        match origin {
            _ if self.rows() == 0 => Summary::default(),
            // Other files may hold the column for the same rows.
            Some(Origin::Absent) if self.file.write_cols.is_some() => self.unknown(),
            Some(Origin::Absent) => self.known(None, self.rows(), true),
            Some(Origin::Same(field)) if field.data_type.kind == wanted.data_type.kind => {
                self.stored(field).unwrap_or_else(|| self.unknown())
            }
            _ => self.unknown(),
        }
    }

    /// What the manifest says of a column.
    fn stored(&self, field: &DataField) -> Option<Summary> {
        let (stats, schema) = (&self.file.value_stats, self.schema?);
        let at = value_stats_position(self.file, &schema.fields, &field.name)?;
        let listed = self.file.value_stats_cols.as_ref().or(self.file.write_cols.as_ref());
        let arity = listed.map_or(schema.fields.len(), Vec::len);
        let laid_out = |row: &[u8]| BinaryRow::from_serialized(row).is_ok_and(|row| row.arity() == arity);
        let counted = stats.null_counts.len() == arity && !field.data_type.is_nested();
        let nulls = stats.null_counts.get(at).copied().flatten().filter(|_| counted);
        let nulls = nulls.and_then(|n| usize::try_from(n).ok());
        if nulls.is_some_and(|nulls| nulls >= self.rows()) {
            return Some(self.known(None, self.rows(), true));
        }
        let bounds = (laid_out(&stats.min_values) && laid_out(&stats.max_values))
            .then(|| stats.column(at, &field.data_type).ok())
            .flatten();
        let values = bounds.and_then(|b| Some((seen(b.min?, &field.data_type)?, seen(b.max?, &field.data_type)?)));
        Some(Summary {
            bounds: values.map(|values| Bounds(Some(values))),
            nulls,
            exact_bounds: self.exact && self.is_uncut(&field.data_type.kind),
            exact_nulls: self.exact,
        })
    }

    /// Whether bounds are values: text is cut, floats leave NaN out, ORC takes times through calendars.
    fn is_uncut(&self, kind: &TypeKind) -> bool {
        use TypeKind::*;
        match kind {
            Boolean | TinyInt | SmallInt | Int | BigInt | Decimal { .. } => true,
            Date | Time(_) | Timestamp(_) | TimestampLtz(_) => !self.file.file_name.ends_with(".orc"),
            _ => false,
        }
    }
}

fn is_float(value: &Datum) -> bool {
    matches!(value, Datum::Float(_) | Datum::Double(_))
}

/// A bound as a query sees it; none of NaN.
fn seen(bound: Datum, data_type: &DataType) -> Option<Datum> {
    match bound {
        Datum::Float(v) if v.is_nan() => None,
        Datum::Double(v) if v.is_nan() => None,
        bound => Some(as_seen(&bound, data_type).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_are_no_interval_are_not_told() {
        let double = |v| Datum::Double(v);
        for (min, max, want) in [
            (double(1.0), double(2.0), true),
            (double(2.0), double(2.0), true),
            (double(f64::NAN), double(2.0), false),
            (double(1.0), double(f64::NAN), false),
            (double(3.0), double(2.0), false),
            (Datum::Int(3), Datum::Int(-3), false),
            (Datum::Int(3), Datum::BigInt(4), false),
        ] {
            assert_eq!(is_interval(&(min.clone(), max.clone())), want, "{min:?} {max:?}");
        }
    }
}
