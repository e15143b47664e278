//! From the writer's schema and the wanted Arrow fields to columns that can be filled.
//!
//! In: a [`Node`] and an Arrow field. Out: a [`Column`]. Fields are found by name; what nobody wants becomes a skip. A
//! logical type never decides what a column is, only which unit its numbers have: Paimon writes TIMESTAMP WITH LOCAL
//! TIME ZONE as `local-timestamp-*` and TIMESTAMP as `timestamp-*`, the other way round than Avro means them.

use std::sync::Arc;

use arrow::array::{BooleanBufferBuilder, NullBufferBuilder};
use arrow::datatypes::{DataType as ArrowType, Field as ArrowField, Fields, TimeUnit};

use super::column::{Branches, Buffer, Column, Digits, Record, Scale, Step, Values};
use super::schema::{Field, Kind, Logical, Node};
use super::skip::Skip;
use crate::error::{Error, Result};

/// A column for a field that is written as `node`.
pub(super) fn column(node: &Node, field: &ArrowField) -> Result<Column> {
    let compile = || {
        let (node, union) = match node.union()? {
            Some(union) => (union.value, Some(Branches { null: union.null_branch, value: union.value_branch })),
            None => (node, None),
        };
        let values = values(node, field)?;
        Ok(Column { union, nullable: field.is_nullable(), validity: NullBufferBuilder::new(0), values })
    };
    compile().map_err(|e: Error| Error::new(e.kind(), format!("column '{}'", field.name())).caused_by(e))
}

/// The wanted fields of a record.
pub(super) fn record(written: &[Field], wanted: &Fields) -> Result<Record> {
    let mut steps = vec![];
    for field in written {
        match wanted.iter().enumerate().find(|(_, w)| w.name() == &field.name) {
            Some((position, wanted)) => steps.push(Step::Read(position, column(&field.node, wanted)?)),
            None => push_skip(&mut steps, Skip::new(&field.node)),
        }
    }
    Ok(Record::new(steps))
}

fn push_skip(steps: &mut Vec<Step>, skip: Skip) {
    match steps.pop() {
        Some(Step::Skip(before)) => steps.push(Step::Skip(before.then(skip))),
        Some(other) => steps.extend([other, Step::Skip(skip)]),
        None => steps.push(Step::Skip(skip)),
    }
}

fn values(node: &Node, field: &ArrowField) -> Result<Values> {
    Ok(match (field.data_type(), &node.kind) {
        (ArrowType::Boolean, Kind::Boolean) => Values::Boolean(BooleanBufferBuilder::new(0)),
        (ArrowType::Int8, Kind::Int) => Values::Int8(vec![]),
        (ArrowType::Int16, Kind::Int) => Values::Int16(vec![]),
        (ArrowType::Int32 | ArrowType::Date32, Kind::Int) => Values::Int32(vec![]),
        (ArrowType::Time32(TimeUnit::Millisecond), Kind::Int) => Values::Int32(vec![]),
        (ArrowType::Int64, Kind::Long) => Values::Int64(vec![]),
        (ArrowType::Float32, Kind::Float) => Values::Float32(vec![]),
        (ArrowType::Float64, Kind::Double) => Values::Float64(vec![]),
        (ArrowType::Timestamp(unit, _), Kind::Long) => timestamp(*unit, node)?,
        (ArrowType::Decimal128(p, s), Kind::Bytes) => decimal(*p, *s, None, node)?,
        (ArrowType::Decimal128(p, s), Kind::Fixed(width)) => decimal(*p, *s, Some(*width), node)?,
        (ArrowType::Utf8 | ArrowType::Utf8View, Kind::String) => Values::Bytes(Buffer::default(), None),
        (ArrowType::Utf8 | ArrowType::Utf8View, Kind::Enum(symbols)) => {
            Values::Enum(Buffer::default(), Arc::clone(symbols))
        }
        (ArrowType::Binary | ArrowType::BinaryView, Kind::Bytes) => Values::Bytes(Buffer::default(), None),
        (ArrowType::Binary | ArrowType::BinaryView, Kind::Fixed(n)) => Values::Bytes(Buffer::default(), Some(*n)),
        (ArrowType::List(item), Kind::Array(items)) => Values::List(vec![], items_of(items, item)?),
        (ArrowType::FixedSizeList(item, n), Kind::Array(items)) => {
            let length = usize::try_from(*n).map_err(|_| Error::internal("a vector of negative length"))?;
            Values::Vector(length, 0, items_of(items, item)?)
        }
        (ArrowType::Map(entries, _), Kind::Array(items)) => Values::List(vec![], items_of(items, entries)?),
        (ArrowType::Map(entries, _), Kind::Map(value)) => {
            map(value, entries).ok_or_else(|| mismatch(node, field))??
        }
        (ArrowType::Struct(wanted), Kind::Record(written)) => Values::Struct(record(written, wanted)?),
        _ => return Err(mismatch(node, field)),
    })
}

fn mismatch(node: &Node, field: &ArrowField) -> Error {
    Error::corrupt(format!("expected Avro data for {}, found {node}", field.data_type()))
}

/// Items that take no byte could be claimed by the billion.
fn items_of(items: &Node, field: &ArrowField) -> Result<Box<Column>> {
    if items.is_empty() {
        return Err(Error::unsupported("an Avro array of items without bytes"));
    }
    column(items, field).map(Box::new)
}

/// A map whose keys are strings; `None` where others are wanted.
fn map(value: &Node, entries: &ArrowField) -> Option<Result<Values>> {
    let ArrowType::Struct(fields) = entries.data_type() else { return None };
    let [key, value_field] = fields.as_ref() else { return None };
    (key.data_type() == &ArrowType::Utf8)
        .then(|| column(value, value_field).map(|values| Values::Map(vec![], Buffer::default(), Box::new(values))))
}

fn decimal(precision: u8, scale: i8, width: Option<usize>, node: &Node) -> Result<Values> {
    if let Some(Logical::Decimal { scale: written, .. }) = node.logical
        && i64::from(written) != i64::from(scale)
    {
        return Err(Error::corrupt(format!("expected an Avro decimal of scale {scale}, found {node}")));
    }
    let bound = 10i128.checked_pow(u32::from(precision));
    let bound = bound.ok_or_else(|| Error::internal(format!("a decimal of {precision} digits")))?;
    Ok(Values::Decimal(vec![], Digits { width, bound }))
}

/// A long without a logical type has the unit that Paimon writes for such a precision.
fn timestamp(unit: TimeUnit, node: &Node) -> Result<Values> {
    let written = match (node.logical, unit) {
        (Some(Logical::TimestampMillis), _) | (None, TimeUnit::Second | TimeUnit::Millisecond) => 1_000,
        (Some(Logical::TimestampMicros), _) | (None, _) => 1_000_000,
        (Some(Logical::TimestampNanos), _) => 1_000_000_000,
        _ => return Err(Error::corrupt(format!("expected an Avro timestamp, found {node}"))),
    };
    let wanted = match unit {
        TimeUnit::Second => 1i64,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    Ok(match wanted.cmp(&written) {
        std::cmp::Ordering::Equal => Values::Int64(vec![]),
        std::cmp::Ordering::Greater => Values::Scaled(vec![], Scale::Times(wanted / written)),
        std::cmp::Ordering::Less => Values::Scaled(vec![], Scale::DividedBy(written / wanted)),
    })
}
