//! Every cast against what the reference gives: a table of its answers, and what the table does not say.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array, StringViewArray, Time32MillisecondArray,
};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType,
};

use proptest::prelude::*;

use super::moment::{Moment, Moments, in_unit_of, timestamps};
use super::*;
use crate::spec::arrow_type::column_type;
use crate::spec::data_type::DataType;

fn kind(text: &str) -> TypeKind {
    DataType::parse(text).unwrap().kind
}

/// A moment as the table has it: milliseconds, a colon, nanoseconds.
fn moment(text: &str) -> Moment {
    let (millis, nanos) = text.split_once(':').unwrap();
    Moment { millis: millis.parse().unwrap(), nanos: nanos.parse().unwrap() }
}

fn unescape(text: &str) -> String {
    serde_json::from_str(text).unwrap()
}

fn unscaled(text: &str) -> i128 {
    text.replace('.', "").parse().unwrap()
}

/// One value as the table has it, and a NULL after it.
fn array(kind: &TypeKind, text: &str) -> Option<ArrayRef> {
    let bits = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let bytes = || -> Vec<u8> { (1..text.len()).step_by(2).map(|i| bits(&text[i..i + 2]) as u8).collect() };
    Some(match kind {
        TypeKind::Boolean => Arc::new(BooleanArray::from(vec![Some(text == "true"), None])),
        TypeKind::TinyInt => Arc::new(Int8Array::from(vec![text.parse().ok(), None])),
        TypeKind::SmallInt => Arc::new(Int16Array::from(vec![text.parse().ok(), None])),
        TypeKind::Int => Arc::new(Int32Array::from(vec![text.parse().ok(), None])),
        TypeKind::BigInt => Arc::new(Int64Array::from(vec![text.parse().ok(), None])),
        TypeKind::Float => Arc::new(Float32Array::from(vec![Some(f32::from_bits(bits(text) as u32)), None])),
        TypeKind::Double => Arc::new(Float64Array::from(vec![Some(f64::from_bits(bits(text))), None])),
        TypeKind::Decimal { precision, scale } => Arc::new(
            Decimal128Array::from(vec![Some(unscaled(text)), None])
                .with_precision_and_scale(*precision, *scale as i8)
                .unwrap(),
        ),
        TypeKind::Char(_) | TypeKind::VarChar(_) => Arc::new(StringViewArray::from(vec![Some(unescape(text)), None])),
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => {
            Arc::new(BinaryViewArray::from(vec![Some(bytes().as_slice()), None]))
        }
        TypeKind::Date => Arc::new(Date32Array::from(vec![text.parse().ok(), None])),
        TypeKind::Time(_) => Arc::new(Time32MillisecondArray::from(vec![text.parse().ok(), None])),
        _ => {
            let nulls = Int8Array::from(vec![Some(1), None]);
            timestamps(&nulls, kind, vec![in_unit_of(kind, moment(text)).ok()?, 0]).unwrap()
        }
    })
}

/// The value of a row as the table has it.
fn show(array: &ArrayRef, kind: &TypeKind, row: usize) -> String {
    if array.is_null(row) {
        return "null".into();
    }
    match kind {
        TypeKind::Boolean => array.as_boolean().value(row).to_string(),
        TypeKind::TinyInt => array.as_primitive::<Int8Type>().value(row).to_string(),
        TypeKind::SmallInt => array.as_primitive::<Int16Type>().value(row).to_string(),
        TypeKind::Int => array.as_primitive::<Int32Type>().value(row).to_string(),
        TypeKind::BigInt => array.as_primitive::<Int64Type>().value(row).to_string(),
        TypeKind::Float => format!("{:08x}", array.as_primitive::<Float32Type>().value(row).to_bits()),
        TypeKind::Double => format!("{:016x}", array.as_primitive::<Float64Type>().value(row).to_bits()),
        TypeKind::Decimal { scale, .. } => {
            let mut out = String::new();
            decimal::print(array.as_primitive::<Decimal128Type>().value(row), *scale, &mut out).unwrap();
            out
        }
        TypeKind::Char(_) | TypeKind::VarChar(_) => array.as_string_view().value(row).to_owned(),
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => {
            let hex: String = array.as_binary_view().value(row).iter().map(|b| format!("{b:02x}")).collect();
            format!("x{hex}")
        }
        TypeKind::Date => array.as_primitive::<Date32Type>().value(row).to_string(),
        TypeKind::Time(_) => array.as_primitive::<Time32MillisecondType>().value(row).to_string(),
        _ => {
            let moment = Moments::new(array).unwrap().get(row);
            moment.map_or("beyond".to_owned(), |moment| format!("{}:{}", moment.millis, moment.nanos))
        }
    }
}

/// The answer of the reference in the unit of the type: its timestamps can hold more than Arrow's.
fn expected(kind: &TypeKind, text: &str) -> Option<String> {
    Some(match kind {
        _ if text == "null" || text == "!" => text.to_owned(),
        TypeKind::Char(_) | TypeKind::VarChar(_) => unescape(text),
        TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_) => {
            let array = array(kind, text)?;
            show(&array, kind, 0)
        }
        _ => text.to_owned(),
    })
}

/// Checks a table of answers (the format stands in its head). Gives the lines that differ.
fn differences(table: &str) -> Vec<String> {
    let mut wrong = vec![];
    let mut section: Option<(CastContext, TypeKind, TypeKind)> = None;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        if let Some(head) = line.strip_prefix("= ") {
            let [zone, from, to] = head.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            section = Some((CastContext { zone: zone.parse().unwrap() }, kind(from), kind(to)));
            continue;
        }
        let Some((ctx, from, to)) = &section else { panic!("{line}") };
        let (value, answer) = line.split_once('\t').unwrap();
        let Some(input) = array(from, value) else { continue };
        let got = match cast_values(&input, from, to, Place::Column, ctx) {
            Ok(out) => {
                assert_eq!(out.data_type(), &column_type(&to.clone().nullable()), "{line}");
                assert!(out.len() == 2 && out.is_null(1), "{line}");
                show(&out, to, 0)
            }
            Err(_) => "!".to_owned(),
        };
        let want = expected(to, answer).unwrap_or("!".to_owned());
        if want != got {
            wrong.push(format!("{} {from} -> {to}: {value} gives {got}, not {want}", ctx.zone));
        }
    }
    wrong
}

#[test]
fn casts_are_those_of_the_reference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/casts.tsv");
    let wrong = differences(&fs::read_to_string(path).unwrap());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Rows: from. Columns: to, in the same order. `#` is allowed.
#[test]
fn the_pairs_are_those_that_alter_table_allows() {
    const TYPES: [&str; 23] = [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL(10, 2)",
        "CHAR(5)",
        "VARCHAR(5)",
        "STRING",
        "BINARY(4)",
        "VARBINARY(4)",
        "BYTES",
        "DATE",
        "TIME(3)",
        "TIMESTAMP(3)",
        "TIMESTAMP_LTZ(3)",
        "BLOB",
        "VARIANT",
        "MULTISET<INT>",
        "MAP<INT, INT>",
        "ROW<a INT>",
    ];
    const ALLOWED: [&str; 23] = [
        "###########............",
        "###########............",
        "###########............",
        "###########.....##.....",
        "###########.....##.....",
        ".##########............",
        ".##########............",
        ".##########............",
        "##################.....",
        "##################.....",
        "##################.....",
        "........######.........",
        "........######.........",
        "........######.........",
        "..........#...#.##.....",
        "..........#....###.....",
        "...##.....#...####.....",
        "...##.....#...####.....",
        "..................#....",
        "...................#...",
        "....................#..",
        "........###..........#.",
        "........###...........#",
    ];
    let kinds = TYPES.map(kind);
    for (from, row) in kinds.iter().zip(ALLOWED) {
        let got: String = kinds.iter().map(|to| if is_castable(from, to) { '#' } else { '.' }).collect();
        assert_eq!(got, row, "{from}");
    }
    let printable = |text: &str| is_castable(&kind(text), &TypeKind::string());
    assert!(printable("ARRAY<MAP<INT, ROW<a BYTES, b TIMESTAMP_LTZ(3)>>>"));
    assert!(!printable("ARRAY<MULTISET<INT>>") && !printable("ROW<a INT, b VARIANT>"));
}

/// Casts one value there and back again.
fn round_trip(value: ArrayRef, from: &TypeKind, via: &TypeKind, zone: &str) -> ArrayRef {
    let ctx = CastContext { zone: zone.parse().unwrap() };
    let there = cast_values(&value, from, via, Place::Column, &ctx).unwrap();
    cast_values(&there, via, from, Place::Column, &ctx).unwrap()
}

proptest! {
    #[test]
    fn no_text_makes_a_cast_panic(text in "[-+ .:0-9eEpPxXdfTNaInfity]{0,30}|.{0,20}") {
        let input: ArrayRef = Arc::new(StringViewArray::from(vec![Some(text.as_str())]));
        for to in [
            "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 2)", "DECIMAL(38, 38)",
            "CHAR(3)", "VARCHAR(2)", "BINARY(4)", "DATE", "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(9)",
        ] {
            let ctx = CastContext { zone: chrono_tz::America::New_York };
            let _ = cast_values(&input, &TypeKind::string(), &kind(to), Place::Column, &ctx);
        }
    }

    #[test]
    fn no_value_makes_a_cast_panic(long: i64, wide: i128, bits: u64) {
        let arrays: [(&str, ArrayRef); 9] = [
            ("BIGINT", Arc::new(Int64Array::from(vec![long]))),
            ("INT", Arc::new(Int32Array::from(vec![long as i32]))),
            ("DOUBLE", Arc::new(Float64Array::from(vec![f64::from_bits(bits)]))),
            ("FLOAT", Arc::new(Float32Array::from(vec![f32::from_bits(bits as u32)]))),
            ("DATE", Arc::new(Date32Array::from(vec![long as i32]))),
            ("TIME(3)", Arc::new(Time32MillisecondArray::from(vec![long as i32]))),
            ("TIMESTAMP(0)", timestamps(&Int8Array::from(vec![1]), &TypeKind::Timestamp(0), vec![long]).unwrap()),
            ("TIMESTAMP(9)", timestamps(&Int8Array::from(vec![1]), &TypeKind::Timestamp(9), vec![long]).unwrap()),
            ("DECIMAL(38, 20)", Arc::new(Decimal128Array::from(vec![wide]).with_precision_and_scale(38, 20).unwrap())),
        ];
        for (from, array) in arrays {
            for to in [
                "BOOLEAN", "TINYINT", "BIGINT", "FLOAT", "DECIMAL(38, 38)", "DECIMAL(3, 1)", "STRING", "CHAR(3)", "DATE",
                "TIME(0)", "TIMESTAMP(0)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(3)", "BYTES",
            ] {
                let ctx = CastContext { zone: chrono_tz::Asia::Kolkata };
                let _ = cast_values(&array, &kind(from), &kind(to), Place::Column, &ctx);
            }
        }
    }

    #[test]
    fn text_gives_values_back(long: i64, unscaled in -10i128.pow(38) + 1..10i128.pow(38), scale in 0u8..=38) {
        let string = TypeKind::string();
        let longs: ArrayRef = Arc::new(Int64Array::from(vec![long]));
        prop_assert_eq!(&round_trip(longs.clone(), &TypeKind::BigInt, &string, "UTC"), &longs);
        let nanos = timestamps(&longs, &TypeKind::Timestamp(9), vec![long]).unwrap();
        prop_assert_eq!(&round_trip(nanos.clone(), &TypeKind::Timestamp(9), &string, "UTC"), &nanos);
        let decimal = TypeKind::Decimal { precision: 38, scale };
        let decimals = Decimal128Array::from(vec![unscaled]).with_precision_and_scale(38, scale as i8).unwrap();
        let decimals: ArrayRef = Arc::new(decimals);
        prop_assert_eq!(&round_trip(decimals.clone(), &decimal, &string, "UTC"), &decimals);
    }

    #[test]
    fn wall_clocks_give_instants_back_outside_of_gaps(seconds in -5_000_000_000i64..20_000_000_000) {
        let ltz = timestamps(&Int8Array::from(vec![1]), &TypeKind::TimestampLtz(0), vec![seconds]).unwrap();
        let back = round_trip(ltz.clone(), &TypeKind::TimestampLtz(0), &TypeKind::Timestamp(0), "Europe/Berlin");
        let difference = Moments::new(&ltz).unwrap().get(0).unwrap().millis
            - Moments::new(&back).unwrap().get(0).unwrap().millis;
        // In the hour that a clock shows twice the earlier instant comes back.
        prop_assert!(difference == 0 || (1..=7_200_000).contains(&difference));
    }
}
