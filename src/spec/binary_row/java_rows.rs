//! Rows that Java 1.4.2 wrote, with all that it makes of them: `tests/data/spec/java_rows.jsonl`.
//!
//! Every line has the types and values of a row, its serialized form, its hash and buckets of 12345 (`default`,
//! `hive`) and 17 (`mod`), and its partition folder with and without legacy names.

use serde_json::Value;

use super::*;
use crate::spec::bucket::{BucketFunction, hash_row};
use crate::spec::data_type::DataField;
use crate::spec::partition_path::partition_path;

/// A value as the file shows it.
fn shown(value: Option<&Datum>) -> String {
    let Some(value) = value else { return "null".into() };
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    match value {
        Datum::Boolean(v) => v.to_string(),
        Datum::TinyInt(v) => v.to_string(),
        Datum::SmallInt(v) => v.to_string(),
        Datum::Int(v) | Datum::Date(v) | Datum::Time(v) => v.to_string(),
        Datum::BigInt(v) => v.to_string(),
        Datum::Float(v) => format!("f{:08x}", v.to_bits()),
        Datum::Double(v) => format!("d{:016x}", v.to_bits()),
        Datum::Decimal { unscaled, scale, .. } => crate::spec::java_text::decimal_to_string(*unscaled, *scale),
        Datum::String(v) => quoted(v),
        Datum::Bytes(v) => format!("x{}", hex(v)),
        Datum::Timestamp { millis, nano_of_milli } => format!("{millis}+{nano_of_milli}"),
        Datum::Variant { value, metadata } => format!("v{}/{}", hex(value), hex(metadata)),
        Datum::Array(v) | Datum::Row(v) => list(v.iter().map(|e| shown(e.as_ref())).collect()),
        Datum::Map(v) => list(v.iter().map(|(k, v)| shown(k.as_ref()) + ":" + &shown(v.as_ref())).collect()),
    }
}

fn quoted(text: &str) -> String {
    let escaped = |unit: u16| match u8::try_from(unit) {
        Ok(c @ (b'"' | b'\\')) => format!("\\{}", char::from(c)),
        Ok(c @ 0x20..=0x7e) => char::from(c).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    format!("\"{}\"", text.encode_utf16().map(escaped).collect::<String>())
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn check(line: &Value) {
    let types: Vec<_> = line["types"].as_array().unwrap().iter().map(|t| DataType::from_json(t).unwrap()).collect();
    let serialized = bytes(line["row"].as_str().unwrap());
    let row = BinaryRow::from_serialized(&serialized).unwrap();
    let values = row.decode(&types).unwrap();
    for (i, value) in values.iter().enumerate() {
        assert_eq!(shown(value.as_ref()), line["shown"][i].as_str().unwrap(), "{} of {line}", types[i]);
    }
    assert_eq!(serialize_row(&types, &values).unwrap(), serialized, "{line}");
    assert_eq!(i64::from(hash_row(row.bytes())), line["hash"].as_i64().unwrap(), "{line}");
    for (name, buckets) in [("default", 12_345), ("hive", 12_345), ("mod", 17)] {
        if let Some(want) = line[name].as_i64() {
            let hash = BucketFunction::parse(name).unwrap().hash(&types, &values).unwrap();
            assert_eq!(hash.bucket(buckets).map(i64::from), Some(want), "{name} of {line}");
        }
    }
    let fields: Vec<_> = (0..).zip(&types).map(|(i, t)| DataField::new(i, format!("f{i}"), t.clone())).collect();
    for (name, legacy) in [("legacy", true), ("named", false)] {
        if let Some(want) = line[name].as_str() {
            let zone = line["zone"].as_str().unwrap().parse().unwrap();
            let path = partition_path(&fields, &values, "__D__", legacy, zone).unwrap();
            assert_eq!(path + "/", want, "{line}");
        }
    }
}

#[test]
fn rows_of_java_are_read_written_hashed_and_named() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/spec/java_rows.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() >= 100);
    lines.iter().for_each(check);
}
