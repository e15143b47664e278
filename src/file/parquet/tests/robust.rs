//! Foreign bytes: cut, changed or no Parquet at all. Reading ends with rows or an error, never otherwise.

use std::sync::{Arc, LazyLock};

use arrow::array::{
    ArrayRef, Decimal128Array, Int64Array, Int64Builder, ListBuilder, MapBuilder, StringArray, StringBuilder,
};
use parquet::basic::Compression;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet_variant_compute::{json_to_variant, shred_variant};
use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::{read, write};
use crate::error::ErrorKind;

const COLUMNS: [(&str, &str); 6] = [
    ("n", "BIGINT"),
    ("s", "STRING"),
    ("d", "DECIMAL(20, 2)"),
    ("l", "ARRAY<BIGINT>"),
    ("m", "MAP<STRING, BIGINT>"),
    ("v", "VARIANT"),
];

fn columns() -> Vec<(&'static str, ArrayRef)> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter((0..60).map(|i| (i % 7 > 0).then_some(i * i))));
    let text = StringArray::from_iter((0..60).map(|i| (i % 5 > 0).then(|| format!("text {}", i % 9))));
    let decimals = Decimal128Array::from_iter_values(0..60).with_precision_and_scale(20, 2).unwrap();
    let (mut lists, mut maps) =
        (ListBuilder::new(Int64Builder::new()), MapBuilder::new(None, StringBuilder::new(), Int64Builder::new()));
    for i in 0..60 {
        for j in 0..i % 4 {
            lists.values().append_value(j);
            maps.keys().append_value(format!("k{j}"));
            maps.values().append_option((j > 0).then_some(i));
        }
        lists.append(i % 6 > 0);
        maps.append(i % 6 > 0).unwrap();
    }
    let json: ArrayRef = Arc::new(StringArray::from_iter_values((0..60).map(|i| format!("{{\"a\":{i},\"b\":[{i}]}}"))));
    let shape = arrow::datatypes::Field::new("a", arrow::datatypes::DataType::Int64, true);
    let variants =
        shred_variant(&json_to_variant(&json).unwrap(), &arrow::datatypes::DataType::Struct(vec![shape].into()));
    vec![
        ("n", numbers),
        ("s", Arc::new(text)),
        ("d", Arc::new(decimals)),
        ("l", Arc::new(lists.finish())),
        ("m", Arc::new(maps.finish())),
        ("v", Arc::new(variants.unwrap().into_inner())),
    ]
}

static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let build = |version, compression| {
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(25))
            .set_writer_version(version)
            .set_compression(compression);
        write(columns(), properties.build())
    };
    vec![
        build(WriterVersion::PARQUET_1_0, Compression::UNCOMPRESSED),
        build(WriterVersion::PARQUET_2_0, Compression::ZSTD(Default::default())),
    ]
});

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

#[test]
fn the_files_are_right_to_begin_with() {
    for file in FILES.iter() {
        assert_eq!(RUNTIME.block_on(read(file.clone(), &COLUMNS)).unwrap().num_rows(), 60);
    }
}

#[test]
fn a_file_that_is_cut_is_corrupt() {
    for file in FILES.iter() {
        for length in (0..file.len()).step_by(97).chain([1, 4, 7, 8, 11, 12]) {
            let error = RUNTIME.block_on(read(file[..length].to_vec(), &COLUMNS)).unwrap_err();
            assert_eq!((error.kind(), error.file()), (ErrorKind::Corrupt, Some("dir/data-1.parquet")), "{length}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn changed_bytes_do_not_panic(
        file in 0usize..2,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        of_footer: bool,
    ) {
        let mut bytes = FILES[file].clone();
        let footer = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize + 8;
        let start = if of_footer { bytes.len() - footer } else { 0 };
        for (index, value) in changes {
            let position = start + index.index(bytes.len() - start);
            bytes[position] = value;
        }
        let _ = RUNTIME.block_on(read(bytes, &COLUMNS));
    }

    #[test]
    fn any_bytes_are_corrupt(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let framed = [&bytes[..], &(bytes.len() as u32).to_le_bytes(), b"PAR1"].concat();
        for bytes in [bytes, framed] {
            let _ = RUNTIME.block_on(read(bytes, &COLUMNS));
        }
    }
}
