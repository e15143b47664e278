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
use crate::spec::column_range::ColumnRange;
use crate::spec::data_file::DataFileMeta;
use crate::spec::data_type::{DataField, DataType, TypeKind};
use crate::spec::datum::Datum;
use crate::spec::datum_array::datums_to_array;
use crate::spec::simple_stats::value_stats_position;
use crate::spec::statistics::Statistics as Analyzed;
use crate::spec::table_schema::TableSchema;
use crate::split::{DeferredSplits, SplitSummary};

/// Statistics of more files times columns than this are not worth decoding.
const MAX_DECODED: usize = 200_000;

/// The values of more partitions than this are not worth decoding.
const MAX_PARTITIONS: usize = 10_000;

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
        files.iter().for_each(|unit| add_unit(context, unit, &mut columns));
    } else {
        columns.iter_mut().for_each(Summary::forget);
    }
    let analyzed = context.spec().analyzed.as_deref();
    let column = |(field, summary): (&DataField, Summary)| summary.statistics(field, certain, rows, analyzed);
    let column_statistics: Vec<_> = fields.iter().zip(columns).map(column).collect();
    let bytes = column_statistics.iter().map(|c| c.byte_size.get_value().copied().unwrap_or(0));
    Statistics { num_rows: rows, total_byte_size: Precision::Inexact(bytes.sum()), column_statistics }
}

/// Statistics of splits that are yet to be made, of so many files that they are not looked at one by one: their
/// partitions are certain, and what else is known of columns is about right.
pub fn deferred_statistics(context: &ScanContext, splits: &dyn DeferredSplits) -> Statistics {
    let asked = context.spec().sources.values().any(|source| source.predicate.is_some() && source.asks_indexes);
    let certain = context.filters().is_empty() && !asked;
    let SplitSummary { rows, bytes, partitions, .. } = splits.summary();
    let rows = if certain { Precision::Exact(rows) } else { Precision::Inexact(rows) };
    let fields = context.output_fields();
    let mut columns = vec![Summary::default(); fields.len()];
    match partitions <= MAX_PARTITIONS {
        true => add_partitions(context, splits, &mut columns),
        false => columns.iter_mut().for_each(Summary::forget),
    }
    let is_of_file = |source: &ColumnSource| matches!(source, ColumnSource::File(_));
    let of_files = context.sources().iter().zip(fields).filter(|(source, _)| is_of_file(source));
    let ranges = splits.ranges(&of_files.map(|(_, field)| field.clone()).collect::<Vec<_>>());
    let of_files = context.sources().iter().zip(&mut columns).filter(|(source, _)| is_of_file(source));
    of_files.zip(ranges).for_each(|((_, column), range)| *column = Summary::estimate(range));
    let analyzed = context.spec().analyzed.as_deref();
    let column = |(field, summary): (&DataField, Summary)| summary.statistics(field, certain, rows, analyzed);
    let column_statistics = fields.iter().zip(columns).map(column).collect();
    Statistics { num_rows: rows, total_byte_size: Precision::Inexact(bytes), column_statistics }
}

/// Adds the partition columns of whole partitions.
fn add_partitions(context: &ScanContext, splits: &dyn DeferredSplits, columns: &mut [Summary]) {
    if context.sources().iter().all(|source| matches!(source, ColumnSource::File(_))) {
        return;
    }
    for (partition, rows) in splits.partitions() {
        let values = partition_values(context, partition);
        for (source, column) in context.sources().iter().zip(columns.iter_mut()) {
            match *source {
                ColumnSource::Partition(at) => column.add(of_partition(values.as_deref(), at, *rows, true)),
                ColumnSource::Combined { .. } => column.add(Summary::estimate(ColumnRange::unknown(*rows))),
                ColumnSource::File(_) => {}
            }
        }
    }
}

/// What is known of one column of several files.
#[derive(Debug, Clone)]
struct Summary {
    range: ColumnRange,
    /// Whether that is all certain.
    exact_bounds: bool,
    exact_nulls: bool,
}

impl Default for Summary {
    fn default() -> Self {
        Self { range: ColumnRange::default(), exact_bounds: true, exact_nulls: true }
    }
}

impl Summary {
    fn estimate(range: ColumnRange) -> Self {
        Self { range, exact_bounds: false, exact_nulls: false }
    }

    fn forget(&mut self) {
        (self.range.values, self.range.nulls) = (None, None);
    }

    fn add(&mut self, other: Self) {
        self.range.add(other.range);
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
        let (min, max) = self.range.values.flatten().filter(is_interval).unzip();
        let bound = |datum: Option<Datum>| match datum.and_then(|d| scalar(&field.data_type, d)) {
            Some(value) if certain && self.exact_bounds => Precision::Exact(value),
            Some(value) => Precision::Inexact(value),
            None => Precision::Absent,
        };
        let null_count = match self.range.nulls {
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

fn add_unit(context: &ScanContext, unit: &ScanUnit, columns: &mut [Summary]) {
    columns.iter_mut().zip(summaries(context, unit)).for_each(|(column, of_unit)| column.add(of_unit));
}

/// About which values the output columns have in a unit's file.
pub fn column_ranges(context: &ScanContext, unit: &ScanUnit) -> Vec<ColumnRange> {
    summaries(context, unit).into_iter().map(|summary| summary.range).collect()
}

/// What is known of each output column of a unit's file.
fn summaries(context: &ScanContext, unit: &ScanUnit) -> Vec<Summary> {
    let exact = matches!(unit.rows(), Precision::Exact(_)) && unit.file.deletion.is_none();
    let schema = context.source(&unit.branch).ok().and_then(|source| source.by_id.get(&unit.file.meta.schema_id));
    let mapping = context.mapping(unit).ok();
    let file = UnitColumns { file: &unit.file.meta, schema: schema.map(Arc::as_ref), exact };
    let partition = partition_values(context, &unit.partition);
    let summary = |(source, field): (&ColumnSource, &DataField)| match *source {
        ColumnSource::Partition(at) => of_partition(partition.as_deref(), at, file.rows(), exact),
        ColumnSource::File(at) => file.of_file(mapping.as_ref().map(|mapping| mapping.origin(at)), field),
        ColumnSource::Combined { .. } => file.unknown(),
    };
    context.sources().iter().zip(context.output_fields()).map(summary).collect()
}

/// The values of a partition, a serialized `BinaryRow`; `None` where it is none.
pub fn partition_values(context: &ScanContext, partition: &[u8]) -> Option<Vec<Option<Datum>>> {
    let types = context.spec().partition_fields.iter().map(|f| &f.data_type);
    BinaryRow::from_serialized(partition).ok()?.decode(types).ok()
}

/// A partition column in rows of one partition.
fn of_partition(values: Option<&[Option<Datum>]>, at: usize, rows: usize, exact: bool) -> Summary {
    let known = |range, exact_bounds| Summary { range, exact_bounds: exact && exact_bounds, exact_nulls: exact };
    match values.and_then(|values| values.get(at)) {
        _ if rows == 0 => Summary::default(),
        Some(Some(value)) => {
            let values = Some(Some((value.clone(), value.clone())));
            known(ColumnRange { rows, values, nulls: Some(0) }, !is_float(value))
        }
        Some(None) => known(ColumnRange::all_null(rows), true),
        None => Summary::estimate(ColumnRange::unknown(rows)),
    }
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
        let range = ColumnRange { rows: self.rows(), values: Some(values), nulls: Some(nulls) };
        Summary { range, exact_bounds: self.exact && exact, exact_nulls: self.exact }
    }

    fn unknown(&self) -> Summary {
        Summary::estimate(ColumnRange::unknown(self.rows()))
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
        let nulls = nulls.and_then(|n| usize::try_from(self.file.believed_nulls(n)?).ok());
        if nulls.is_some_and(|nulls| nulls >= self.rows()) {
            return Some(self.known(None, self.rows(), true));
        }
        let bounds = (laid_out(&stats.min_values) && laid_out(&stats.max_values))
            .then(|| stats.column(at, &field.data_type).ok())
            .flatten();
        let values = bounds.and_then(|b| Some((seen(b.min?, &field.data_type)?, seen(b.max?, &field.data_type)?)));
        Some(Summary {
            range: ColumnRange { rows: self.rows(), values: values.map(Some), nulls },
            exact_bounds: self.exact && self.is_uncut(&field.data_type.kind),
            exact_nulls: self.exact,
        })
    }

    /// Whether bounds are values: text is cut, floats leave NaN out, ORC takes times through calendars.
    fn is_uncut(&self, kind: &TypeKind) -> bool {
        use TypeKind::*;
        match kind {
            Boolean | TinyInt | SmallInt | Int | BigInt | Decimal { .. } => true,
            Date | Time(_) | Timestamp(_) | TimestampLtz(_) => !self.file.is_orc(),
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
    use crate::error::Result;
    use crate::exec::context::ScanSpec;
    use crate::spec::binary_row::serialize_row;
    use crate::spec::simple_stats::SimpleStats;
    use crate::split::DataSplit;

    fn context(projection: &[usize]) -> ScanContext {
        let field = |id, name: &str| DataField::new(id, name, TypeKind::Int.nullable());
        let fields = vec![field(0, "v"), field(1, "p"), field(2, "w")];
        let spec = ScanSpec { partition_fields: vec![field(1, "p")], ..ScanSpec::of_columns(fields) };
        ScanContext::new(Arc::new(spec), projection).unwrap()
    }

    /// Partitions, so many in all; those that are told have seven rows.
    struct Deferred {
        partitions: usize,
        told: Vec<(Arc<[u8]>, usize)>,
    }

    impl Deferred {
        /// Two that are told, one of them NULL.
        fn new(partitions: usize) -> Self {
            let partition = |p| serialize_row(&[TypeKind::Int.nullable()], &[p]).unwrap().into();
            Self { partitions, told: vec![(partition(Some(Datum::Int(3))), 5), (partition(None), 2)] }
        }
    }

    impl DeferredSplits for Deferred {
        fn summary(&self) -> SplitSummary {
            SplitSummary { files: 1000, partitions: self.partitions, rows: 7, bytes: 70 }
        }

        fn make(&self) -> Result<Vec<DataSplit>> {
            Ok(vec![])
        }

        fn partitions(&self) -> &[(Arc<[u8]>, usize)] {
            &self.told
        }

        fn ranges(&self, columns: &[DataField]) -> Vec<ColumnRange> {
            let of = |field: &DataField| match field.id {
                0 => ColumnRange { rows: 7, values: Some(Some((Datum::Int(-1), Datum::Int(1)))), nulls: Some(2) },
                _ => ColumnRange::unknown(7),
            };
            columns.iter().map(of).collect()
        }
    }

    #[test]
    fn partitions_of_splits_to_be_made_are_certain_and_other_columns_estimates() {
        let int = |v| ScalarValue::Int32(Some(v));
        let told = deferred_statistics(&context(&[2, 1, 0]), &Deferred::new(2));
        assert_eq!(told.num_rows, Precision::Exact(7));
        let bounds = told.column_statistics.iter().map(|c| (c.min_value.clone(), c.max_value.clone(), c.null_count));
        let want = [
            (Precision::Absent, Precision::Absent, Precision::Absent),
            (Precision::Exact(int(3)), Precision::Exact(int(3)), Precision::Exact(2)),
            (Precision::Inexact(int(-1)), Precision::Inexact(int(1)), Precision::Inexact(2)),
        ];
        assert_eq!(bounds.collect::<Vec<_>>(), want);
        let many = deferred_statistics(&context(&[1]), &Deferred::new(MAX_PARTITIONS + 1));
        assert_eq!(many.column_statistics[0].min_value, Precision::Absent);
        assert_eq!(many.num_rows, Precision::Exact(7));
    }

    #[test]
    fn an_orc_file_that_is_said_to_be_all_null_has_unknown_columns() {
        let field = DataField::new(0, "v", TypeKind::Int.nullable());
        let json = r#"{"id":0,"fields":[],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{}}"#;
        let schema = TableSchema { fields: vec![field.clone()], ..TableSchema::from_json(json.as_bytes()).unwrap() };
        let stats = serialize_row(&[TypeKind::Int.nullable()], &[None]).unwrap();
        let value_stats = SimpleStats { min_values: stats.clone(), max_values: stats, null_counts: vec![Some(4)] };
        for (name, nulls) in [("f.parquet", Some(4)), ("f.orc", None)] {
            let file_name = name.to_owned();
            let file =
                DataFileMeta { file_name, row_count: 4, value_stats: value_stats.clone(), ..DataFileMeta::empty() };
            let columns = UnitColumns { file: &file, schema: Some(&schema), exact: true };
            assert_eq!(columns.stored(&field).unwrap().range.nulls, nulls, "{name}");
        }
    }

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
