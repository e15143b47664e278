//! What the fuzz targets of data files share: a file in memory is read to its end as the columns of a golden table.
//!
//! Bytes of a fuzzer come in; batches go nowhere. A read may end in an error, never in a panic, a hang or an allocation
//! by a length that was not checked.

use std::sync::Arc;

use bytes::Bytes;
use datafusion_paimon::file::{self, FileFormat, Lane, Narrowing, ReadRequest};
use datafusion_paimon::spec::table_schema::TableSchema;
use datafusion_paimon::storage::InputFile;
use futures::StreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

/// Batches are short, so that a file gives several.
const BATCH_ROWS: usize = 64;

/// Reads `bytes` as a data file of `format` with the columns of a schema file.
pub fn read_data_file(bytes: &[u8], format: FileFormat, schema_json: &[u8]) {
    let schema = TableSchema::from_json(schema_json).expect("the schema of a golden table");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let path = Path::from("fuzzed");
        store.put(&path, Bytes::copy_from_slice(bytes).into()).await.expect("memory takes a file");
        let request = ReadRequest {
            file: InputFile::new(store, path, Some(bytes.len() as u64)),
            format,
            written: schema.fields.clone(),
            fields: schema.fields,
            range: None,
            selection: None,
            batch_size: BATCH_ROWS,
            orc_legacy_ltz: true,
            footers: None,
            narrowing: Narrowing::default(),
            lane: Lane::alone(),
            limit: None,
        };
        if let Ok(mut batches) = file::open(request).await {
            while let Some(Ok(_)) = batches.next().await {}
        }
    });
}
