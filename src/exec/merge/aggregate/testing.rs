//! Columns from JSON, and a function run over one key, for tests.
//!
//! In: a Paimon type and values as JSON: decimals, floats and bytes (hexadecimal) as text, rows as lists, maps as lists of
//! pairs. Out: arrays of the canonical type.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType,
};
use serde_json::Value;

use super::value_bytes::value_bytes;
use super::{FieldOptions, Member, Step, Versions, aggregator};
use crate::error::Result;
use crate::spec::arrow_type::{column_type, nested_type};
use crate::spec::data_type::{DataField, DataType, TypeKind};

/// A column of type `data_type` from the JSON texts of its values.
pub(in crate::exec::merge) fn column(data_type: &str, values: &[&str]) -> ArrayRef {
    let values: Vec<Value> = values.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    json_column(&DataType::parse(data_type).unwrap(), &values)
}

/// A column from JSON values.
pub(in crate::exec::merge) fn json_column(data_type: &DataType, values: &[Value]) -> ArrayRef {
    let values: Vec<&Value> = values.iter().collect();
    cast(&nested(data_type, &values), &column_type(data_type)).unwrap()
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn parsed<T: FromStr<Err: std::fmt::Debug>>(values: &[&Value]) -> Vec<Option<T>> {
    values.iter().map(|v| text(v).map(|t| t.parse().unwrap())).collect()
}

fn primitive<P: ArrowPrimitiveType<Native: FromStr<Err: std::fmt::Debug>>>(values: &[&Value]) -> ArrayRef {
    Arc::new(PrimitiveArray::<P>::from_iter(parsed::<P::Native>(values)))
}

fn decimal(value: &str, scale: u8) -> i128 {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    format!("{whole}{fraction:0<width$}", width = usize::from(scale)).parse().unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn nested(data_type: &DataType, values: &[&Value]) -> ArrayRef {
    let present = || NullBuffer::from(values.iter().map(|v| !v.is_null()).collect::<Vec<_>>());
    let lists = || OffsetBuffer::from_lengths(values.iter().map(|v| v.as_array().map_or(0, Vec::len)));
    let elements = || values.iter().filter_map(|v| v.as_array()).flatten().collect::<Vec<_>>();
    let at = |list: &[&Value], i: usize| -> Vec<Value> {
        list.iter().map(|v| v.as_array().map_or(Value::Null, |v| v[i].clone())).collect()
    };
    let part = |data_type: &DataType, parts: Vec<Value>| nested(data_type, &parts.iter().collect::<Vec<_>>());
    match &data_type.kind {
        TypeKind::Boolean => Arc::new(BooleanArray::from(parsed::<bool>(values))),
        TypeKind::TinyInt => primitive::<Int8Type>(values),
        TypeKind::SmallInt => primitive::<Int16Type>(values),
        TypeKind::Int => primitive::<Int32Type>(values),
        TypeKind::BigInt => primitive::<Int64Type>(values),
        TypeKind::Float => primitive::<Float32Type>(values),
        TypeKind::Double => primitive::<Float64Type>(values),
        TypeKind::Date => primitive::<Date32Type>(values),
        TypeKind::Time(_) => primitive::<Time32MillisecondType>(values),
        TypeKind::Decimal { scale, .. } => {
            let values = values.iter().map(|v| text(v).map(|t| decimal(&t, *scale))).collect::<Vec<_>>();
            let array = PrimitiveArray::<Decimal128Type>::from(values);
            Arc::new(array.with_data_type(nested_type(data_type)))
        }
        TypeKind::Char(_) | TypeKind::VarChar(_) => Arc::new(StringArray::from_iter(values.iter().map(|v| text(v)))),
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => {
            Arc::new(BinaryArray::from_iter(values.iter().map(|v| text(v).map(|t| bytes(&t)))))
        }
        TypeKind::Array(element) => {
            let ArrowType::List(field) = nested_type(data_type) else { panic!() };
            Arc::new(ListArray::new(field, lists(), nested(element, &elements()), Some(present())))
        }
        TypeKind::Map(key, value) => {
            let ArrowType::Map(field, sorted) = nested_type(data_type) else { panic!() };
            let ArrowType::Struct(fields) = field.data_type() else { panic!() };
            let entries = elements();
            let columns = vec![part(key, at(&entries, 0)), part(value, at(&entries, 1))];
            let entries = StructArray::new(fields.clone(), columns, None);
            Arc::new(MapArray::new(field, lists(), entries, Some(present()), sorted))
        }
        TypeKind::Row(row) => {
            let ArrowType::Struct(fields) = nested_type(data_type) else { panic!() };
            let columns = row.iter().enumerate().map(|(i, f)| part(&f.data_type, at(values, i))).collect();
            Arc::new(StructArray::new(fields, columns, Some(present())))
        }
        other => panic!("{other}"),
    }
}

/// A function for a column `c`, with options as `name=value; name=value`.
pub(super) fn function(name: &str, data_type: &str, options: &str) -> Result<Box<dyn super::Aggregator>> {
    let option = |text: &str| text.split_once('=').map(|(k, v)| (format!("fields.c.{k}"), v.to_owned())).unwrap();
    let raw: BTreeMap<_, _> = options.split("; ").filter(|o| !o.is_empty()).map(option).collect();
    let field = DataField::new(0, "c", DataType::parse(data_type)?);
    aggregator(name, &field, &FieldOptions::of(&raw, "c")?)
}

/// What a step is written as: `+` aggregate, `~` reversed, `-` retract, `=` set, `0` clear.
pub(super) fn step(text: &str) -> Step {
    match text {
        "+" => Step::Aggregate,
        "~" => Step::AggregateReversed,
        "-" => Step::Retract,
        "=" => Step::Set,
        "0" => Step::Clear,
        _ => Step::Skip,
    }
}

/// Versions of which each stands in the input that `spread` says for its number, among rows of other versions.
pub(super) fn run(
    function: &dyn super::Aggregator,
    data_type: &DataType,
    keys: &[Vec<(Step, Value)>],
    inputs: usize,
) -> Result<ArrayRef> {
    let mut columns = vec![vec![Value::Null]; inputs];
    let (mut members, mut steps, mut offsets) = (vec![], vec![], vec![0]);
    for (i, (step, value)) in keys.iter().flatten().enumerate() {
        let input = (i * 7 + i / 3) % inputs;
        members.push(Member { input: input as u32, row: columns[input].len() as u32 });
        columns[input].push(value.clone());
        steps.push(*step);
    }
    for key in keys {
        offsets.push(offsets.last().unwrap() + key.len() as u32);
    }
    let inputs: Vec<ArrayRef> = columns.iter().map(|values| json_column(data_type, values)).collect();
    function.aggregate(&Versions { inputs: &inputs, members: &members, steps: &steps, offsets: &offsets })
}

/// Whether two rows are equal, the elements of lists in any order.
pub(super) fn same(a: &ArrayRef, b: &ArrayRef, row: usize) -> bool {
    let sorted = |array: &ArrayRef| match array.as_list_opt::<i32>() {
        Some(list) if list.is_valid(row) => {
            let list = list.value(row);
            let mut all: Vec<_> = (0..list.len()).map(|i| value_bytes(&list, i).unwrap()).collect();
            all.sort();
            all
        }
        _ => vec![value_bytes(array, row).unwrap()],
    };
    a.data_type() == b.data_type() && sorted(a) == sorted(b)
}
