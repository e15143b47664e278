//! A metadata file in Avro or ORC: manifest list, manifest, index manifest. Those in Parquet are left to `data_parquet`,
//! because of the panics that are fenced there.
#![no_main]

use bytes::Bytes;
use datafusion_paimon::file::container::read_container;
use datafusion_paimon::spec::index_manifest::index_files;
use datafusion_paimon::spec::manifest_entry::ManifestEntries;
use datafusion_paimon::spec::manifest_list::manifest_files;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if data.starts_with(b"PAR1") {
        return;
    }
    let Ok(batches) = read_container(Bytes::copy_from_slice(data), &[]) else { return };
    for batch in &batches {
        drop(manifest_files(batch));
        drop(index_files(batch));
        if let Ok(entries) = ManifestEntries::new(batch) {
            drop(entries.entries());
        }
    }
});
