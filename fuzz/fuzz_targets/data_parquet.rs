//! A data file in Parquet, read as scalars and as nested values.
//!
//! The parquet crate panics on some bytes; the reader fences that and answers with an error. So here a panic is silent:
//! what is looked for are hangs, crashes and allocations without bounds.
#![no_main]

use std::sync::Once;

use datafusion_paimon::file::FileFormat;
use datafusion_paimon_fuzz::read_data_file;
use libfuzzer_sys::fuzz_target;

static FENCED: Once = Once::new();

fuzz_target!(|data: &[u8]| {
    FENCED.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    for schema in [
        include_bytes!("../../tests/data/warehouse/types.db/scalars_parquet/schema/schema-0").as_slice(),
        include_bytes!("../../tests/data/warehouse/types.db/nested_parquet/schema/schema-0").as_slice(),
    ] {
        read_data_file(data, FileFormat::Parquet, schema);
    }
});
