//! A serialized BinaryRow, read as every scalar and nested type.
#![no_main]

use std::sync::LazyLock;

use datafusion_paimon::spec::binary_row::BinaryRow;
use datafusion_paimon::spec::bucket::hash_row;
use datafusion_paimon::spec::data_type::DataType;
use libfuzzer_sys::fuzz_target;

static TYPES: LazyLock<Vec<DataType>> = LazyLock::new(|| {
    [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DATE",
        "TIME(3)",
        "CHAR(3)",
        "VARCHAR(9)",
        "STRING",
        "BINARY(4)",
        "BYTES",
        "DECIMAL(9, 2)",
        "DECIMAL(38, 10)",
        "TIMESTAMP(3)",
        "TIMESTAMP(9)",
        "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    ]
    .iter()
    .map(|text| DataType::parse(text).expect("a type's name"))
    .collect()
});

fuzz_target!(|data: &[u8]| {
    let _ = hash_row(data);
    let Ok(row) = BinaryRow::from_serialized(data) else { return };
    drop(row.row_kind());
    for index in 0..row.arity().saturating_add(1).min(64) {
        row.is_null(index);
        for data_type in TYPES.iter() {
            drop(row.get(index, data_type));
        }
    }
});
