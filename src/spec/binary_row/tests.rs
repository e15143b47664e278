//! Known bytes of Java, round trips, and rows that are damaged.

use proptest::prelude::*;

use super::*;

fn types(texts: &[&str]) -> Vec<DataType> {
    texts.iter().map(|t| DataType::parse(t).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn text(value: &str) -> Option<Datum> {
    Some(Datum::String(value.into()))
}

#[test]
fn known_rows_of_java() {
    let one = |t: &str, v: Option<Datum>| hex(&serialize_row(&types(&[t]), &[v]).unwrap());
    let header = "000000010000000000000000";
    let null = "000000010001000000000000";
    let decimal = |unscaled, precision, scale| Some(Datum::Decimal { unscaled, precision, scale });
    for (data_type, value, want) in [
        ("INT", Some(Datum::Int(10)), format!("{header}0a00000000000000")),
        ("STRING", text("Lily"), format!("{header}4c696c7900000084")),
        ("STRING", text("12345678"), format!("{header}08000000100000003132333435363738")),
        ("STRING", None, format!("{null}0000000000000000")),
        ("DECIMAL(10, 2)", decimal(-1, 10, 2), format!("{header}ffffffffffffffff")),
        ("DECIMAL(20, 20)", decimal(74_803, 20, 20), format!("{header}03000000100000000124330000000000{:016}", 0)),
        ("DECIMAL(19, 0)", decimal(128, 19, 0), format!("{header}02000000100000000080{:028}", 0)),
        ("DECIMAL(19, 0)", decimal(-128, 19, 0), format!("{header}010000001000000080{:030}", 0)),
        ("DECIMAL(19, 0)", decimal(0, 19, 0), format!("{header}0100000010000000{:032}", 0)),
        ("DECIMAL(19, 0)", None, format!("{null}0000000010000000{:032}", 0)),
        ("TIMESTAMP(4)", None, format!("{null}0000000010000000{:016}", 0)),
        ("TIMESTAMP(3)", None, format!("{null}0000000000000000")),
    ] {
        assert_eq!(one(data_type, value.clone()), want, "{data_type} {value:?}");
    }
    assert_eq!(hex(&serialize_row([], &[]).unwrap()), "000000000000000000000000");
}

#[test]
fn null_bits_go_on_in_the_next_words() {
    for arity in [55, 56, 57, 120, 121] {
        let types = vec![TypeKind::Int.nullable(); arity];
        let values: Vec<_> = (0..arity as i32).map(|i| (i % 3 != 0).then_some(Datum::Int(i))).collect();
        let row = encode_row(&types, &values).unwrap();
        assert_eq!(row.len(), (arity + 8).div_ceil(64) * 8 + 8 * arity);
        assert_eq!(BinaryRow::new(&row, arity).unwrap().decode(&types).unwrap(), values);
    }
}

#[test]
fn fields_are_checked() {
    let bytes = serialize_row(&types(&["INT"]), &[Some(Datum::Int(1))]).unwrap();
    let row = BinaryRow::from_serialized(&bytes).unwrap();
    assert_eq!((row.arity(), row.row_kind().unwrap(), row.bytes().len()), (1, RowKind::Insert, 16));
    assert!(row.get(1, &TypeKind::Int.nullable()).is_err() && row.is_null(1));
    assert!(row.decode(&types(&["INT", "INT"])).is_err() && row.decode(&[]).is_err());
    assert!(BinaryRow::from_serialized(&bytes[..19]).is_err());
    assert!(BinaryRow::from_serialized(&[0, 0]).is_err());
    assert!(BinaryRow::from_serialized(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
    assert!(BinaryRow::from_serialized(&[0x7f, 0xff, 0xff, 0xff]).is_err());
    assert_eq!(BinaryRow::from_serialized(&[]).unwrap().decode(&[]).unwrap(), []);
}

#[test]
fn values_of_another_type_are_not_written() {
    for (data_type, value) in [
        ("INT", Datum::BigInt(1)),
        ("DECIMAL(5, 2)", Datum::Decimal { unscaled: 1, precision: 5, scale: 3 }),
        ("DECIMAL(18, 0)", Datum::Decimal { unscaled: i128::MAX, precision: 18, scale: 0 }),
        ("TIMESTAMP(6)", Datum::Timestamp { millis: 0, nano_of_milli: 1_000_000 }),
        ("VECTOR<INT, 2>", Datum::Array(vec![Some(Datum::Int(1))])),
        ("VECTOR<INT, 1>", Datum::Array(vec![None])),
        ("ROW<a INT>", Datum::Row(vec![])),
    ] {
        assert!(encode_row(&types(&[data_type]), &[Some(value.clone())]).is_err(), "{data_type} {value:?}");
    }
    assert!(encode_row(&types(&["INT"]), &[None, None]).is_err());
}

#[test]
fn overlapping_values_do_not_multiply() {
    // 100 elements that all point to the same 900 bytes.
    let data_type = DataType::parse("ARRAY<STRING>").unwrap();
    let mut array = [100i32.to_le_bytes().as_slice(), &[0; 16]].concat();
    array.resize(array.len() + 4, 0);
    let start = 20;
    array.resize(start + 800, 0);
    for i in 0..100 {
        array[start + 8 * i..start + 8 * i + 8].copy_from_slice(&900u64.to_le_bytes());
    }
    array.resize(900, b' ');
    let row = [[0; 8].as_slice(), &((16u64 << 32) | 900).to_le_bytes(), &array].concat();
    let error = BinaryRow::new(&row, 1).unwrap().get(0, &data_type).unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
}

fn leaf() -> impl Strategy<Value = (DataType, BoxedStrategy<Datum>)> {
    let timestamp = |p: u8| {
        let step = 10i32.pow(u32::from(9 - p.max(3)));
        let nanos = if p <= 3 { 0..1 } else { 0..1_000_000 / step };
        (any::<i64>(), nanos).prop_map(move |(millis, n)| Datum::Timestamp { millis, nano_of_milli: n * step }).boxed()
    };
    let decimal = |precision: u8| {
        let limit = 10i128.pow(u32::from(precision));
        (1 - limit..limit).prop_map(move |unscaled| Datum::Decimal { unscaled, precision, scale: 1 }).boxed()
    };
    prop_oneof![
        Just((TypeKind::Boolean, any::<bool>().prop_map(Datum::Boolean).boxed())),
        Just((TypeKind::TinyInt, any::<i8>().prop_map(Datum::TinyInt).boxed())),
        Just((TypeKind::SmallInt, any::<i16>().prop_map(Datum::SmallInt).boxed())),
        Just((TypeKind::Int, any::<i32>().prop_map(Datum::Int).boxed())),
        Just((TypeKind::BigInt, any::<i64>().prop_map(Datum::BigInt).boxed())),
        Just((TypeKind::Float, (-1e30f32..1e30).prop_map(Datum::Float).boxed())),
        Just((TypeKind::Double, (-1e300f64..1e300).prop_map(Datum::Double).boxed())),
        Just((TypeKind::Date, any::<i32>().prop_map(Datum::Date).boxed())),
        Just((TypeKind::Time(3), any::<i32>().prop_map(Datum::Time).boxed())),
        Just((TypeKind::string(), "\\PC{0,12}".prop_map(Datum::String).boxed())),
        Just((TypeKind::VarBinary(20), any::<[u8; 9]>().prop_map(|b| Datum::Bytes(b.to_vec())).boxed())),
        (1u8..=38).prop_map(move |p| (TypeKind::Decimal { precision: p, scale: 1 }, decimal(p))),
        (0u8..=9).prop_map(move |p| (TypeKind::Timestamp(p), timestamp(p))),
        (0u8..=9).prop_map(move |p| (TypeKind::TimestampLtz(p), timestamp(p))),
    ]
    .prop_map(|(kind, values)| (kind.nullable(), values))
}

/// A type with values of it.
fn typed() -> impl Strategy<Value = (DataType, BoxedStrategy<Datum>)> {
    let optional = |values: BoxedStrategy<Datum>| proptest::option::of(values);
    leaf().prop_recursive(3, 12, 3, move |inner| {
        let array = inner.clone().prop_map(move |(t, values)| {
            let values = proptest::collection::vec(optional(values), 0..40).prop_map(Datum::Array).boxed();
            (TypeKind::Array(Box::new(t)), values)
        });
        let map = (inner.clone(), inner.clone()).prop_map(move |((k, keys), (v, values))| {
            let entries = proptest::collection::vec((keys.prop_map(Some), optional(values)), 0..4);
            (TypeKind::Map(Box::new(k), Box::new(v)), entries.prop_map(Datum::Map).boxed())
        });
        let row = proptest::collection::vec(inner, 0..4).prop_map(move |columns| {
            let (types, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
            let fields = types.into_iter().map(|t| crate::spec::data_type::DataField::new(0, "f", t)).collect();
            let values = values.into_iter().map(optional).collect::<Vec<_>>();
            (TypeKind::Row(fields), values.prop_map(Datum::Row).boxed())
        });
        prop_oneof![array, map, row].prop_map(|(kind, values)| (kind.nullable(), values))
    })
}

fn typed_rows() -> impl Strategy<Value = Vec<(DataType, Option<Datum>)>> {
    let column = typed().prop_flat_map(|(t, values)| (Just(t), proptest::option::of(values)));
    proptest::collection::vec(column, 0..4)
}

proptest! {
    #[test]
    fn rows_round_trip(columns in typed_rows()) {
        let (types, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let bytes = serialize_row(&types, &values).unwrap();
        prop_assert_eq!(bytes.len() % 8, 4);
        let row = BinaryRow::from_serialized(&bytes).unwrap();
        prop_assert_eq!(row.decode(&types).unwrap(), values);
    }

    #[test]
    fn damaged_rows_do_not_panic(columns in typed_rows(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (types, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let mut bytes = serialize_row(&types, &values).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = BinaryRow::from_serialized(&bytes).and_then(|row| row.decode(&types));
        bytes.truncate(at);
        let _ = BinaryRow::from_serialized(&bytes).and_then(|row| row.decode(&types));
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 16..80)) {
        let row = BinaryRow::new(&bytes, 1).unwrap();
        for t in ["STRING", "DECIMAL(38, 0)", "TIMESTAMP(9)", "ARRAY<ARRAY<INT>>", "MAP<INT, INT>", "VARIANT", "ROW<a BYTES>"] {
            let _ = row.get(0, &DataType::parse(t).unwrap());
        }
    }
}
