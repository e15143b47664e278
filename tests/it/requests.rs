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

#[tokio::test]
async fn a_join_that_leaves_one_partition_asks_for_no_file_of_another() {
    let (context, store) = session();
    let sql = "SELECT sum(o.quantity) FROM paimon.demo.orders o JOIN (VALUES ('FR', 1), ('XX', 2)) v(c, n) \
               ON o.country = v.c WHERE v.n = 1";
    let all = requests(&context, &store, sql).await;
    let files = of_data_files(&all);
    assert!(!files.is_empty() && files.iter().all(|r| r.path().contains("country=FR")), "{files:?}");
}

#[tokio::test]
async fn an_index_file_is_asked_for_once_and_spares_the_files_that_it_rules_out() {
    let (context, store) = session();
    let sql = r#"SELECT * FROM paimon."index".kinds_orc WHERE i = 10"#;
    let all = requests(&context, &store, sql).await;
    let (indexes, files): (Vec<_>, Vec<_>) =
        of_data_files(&all).into_iter().partition(|r| r.path().ends_with(".index"));
    assert_eq!(indexes.len(), 3, "{indexes:?}");
    let mut paths: Vec<_> = files.iter().map(|r| r.path()).collect();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), 2, "{files:?}");
    // What an index said is kept.
    let again = requests(&context, &store, sql).await;
    assert!(!of_data_files(&again).iter().any(|r| r.path().ends_with(".index")), "{again:?}");
    // No index can tell it.
    let other = requests(&context, &store, r#"SELECT * FROM paimon."index".kinds_orc WHERE id = 10"#).await;
    assert!(!of_data_files(&other).iter().any(|r| r.path().ends_with(".index")), "{other:?}");
}

#[tokio::test]
async fn the_tail_of_an_orc_file_is_read_once() {
    let (context, store) = session();
    let sql = "SELECT sum(score) FROM paimon.append.many_batches_orc WHERE id > 5000000";
    let ranges = |requests: &[Request]| -> Vec<_> {
        let of = |request: &&Request| match request {
            Request::GetRanges(_, ranges) => ranges.clone(),
            other => panic!("{other:?}"),
        };
        of_data_files(requests).iter().flat_map(of).collect()
    };
    let first = ranges(&requests(&context, &store, sql).await);
    let size = first.iter().map(|range| range.end).max().unwrap();
    // Neither the footer nor the statistics of stripes: just the one stripe that may match.
    let again = ranges(&requests(&context, &store, sql).await);
    assert!(again.len() == 1 && again[0].end < size, "{first:?} {again:?}");
}

#[tokio::test]
async fn a_file_of_which_no_row_was_found_is_not_asked_again() {
    let (context, store) = session();
    context.sql("SET datafusion.execution.parquet.pushdown_filters = true").await.unwrap();
    // Between the bounds of the file and of its pages, but no square.
    let none = "SELECT word FROM paimon.append.many_batches_parquet WHERE id = 1000001";
    assert!(!of_data_files(&requests(&context, &store, none).await).is_empty());
    assert_eq!(of_data_files(&requests(&context, &store, none).await), Vec::<&Request>::new());
    // Nor with other columns, but with other conditions.
    let more = "SELECT * FROM paimon.append.many_batches_parquet WHERE id = 1000001";
    assert_eq!(of_data_files(&requests(&context, &store, more).await), Vec::<&Request>::new());
    for other in ["id = 1000002", "id = 1000001 AND word <> 'x'", "id = 1000001 OR word = 'word 1'"] {
        let other = format!("SELECT * FROM paimon.append.many_batches_parquet WHERE {other}");
        assert!(!of_data_files(&requests(&context, &store, &other).await).is_empty(), "{other}");
    }
}
