//! Lists, maps, rows and variants.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeListArray, Int32Array, ListArray, StringArray, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float32Type};
use arrow::util::pretty::pretty_format_columns;
use parquet::data_type::{ByteArrayType, FloatType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet_variant_compute::{VariantArray, json_to_variant, shred_variant, variant_to_json};

use super::{put, read_column, write, write_raw};
use crate::error::ErrorKind;

/// The values of a column, one line each.
fn lines(column: &ArrayRef) -> Vec<String> {
    let table = pretty_format_columns("", &[Arc::clone(column)]).unwrap().to_string();
    table.lines().skip(3).filter(|l| l.starts_with('|')).map(|l| l.trim_matches(['|', ' ']).to_owned()).collect()
}

async fn check(file: Vec<u8>, name: &str, wanted: &str, expected: &[&str]) {
    assert_eq!(lines(&read_column(file, name, wanted).await.unwrap()), expected, "{wanted}");
}

/// `r`: a row, a NULL row, a row of NULLs.
fn rows() -> Vec<u8> {
    let columns = "optional group r { optional int32 a; optional binary b (STRING);
        optional group inner { optional int32 x; optional int32 y; } }";
    write_raw(columns, |group| {
        put::<Int32Type>(group, &[1], Some(&[2, 0, 1]), None);
        put::<ByteArrayType>(group, &["one".into()], Some(&[2, 0, 1]), None);
        put::<Int32Type>(group, &[10], Some(&[3, 0, 1]), None);
        put::<Int32Type>(group, &[20], Some(&[3, 0, 1]), None);
    })
}

#[tokio::test]
async fn rows_are_cut_to_what_is_wanted() {
    check(rows(), "r", "ROW<b STRING, a INT>", &["{b: one, a: 1}", "", "{b: , a: }"]).await;
    check(rows(), "r", "ROW<a BIGINT, new INT>", &["{a: 1, new: }", "", "{a: , new: }"]).await;
    let inner = ["{inner: {y: 20}}", "", "{inner: }"];
    check(rows(), "r", "ROW<`inner` ROW<y INT>>", &inner).await;
    // Nothing in common: NULL as a whole, at the top and further down.
    check(rows(), "r", "ROW<new INT>", &["", "", ""]).await;
    check(rows(), "r", "ROW<a INT, `inner` ROW<z INT>>", &["{a: 1, inner: }", "", "{a: , inner: }"]).await;
    let error = read_column(rows(), "r", "ROW<`inner` ROW<y STRING>>").await.unwrap_err().to_string();
    assert!(error.contains("column 'r': field 'inner': field 'y': expected STRING, found Int32"), "{error}");
    assert_eq!(read_column(rows(), "r", "ROW<a INT NOT NULL>").await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(read_column(rows(), "r", "ROW<a INT> NOT NULL").await.unwrap_err().kind(), ErrorKind::Corrupt);
}

/// NULL, empty, [NULL], [1, 2].
fn lists(columns: &str) -> Vec<u8> {
    write_raw(columns, |group| put::<Int32Type>(group, &[1, 2], Some(&[0, 1, 2, 3, 3]), Some(&[0, 0, 0, 0, 1])))
}

#[tokio::test]
async fn lists_of_every_writer() {
    let expected = ["", "[]", "[]", "[1, 2]"];
    for (group, element) in [("list", "element"), ("bag", "array_element"), ("list", "item")] {
        let columns = format!("optional group a (LIST) {{ repeated group {group} {{ optional int32 {element}; }} }}");
        let got = read_column(lists(&columns), "a", "ARRAY<INT>").await.unwrap();
        let got = got.as_list::<i32>();
        assert_eq!((got.value_length(2), got.value(2).null_count(), got.value(3).len()), (1, 1, 2), "{group}");
        check(lists(&columns), "a", "ARRAY<BIGINT>", &[expected[0], expected[1], "[]", expected[3]]).await;
    }
    // Two levels: the repeated field is the element.
    for columns in
        ["optional group a (LIST) { repeated int32 array; }", "optional group a (LIST) { repeated int32 element; }"]
    {
        let file = write_raw(columns, |group| {
            put::<Int32Type>(group, &[1, 2, 3], Some(&[0, 1, 2, 2, 2]), Some(&[0, 0, 0, 1, 0]));
        });
        check(file, "a", "ARRAY<INT>", &["", "[]", "[1, 2]", "[3]"]).await;
    }
    let file =
        write_raw("repeated int32 a;", |group| put::<Int32Type>(group, &[1, 2], Some(&[1, 1, 0]), Some(&[0, 1, 0])));
    check(file, "a", "ARRAY<INT>", &["[1, 2]", "[]"]).await;
}

#[tokio::test]
async fn lists_of_rows_are_cut_too() {
    let file = || {
        let columns = "optional group a (LIST) { repeated group list { optional group element {
            optional int32 x; optional binary y (STRING); } } }";
        write_raw(columns, |group| {
            put::<Int32Type>(group, &[1], Some(&[4, 2, 1, 0]), Some(&[0, 1, 0, 0]));
            put::<ByteArrayType>(group, &["one".into()], Some(&[4, 2, 1, 0]), Some(&[0, 1, 0, 0]));
        })
    };
    check(file(), "a", "ARRAY<ROW<y STRING>>", &["[{y: one}, ]", "[]", ""]).await;
    // The lengths stay where nothing of the elements is wanted.
    check(file(), "a", "ARRAY<ROW<new INT>>", &["[, ]", "[]", ""]).await;
}

#[tokio::test]
async fn maps_and_multisets() {
    for (entries, key) in [("key_value", "key"), ("entries", "keys"), ("map", "key")] {
        let file = || {
            let columns = format!(
                "optional group m (MAP) {{ repeated group {entries} {{ required binary {key} (STRING); optional int32 value; }} }}"
            );
            write_raw(&columns, |group| {
                let levels = [0, 0, 1, 0];
                put::<ByteArrayType>(group, &["a".into(), "b".into()], Some(&[0, 2, 2, 1]), Some(&levels));
                put::<Int32Type>(group, &[7], Some(&[0, 3, 2, 1]), Some(&levels));
            })
        };
        check(file(), "m", "MAP<STRING, INT>", &["", "{a: 7, b: }", "{}"]).await;
        check(file(), "m", "MAP<STRING, BIGINT>", &["", "{a: 7, b: }", "{}"]).await;
        assert_eq!(read_column(file(), "m", "MULTISET<STRING>").await.unwrap_err().kind(), ErrorKind::Corrupt);
    }
    let file = write_raw(
        "optional group m (MAP) { repeated group key_value { required binary key (STRING); required int32 value; } }",
        |group| {
            put::<ByteArrayType>(group, &["a".into(), "b".into()], Some(&[2, 2]), Some(&[0, 1]));
            put::<Int32Type>(group, &[7, 8], Some(&[2, 2]), Some(&[0, 1]));
        },
    );
    check(file, "m", "MULTISET<STRING>", &["{a: 7, b: 8}"]).await;
}

#[tokio::test]
async fn vectors_have_their_length() {
    let columns = "optional group v (LIST) { repeated group list { optional float element; } }";
    let with_null = || {
        write_raw(columns, |group| {
            let (values, repetitions) = ([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 0, 1]);
            put::<FloatType>(group, &values, Some(&[3, 3, 0, 3, 3]), Some(&repetitions));
        })
    };
    let got = read_column(with_null(), "v", "VECTOR<FLOAT, 2>").await.unwrap();
    let expected = [Some(vec![Some(1.0), Some(2.0)]), None, Some(vec![Some(3.0), Some(4.0)])];
    let expected = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(expected, 2);
    assert_eq!(lines(&got), lines(&(Arc::new(expected) as ArrayRef)));
    let full = write_raw(columns, |group| put::<FloatType>(group, &[1.0, 2.0], Some(&[3, 3]), Some(&[0, 1])));
    check(full, "v", "VECTOR<FLOAT, 2>", &["[1.0, 2.0]"]).await;
    let error = read_column(with_null(), "v", "VECTOR<FLOAT, 3>").await.unwrap_err().to_string();
    assert!(error.contains("VECTOR of length 3"), "{error}");
    let nulls = write_raw(columns, |group| put::<FloatType>(group, &[], Some(&[0, 0]), Some(&[0, 0])));
    check(nulls, "v", "VECTOR<FLOAT, 2>", &["", ""]).await;
}

#[tokio::test]
async fn text_inside_nested_types_is_no_view() {
    let list: ArrayRef = Arc::new(ListArray::from_nested_iter::<arrow::array::StringBuilder, _, _, _>([
        Some(vec![Some("a"), None]),
        None,
    ]));
    let got = read_column(write(vec![("a", list)], WriterProperties::default()), "a", "ARRAY<STRING>").await.unwrap();
    assert_eq!(got.as_list::<i32>().values().as_ref(), &StringArray::from(vec![Some("a"), None]));
}

const JSON: [Option<&str>; 7] = [
    Some(r#"{"a":1,"b":"x","c":[1,2]}"#),
    Some(r#"{"a":"no number","d":null}"#),
    Some("null"),
    None,
    Some("[1,{\"a\":5}]"),
    Some("\"text\""),
    Some(r#"{"b":"y"}"#),
];

fn variants() -> VariantArray {
    json_to_variant(&(Arc::new(StringArray::from(JSON.to_vec())) as ArrayRef)).unwrap()
}

fn json_of(column: &ArrayRef) -> Vec<Option<String>> {
    // The library's kernel takes metadata first, and no views.
    let group = column.as_struct();
    let columns = ["metadata", "value"].map(|name| {
        let field = Arc::new(Field::new(name, DataType::Binary, true));
        (field, cast(group.column_by_name(name).unwrap(), &DataType::Binary).unwrap())
    });
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let ordered: ArrayRef = Arc::new(StructArray::new(fields.into(), columns, group.nulls().cloned()));
    let json = variant_to_json(&ordered).unwrap();
    json.iter().map(|text| text.map(str::to_owned)).collect()
}

fn shredded(as_type: &DataType) -> ArrayRef {
    Arc::new(shred_variant(&variants(), as_type).unwrap().into_inner())
}

#[tokio::test]
async fn variants_come_back_whole() {
    let fields = |fields: Vec<Field>| DataType::Struct(fields.into());
    let object = fields(vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)]);
    let list = DataType::List(Arc::new(Field::new("element", DataType::Int64, true)));
    let plain: ArrayRef = Arc::new(variants().into_inner());
    let expected = json_of(&plain);
    for column in [plain, shredded(&object), shredded(&list), shredded(&DataType::Utf8)] {
        let list = list_of(&column);
        let file = write(vec![("v", column), ("l", list)], WriterProperties::default());
        assert_eq!(json_of(&read_column(file.clone(), "v", "VARIANT").await.unwrap()), expected);
        let lists = read_column(file, "l", "ARRAY<VARIANT>").await.unwrap();
        assert_eq!(json_of(lists.as_list::<i32>().values()), expected);
    }
}

/// One element in each list.
fn list_of(column: &ArrayRef) -> ArrayRef {
    let field = Field::new("element", column.data_type().clone(), true);
    let offsets = arrow::buffer::OffsetBuffer::from_repeated_length(1, column.len());
    Arc::new(ListArray::new(Arc::new(field), offsets, Arc::clone(column), None))
}

#[tokio::test]
async fn a_key_of_a_variant_may_have_no_letters() {
    // {"": 1, "a": 2}, beside a shredded value.
    let (metadata, value) = ([1, 2, 0, 0, 1, b'a'], [2, 2, 0, 1, 0, 2, 4, 12, 1, 12, 2]);
    let file = write_raw(
        "optional group v { required binary metadata; optional binary value; optional int32 typed_value; }",
        |group| {
            let both = [metadata.to_vec().into(), vec![1, 0, 0].into()];
            put::<ByteArrayType>(group, &both, Some(&[1, 1]), None);
            put::<ByteArrayType>(group, &[value.to_vec().into()], Some(&[2, 1]), None);
            put::<Int32Type>(group, &[7], Some(&[1, 2]), None);
        },
    );
    let read = read_column(file, "v", "VARIANT").await.unwrap();
    let column = |name: &str| read.as_struct().column_by_name(name).unwrap().as_binary::<i32>().clone();
    assert_eq!(column("metadata").iter().flatten().collect::<Vec<_>>(), [&metadata[..], &[1, 0, 0]]);
    assert_eq!(column("value").value(0), value);
}

#[tokio::test]
async fn a_broken_variant_is_an_error() {
    let file = write_raw(
        "optional group v { required binary metadata; optional binary value; optional int32 typed_value; }",
        |group| {
            put::<ByteArrayType>(group, &[vec![1, 9, 9, 9].into()], Some(&[1]), None);
            put::<ByteArrayType>(group, &[vec![0xff, 1].into()], Some(&[2]), None);
            put::<Int32Type>(group, &[], Some(&[1]), None);
        },
    );
    assert_eq!(read_column(file, "v", "VARIANT").await.unwrap_err().kind(), ErrorKind::Corrupt);
    let no_variant = write(
        vec![(
            "v",
            Arc::new(StructArray::from(vec![(
                Arc::new(Field::new("a", DataType::Int32, true)),
                Arc::new(Int32Array::from(vec![1])) as ArrayRef,
            )])) as ArrayRef,
        )],
        WriterProperties::default(),
    );
    assert_eq!(read_column(no_variant, "v", "VARIANT").await.unwrap_err().kind(), ErrorKind::Corrupt);
}
