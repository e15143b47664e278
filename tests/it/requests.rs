//! What a query asks of the object store.

use std::path::Path;
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use datafusion_paimon::storage::{RecordingStore, Request};
use datafusion_paimon::{register, register_catalog};
use object_store::local::LocalFileSystem;
use url::Url;

/// A session over the golden warehouse that records the reads of the local disk.
fn session() -> (SessionContext, Arc<RecordingStore>) {
    let store = Arc::new(RecordingStore::new(Arc::new(LocalFileSystem::new())));
    let context = SessionContext::new();
    context.register_object_store(&Url::parse("file:///").unwrap(), Arc::clone(&store) as _);
    register(&context).unwrap();
    let warehouse = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warehouse");
    register_catalog(&context, "paimon", warehouse.to_str().unwrap()).unwrap();
    (context, store)
}

async fn requests(context: &SessionContext, store: &RecordingStore, sql: &str) -> Vec<Request> {
    store.take();
    context.sql(sql).await.unwrap().collect().await.unwrap();
    store.take()
}

fn of_data_files(requests: &[Request]) -> Vec<&Request> {
    requests.iter().filter(|r| r.path().contains("/bucket-")).collect()
}

#[tokio::test]
async fn a_count_opens_no_data_file() {
    let (context, store) = session();
    let all = requests(&context, &store, "SELECT count(*) FROM paimon.demo.orders").await;
    assert!(!all.is_empty());
    assert!(of_data_files(&all).is_empty(), "{all:?}");
}

#[tokio::test]
async fn small_files_come_with_one_request_each_and_others_partitions_are_not_asked_for() {
    let (context, store) = session();
    let sql = "SELECT sum(quantity) FROM paimon.demo.orders WHERE country = 'DE'";
    let all = requests(&context, &store, sql).await;
    let files = of_data_files(&all);
    let mut paths: Vec<_> = files.iter().map(|r| r.path()).collect();
    assert!(!paths.is_empty() && paths.iter().all(|p| p.contains("country=DE")), "{files:?}");
    paths.sort_unstable();
    let asked = paths.len();
    paths.dedup();
    assert_eq!(asked, paths.len(), "a file is asked for twice: {files:?}");
}
