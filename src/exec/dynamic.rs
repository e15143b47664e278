//! What conditions that arise while a query runs say of a unit's file, or of a section: [`predicate`].
//!
//! In: the filters that joins and `ORDER BY … LIMIT` push into the scan, as they are now. Out: a [`Predicate`] in the words
//! of metadata, so that bounds in the manifest and file indexes can leave out a file that is not opened yet. Conditions
//! that do not change were asked when the scan was planned. What cannot be said is left out: below AND it is dropped,
//! below OR the whole OR is.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal,
};
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;

use super::assign::ScanUnit;
use super::context::{ScanContext, SourceSchemas};
use super::merge::section::MergeSection;
use crate::error::Result;
use crate::predicate::literal::{Comparison, Place, compare, keeps_order, place};
use crate::predicate::{ColumnRef, Leaf, Predicate, Test, file_stats};
use crate::spec::arrow_type::column_type;
use crate::spec::binary_row::BinaryRow;
use crate::spec::data_file::DataFileMeta;
use crate::spec::data_type::DataField;
use crate::spec::datum::Datum;
use crate::spec::table_schema::TableSchema;

/// What the filters that may change say now, in the field ids of a branch; `None` where that is nothing.
pub fn predicate(context: &ScanContext, branch: &Option<Arc<str>>) -> Result<Option<Predicate>> {
    let fields = &context.spec().fields;
    let mut said = vec![];
    for filter in context.filters().iter() {
        if DynamicFilterTracking::classify(&filter.expr).contains_dynamic_filter()
            && let Ok(now) = snapshot_physical_expr(Arc::clone(&filter.expr))
        {
            said.extend(translated(&now, fields));
        }
    }
    let said = context.spec().combined_partitions.of_partitions(Predicate::all_of(said));
    if said.is_always() || branch.is_none() {
        return Ok((!said.is_always()).then_some(said));
    }
    let of_branch = &context.source(branch)?.fields;
    let said = said.with_columns(&|column| {
        let field = of_branch.iter().find(|f| f.name == column.name)?;
        (field.data_type.kind == column.data_type.kind).then(|| ColumnRef { id: field.id, ..column.clone() })
    });
    Ok((!said.is_always()).then_some(said))
}

/// Whether what the manifest says of a unit's file lets it hold rows that are wanted now.
pub fn may_match(context: &ScanContext, unit: &ScanUnit) -> Result<bool> {
    let Some(wanted) = Wanted::new(context, &unit.branch, &unit.partition)? else { return Ok(true) };
    let file = unit.file.meta.as_ref();
    let by_value = |schema: &TableSchema| file_stats::may_match_by_value(&wanted.predicate, file, schema);
    Ok(wanted.may_have_keys_in(unit) && wanted.schema(file).is_none_or(by_value))
}

/// Whether a section may hold rows that are wanted now: whether a file of it may hold versions of their keys. All
/// versions of a key are in the section; values tell nothing, since a row may have those of several versions.
pub fn section_may_match(context: &ScanContext, section: &MergeSection) -> Result<bool> {
    let Some(wanted) = Wanted::new(context, section.branch(), section.partition())? else { return Ok(true) };
    Ok(section.files().any(|file| wanted.may_have_keys_in(&section.unit(file))))
}

/// What is wanted now of a partition.
struct Wanted<'a> {
    predicate: Predicate,
    source: &'a SourceSchemas,
}

impl<'a> Wanted<'a> {
    /// `None` where everything is wanted.
    fn new(context: &'a ScanContext, branch: &Option<Arc<str>>, partition: &[u8]) -> Result<Option<Self>> {
        let Some(predicate) = predicate(context, branch)? else { return Ok(None) };
        let predicate = residual(Cow::Owned(predicate), context, partition)?.into_owned();
        Ok(Some(Self { predicate, source: context.source(branch)? }))
    }

    fn schema(&self, file: &DataFileMeta) -> Option<&'a TableSchema> {
        self.source.by_id.get(&file.schema_id).map(Arc::as_ref)
    }

    /// Whether a unit's file may hold versions of keys that are wanted.
    fn may_have_keys_in(&self, unit: &ScanUnit) -> bool {
        let Some(schema) = self.schema(&unit.file.meta) else { return true };
        let may_be_in_range =
            || schema.primary_keys.is_empty() || file_stats::may_match_by_key(&self.predicate, &unit.file.meta, schema);
        !self.predicate.is_never() && self.may_be_in_bucket(unit.bucket, schema) && may_be_in_range()
    }

    /// Whether wanted rows may be in a bucket, one of so many, of which a file of the schema has rows.
    fn may_be_in_bucket(&self, (bucket, total): (i32, i32), schema: &TableSchema) -> bool {
        let Some(key) = self.source.bucket_key.as_ref().filter(|_| bucket >= 0 && total > 0) else { return true };
        let buckets = key.select(&self.predicate).filter(|_| key.is_of(schema)).and_then(|set| set.buckets(total));
        buckets.is_none_or(|buckets| buckets.contains(&bucket))
    }
}

/// What a predicate says of the other columns where the partition's values, a serialized `BinaryRow`, are known. The
/// files may have others: those of a chain table come from several partitions.
pub fn residual<'a>(
    predicate: Cow<'a, Predicate>,
    context: &ScanContext,
    partition: &[u8],
) -> Result<Cow<'a, Predicate>> {
    let fields = &context.spec().partition_fields;
    let place = |leaf: &Leaf| fields.iter().position(|f| f.name == leaf.column.name);
    if !predicate.any_leaf(&|leaf| place(leaf).is_some()) {
        return Ok(predicate);
    }
    let values = BinaryRow::from_serialized(partition)?.decode(fields.iter().map(|f| &f.data_type))?;
    // Joins take `-0.0` for `0.0`, the conditions that they hand down do not: a zero decides nothing.
    let is_zero = |value: &Datum| match value {
        Datum::Float(value) => *value == 0.0,
        Datum::Double(value) => *value == 0.0,
        _ => false,
    };
    let holds = |leaf: &Leaf| {
        let value = values.get(place(leaf)?)?.as_ref();
        Some(value.is_some_and(is_zero) || leaf.evaluate(value) == Some(true))
    };
    Ok(Cow::Owned(predicate.residual(&mut |leaf| holds(leaf))))
}

/// The rows for which an expression on the table's columns is TRUE; `None` where nothing can be said.
fn translated(expr: &Arc<dyn PhysicalExpr>, fields: &[DataField]) -> Option<Predicate> {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return of_binary(binary, fields);
    }
    if let Some(list) = expr.downcast_ref::<InListExpr>() {
        return in_list(list, fields);
    }
    if let Some(null) = expr.downcast_ref::<IsNullExpr>() {
        return column(null.arg(), fields).map(|column| Predicate::leaf(column, Test::IsNull));
    }
    if let Some(not_null) = expr.downcast_ref::<IsNotNullExpr>() {
        return column(not_null.arg(), fields).map(|column| Predicate::leaf(column, Test::IsNotNull));
    }
    if let Some(case) = expr.downcast_ref::<CaseExpr>() {
        // Whatever chooses, one of the results is TRUE.
        let results = case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr());
        let results = results.map(|result| translated(result, fields)).collect::<Option<Vec<_>>>()?;
        return Some(Predicate::any_of(results));
    }
    match expr.downcast_ref::<Literal>()?.value() {
        ScalarValue::Boolean(Some(true)) => Some(Predicate::always()),
        ScalarValue::Boolean(_) | ScalarValue::Null => Some(Predicate::never()),
        _ => None,
    }
}

fn of_binary(expr: &BinaryExpr, fields: &[DataField]) -> Option<Predicate> {
    let (left, right) = (expr.left(), expr.right());
    match expr.op() {
        Operator::And => match (translated(left, fields), translated(right, fields)) {
            (Some(a), Some(b)) => Some(Predicate::all_of([a, b])),
            (one, other) => one.or(other),
        },
        Operator::Or => Some(Predicate::any_of([translated(left, fields)?, translated(right, fields)?])),
        op => {
            let comparison = Comparison::of(*op)?;
            match right.downcast_ref::<Literal>() {
                Some(literal) => comparing(comparison, column(left, fields)?, literal.value()),
                None => {
                    let literal = left.downcast_ref::<Literal>()?;
                    comparing(comparison.mirrored(), column(right, fields)?, literal.value())
                }
            }
        }
    }
}

fn comparing(comparison: Comparison, column: ColumnRef, literal: &ScalarValue) -> Option<Predicate> {
    if literal.is_null() {
        return Some(Predicate::never());
    }
    let test = compare(comparison, place(literal, &column.data_type)?);
    Some(test.map_or_else(Predicate::never, |test| Predicate::leaf(column, test)))
}

fn in_list(list: &InListExpr, fields: &[DataField]) -> Option<Predicate> {
    let column = column(list.expr(), fields)?;
    if list.negated() {
        return None;
    }
    let mut any = vec![];
    for literal in list.list() {
        let literal = literal.downcast_ref::<Literal>()?.value();
        match place(literal, &column.data_type) {
            _ if literal.is_null() => {}
            Some(at @ Place::At(_)) => {
                any.extend(compare(Comparison::Equal, at).map(|test| Predicate::leaf(column.clone(), test)));
            }
            // A value that the column cannot have.
            Some(_) => {}
            None => return None,
        }
    }
    Some(Predicate::any_of(any))
}

/// A column, perhaps below a cast that keeps its values apart and in order.
fn column(expr: &Arc<dyn PhysicalExpr>, fields: &[DataField]) -> Option<ColumnRef> {
    let cast = expr.downcast_ref::<CastExpr>();
    let inner = cast.map_or(expr, |cast| cast.expr());
    let field = fields.get(inner.downcast_ref::<Column>()?.index())?;
    if cast.is_some_and(|cast| !keeps_order(&column_type(&field.data_type), cast.cast_type())) {
        return None;
    }
    Some(ColumnRef { id: field.id, name: field.name.clone(), data_type: field.data_type.clone() })
}

#[cfg(test)]
mod tests {
    use datafusion::physical_expr::expressions::{DynamicFilterPhysicalExpr, lit as physical_lit};
    use datafusion::physical_expr::planner::logical2physical;
    use datafusion::prelude::{Expr, cast, col, lit, when};

    use super::*;
    use crate::predicate::testing::{column as column_of, int};
    use crate::spec::arrow_type::arrow_schema;
    use crate::spec::data_type::DataType;

    fn fields() -> Vec<DataField> {
        let field = |id, text: &str| DataField::new(id, format!("c{id}"), DataType::parse(text).unwrap());
        vec![field(0, "INT"), field(1, "STRING"), field(2, "DOUBLE")]
    }

    fn said(expr: &Expr) -> Option<Predicate> {
        translated(&logical2physical(expr, &arrow_schema(&fields())), &fields())
    }

    fn c0(test: Test) -> Option<Predicate> {
        Some(Predicate::leaf(column_of(0, "INT"), test))
    }

    #[test]
    fn conditions_of_joins_and_limits_become_predicates() {
        let other = || cast(col("c1"), arrow::datatypes::DataType::Int32).eq(lit(1));
        for (expr, want) in [
            (col("c0").gt(lit(7)), c0(Test::Greater(int(7)))),
            (lit(7).gt(col("c0")), c0(Test::Less(int(7)))),
            (
                col("c0").in_list(vec![lit(5), lit(3), lit(ScalarValue::Int32(None))], false),
                c0(Test::is_in(vec![int(3), int(5)])),
            ),
            (col("c0").in_list(vec![lit(5)], true), None),
            (col("c0").is_null(), c0(Test::IsNull)),
            (col("c0").gt(lit(7)).and(other()), c0(Test::Greater(int(7)))),
            (col("c0").gt(lit(7)).or(other()), None),
            (
                when(other(), col("c0").eq(lit(1))).otherwise(col("c0").eq(lit(2))).unwrap(),
                c0(Test::is_in(vec![int(1), int(2)])),
            ),
            (when(other(), col("c0").eq(lit(1))).otherwise(other()).unwrap(), None),
            (cast(col("c0"), arrow::datatypes::DataType::Int64).gt(lit(7i64)), c0(Test::Greater(int(7)))),
            (cast(col("c0"), arrow::datatypes::DataType::Int8).gt(lit(7i8)), None),
            (lit(true), Some(Predicate::always())),
            (lit(false), Some(Predicate::never())),
            (col("c0").eq(lit(ScalarValue::Int32(None))), Some(Predicate::never())),
        ] {
            assert_eq!(said(&expr), want, "{expr}");
        }
    }

    #[test]
    fn a_condition_is_taken_as_it_is_now() {
        let schema = arrow_schema(&fields());
        let filter = DynamicFilterPhysicalExpr::new(vec![logical2physical(&col("c0"), &schema)], physical_lit(true));
        let filter = Arc::new(filter);
        let now = || translated(&snapshot_physical_expr(Arc::clone(&filter) as _).unwrap(), &fields());
        assert_eq!(now(), Some(Predicate::always()));
        filter.update(logical2physical(&col("c0").lt(lit(3)), &schema)).unwrap();
        assert_eq!(now(), c0(Test::Less(int(3))));
    }
}
