//! Whole files, written here and read back.

mod corpus;
mod files;
mod random;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use super::open;
use crate::error::Result;
use crate::file::{FileFormat, Lane, ReadRequest};
use crate::spec::data_type::{DataField, DataType};
use crate::storage::InputFile;

fn fields(list: &[(&str, &str)]) -> Vec<DataField> {
    let field = |(i, (name, t)): (usize, &(&str, &str))| DataField::new(i as i32, *name, DataType::parse(t).unwrap());
    list.iter().enumerate().map(field).collect()
}

/// The batches of a file.
fn read(file: &[u8], fields: &[DataField], range: Option<Range<u64>>, batch_size: usize) -> Result<Vec<RecordBatch>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (store, path) = (Arc::new(InMemory::new()), Path::from("f.avro"));
        store.put(&path, file.to_vec().into()).await.unwrap();
        let request = ReadRequest {
            file: InputFile::new(store as Arc<dyn ObjectStore>, path, None),
            format: FileFormat::Avro,
            fields: fields.to_vec(),
            written: vec![],
            range,
            batch_size,
            orc_legacy_ltz: true,
            selection: None,
            footers: None,
            narrowing: Default::default(),
            lane: Lane::alone(),
            limit: None,
        };
        open(request).await?.try_collect().await
    })
}
