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

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::SchemaRef;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr, PhysicalExprSimplifier, conjunction};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;

use super::assign::ScanUnit;
use super::context::ScanContext;
use super::evolution::{Origin, SchemaMapping};
use super::filter::{ScanFilter, replace_columns};
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
    let mut narrowing = Narrowing { switches, metrics, ..Narrowing::default() };
    let mut predicate = PredicateParts::default();
    for (number, filter) in context.filters().iter().enumerate() {
        let filter = UnitFilter::new(context, unit, number, filter)?;
        match filter.known() {
            Some(false) => return Ok(None),
            // A filter that changes begins as one that all rows fulfil.
            Some(true) if !DynamicFilterTracking::classify(&filter.expr).contains_dynamic_filter() => continue,
            _ => {}
        }
        predicate.add(&filter)?;
        if filter.exact {
            narrowing.row_filters.push(Arc::new(filter));
        }
    }
    narrowing.predicate = predicate.finish();
    Ok(Some(narrowing))
}

/// A condition for the rows of one file.
#[derive(Debug)]
struct UnitFilter {
    /// How the file has the columns.
    mapping: Arc<SchemaMapping>,
    /// The condition on batches of [`SchemaMapping::schema`].
    expr: Arc<dyn PhysicalExpr>,
    exact: bool,
}

impl UnitFilter {
    fn new(context: &ScanContext, unit: &ScanUnit, number: usize, filter: &ScanFilter) -> Result<Self> {
        let spec = context.spec();
        let partition = |field: &DataField| spec.partition_fields.iter().position(|p| p.id == field.id);
        let mut columns: Vec<usize> = collect_columns(&filter.expr).iter().map(Column::index).collect();
        columns.sort_unstable();
        let field = |at: usize| spec.fields.get(at).ok_or_else(|| Error::internal(format!("no column {at} to filter")));
        let fields = columns.into_iter().map(|at| Ok((at, field(at)?))).collect::<Result<Vec<_>>>()?;
        let (of_partition, of_file): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(_, f)| partition(f).is_some());
        let wanted: Vec<DataField> = of_file.iter().map(|(_, f)| (*f).clone()).collect();
        let values = if of_partition.is_empty() { vec![] } else { partition_values(context, unit)? };
        let mapping = context.filter_mapping(unit, number, &wanted)?;
        let expr = replace_columns(&filter.expr, &mut |column| {
            if let Some(at) = of_file.iter().position(|(at, _)| *at == column.index()) {
                return Ok(Arc::new(Column::new(column.name(), at)));
            }
            let value = partition(field(column.index())?).and_then(|at| values.get(at));
            let value = value.ok_or_else(|| Error::internal("a filter's column is nowhere"))?;
            Ok(Arc::new(Literal::new(value.clone())))
        })?;
        Ok(Self { mapping, expr, exact: filter.exact })
    }

    /// Whether all rows of the file fulfil it, or none, as far as that can be told without reading.
    fn known(&self) -> Option<bool> {
        let expr = nulls_for_absent(&self.expr, &self.mapping).ok()?;
        let expr = snapshot_physical_expr(expr).ok()?;
        constant(&expr, self.mapping.schema())
    }
}

impl RowFilter for UnitFilter {
    fn fields(&self) -> &[DataField] {
        self.mapping.read_fields()
    }

    fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let mapped = self.mapping.apply(batch.clone())?;
        let failed = |e| Error::new(crate::error::ErrorKind::Internal, "a filter failed").caused_by(e);
        let value =
            self.expr.evaluate(&mapped).and_then(|value| value.into_array(mapped.num_rows())).map_err(failed)?;
        let matches = value.as_boolean_opt().ok_or_else(|| Error::internal("a filter is no condition"))?;
        Ok(if matches.null_count() > 0 { prep_null_mask_filter(matches) } else { matches.clone() })
    }
}

/// What an expression is for every row, if that is certain.
fn constant(expr: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> Option<bool> {
    let simple = PhysicalExprSimplifier::new(schema).simplify(Arc::clone(expr)).ok()?;
    match simple.downcast_ref::<Literal>()?.value() {
        ScalarValue::Boolean(value) => Some(value.unwrap_or(false)),
        ScalarValue::Null => Some(false),
        _ => None,
    }
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
        let simplifier = PhysicalExprSimplifier::new(&schema);
        let expr = conjunction(self.conjuncts);
        // A condition that cannot be simplified, since evaluating a part of it fails, fails where it is applied.
        let expr = simplifier.simplify(Arc::clone(&expr)).unwrap_or(expr);
        Some(FilePredicate::new(self.fields, expr))
    }
}

/// The partition's values, in the order of the partition columns.
fn partition_values(context: &ScanContext, unit: &ScanUnit) -> Result<Vec<ScalarValue>> {
    let types: Vec<_> = context.spec().partition_fields.iter().map(|f| f.data_type.clone()).collect();
    let datums = BinaryRow::from_serialized(&unit.partition)?.decode(&types)?;
    let value = |(data_type, datum)| {
        let array = datums_to_array(data_type, std::slice::from_ref(datum))?;
        let value = ScalarValue::try_from_array(&array, 0);
        value.map_err(|e| Error::internal("a partition value is no literal").caused_by(e))
    };
    types.iter().zip(&datums).map(value).collect()
}
