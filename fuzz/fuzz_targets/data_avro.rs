//! A data file in Avro, read as scalars and as nested values.
#![no_main]

use datafusion_paimon::file::FileFormat;
use datafusion_paimon_fuzz::read_data_file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for schema in [
        include_bytes!("../../tests/data/warehouse/types.db/scalars_avro/schema/schema-0").as_slice(),
        include_bytes!("../../tests/data/warehouse/types.db/nested_avro/schema/schema-0").as_slice(),
    ] {
        read_data_file(data, FileFormat::Avro, schema);
    }
});
