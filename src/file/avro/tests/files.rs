//! Files of known bytes: how types of tables meet types of files, what is refused, and what cannot be blown up.

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use arrow::util::pretty::pretty_format_batches;
use bytes::Bytes;

use super::super::testing::{self, file};
use super::{fields, read};
use crate::error::ErrorKind;
use crate::file::container::read_container;

/// A file of one field and one block.
fn one(avro_type: &str, rows: i64, plain: &[u8]) -> Vec<u8> {
    let schema = format!(r#"{{"type":"record","name":"r","fields":[{{"name":"a","type":{avro_type}}}]}}"#);
    file(&schema, "null", &[(rows, plain.to_vec())])
}

/// The only column of the rows, as text.
fn text(batches: &[RecordBatch]) -> Vec<String> {
    let table = pretty_format_batches(batches).unwrap().to_string();
    let lines: Vec<_> = table.lines().map(|l| l.trim_matches(['|', ' ']).to_owned()).collect();
    lines.get(3..lines.len() - 1).unwrap().to_vec()
}

#[test]
fn the_type_is_the_tables_and_the_unit_is_the_files() {
    let long = |n: i64| {
        let mut to = vec![];
        testing::long(&mut to, n);
        to
    };
    for (avro, plain, paimon, want) in [
        (r#"{"type":"long","logicalType":"timestamp-millis"}"#, long(-1), "TIMESTAMP(0)", "1969-12-31T23:59:59"),
        (r#"{"type":"long","logicalType":"timestamp-millis"}"#, long(-1), "TIMESTAMP(3)", "1969-12-31T23:59:59.999"),
        (r#"{"type":"long","logicalType":"timestamp-micros"}"#, long(-1), "TIMESTAMP(3)", "1969-12-31T23:59:59.999"),
        (r#"{"type":"long","logicalType":"timestamp-millis"}"#, long(1), "TIMESTAMP(6)", "1970-01-01T00:00:00.001"),
        (
            r#"{"type":"long","logicalType":"local-timestamp-micros"}"#,
            long(1),
            "TIMESTAMP_LTZ(9)",
            "1970-01-01T00:00:00.000001Z",
        ),
        (
            r#"{"type":"long","logicalType":"local-timestamp-millis"}"#,
            long(1),
            "TIMESTAMP(3)",
            "1970-01-01T00:00:00.001",
        ),
        (r#""long""#, long(1), "TIMESTAMP(3)", "1970-01-01T00:00:00.001"),
        (r#""long""#, long(1), "TIMESTAMP(6)", "1970-01-01T00:00:00.000001"),
        (r#"{"type":"int","logicalType":"time-millis"}"#, long(1001), "TIME(3)", "00:00:01.001"),
        (r#""int""#, long(-128), "TINYINT", "-128"),
        (r#"{"type":"enum","name":"e","symbols":["x","y"]}"#, long(1), "STRING", "y"),
        (r#"{"type":"fixed","name":"f","size":2}"#, vec![1, 2], "BYTES", "0102"),
        (r#""bytes""#, vec![4, 0xff, 0x38], "DECIMAL(5, 2)", "-2.00"),
        // Too many digits are NULL.
        (r#""bytes""#, vec![4, 4, 0], "DECIMAL(3, 0)", ""),
        (r#"{"type":"array","items":"bytes"}"#, vec![4, 4, 4, 0, 2, 7, 0], "ARRAY<DECIMAL(3, 0)>", "[, 7]"),
        (
            r#"["null",{"type":"fixed","name":"f","size":3,"logicalType":"decimal","precision":5,"scale":2}]"#,
            vec![2, 0, 0, 200],
            "DECIMAL(5, 2)",
            "2.00",
        ),
        (r#"{"type":"map","values":"int"}"#, vec![2, 2, b'k', 6, 0], "MULTISET<STRING>", "{k: 3}"),
        (
            r#"{"type":"record","name":"v","fields":[{"name":"metadata","type":"bytes"},{"name":"value","type":"bytes"}]}"#,
            vec![2, 1, 2, 12],
            "VARIANT",
            "{value: 0c, metadata: 01}",
        ),
        (r#"{"type":"record","name":"v","fields":[{"name":"x","type":"int"}]}"#, vec![2], "ROW<y INT>", "{y: }"),
    ] {
        let batches = read(&one(avro, 1, &plain), &fields(&[("a", paimon)]), None, 10).unwrap();
        assert_eq!(text(&batches), [want], "{avro} as {paimon}");
    }
}

#[test]
fn other_types_and_values_outside_the_type_are_refused_by_name() {
    for (avro, plain, paimon, want) in [
        (r#""int""#, &[2][..], "BIGINT", "found int"),
        (r#""long""#, &[2], "INT", "expected Avro data for Int32, found long"),
        (r#""string""#, &[0], "BYTES", "found string"),
        (r#"{"type":"array","items":"int"}"#, &[0], "ARRAY<STRING>", "found int"),
        (r#"["int","string"]"#, &[0, 0], "INT", "an Avro union of several types"),
        (r#"{"type":"bytes","logicalType":"decimal","precision":5,"scale":1}"#, &[2, 1], "DECIMAL(5, 2)", "scale 2"),
        (r#""bytes""#, &[4, 4, 0], "DECIMAL(3, 0) NOT NULL", "more digits"),
        (r#""bytes""#, &[0], "DECIMAL(3, 0)", "a decimal is empty"),
        (r#""int""#, &[0x80, 2], "TINYINT", "outside the range"),
        (r#"["null","int"]"#, &[0], "INT NOT NULL", "NULL in a column that is NOT NULL"),
        (r#"["null","int"]"#, &[4], "INT", "a branch that the schema lacks"),
        (r#"["int"]"#, &[1], "INT", "a branch that the schema lacks"),
        (r#"{"type":"array","items":"int"}"#, &[2, 2, 0], "VECTOR<INT, 2>", "another length"),
        (r#""string""#, &[2, 0xff], "STRING", "utf-8"),
        (r#""int""#, &[2, 2], "INT", "1 bytes behind its last row"),
        (r#""int""#, &[], "INT", "the bytes end inside a value"),
    ] {
        let error = read(&one(avro, 1, plain), &fields(&[("a", paimon)]), None, 10).unwrap_err().to_string();
        assert!(error.to_lowercase().contains(&want.to_lowercase()), "{avro} as {paimon}: {error}");
        assert!(error.contains("f.avro") && (error.contains("'a'") || want.contains("behind")), "{error}");
    }
    let error = read(&one(r#""int""#, 1, &[2]), &fields(&[("b", "INT NOT NULL")]), None, 10).unwrap_err();
    assert!(error.to_string().contains("non-nullable"), "{error}");
}

#[test]
fn few_bytes_never_become_many_items() {
    let names: Vec<_> = (0..200).map(|i| format!("f{i}")).collect();
    let wide: Vec<_> = names.iter().map(|n| format!(r#"{{"name":"{n}","type":"int"}}"#)).collect();
    let wide = format!(r#"{{"type":"record","name":"e","fields":[{}]}}"#, wide.join(","));
    let mut billion = vec![];
    testing::long(&mut billion, 1_000_000_000);
    let mut chunks = billion.repeat(3);
    chunks.push(0);
    for (avro, paimon) in [
        (r#"{"type":"array","items":"null"}"#, "ARRAY<INT>"),
        (r#"{"type":"array","items":{"type":"record","name":"e","fields":[]}}"#, "ARRAY<ROW<x INT>>"),
        (r#"{"type":"array","items":"int"}"#, "ARRAY<INT>"),
        (r#"{"type":"map","values":"null"}"#, "MAP<STRING, INT>"),
    ] {
        assert!(read(&one(avro, 1, &chunks), &fields(&[("a", paimon)]), None, 10).is_err(), "{avro}");
        let passed_over = read_container(one(avro, 1, &chunks).into(), &["b"]);
        assert_eq!(
            passed_over.is_ok(),
            avro.contains("null\"}") && avro.contains("array") || avro.contains("[]"),
            "{avro}"
        );
    }
    let mut nulls = vec![];
    testing::long(&mut nulls, 2_000_000);
    nulls.extend(vec![0; 2_000_000]);
    nulls.push(0);
    for (element, paimon) in [
        (r#"{"type":"array","items":"int"}"#, "VECTOR<INT, 1000>"),
        (&wide, &*format!("ROW<{}>", names.join(" INT, ") + " INT")),
    ] {
        let avro = format!(r#"{{"type":"array","items":["null",{element}]}}"#);
        let error = read(&one(&avro, 1, &nulls), &fields(&[("a", &format!("ARRAY<{paimon}>"))]), None, 10).unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
    }
    let rows = 1 << 40;
    assert!(read_container(one(r#"{"type":"record","name":"e","fields":[]}"#, rows, &[]).into(), &[]).is_err());
}

#[test]
fn a_metadata_file_is_read_as_it_is() {
    let schema = r#"["null",{"type":"record","name":"r","namespace":"n","fields":[
        {"name":"_V","type":"int"},
        {"name":"_F","type":["null",{"type":"record","name":"f","fields":[
            {"name":"n","type":"string"},
            {"name":"s","type":{"type":"record","name":"stats","fields":[{"name":"c","type":{"type":"array","items":["null","long"]}}]}},
            {"name":"t","type":["null",{"type":"long","logicalType":"timestamp-millis"}]},
            {"name":"k","type":"stats"}]}]},
        {"name":"u","type":["null","int","string"]}]}]"#;
    let row = [2, 4, 2, 2, b'x', 4, 2, 6, 0, 0, 2, 8, 0, 4, 0];
    let file = Bytes::from(file(schema, "zstandard", &[(2, [row, row].concat()), (1, row.to_vec())]));
    let batch = read_container(file.clone(), &[]).unwrap().remove(0);
    let schema = batch.schema();
    let types: Vec<_> = schema.fields().iter().map(|f| f.to_string()).collect();
    assert_eq!(types.len(), 2, "{types:?}");
    assert_eq!((batch.num_rows(), batch.column(0).is_nullable()), (3, false));
    let times = batch.column(1).as_struct().column_by_name("t").unwrap();
    assert_eq!(times.as_primitive::<Int64Type>().value(2), 4);
    let part = read_container(file.clone(), &["_F.s", "_F.n", "gone"]).unwrap().remove(0);
    let names: Vec<_> = part.column(0).as_struct().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!((part.num_columns(), names), (1, vec!["n".to_owned(), "s".to_owned()]));
    assert_eq!(read_container(file, &["gone"]).unwrap()[0].num_rows(), 3);
}

#[test]
fn broken_framing_is_corrupt() {
    let whole = one(r#""int""#, 1, &[2]);
    let want = fields(&[("a", "INT")]);
    assert_eq!(read(&whole, &want, None, 10).unwrap().len(), 1);
    let header = testing::header(r#"{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}"#, Some("null"));
    for n in (0..whole.len()).filter(|n| *n != header.len()) {
        let error = read(&whole[..n], &want, None, 10).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{n}: {error}");
        assert!(read_container(Bytes::copy_from_slice(&whole[..n]), &[]).is_err(), "{n}");
    }
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert!(read(&changed, &want, None, 10).unwrap_err().to_string().contains("sync marker"));
    let union = file(r#"["null",{"type":"record","name":"r","fields":[]}]"#, "null", &[(1, vec![0])]);
    assert!(read_container(union.into(), &[]).unwrap_err().to_string().contains("NULL instead of a record"));
}

#[test]
fn a_file_of_many_reads_comes_back_whole_and_in_parts() {
    let schema = r#"{"type":"record","name":"r","fields":[{"name":"a","type":"long"},{"name":"p","type":"bytes"}]}"#;
    let mut next = 0;
    let blocks: Vec<_> = (0..60)
        .map(|i| {
            let mut plain = vec![];
            for _ in 0..3 {
                testing::long(&mut plain, next);
                testing::bytes(&mut plain, &vec![i as u8; 100_000]);
                next += 1;
            }
            (3, plain)
        })
        .collect();
    let file = file(schema, "null", &blocks);
    let want = fields(&[("a", "BIGINT")]);
    let values = |range| {
        let batches = read(&file, &want, range, 50).unwrap();
        batches.iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()).collect::<Vec<_>>()
    };
    let all: Vec<_> = (0..next).collect();
    assert_eq!(values(None), all);
    let size = file.len() as u64;
    for step in [1_000_000, 5_000_000, 9_999_999] {
        let starts = (0..size).step_by(step);
        let parts: Vec<_> = starts.flat_map(|s| values(Some(s..(s + step as u64).min(size)))).collect();
        assert_eq!(parts, all, "{step}");
    }
}
