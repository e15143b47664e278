//! Files of the Java writer: what Java reads from them is what we read (see `tests/data/orc/README.md`).

use arrow::array::{Array, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType as ArrowType, Int64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use proptest::prelude::*;

use super::tests::{block, field, read_with};
use super::*;
use crate::spec::data_type::DataField;

fn file(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/orc/{name}.orc", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn micros(text: &str) -> i64 {
    chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").unwrap().and_utc().timestamp_micros()
}

/// The times of the files, and what they became on the way: in all, in New York, in UTC.
const TIMES: [(&str, &str, &str, &str); 23] = [
    ("0001-01-01T00:00:00", "0000-12-30T00:00:00", "", ""),
    ("1582-10-15T00:00:00", "", "", ""),
    ("1800-06-01T12:00:00.5", "", "", ""),
    ("1899-12-31T23:59:59.999999999", "1899-12-31T23:59:59.999999", "", ""),
    ("1900-01-01T00:00:00", "", "", ""),
    ("1900-06-01T00:00:00.123456", "", "", ""),
    ("1901-06-01T00:00:00", "", "", ""),
    ("1945-05-05T05:05:05", "", "", ""),
    ("1969-12-31T23:59:58.999999", "", "", ""),
    ("1969-12-31T23:59:59.001", "", "", "1970-01-01T00:00:00.001"),
    ("1970-01-01T00:00:00", "", "", ""),
    ("1970-01-01T00:00:00.001", "", "", ""),
    ("1986-06-01T00:00:00", "", "", ""),
    ("1986-12-01T00:00:00", "", "", ""),
    ("2015-01-01T00:00:00", "", "", ""),
    ("2024-02-29T12:34:56.789123456", "2024-02-29T12:34:56.789123", "", ""),
    ("2024-07-01T00:00:00", "", "", ""),
    ("2024-03-10T02:30:00", "", "2024-03-10T03:30:00", ""),
    ("2024-11-03T01:30:00", "", "", ""),
    ("2037-07-01T00:00:00", "", "", ""),
    ("2050-07-01T00:00:00", "", "", ""),
    ("2150-07-01T00:00:00", "", "", ""),
    ("9999-12-31T23:59:59.999999", "", "", ""),
];

#[test]
fn timestamps_of_every_zone_are_what_java_reads() {
    let fields =
        [field("t6", "TIMESTAMP(6)"), field("z6", "TIMESTAMP(6) WITH LOCAL TIME ZONE"), field("t3", "TIMESTAMP(3)")];
    for (name, legacy) in [
        ("timestamps-utc", true),
        ("timestamps-new-york-legacy", true),
        ("timestamps-new-york", false),
        ("timestamps-shanghai-legacy", true),
    ] {
        let batches = block(read_with(&file(name), &fields, None, 10, legacy)).unwrap();
        let all = concat_batches(&arrow_schema(&fields), &batches).unwrap();
        let column = |i: usize| cast(all.column(i), &ArrowType::Int64).unwrap();
        let (t6, z6, t3) = (column(0), column(1), column(2));
        for (row, (time, read, new_york, utc)) in TIMES.iter().enumerate() {
            let pick = |special: &str| micros([special, read, time].iter().find(|t| !t.is_empty()).unwrap());
            let local = pick(match name {
                "timestamps-utc" => utc,
                "timestamps-shanghai-legacy" => "",
                _ => new_york,
            });
            // An instant is neither shifted to another calendar nor skipped by summer time, but falls into the last
            // second before 1970.
            let instant = match row {
                0 => micros(time),
                _ => pick(utc),
            };
            let get = |array: &dyn Array| arrow::array::AsArray::as_primitive::<Int64Type>(array).value(row);
            assert_eq!(get(&t6), local, "{name} {time}");
            assert_eq!(get(&z6), if legacy { local } else { instant }, "{name} {time}");
            assert_eq!(get(&t3), local.div_euclid(1000), "{name} {time}");
        }
    }
}

#[test]
fn nanoseconds_that_do_not_fit_are_an_error_that_names_the_column() {
    let error = block(read_with(&file("timestamps-utc"), &[field("t6", "TIMESTAMP(9)")], None, 10, true)).unwrap_err();
    assert!(error.to_string().contains("column 't6'"), "{error}");
    assert_eq!(error.kind(), crate::error::ErrorKind::Unsupported);
}

fn nested_fields() -> Vec<DataField> {
    [
        ("id", "INT NOT NULL"),
        ("arr", "ARRAY<STRING>"),
        ("m", "MAP<STRING, ROW<a INT, b ARRAY<BIGINT>>>"),
        ("ms", "MULTISET<STRING>"),
        ("r", "ROW<x DECIMAL(20, 5), y ROW<z CHAR(5), w TIMESTAMP(9)>>"),
        ("d", "DECIMAL(38, 10)"),
        ("s", "STRING"),
        ("tm", "TIME(3)"),
        ("bin", "BYTES"),
    ]
    .map(|(name, text)| field(name, text))
    .into()
}

fn texts(batches: &[RecordBatch], column: usize) -> Vec<String> {
    let options = FormatOptions::default().with_null("-");
    let one = |batch: &RecordBatch| {
        let format = ArrayFormatter::try_new(batch.column(column), &options).unwrap();
        (0..batch.num_rows()).map(|row| format.value(row).to_string()).collect::<Vec<_>>()
    };
    batches.iter().flat_map(one).collect()
}

fn or_null(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".into())
}

fn list(elements: impl Iterator<Item = String>) -> String {
    format!("[{}]", elements.collect::<Vec<_>>().join(", "))
}

fn w_of(i: i64) -> Option<String> {
    let day = chrono::DateTime::from_timestamp(86_400 * i, 0).unwrap().format("%Y-%m-%dT%H:%M:%S");
    (i % 3 != 0).then(|| format!("{day}.000123456"))
}

#[test]
fn nested_values_are_what_java_wrote() {
    let batches = block(read_with(&file("nested"), &nested_fields(), None, 17, true)).unwrap();
    let columns: Vec<_> = (0..9).map(|column| texts(&batches, column)).collect();
    assert_eq!(columns[0].len(), 200);
    for i in 0..200i64 {
        let element = |j| or_null(((i + j) % 6 != 0).then(|| format!("e{i}-{j}")));
        let entry = |j: i64| {
            let value = ((i + j) % 5 != 0).then(|| format!("{{a: {}, b: [{i}, -, {}]}}", i * j, -j));
            format!("k{j}: {}", or_null(value))
        };
        let entries = || (0..i % 3).map(entry).collect::<Vec<_>>().join(", ");
        let scaled = i * 12345 - 1_000_000;
        let x =
            format!("{}{}.{:05}", if scaled < 0 { "-" } else { "" }, scaled.abs() / 100_000, scaled.abs() % 100_000);
        let y = (i % 4 != 0).then(|| format!("{{z: c{}, w: {}}}", i % 10, or_null(w_of(i))));
        let want = [
            i.to_string(),
            or_null((i % 5 != 0).then(|| list((0..i % 4).map(element)))),
            or_null((i % 7 != 0).then(|| format!("{{{}}}", entries()))),
            format!("{{x: {}}}", i % 9 + 1),
            or_null((i % 6 != 0).then(|| format!("{{x: {x}, y: {}}}", or_null(y)))),
            format!("{}1000000000000000000000000000.{i:010}", if i % 2 == 1 { "-" } else { "" }),
            format!("word{}", i % 3),
            format!("00:{:02}:{:02}", i / 60, i % 60),
            or_null((i % 8 != 0).then(|| format!("{i:02x}00"))),
        ];
        for (column, want) in columns.iter().zip(want) {
            assert_eq!(column[i as usize], want, "row {i}");
        }
    }
}

#[test]
fn nested_fields_are_chosen_by_name_and_absent_ones_are_null() {
    let fields = [
        field("r", "ROW<gone ARRAY<INT>, y ROW<w TIMESTAMP(9), q INT>>"),
        field("m", "MAP<STRING, ROW<no INT>>"),
        field("arr", "ARRAY<STRING>"),
    ];
    let batches = block(read_with(&file("nested"), &fields, None, 64, true)).unwrap();
    let (r, m) = (texts(&batches, 0), texts(&batches, 1));
    for i in 0..200i64 {
        let y = (i % 4 != 0).then(|| format!("{{w: {}, q: -}}", or_null(w_of(i))));
        let want = or_null((i % 6 != 0).then(|| format!("{{gone: -, y: {}}}", or_null(y))));
        assert_eq!(r[i as usize], want, "row {i}");
        let entry = |j| format!("k{j}: {}", if (i + j) % 5 != 0 { "{no: -}" } else { "-" });
        let entries = || (0..i % 3).map(entry).collect::<Vec<_>>().join(", ");
        assert_eq!(m[i as usize], or_null((i % 7 != 0).then(|| format!("{{{}}}", entries()))), "row {i}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The file is not compressed: changes reach the decoders.
    #[test]
    fn changed_bytes_of_nested_values_do_not_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = file("nested");
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = block(read_with(&bytes, &nested_fields(), None, 50, true));
    }
}
