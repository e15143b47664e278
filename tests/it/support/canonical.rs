//! Arrow values in the canonical form of the expected rows (`tests/data/README.md` says what that is).

use arrow::array::{Array, ArrayRef, AsArray, MapArray, RecordBatch, StructArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, TimeUnit,
};
use arrow::util::display::array_value_to_string;
use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// All rows of some batches.
pub fn rows(batches: &[RecordBatch]) -> Vec<Vec<Value>> {
    let row = |batch: &RecordBatch, row: usize| batch.columns().iter().map(|column| value(column, row)).collect();
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|i| row(batch, i)).collect::<Vec<_>>()).collect()
}

/// One value of an array.
fn value(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Int8 => json!(array.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => json!(array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => json!(format!("bits:{:08x}", array.as_primitive::<Float32Type>().value(row).to_bits())),
        DataType::Float64 => json!(format!("bits:{:016x}", array.as_primitive::<Float64Type>().value(row).to_bits())),
        DataType::Decimal128(..) => json!(array.as_primitive::<Decimal128Type>().value_as_string(row)),
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        DataType::Utf8View => json!(array.as_string_view().value(row)),
        DataType::Binary => hex(array.as_binary::<i32>().value(row)),
        DataType::BinaryView => hex(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => hex(array.as_fixed_size_binary().value(row)),
        DataType::Date32 => date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Time32(TimeUnit::Millisecond) => time(array.as_primitive::<Time32MillisecondType>().value(row)),
        DataType::Timestamp(unit, _) => timestamp(array, row, *unit),
        DataType::List(_) => elements(&array.as_list::<i32>().value(row)).into(),
        DataType::FixedSizeList(..) => elements(&array.as_fixed_size_list().value(row)).into(),
        DataType::Map(..) => map(array.as_map(), row),
        DataType::Struct(_) => structure(array.as_struct(), row),
        other => panic!("no canonical form for {other}: {:?}", array_value_to_string(array, row)),
    }
}

fn elements(array: &ArrayRef) -> Vec<Value> {
    (0..array.len()).map(|i| value(array, i)).collect()
}

fn hex(bytes: &[u8]) -> Value {
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    json!(format!("0x{digits}"))
}

fn date(days: i32) -> Value {
    let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();
    json!((epoch + TimeDelta::days(days.into())).to_string())
}

fn time(millis: i32) -> Value {
    json!((NaiveTime::MIN + TimeDelta::milliseconds(millis.into())).format("%H:%M:%S%.3f").to_string())
}

fn timestamp(array: &ArrayRef, row: usize, unit: TimeUnit) -> Value {
    let per_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let raw = arrow::compute::cast(&array.slice(row, 1), &DataType::Int64).unwrap();
    let raw = raw.as_primitive::<Int64Type>().value(0);
    let nanos = raw.rem_euclid(per_second) * (1_000_000_000 / per_second);
    let time = DateTime::from_timestamp(raw.div_euclid(per_second), nanos.try_into().unwrap()).unwrap();
    json!(time.format("%Y-%m-%dT%H:%M:%S%.9f").to_string())
}

fn map(array: &MapArray, row: usize) -> Value {
    let entries = array.value(row);
    let (keys, values) = (elements(entries.column(0)), elements(entries.column(1)));
    let mut pairs: Vec<Value> = keys.into_iter().zip(values).map(|(k, v)| json!([k, v])).collect();
    // The reference sorts the text of an entry, which has a blank behind each comma.
    pairs.sort_by_key(|pair| format!("[{}, {}]", spaced(&pair[0]), spaced(&pair[1])));
    json!({ "map": pairs })
}

/// A value's text with blanks as the expected files have them.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields: Vec<_> = fields.iter().map(|(k, v)| format!("{}: {}", json!(k), spaced(v))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

fn structure(array: &StructArray, row: usize) -> Value {
    let names: Vec<_> = array.fields().iter().map(|f| f.name().as_str()).collect();
    if names == ["value", "metadata"] && array.fields().iter().all(|f| *f.data_type() == DataType::Binary) {
        return variant(array, row);
    }
    let fields = names.into_iter().zip(array.columns()).map(|(name, column)| (name.to_owned(), value(column, row)));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// A variant's content as JSON.
fn variant(array: &StructArray, row: usize) -> Value {
    let field = |name: &str| {
        let at = array.fields().iter().position(|f| f.name() == name).unwrap();
        (Arc::clone(&array.fields()[at]), array.column(at).slice(row, 1))
    };
    let one: ArrayRef = Arc::new(StructArray::from(vec![field("metadata"), field("value")]));
    let text = parquet_variant_compute::variant_to_json(&one).unwrap();
    json!({ "variant": serde_json::from_str::<Value>(text.value(0)).unwrap() })
}
