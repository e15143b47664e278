//! Physical types against wanted types.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, Date32Array, Decimal128Array, Float64Array, Int8Array, Int16Array, Int64Array,
    StringViewArray, Time32MillisecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray,
};
use parquet::data_type::{
    ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};

use super::{one_null, put, read_column, write_raw};
use crate::error::ErrorKind;

async fn check(file: Vec<u8>, wanted: &str, expected: ArrayRef) {
    assert_eq!(&read_column(file, "a", wanted).await.unwrap(), &expected, "{wanted}");
}

fn decimals(precision: u8, scale: i8) -> ArrayRef {
    let values = Decimal128Array::from(vec![Some(-999), None, Some(1234)]);
    Arc::new(values.with_precision_and_scale(precision, scale).unwrap())
}

#[tokio::test]
async fn numbers() {
    let ints = |annotation: &str| one_null::<Int32Type>(&format!("int32 a {annotation}"), -3, 100);
    let longs = Int64Array::from(vec![Some(-3), None, Some(100)]);
    check(ints("(INTEGER(8,true))"), "TINYINT", Arc::new(Int8Array::from(vec![Some(-3), None, Some(100)]))).await;
    check(ints(""), "TINYINT", Arc::new(Int8Array::from(vec![Some(-3), None, Some(100)]))).await;
    check(ints(""), "SMALLINT", Arc::new(Int16Array::from(vec![Some(-3), None, Some(100)]))).await;
    check(ints(""), "BIGINT", Arc::new(longs)).await;
    let unsigned = one_null::<Int32Type>("int32 a (INTEGER(32,false))", -1, 1);
    check(unsigned, "BIGINT", Arc::new(Int64Array::from(vec![Some(4_294_967_295), None, Some(1)]))).await;
    let floats = one_null::<FloatType>("float a", 0.5, -0.0);
    check(floats, "DOUBLE", Arc::new(Float64Array::from(vec![Some(0.5), None, Some(-0.0)]))).await;
    let large = one_null::<Int32Type>("int32 a", 0, 1000);
    assert_eq!(read_column(large, "a", "TINYINT").await.unwrap_err().kind(), ErrorKind::Corrupt);
}

#[tokio::test]
async fn decimals_of_every_storage() {
    let bytes = |value: i128, length: usize| value.to_be_bytes()[16 - length..].to_vec();
    check(one_null::<Int32Type>("int32 a (DECIMAL(7,2))", -999, 1234), "DECIMAL(7,2)", decimals(7, 2)).await;
    check(one_null::<Int64Type>("int64 a (DECIMAL(18,2))", -999, 1234), "DECIMAL(18,2)", decimals(18, 2)).await;
    check(one_null::<Int32Type>("int32 a (DECIMAL(7,2))", -999, 1234), "DECIMAL(30,2)", decimals(30, 2)).await;
    check(one_null::<Int64Type>("int64 a (DECIMAL(18,2))", -999, 1234), "DECIMAL(5,2)", decimals(5, 2)).await;
    let fixed = |value| FixedLenByteArray::from(bytes(value, 5));
    let file = one_null::<FixedLenByteArrayType>("fixed_len_byte_array(5) a (DECIMAL(9,2))", fixed(-999), fixed(1234));
    check(file, "DECIMAL(9,2)", decimals(9, 2)).await;
    let wide = |value: i128| {
        let sign = if value < 0 { 0xff } else { 0 };
        FixedLenByteArray::from([vec![sign; 4], bytes(value, 16)].concat())
    };
    let file = one_null::<FixedLenByteArrayType>("fixed_len_byte_array(20) a (DECIMAL(38,2))", wide(-999), wide(1234));
    check(file, "DECIMAL(38,2)", decimals(38, 2)).await;
    let file = one_null::<ByteArrayType>("binary a (DECIMAL(20,2))", bytes(-999, 2).into(), bytes(1234, 3).into());
    check(file, "DECIMAL(20,2)", decimals(20, 2)).await;
    let narrow = one_null::<Int64Type>("int64 a (DECIMAL(18,2))", -999, 123_456);
    assert_eq!(read_column(narrow, "a", "DECIMAL(5,2)").await.unwrap_err().kind(), ErrorKind::Corrupt);
}

#[tokio::test]
async fn text_and_bytes() {
    let words = |annotation: &str| one_null::<ByteArrayType>(&format!("binary a {annotation}"), "é".into(), "".into());
    let text = || Arc::new(StringViewArray::from(vec![Some("é"), None, Some("")]));
    let bytes = || Arc::new(BinaryViewArray::from(vec![Some("é".as_bytes()), None, Some(b"")]));
    for annotation in ["(STRING)", "(UTF8)", "", "(ENUM)", "(JSON)"] {
        check(words(annotation), "STRING", text()).await;
        check(words(annotation), "BYTES", bytes()).await;
        check(words(annotation), "CHAR(3)", text()).await;
    }
    let fixed = |bytes: &[u8]| FixedLenByteArray::from(bytes.to_vec());
    let file = one_null::<FixedLenByteArrayType>("fixed_len_byte_array(2) a", fixed(b"xy"), fixed(b"zz"));
    check(file, "BINARY(2)", Arc::new(BinaryViewArray::from(vec![Some(&b"xy"[..]), None, Some(b"zz")]))).await;
    let broken = one_null::<ByteArrayType>("binary a (STRING)", vec![0xff].into(), "".into());
    assert_eq!(read_column(broken, "a", "STRING").await.unwrap_err().kind(), ErrorKind::Corrupt);
}

#[tokio::test]
async fn days_and_times_of_day() {
    let days = one_null::<Int32Type>("int32 a (DATE)", -1, 19_000);
    check(days, "DATE", Arc::new(Date32Array::from(vec![Some(-1), None, Some(19_000)]))).await;
    let millis = || Arc::new(Time32MillisecondArray::from(vec![Some(1), None, Some(86_399_999)]));
    for annotation in ["(TIME(MILLIS,true))", "(TIME(MILLIS,false))", "(TIME_MILLIS)", ""] {
        check(one_null::<Int32Type>(&format!("int32 a {annotation}"), 1, 86_399_999), "TIME(3)", millis()).await;
    }
    check(one_null::<Int64Type>("int64 a (TIME(MICROS,true))", 1_999, 86_399_999_999), "TIME(3)", millis()).await;
}

#[tokio::test]
async fn the_unit_is_the_tables_whatever_the_files() {
    let file = |unit: &str, utc: bool| {
        let per_second = match unit {
            "MILLIS" => 1_000,
            "MICROS" => 1_000_000,
            _ => 1_000_000_000,
        };
        one_null::<Int64Type>(&format!("int64 a (TIMESTAMP({unit},{utc}))"), -1, 5 * per_second)
    };
    for utc in [true, false] {
        let seconds = || TimestampSecondArray::from(vec![Some(-1), None, Some(5)]);
        for unit in ["MILLIS", "MICROS", "NANOS"] {
            check(file(unit, utc), "TIMESTAMP(0)", Arc::new(seconds())).await;
            check(file(unit, utc), "TIMESTAMP_LTZ(0)", Arc::new(seconds().with_timezone("UTC"))).await;
        }
        let millis = || TimestampMillisecondArray::from(vec![Some(-1), None, Some(5_000)]);
        check(file("MILLIS", utc), "TIMESTAMP(3)", Arc::new(millis())).await;
        check(file("MICROS", utc), "TIMESTAMP_LTZ(3)", Arc::new(millis().with_timezone("UTC"))).await;
        let micros = TimestampMicrosecondArray::from(vec![Some(-1000), None, Some(5_000_000)]);
        check(file("MILLIS", utc), "TIMESTAMP(6)", Arc::new(micros)).await;
        let nanos = TimestampNanosecondArray::from(vec![Some(-1), None, Some(5_000_000_000)]);
        check(file("NANOS", utc), "TIMESTAMP(9)", Arc::new(nanos)).await;
    }
    let bare = one_null::<Int64Type>("int64 a", -1, 7);
    check(bare, "TIMESTAMP(6)", Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), None, Some(7)]))).await;
    let far = one_null::<Int64Type>("int64 a (TIMESTAMP(MILLIS,false))", 0, 253_402_300_799_999);
    let error = read_column(far, "a", "TIMESTAMP(9)").await.unwrap_err().to_string();
    assert!(error.contains("column 'a'") && error.contains("dir/data-1.parquet"), "{error}");
}

fn int96(days: i32, nanos: i64) -> Int96 {
    let mut value = Int96::new();
    value.set_data(nanos as u32, (nanos >> 32) as u32, (days + 2_440_588) as u32);
    value
}

#[tokio::test]
async fn int96_is_exact() {
    let file = || one_null::<Int96Type>("int96 a", int96(0, -1), int96(1, 123_456_789));
    let day = 86_400;
    let nanos = TimestampNanosecondArray::from(vec![Some(-1), None, Some(day * 1_000_000_000 + 123_456_789)]);
    check(file(), "TIMESTAMP(9)", Arc::new(nanos.clone())).await;
    check(file(), "TIMESTAMP_LTZ(7)", Arc::new(nanos.with_timezone("UTC"))).await;
    let micros = TimestampMicrosecondArray::from(vec![Some(-1), None, Some(day * 1_000_000 + 123_456)]);
    check(file(), "TIMESTAMP(6)", Arc::new(micros)).await;
    check(file(), "TIMESTAMP(0)", Arc::new(TimestampSecondArray::from(vec![Some(-1), None, Some(day)]))).await;
    let far = || one_null::<Int96Type>("int96 a", int96(-719_162, 0), int96(2_932_896, 0));
    let error = read_column(far(), "a", "TIMESTAMP(9)").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("column 'a'"), "{error}");
    let millis = vec![Some(-719_162 * day * 1_000), None, Some(2_932_896 * day * 1_000)];
    check(far(), "TIMESTAMP(3)", Arc::new(TimestampMillisecondArray::from(millis))).await;
    assert!(read_column(file(), "a", "BIGINT").await.is_err());
}

#[tokio::test]
async fn int96_may_be_all_null_or_beside_others() {
    let nulls = write_raw("optional int96 a;", |group| put::<Int96Type>(group, &[], Some(&[0, 0]), None));
    check(nulls, "TIMESTAMP(9)", Arc::new(TimestampNanosecondArray::from(vec![None, None]))).await;
    let file = || {
        write_raw("required int96 x; required group a { required int96 y; required int64 z; }", |group| {
            put::<Int96Type>(group, &[int96(0, 1)], None, None);
            put::<Int96Type>(group, &[int96(0, 2)], None, None);
            put::<Int64Type>(group, &[3], None, None);
        })
    };
    let rows = read_column(file(), "a", "ROW<z BIGINT, y TIMESTAMP(9)>").await.unwrap();
    let rows = rows.as_any().downcast_ref::<arrow::array::StructArray>().unwrap();
    assert_eq!(rows.column(0).as_ref(), &Int64Array::from(vec![3]));
    assert_eq!(rows.column(1).as_ref(), &TimestampNanosecondArray::from(vec![2]));
}

#[tokio::test]
async fn other_types_are_refused_by_name() {
    let file = one_null::<ByteArrayType>("binary a (STRING)", "x".into(), "y".into());
    let error = read_column(file, "a", "INT").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    for part in ["dir/data-1.parquet", "column 'a'", "INT", "Utf8"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let decimal = one_null::<Int32Type>("int32 a (DECIMAL(7,2))", 1, 2);
    assert!(read_column(decimal, "a", "DECIMAL(7,3)").await.is_err());
    let long = one_null::<Int64Type>("int64 a", 1, 2);
    assert!(read_column(long, "a", "INT").await.is_err());
}
