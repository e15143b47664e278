//! What the conditions of a scan become for one file: [`narrow`].
//!
//! In: conditions on the table's columns, and a unit. Out: a [`Narrowing`] in the words of the file's own schema, or the
//! finding that no row of the file can fulfil them. In a condition
//!
//! - a partition column is its value of this file;
//! - a column that the file lacks is NULL;
//! - a column that has the same values in the file is the file's column, whatever its name;
//! - a column whose values are cast makes statistics useless: they are not asked. A row filter casts them, as the scan
//!   casts those that it hands out.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr, PhysicalExprSimplifier, conjunction};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;

use super::assign::ScanUnit;
use super::context::ScanContext;
use super::dynamic;
use super::evolution::{Origin, SchemaMapping};
use super::few_rows::leaves_few;
use super::filter::{ScanFilter, replace_columns};
use super::lookup;
use crate::error::{Error, Result};
use crate::file::{FilePredicate, Narrowing, PruneMetrics, PruneSwitches, RowFilter};
use crate::spec::arrow_type::arrow_schema;
use crate::spec::binary_row::BinaryRow;
use crate::spec::data_type::DataField;
use crate::spec::datum_array::datums_to_array;

/// How the read of a unit's file is narrowed; `None` where no row of it can be wanted.
pub fn narrow(
    context: &ScanContext,
    unit: &ScanUnit,
    switches: PruneSwitches,
    metrics: PruneMetrics,
) -> Result<Option<Narrowing>> {
    let filters = context.unit_filters(unit, switches.max_in_list_size)?;
    let Some(wanted) = &filters.wanted else { return Ok(None) };
    let mut row_filters: Vec<Arc<dyn RowFilter>> = vec![];
    for (filter, of_scan) in &wanted.filters {
        if filter.changes && filter.known() == Some(false) {
            return Ok(None);
        }
        if filter.exact || leaves_few(context, unit, of_scan) {
            row_filters.push(Arc::clone(filter) as _);
        }
    }
    if !dynamic::may_match(context, unit)? {
        return Ok(None);
    }
    Ok(Some(Narrowing { predicate: wanted.predicate.clone(), row_filters, switches, metrics, found: None }))
}

/// What the conditions of a scan become for all files that have the columns alike.
#[derive(Debug)]
pub struct UnitFilters {
    /// `None` where no row of such a file can be wanted.
    wanted: Option<Wanted>,
}

#[derive(Debug)]
struct Wanted {
    /// The conditions that not all rows fulfil for sure, with what the scan has of each.
    filters: Vec<(Arc<UnitFilter>, ScanFilter)>,
    /// What statistics are asked for.
    predicate: Option<FilePredicate>,
}

impl UnitFilters {
    /// The conditions for files as that of `unit`. IN lists up to a length are compared with statistics.
    pub fn new(context: &ScanContext, unit: &ScanUnit, max_in_list_size: usize) -> Result<Self> {
        let (mut filters, mut predicate) = (vec![], PredicateParts::default());
        for (number, of_scan) in context.filters().iter().enumerate() {
            let filter = UnitFilter::new(context, unit, number, of_scan)?;
            // A filter that changes begins as one that all rows fulfil.
            match filter.known().filter(|_| !filter.changes) {
                Some(false) => return Ok(Self { wanted: None }),
                Some(true) => continue,
                None => {}
            }
            if !filter.is_unsure() {
                predicate.add(&filter)?;
            }
            filters.push((Arc::new(filter), of_scan.clone()));
        }
        let predicate = predicate.finish().map(|predicate| predicate.with_max_in_list_size(max_in_list_size));
        Ok(Self { wanted: Some(Wanted { filters, predicate }) })
    }
}

/// A condition for the rows of one file.
#[derive(Debug)]
struct UnitFilter {
    /// How the file has the columns.
    mapping: Arc<SchemaMapping>,
    /// The condition on batches of [`SchemaMapping::schema`].
    expr: Arc<dyn PhysicalExpr>,
    exact: bool,
    /// Whether it may change while the query runs.
    changes: bool,
    /// Whether a value of the partition is a floating-point zero. DataFusion joins `-0.0` and `0.0`, but the conditions
    /// that its joins hand down tell them apart.
    has_zero: bool,
}

impl UnitFilter {
    fn new(context: &ScanContext, unit: &ScanUnit, number: usize, filter: &ScanFilter) -> Result<Self> {
        let spec = context.spec();
        let partition = |field: &DataField| spec.partition_position(field);
        let mut columns: Vec<usize> = collect_columns(&filter.expr).iter().map(Column::index).collect();
        columns.sort_unstable();
        let field = |at: usize| spec.fields.get(at).ok_or_else(|| Error::internal(format!("no column {at} to filter")));
        let fields = columns.into_iter().map(|at| Ok((at, field(at)?))).collect::<Result<Vec<_>>>()?;
        let (of_partition, of_file): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(_, f)| partition(f).is_some());
        let wanted: Vec<DataField> = of_file.iter().map(|(_, f)| (*f).clone()).collect();
        let values = if of_partition.is_empty() { vec![] } else { partition_values(context, &unit.partition)? };
        let mapping = context.filter_mapping(unit, number, &wanted)?;
        let expr = replace_columns(&filter.expr, &mut |column| {
            if let Some(at) = of_file.iter().position(|(at, _)| *at == column.index()) {
                return Ok(Arc::new(Column::new(column.name(), at)));
            }
            let value = partition(field(column.index())?).and_then(|at| values.get(at));
            let value = value.ok_or_else(|| Error::internal("a filter's column is nowhere"))?;
            Ok(Arc::new(Literal::new(value.clone())))
        })?;
        let of_filter = of_partition.iter().filter_map(|(_, field)| partition(field)).filter_map(|at| values.get(at));
        let has_zero = of_filter.into_iter().any(is_float_zero);
        Ok(Self { has_zero, ..Self::of(mapping, expr, filter.exact) })
    }

    fn of(mapping: Arc<SchemaMapping>, expr: Arc<dyn PhysicalExpr>, exact: bool) -> Self {
        let changes = DynamicFilterTracking::classify(&expr).contains_dynamic_filter();
        Self { mapping, expr, exact, changes, has_zero: false }
    }

    /// Whether it may take a zero of the partition for another one than the plan does.
    fn is_unsure(&self) -> bool {
        self.changes && self.has_zero
    }

    /// Whether all rows of the file fulfil it, or none, as far as that can be told without reading.
    fn known(&self) -> Option<bool> {
        if self.is_unsure() {
            return None;
        }
        let expr = nulls_for_absent(&self.expr, &self.mapping).ok()?;
        let expr = snapshot_physical_expr(expr).ok()?;
        constant(&expr, self.mapping.schema())
    }
}

impl RowFilter for UnitFilter {
    fn fields(&self) -> &[DataField] {
        self.mapping.read_fields()
    }

    fn is_needed(&self) -> bool {
        self.exact
    }

    fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let mapped = self.mapping.apply(batch.clone())?;
        let failed = |e| Error::new(crate::error::ErrorKind::Internal, "a filter failed").caused_by(e);
        lookup::fulfilling(self.expr.as_ref(), &mapped).map_err(failed)
    }
}

fn is_float_zero(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float32(Some(value)) => *value == 0.0,
        ScalarValue::Float64(Some(value)) => *value == 0.0,
        _ => false,
    }
}

/// What an expression is for every row, if that is certain.
fn constant(expr: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> Option<bool> {
    match simplified(expr, schema).ok()?.downcast_ref::<Literal>()?.value() {
        ScalarValue::Boolean(value) => Some(value.unwrap_or(false)),
        ScalarValue::Null => Some(false),
        _ => None,
    }
}

/// An expression without parts that are the same for every row.
fn simplified(expr: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
    let simple = PhysicalExprSimplifier::new(schema).simplify(Arc::clone(expr))?;
    let folded = simple.transform_up(|node| {
        Ok(match node.downcast_ref::<BinaryExpr>().and_then(fold) {
            Some(folded) => Transformed::yes(folded),
            None => Transformed::no(node),
        })
    });
    Ok(folded?.data)
}

/// AND and OR of which one side is certain.
fn fold(expr: &BinaryExpr) -> Option<Arc<dyn PhysicalExpr>> {
    let decides = match expr.op() {
        Operator::And => false,
        Operator::Or => true,
        _ => return None,
    };
    let certain = |side: &Arc<dyn PhysicalExpr>| match side.downcast_ref::<Literal>()?.value() {
        ScalarValue::Boolean(value) => *value,
        _ => None,
    };
    let folded = match (certain(expr.left()), certain(expr.right())) {
        (Some(left), _) if left == decides => expr.left(),
        (_, Some(right)) if right == decides => expr.right(),
        (Some(_), _) => expr.right(),
        (_, Some(_)) => expr.left(),
        (None, None) => return None,
    };
    Some(Arc::clone(folded))
}

/// The condition with NULL for the columns that the file lacks.
fn nulls_for_absent(expr: &Arc<dyn PhysicalExpr>, mapping: &SchemaMapping) -> Result<Arc<dyn PhysicalExpr>> {
    replace_columns(expr, &mut |column| match mapping.origin(column.index()) {
        Origin::Absent => null(mapping, column),
        _ => Ok(Arc::new(column.clone())),
    })
}

fn null(mapping: &SchemaMapping, column: &Column) -> Result<Arc<dyn PhysicalExpr>> {
    let field = mapping.schema().fields().get(column.index());
    let field = field.ok_or_else(|| Error::internal("a filter's column is nowhere"))?;
    let null = ScalarValue::try_from(field.data_type());
    Ok(Arc::new(Literal::new(null.map_err(|e| Error::internal("a type without NULL").caused_by(e))?)))
}

/// The conditions that statistics of the file can be asked for, gathered.
#[derive(Default)]
struct PredicateParts {
    fields: Vec<DataField>,
    conjuncts: Vec<Arc<dyn PhysicalExpr>>,
}

impl PredicateParts {
    /// Adds a condition, unless it is about values that the file has otherwise.
    fn add(&mut self, filter: &UnitFilter) -> Result<()> {
        let mapping = filter.mapping.as_ref();
        let columns = collect_columns(&filter.expr);
        if columns.iter().any(|column| matches!(mapping.origin(column.index()), Origin::Changed(_))) {
            return Ok(());
        }
        let expr = replace_columns(&filter.expr, &mut |column| match mapping.origin(column.index()) {
            Origin::Same(field) => Ok(Arc::new(self.column(field))),
            _ => null(mapping, column),
        })?;
        self.conjuncts.push(expr);
        Ok(())
    }

    fn column(&mut self, field: &DataField) -> Column {
        let at = self.fields.iter().position(|f| f.id == field.id).unwrap_or_else(|| {
            self.fields.push(field.clone());
            self.fields.len() - 1
        });
        Column::new(&field.name, at)
    }

    fn finish(self) -> Option<FilePredicate> {
        if self.conjuncts.is_empty() {
            return None;
        }
        let schema = arrow_schema(&self.fields);
        let expr = conjunction(self.conjuncts);
        // A condition that cannot be simplified, since evaluating a part of it fails, fails where it is applied.
        let expr = simplified(&expr, &schema).unwrap_or(expr);
        Some(FilePredicate::new(self.fields, expr))
    }
}

/// What statistics of a file can be asked of conditions on the columns that `mapping` makes of it.
pub fn file_predicate(
    mapping: &Arc<SchemaMapping>,
    conditions: &[Arc<dyn PhysicalExpr>],
) -> Result<Option<FilePredicate>> {
    let mut parts = PredicateParts::default();
    for expr in conditions {
        parts.add(&UnitFilter::of(Arc::clone(mapping), Arc::clone(expr), false))?;
    }
    Ok(parts.finish())
}

/// The values of a partition, a serialized `BinaryRow`, in the order of the partition columns.
pub fn partition_values(context: &ScanContext, partition: &[u8]) -> Result<Vec<ScalarValue>> {
    let types: Vec<_> = context.spec().partition_fields.iter().map(|f| f.data_type.clone()).collect();
    let datums = BinaryRow::from_serialized(partition)?.decode(&types)?;
    let value = |(data_type, datum)| {
        let array = datums_to_array(data_type, std::slice::from_ref(datum))?;
        let value = ScalarValue::try_from_array(&array, 0);
        value.map_err(|e| Error::internal("a partition value is no literal").caused_by(e))
    };
    types.iter().zip(&datums).map(value).collect()
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int32Array, StringViewArray};
    use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
    use datafusion::physical_expr::planner::logical2physical;
    use datafusion::prelude::{Expr, col, lit};

    use super::*;
    use crate::exec::evolution::CastContext;
    use crate::spec::data_type::DataType;

    fn field(id: i32, name: &str, text: &str) -> DataField {
        DataField::new(id, name, DataType::parse(text).unwrap())
    }

    /// A file where `grown` was an INT, `renamed` had another name, and `absent` was not yet.
    fn mapping() -> Arc<SchemaMapping> {
        let file = [field(0, "grown", "INT"), field(1, "renamed", "INT"), field(2, "old name", "STRING")];
        let table = [
            field(0, "grown", "BIGINT"),
            field(2, "renamed", "STRING"),
            field(7, "absent", "INT"),
            field(1, "n", "INT"),
        ];
        Arc::new(SchemaMapping::new(&file, &table, CastContext { zone: chrono_tz::Tz::UTC }).unwrap())
    }

    fn filter(expr: &Expr) -> UnitFilter {
        let mapping = mapping();
        let expr = logical2physical(expr, mapping.schema());
        UnitFilter::of(mapping, expr, true)
    }

    fn text(text: &str) -> Expr {
        lit(ScalarValue::Utf8View(Some(text.to_owned())))
    }

    #[test]
    fn statistics_are_asked_in_the_words_of_the_file() {
        for (expr, want) in [
            (col("renamed").eq(text("x")), Some("old name@0 = x")),
            (col("n").gt(lit(3)), Some("renamed@0 > 3")),
            (col("n").gt(lit(3)).and(col("renamed").eq(text("x"))), Some("renamed@1 > 3 AND old name@0 = x")),
            (col("n").gt(lit(3)).or(col("absent").is_not_null()), Some("renamed@0 > 3")),
            (col("grown").gt(lit(3i64)), None),
            (col("grown").gt(lit(3i64)).or(col("n").gt(lit(3))), None),
        ] {
            let mut parts = PredicateParts::default();
            // A first condition, where there are two, so that columns are numbered over all.
            if want.is_some_and(|want| want.contains("AND")) {
                parts.add(&filter(&col("renamed").is_not_null())).unwrap();
            }
            parts.add(&filter(&expr)).unwrap();
            let got = parts.finish().map(|predicate| predicate.expr().to_string());
            let got = got.map(|got| got.replace("old name@0 IS NOT NULL AND ", ""));
            assert_eq!(got.as_deref(), want, "{expr}");
        }
    }

    #[test]
    fn what_is_known_without_reading() {
        for (expr, want) in [
            (col("absent").eq(lit(1)), Some(false)),
            (col("absent").is_null(), Some(true)),
            (col("absent").is_null().and(col("n").gt(lit(1))), None),
            (col("absent").is_not_null().and(col("n").gt(lit(1))), Some(false)),
            (col("grown").is_null(), None),
            (lit(1).eq(lit(2)), Some(false)),
        ] {
            assert_eq!(filter(&expr).known(), want, "{expr}");
        }
    }

    #[test]
    fn a_condition_that_changes_is_asked_anew() {
        let schema = Arc::clone(mapping().schema());
        let children = vec![logical2physical(&col("n"), &schema)];
        let dynamic = Arc::new(DynamicFilterPhysicalExpr::new(children, logical2physical(&lit(true), &schema)));
        let filter = UnitFilter::of(mapping(), Arc::clone(&dynamic) as _, false);
        let mut parts = PredicateParts::default();
        parts.add(&filter).unwrap();
        let predicate = parts.finish().unwrap();
        assert_eq!(filter.known(), Some(true));
        dynamic.update(logical2physical(&col("n").gt(lit(7)), &schema)).unwrap();
        assert_eq!(filter.known(), None);
        let now = snapshot_physical_expr(Arc::clone(predicate.expr())).unwrap();
        assert_eq!(now.to_string(), "renamed@0 > 7");
    }

    #[test]
    fn zeros_of_partitions_decide_nothing_that_a_join_says() {
        let schema = Arc::clone(mapping().schema());
        let (zero, other) = (lit(-0.0f64), lit(1.5f64));
        for (value, at_zero, known) in [(&zero, true, None), (&zero, false, Some(false)), (&other, false, Some(false))]
        {
            // As it is where the partition's value stands for the column.
            let equal = value.clone().in_list(vec![lit(0.0f64)], false);
            let dynamic = DynamicFilterPhysicalExpr::new(vec![], logical2physical(&equal, &schema));
            let filter = UnitFilter::of(mapping(), Arc::new(dynamic), false);
            assert_eq!(UnitFilter { has_zero: at_zero, ..filter }.known(), known, "{value}");
        }
        for (value, want) in [
            (ScalarValue::Float64(Some(-0.0)), true),
            (ScalarValue::Float32(Some(0.0)), true),
            (ScalarValue::Float64(Some(f64::NAN)), false),
            (ScalarValue::Float32(None), false),
            (ScalarValue::Int32(Some(0)), false),
        ] {
            assert_eq!(is_float_zero(&value), want, "{value}");
        }
    }

    #[test]
    fn rows_are_filtered_as_the_table_has_them() {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)])),
            Arc::new(Int32Array::from(vec![5, 6, 7, 8])),
            Arc::new(StringViewArray::from(vec!["a", "b", "c", "d"])),
        ];
        let filter = filter(&col("grown").gt(lit(2i64)).and(col("absent").is_null()).or(col("renamed").eq(text("b"))));
        let batch = RecordBatch::try_new(arrow_schema(filter.fields()), columns).unwrap();
        assert_eq!(filter.matches(&batch).unwrap(), BooleanArray::from(vec![false, true, true, true]));
    }
}
