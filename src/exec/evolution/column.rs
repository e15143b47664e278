//! From a column, or a nested field, of a file to the one of the table.
//!
//! In: the file's type (none where the file lacks it) and the table's. Out: a [`Step`] that turns arrays of the one into
//! arrays of the other. Structs keep their nullness; nested fields are found by id; elements, keys and values are taken
//! one by one. What need not change is moved, not copied. Java: `SchemaEvolutionUtil`, `CastedRow`, `CastedArray`,
//! `CastedMap`.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, ListArray, MapArray, StructArray, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::nullif;
use arrow::datatypes::{DataType as ArrowType, FieldRef, Fields};
use arrow::error::ArrowError;

use super::cast::{CastContext, Place, cast_values, is_castable, refused};
use super::prune::prune;
use crate::error::{Error, Result};
use crate::spec::arrow_type::{column_type, nested_type};
use crate::spec::data_type::{DataField, DataType, TypeKind};

/// The longest array of vectors' elements that is made of NULLs.
const MAX_NULL_ELEMENTS: usize = 1 << 28;

/// What happens to an array.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// It stays.
    Keep,
    /// It is all NULL, of this type.
    Null(ArrowType),
    /// Its values are cast.
    Cast { from: TypeKind, to: TypeKind, place: Place },
    /// A struct is put together from fields of another.
    Row { fields: Fields, children: Vec<Child> },
    /// The elements of lists change.
    List { element: FieldRef, step: Box<Step> },
    /// The elements of vectors change.
    Vector { element: FieldRef, length: i32, step: Box<Step> },
    /// The keys' and values' types change.
    Map { entries: FieldRef, key: Box<Step>, value: Box<Step> },
}

/// A field of a struct: where it comes from, if anywhere.
#[derive(Debug, Clone)]
pub(super) struct Child {
    source: Option<usize>,
    step: Step,
}

impl Step {
    /// The step from the file's type to the table's.
    pub(super) fn new(from: Option<&DataType>, to: &DataType, place: Place) -> Result<Self> {
        let arrow = |t: &DataType| if place == Place::Column { column_type(t) } else { nested_type(t) };
        let Some(from) = from.filter(|from| prune(to, from).is_some()) else { return Ok(Step::Null(arrow(to))) };
        let nested = |from: &DataType, to: &DataType| Step::new(Some(from), to, Place::Nested).map(Box::new);
        let target = arrow(to);
        let step = match (&from.kind, &to.kind, &target) {
            (TypeKind::Row(from), TypeKind::Row(to), ArrowType::Struct(fields)) => {
                Step::Row { fields: fields.clone(), children: children(from, to)? }
            }
            (TypeKind::Array(from), TypeKind::Array(to), ArrowType::List(element)) => {
                Step::List { element: element.clone(), step: nested(from, to)? }
            }
            (TypeKind::Vector(from, n), TypeKind::Vector(to, m), ArrowType::FixedSizeList(element, length))
                if n == m =>
            {
                Step::Vector { element: element.clone(), length: *length, step: nested(from, to)? }
            }
            (TypeKind::Multiset(from), TypeKind::Multiset(to), ArrowType::Map(entries, _)) => {
                Step::Map { entries: entries.clone(), key: nested(from, to)?, value: Box::new(Step::Keep) }
            }
            (TypeKind::Map(from_key, from), TypeKind::Map(to_key, to), ArrowType::Map(entries, _)) => {
                let key = nested(from_key, to_key)?;
                if key.casts() {
                    return Err(refused(
                        &TypeKind::Map(from_key.clone(), from.clone()),
                        &TypeKind::Map(to_key.clone(), to.clone()),
                    ));
                }
                Step::Map { entries: entries.clone(), key, value: nested(from, to)? }
            }
            (from, to, _) if from == to => return Ok(Step::Keep),
            (from, to, _) if is_castable(from, to) => {
                return Ok(Step::Cast { from: from.clone(), to: to.clone(), place });
            }
            (from, to, _) => return Err(refused(from, to)),
        };
        let unchanged = arrow(from) == target && step.keeps_children();
        Ok(if unchanged { Step::Keep } else { step })
    }

    /// Whether arrays stay as they are.
    pub(super) fn is_keep(&self) -> bool {
        matches!(self, Step::Keep)
    }

    fn keeps_children(&self) -> bool {
        match self {
            Step::Keep => true,
            Step::Null(_) | Step::Cast { .. } => false,
            Step::Row { children, .. } => {
                children.iter().enumerate().all(|(at, child)| child.source == Some(at) && child.step.is_keep())
            }
            Step::List { step, .. } | Step::Vector { step, .. } => step.is_keep(),
            Step::Map { key, value, .. } => key.is_keep() && value.is_keep(),
        }
    }

    /// Whether any value is cast.
    fn casts(&self) -> bool {
        match self {
            Step::Keep | Step::Null(_) => false,
            Step::Cast { .. } => true,
            Step::Row { children, .. } => children.iter().any(|child| child.step.casts()),
            Step::List { step, .. } | Step::Vector { step, .. } => step.casts(),
            Step::Map { key, value, .. } => key.casts() || value.casts(),
        }
    }

    /// The array of a column that the file lacks.
    pub(super) fn nulls(&self, rows: usize) -> Result<ArrayRef> {
        match self {
            Step::Null(data_type) => null_array(data_type, rows),
            _ => Err(Error::internal("a column of a file has no source")),
        }
    }

    /// Turns an array of the file's type into one of the table's.
    pub(super) fn apply(&self, array: ArrayRef, ctx: &CastContext) -> Result<ArrayRef> {
        match self {
            Step::Keep => Ok(array),
            Step::Null(data_type) => null_array(data_type, array.len()),
            Step::Cast { from, to, place } => cast_values(&array, from, to, *place, ctx),
            Step::Row { fields, children } => row(&array, fields, children, ctx),
            Step::List { element, step } => list(&array, element, step, ctx),
            Step::Vector { element, length, step } => vector(&array, element, *length, step, ctx),
            Step::Map { entries, key, value } => map(&array, entries, (key, value), ctx),
        }
    }
}

fn children(from: &[DataField], to: &[DataField]) -> Result<Vec<Child>> {
    let child = |field: &DataField| {
        let source = from.iter().position(|f| f.id == field.id);
        let file_type = source.and_then(|at| from.get(at)).map(|f| &f.data_type);
        let step = Step::new(file_type, &field.data_type, Place::Nested)
            .map_err(|e| Error::new(e.kind(), format!("field '{}'", field.name)).caused_by(e))?;
        Ok(Child { source, step })
    };
    to.iter().map(child).collect()
}

fn not_canonical(array: &dyn Array, expected: &str) -> Error {
    Error::internal(format!("an array of {expected} has the Arrow type {}", array.data_type()))
}

/// Arrow refuses NULL in a nested field that is NOT NULL, and lengths that do not agree.
fn refused_by_arrow(e: ArrowError) -> Error {
    Error::corrupt("nested values of an older file do not fit the table's type").caused_by(e)
}

/// An array of NULLs, unless vectors make it too large.
fn null_array(data_type: &ArrowType, rows: usize) -> Result<ArrayRef> {
    fn elements(data_type: &ArrowType, rows: usize) -> usize {
        match data_type {
            ArrowType::FixedSizeList(element, n) => {
                elements(element.data_type(), rows.saturating_mul(usize::try_from(*n).unwrap_or(0)))
            }
            ArrowType::Struct(fields) => {
                fields.iter().map(|f| elements(f.data_type(), rows)).fold(rows, usize::saturating_add)
            }
            _ => rows,
        }
    }
    if elements(data_type, rows) > MAX_NULL_ELEMENTS.max(rows) {
        return Err(Error::unsupported(format!("{rows} rows of NULL of the Arrow type {data_type}")));
    }
    Ok(new_null_array(data_type, rows))
}

/// Values under a NULL parent are no values: they must not be cast.
fn masked(child: &ArrayRef, parent: Option<&NullBuffer>, step: &Step) -> Result<ArrayRef> {
    match parent {
        Some(nulls) if step.casts() && nulls.null_count() > 0 => {
            Ok(nullif(child, &BooleanArray::new(!nulls.inner(), None))?)
        }
        _ => Ok(child.clone()),
    }
}

fn row(array: &ArrayRef, fields: &Fields, children: &[Child], ctx: &CastContext) -> Result<ArrayRef> {
    let row = array.as_struct_opt().ok_or_else(|| not_canonical(array, "ROW"))?;
    let mut columns = Vec::with_capacity(children.len());
    for (child, field) in children.iter().zip(fields) {
        let source = child.source.and_then(|at| row.columns().get(at));
        let column = match source {
            Some(column) => child.step.apply(masked(column, row.nulls(), &child.step)?, ctx),
            None => child.step.nulls(row.len()),
        };
        let named = |e: Error| Error::new(e.kind(), format!("field '{}'", field.name())).caused_by(e);
        columns.push(column.map_err(named)?);
    }
    let out = StructArray::try_new_with_length(fields.clone(), columns, row.nulls().cloned(), row.len());
    Ok(Arc::new(out.map_err(refused_by_arrow)?))
}

/// The children that offsets point at, and offsets that begin at zero.
fn window(offsets: &OffsetBuffer<i32>) -> (usize, usize, OffsetBuffer<i32>) {
    let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    let moved = match first {
        0 => offsets.clone(),
        _ => OffsetBuffer::new(offsets.iter().map(|offset| offset - first).collect::<Vec<_>>().into()),
    };
    (first as usize, (last - first) as usize, moved)
}

fn list(array: &ArrayRef, element: &FieldRef, step: &Step, ctx: &CastContext) -> Result<ArrayRef> {
    let list = array.as_list_opt::<i32>().ok_or_else(|| not_canonical(array, "ARRAY"))?;
    let (first, length, offsets) = window(list.offsets());
    let values = step.apply(list.values().slice(first, length), ctx)?;
    let out = ListArray::try_new(element.clone(), offsets, values, list.nulls().cloned());
    Ok(Arc::new(out.map_err(refused_by_arrow)?))
}

fn vector(array: &ArrayRef, element: &FieldRef, length: i32, step: &Step, ctx: &CastContext) -> Result<ArrayRef> {
    let list = array.as_fixed_size_list_opt().ok_or_else(|| not_canonical(array, "VECTOR"))?;
    let nulls = list.nulls().map(|nulls| nulls.expand(usize::try_from(length).unwrap_or(0)));
    let values = step.apply(masked(list.values(), nulls.as_ref(), step)?, ctx)?;
    let out = FixedSizeListArray::try_new(element.clone(), length, values, list.nulls().cloned());
    Ok(Arc::new(out.map_err(refused_by_arrow)?))
}

fn map(array: &ArrayRef, entries: &FieldRef, steps: (&Step, &Step), ctx: &CastContext) -> Result<ArrayRef> {
    let map = array.as_map_opt().ok_or_else(|| not_canonical(array, "MAP"))?;
    let ArrowType::Struct(fields) = entries.data_type() else {
        return Err(Error::internal("the entries of a map are no struct"));
    };
    let (first, length, offsets) = window(map.offsets());
    let keys = steps.0.apply(map.keys().slice(first, length), ctx)?;
    let values = steps.1.apply(map.values().slice(first, length), ctx)?;
    let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None).map_err(refused_by_arrow)?;
    let out = MapArray::try_new(entries.clone(), offsets, pairs, map.nulls().cloned(), false);
    Ok(Arc::new(out.map_err(refused_by_arrow)?))
}
