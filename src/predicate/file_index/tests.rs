//! Indexes are asked for what a row-by-row evaluation of the predicate tells.

use proptest::prelude::*;

use super::container::IndexKind;
use super::testing::{container, index};
use super::*;
use crate::predicate::Test;
use crate::predicate::testing::column;
use crate::spec::datum::Datum;

fn values_of(data_type: &DataType) -> BoxedStrategy<Datum> {
    use TypeKind::*;
    match &data_type.kind {
        Boolean => any::<bool>().prop_map(Datum::Boolean).boxed(),
        TinyInt => (-3i8..4).prop_map(Datum::TinyInt).boxed(),
        SmallInt => (-3i16..4).prop_map(Datum::SmallInt).boxed(),
        Int => prop_oneof![-20i32..20, any::<i32>()].prop_map(Datum::Int).boxed(),
        Date => (-20i32..20).prop_map(Datum::Date).boxed(),
        Time(_) => (0i32..20).prop_map(Datum::Time).boxed(),
        BigInt => {
            prop_oneof![-9i64..9, Just(i64::MAX), Just(i64::MIN + 1), any::<i64>()].prop_map(Datum::BigInt).boxed()
        }
        Float => prop_oneof![Just(-0.0f32), Just(0.0), -3f32..3.0, Just(f32::NAN)].prop_map(Datum::Float).boxed(),
        Double => prop_oneof![Just(-0.0f64), Just(0.0), -3f64..3.0, Just(f64::NAN)].prop_map(Datum::Double).boxed(),
        Decimal { precision, scale } => {
            let (precision, scale) = (*precision, *scale);
            (-99i128..99).prop_map(move |unscaled| Datum::Decimal { unscaled, precision, scale }).boxed()
        }
        Timestamp(_) | TimestampLtz(_) => (-3000i64..3000, 0i32..4)
            .prop_map(|(millis, n)| Datum::Timestamp { millis, nano_of_milli: n * 250_100 })
            .boxed(),
        VarBinary(_) => "[a-c\u{80}]{0,3}".prop_map(|s| Datum::Bytes(s.into_bytes())).boxed(),
        _ => "[a-c\u{80}]{0,3}".prop_map(Datum::String).boxed(),
    }
}

/// A literal is as a query sees a value.
fn tests_of(data_type: &DataType) -> BoxedStrategy<Test> {
    let of_type = data_type.clone();
    let seen = move |datum: Datum| crate::predicate::evaluate::as_seen(&datum, &of_type).into_owned();
    let one = values_of(data_type).prop_map(seen.clone());
    let list = proptest::collection::vec(values_of(data_type).prop_map(seen), 0..4);
    prop_oneof![
        one.clone().prop_map(Test::Equal),
        one.clone().prop_map(Test::NotEqual),
        one.clone().prop_map(Test::Less),
        one.clone().prop_map(Test::LessOrEqual),
        one.clone().prop_map(Test::Greater),
        one.prop_map(Test::GreaterOrEqual),
        list.clone().prop_map(Test::is_in),
        list.prop_map(Test::is_not_in),
        Just(Test::IsNull),
        Just(Test::IsNotNull),
        "[a-c]{0,2}".prop_map(Test::StartsWith),
    ]
    .boxed()
}

const TYPES: [&str; 19] = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(10, 2)",
    "DATE",
    "TIME(3)",
    "TIMESTAMP(0)",
    "TIMESTAMP(3)",
    "TIMESTAMP(6)",
    "TIMESTAMP(9)",
    "TIMESTAMP(0) WITH LOCAL TIME ZONE",
    "STRING",
    "VARCHAR(5)",
    "CHAR(3)",
    "BYTES",
];

fn cases() -> impl Strategy<Value = (DataType, Vec<Option<Datum>>, Vec<Test>)> {
    proptest::sample::select(TYPES.as_slice()).prop_flat_map(|text| {
        let data_type = DataType::parse(text).unwrap();
        let values = proptest::collection::vec(proptest::option::weighted(0.8, values_of(&data_type)), 1..40);
        (Just(data_type.clone()), values, proptest::collection::vec(tests_of(&data_type), 1..4))
    })
}

const KINDS: [(IndexKind, u8); 5] = [
    (IndexKind::BloomFilter, 0),
    (IndexKind::Bitmap, 1),
    (IndexKind::Bitmap, 2),
    (IndexKind::Bsi, 1),
    (IndexKind::RangeBitmap, 1),
];

/// Whether the index of a kind exists for a type.
fn has_index(kind: IndexKind, data_type: &DataType) -> bool {
    let is_text = matches!(KeyType::of(data_type), Some(KeyType::Bytes | KeyType::Float | KeyType::Double));
    !(kind == IndexKind::Bsi && is_text)
}

fn asked(bytes: Vec<u8>, rows: usize, predicate: &Predicate, data_type: &DataType) -> Result<FileIndexResult> {
    let here = |c: &ColumnRef| (c.id == 0).then(|| IndexedColumn { name: "c".into(), data_type: data_type.clone() });
    FileIndexes::from_container(rows as i64, &bytes.into(), predicate, &here)?.evaluate(predicate, &here)
}

/// Which rows a predicate takes.
fn taken(values: &[Option<Datum>], predicate: &Predicate) -> RoaringBitmap {
    let row =
        |(row, v): (usize, &Option<Datum>)| (predicate.evaluate(&|_| v.as_ref()) == Some(true)).then_some(row as u32);
    values.iter().enumerate().filter_map(row).collect()
}

fn holds(result: &FileIndexResult, rows: &RoaringBitmap) -> bool {
    match result {
        FileIndexResult::Skip => rows.is_empty(),
        FileIndexResult::Rows(told) => rows.is_subset(told),
        FileIndexResult::Remain => true,
    }
}

proptest! {
    #[test]
    fn no_row_that_is_taken_is_left_out((data_type, values, tests) in cases(), any_of in any::<bool>()) {
        let leaves: Vec<_> =
            tests.into_iter().map(|t| Predicate::leaf(column(0, &data_type.to_string()), t)).collect();
        let predicate = if any_of { Predicate::Or(leaves) } else { Predicate::And(leaves) };
        let rows = taken(&values, &predicate);
        for (kind, version) in KINDS.into_iter().filter(|(kind, _)| has_index(*kind, &data_type)) {
            let bytes = container("c", &[(kind, Some(index(kind, version, &data_type, &values)))]);
            let result = asked(bytes, values.len(), &predicate, &data_type).unwrap();
            prop_assert!(holds(&result, &rows), "{kind:?} {version}: {result:?} for {rows:?}");
        }
    }

    #[test]
    fn rows_are_exact_where_units_are((data_type, values, tests) in cases()) {
        let exact = matches!(data_type.kind, TypeKind::Int | TypeKind::BigInt | TypeKind::VarChar(_) | TypeKind::Date);
        for (test, (kind, version)) in tests.into_iter().flat_map(|t| KINDS.map(|kind| (t.clone(), kind))) {
            let equality = matches!(test, Test::Equal(_) | Test::NotEqual(_) | Test::In(_) | Test::NotIn(_))
                || matches!(test, Test::IsNull | Test::IsNotNull);
            let answers = match kind {
                IndexKind::BloomFilter => false,
                IndexKind::Bitmap => equality,
                IndexKind::Bsi => !matches!(test, Test::StartsWith(_)),
                IndexKind::RangeBitmap => !matches!((&test, &data_type.kind), (Test::StartsWith(_), k) if !matches!(k, TypeKind::VarChar(_))),
            };
            if !exact || !answers || !has_index(kind, &data_type) {
                continue;
            }
            let predicate = Predicate::leaf(column(0, &data_type.to_string()), test);
            let bytes = container("c", &[(kind, Some(index(kind, version, &data_type, &values)))]);
            let result = asked(bytes, values.len(), &predicate, &data_type).unwrap();
            prop_assert_eq!(result, FileIndexResult::of_rows(taken(&values, &predicate)), "{:?} {}", kind, predicate);
        }
    }

    #[test]
    fn damaged_bytes_are_an_error_or_an_answer(
        (data_type, values, tests) in cases(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let predicate = Predicate::leaf(column(0, &data_type.to_string()), tests[0].clone());
        for (kind, version) in KINDS.into_iter().filter(|(kind, _)| has_index(*kind, &data_type)) {
            let mut bytes = container("c", &[(kind, Some(index(kind, version, &data_type, &values)))]);
            for (at, byte) in &damage {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            if let Ok(FileIndexResult::Rows(rows)) = asked(bytes, values.len(), &predicate, &data_type) {
                prop_assert!(rows.max().is_some_and(|last| (last as usize) < values.len()));
            }
        }
    }
}

fn int_column(test: Test) -> Predicate {
    Predicate::leaf(column(0, "INT"), test)
}

#[test]
fn an_empty_index_has_no_value_and_says_nothing_of_nulls() {
    let int = DataType::parse("INT").unwrap();
    let bytes = || container("c", &[(IndexKind::Bitmap, None)]);
    for (test, want) in [
        (Test::Equal(Datum::Int(1)), FileIndexResult::Skip),
        (Test::Less(Datum::Int(1)), FileIndexResult::Skip),
        (Test::IsNotNull, FileIndexResult::Skip),
        (Test::NotEqual(Datum::Int(1)), FileIndexResult::Remain),
        (Test::IsNull, FileIndexResult::Remain),
    ] {
        assert_eq!(asked(bytes(), 3, &int_column(test.clone()), &int).unwrap(), want, "{test:?}");
    }
}

#[test]
fn several_indexes_of_a_column_answer_together_and_others_are_not_asked() {
    let int = DataType::parse("INT").unwrap();
    let values = [Some(Datum::Int(-4)), None, Some(Datum::Int(7)), Some(Datum::Int(7))];
    let of = |kind| (kind, Some(index(kind, 2, &int, &values)));
    let bytes = || container("c", &[of(IndexKind::Bsi), of(IndexKind::BloomFilter), of(IndexKind::Bitmap)]);
    let rows = |rows: &[u32]| FileIndexResult::Rows(rows.iter().copied().collect());
    let seven = || int_column(Test::Equal(Datum::Int(7)));
    let small = || int_column(Test::Less(Datum::Int(0)));
    let elsewhere = || Predicate::leaf(column(1, "INT"), Test::Equal(Datum::Int(7)));
    for (predicate, want) in [
        (seven(), rows(&[2, 3])),
        (small(), rows(&[0])),
        (Predicate::Or(vec![seven(), small()]), rows(&[0, 2, 3])),
        (Predicate::And(vec![seven(), small()]), FileIndexResult::Skip),
        (Predicate::Or(vec![seven(), elsewhere()]), FileIndexResult::Remain),
        (Predicate::And(vec![seven(), elsewhere()]), rows(&[2, 3])),
        (Predicate::always(), FileIndexResult::Remain),
        (Predicate::never(), FileIndexResult::Skip),
    ] {
        assert_eq!(asked(bytes(), 4, &predicate, &int).unwrap(), want, "{predicate}");
    }
    let error = asked(bytes(), 5, &seven(), &int).unwrap_err();
    assert!(error.to_string().contains("rows, the file has 5"), "{error}");
}

#[test]
fn an_index_is_of_the_values_that_a_file_holds() {
    let data_type = |text: &str| DataType::parse(text).unwrap();
    for (file, table, name, want) in [
        ("INT", "INT NOT NULL", "f.parquet", true),
        ("INT", "BIGINT", "f.parquet", false),
        ("VARCHAR(3)", "STRING", "f.parquet", true),
        ("STRING", "VARCHAR(3)", "f.parquet", false),
        ("CHAR(3)", "CHAR(3)", "f.parquet", true),
        ("CHAR(3)", "CHAR(3)", "f.orc", false),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "f.orc", false),
    ] {
        assert_eq!(is_comparable(&data_type(file), &data_type(table), name), want, "{file} as {table} in {name}");
    }
}
