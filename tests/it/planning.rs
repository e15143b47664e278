//! What planning asks of the object store, cold and warm, and that what is kept never outlives what it is of.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::SessionContext;
use datafusion_paimon::storage::{RecordingStore, Request};
use datafusion_paimon::{register, register_catalog, register_table};
use object_store::local::LocalFileSystem;
use url::Url;

/// Long enough that what may be asked for at the same time is.
const ANSWER_AFTER: Duration = Duration::from_millis(150);

fn warehouse() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warehouse")
}

/// A session that records the reads of the local disk, each of which takes a while.
fn session(answer_after: Duration, warehouse: &Path) -> (SessionContext, Arc<RecordingStore>) {
    let store = RecordingStore::new(Arc::new(LocalFileSystem::new())).answering_after(answer_after);
    let store = Arc::new(store);
    let context = SessionContext::new();
    context.register_object_store(&Url::parse("file:///").unwrap(), Arc::clone(&store) as _);
    register(&context).unwrap();
    register_catalog(&context, "paimon", warehouse.to_str().unwrap()).unwrap();
    (context, store)
}

/// Plans a query: how often that waits, and for what.
async fn plan(context: &SessionContext, store: &RecordingStore, sql: &str) -> (usize, Vec<Request>) {
    store.take();
    store.take_waits();
    context.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    (store.take_waits(), store.take())
}

/// The rows of a query, sorted: output partitions give theirs in any order.
async fn rows(context: &SessionContext, sql: &str) -> String {
    let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
    let text = pretty_format_batches(&batches).unwrap().to_string();
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// The names of what is asked for.
fn names(requests: &[Request]) -> Vec<String> {
    let name = |r: &Request| r.path().rsplit('/').next().unwrap_or_default().to_owned();
    let mut names: Vec<_> = requests.iter().map(name).collect();
    names.sort_unstable();
    names
}

fn manifests(requests: &[Request]) -> usize {
    names(requests).iter().filter(|n| n.starts_with("manifest-") && !n.starts_with("manifest-list-")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registered_table_waits_four_times_cold_and_once_warm() {
    let (context, store) = session(ANSWER_AFTER, &warehouse());
    let location = warehouse().join("demo.db/orders");
    register_table(&context, "t", location.to_str().unwrap(), Default::default()).await.unwrap();
    let sql = "SELECT * FROM t WHERE country = 'DE'";
    let (waits, requests) = plan(&context, &store, sql).await;
    assert!(waits <= 4, "{waits} {requests:?}");
    let (waits, requests) = plan(&context, &store, sql).await;
    assert_eq!((waits, names(&requests)), (1, vec!["schema".into(), "snapshot-3".into(), "snapshot-4".into()]));
    for sql in ["SELECT count(*) FROM t", "SELECT * FROM t WHERE order_id = 3", "SELECT * FROM t LIMIT 1"] {
        let (waits, requests) = plan(&context, &store, sql).await;
        assert_eq!((waits, requests.len()), (1, 3), "{sql} {requests:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_point_query_by_name_asks_for_little() {
    let (context, store) = session(Duration::ZERO, &warehouse());
    let sql = "SELECT * FROM paimon.demo.orders WHERE order_id = 3";
    let data = |requests: &[Request]| requests.iter().filter(|r| r.path().contains("/bucket-")).count();
    store.take();
    rows(&context, sql).await;
    let cold = store.take();
    // Databases; schemas twice and one of them; the snapshot and that there is none after it; two lists, their manifests.
    assert!(cold.len() - data(&cold) <= 12, "{cold:?}");
    rows(&context, sql).await;
    let warm = store.take();
    // The schemas twice, the snapshot, and that there is none after it.
    assert_eq!(warm.len() - data(&warm), 4, "{warm:?}");
    assert!(data(&warm) <= 2, "{warm:?}");
}

#[tokio::test]
async fn a_snapshot_is_built_on_another_one_and_found_by_whoever_names_it() {
    let (context, store) = session(Duration::ZERO, &warehouse());
    let of = |version: &str| format!("SELECT * FROM paimon.refs.\"snapshots@{version}\"");
    assert_eq!(manifests(&plan(&context, &store, &of("2")).await.1), 2);
    assert_eq!(manifests(&plan(&context, &store, &of("3")).await.1), 1);
    assert_eq!(manifests(&plan(&context, &store, &of("1")).await.1), 0);
    assert_eq!(manifests(&plan(&context, &store, &of("3")).await.1), 0);
    // Every version gives the same rows as without what is kept.
    for version in ["1", "2", "3", "4", "5", "4", "1"] {
        let (fresh, _) = session(Duration::ZERO, &warehouse());
        assert_eq!(rows(&context, &of(version)).await, rows(&fresh, &of(version)).await, "{version}");
    }
}

#[tokio::test]
async fn nothing_is_kept_where_no_snapshot_may_be() {
    let (context, store) = session(Duration::ZERO, &warehouse());
    let sql = "SELECT * FROM paimon_table('paimon.demo.orders', 'scan.manifest-entry-cache.max-snapshots', '0')";
    let first = manifests(&plan(&context, &store, sql).await.1);
    assert_eq!(manifests(&plan(&context, &store, sql).await.1), first);
    assert!(first > 0);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

#[tokio::test]
async fn a_table_that_is_made_anew_or_rolled_back_is_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("d.db/t");
    let (context, _) = session(Duration::ZERO, folder.path());
    let all = || rows(&context, "SELECT * FROM paimon.d.t");
    for golden in ["refs.db/snapshots", "demo.db/orders", "append.db/plain_orc", "refs.db/snapshots"] {
        let _ = std::fs::remove_dir_all(&table);
        copy(&warehouse().join(golden), &table);
        let (fresh, _) = session(Duration::ZERO, folder.path());
        assert_eq!(all().await, rows(&fresh, "SELECT * FROM paimon.d.t").await, "{golden}");
    }
    for latest in [4, 2] {
        for gone in latest + 1..=5 {
            let _ = std::fs::remove_file(table.join(format!("snapshot/snapshot-{gone}")));
        }
        std::fs::write(table.join("snapshot/LATEST"), latest.to_string()).unwrap();
        let (fresh, _) = session(Duration::ZERO, folder.path());
        assert_eq!(all().await, rows(&fresh, "SELECT * FROM paimon.d.t").await, "{latest}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_at_the_same_time_read_a_manifest_once() {
    let (context, store) = session(ANSWER_AFTER, &warehouse());
    let sql = "SELECT * FROM paimon.demo.orders";
    let one = || async { context.sql(sql).await.unwrap().create_physical_plan().await.unwrap() };
    futures::future::join_all((0..4).map(|_| one())).await;
    assert_eq!(manifests(&store.take()), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_is_given_up_asks_for_no_more() {
    let (context, store) = session(ANSWER_AFTER, &warehouse());
    let planning = context.sql("SELECT * FROM paimon.demo.orders");
    let frame = planning.await.unwrap();
    let _ = tokio::time::timeout(ANSWER_AFTER / 2, frame.create_physical_plan()).await;
    tokio::time::sleep(ANSWER_AFTER * 2).await;
    store.take();
    tokio::time::sleep(ANSWER_AFTER * 2).await;
    assert!(store.take().is_empty());
}

#[tokio::test]
async fn what_planning_counted_is_shown() {
    let (context, _) = session(Duration::ZERO, &warehouse());
    let sql = "EXPLAIN ANALYZE SELECT * FROM paimon.demo.orders WHERE country = 'DE'";
    let cold = rows(&context, sql).await;
    assert!(cold.contains("last_scanned_manifests=3") && cold.contains("entries_from=all-manifests"), "{cold}");
    let warm = rows(&context, sql).await;
    assert!(warm.contains("last_scanned_manifests=0") && warm.contains("entries_from=cache"), "{warm}");
    assert!(warm.contains("last_snapshot_cache_hit=1") && warm.contains("pruning=[partitions="), "{warm}");
    assert!(warm.contains("last_lazy_decode_scanned_rows="), "{warm}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_by_name_waits_four_times_in_an_object_store() {
    let lake = LocalFileSystem::new_with_prefix(warehouse()).unwrap();
    let store = Arc::new(RecordingStore::new(Arc::new(lake)).answering_after(ANSWER_AFTER));
    let context = SessionContext::new();
    context.register_object_store(&Url::parse("s3://lake").unwrap(), Arc::clone(&store) as _);
    register(&context).unwrap();
    register_catalog(&context, "paimon", "s3://lake").unwrap();
    // Schemas, the first of them and the hint; the schemas again, the snapshot and that there is none after it; two lists;
    // the manifests.
    let (waits, requests) = plan(&context, &store, "SELECT * FROM paimon.demo.orders").await;
    assert_eq!((waits, requests.len()), (4, 11), "{requests:?}");
    let (waits, requests) = plan(&context, &store, "SELECT * FROM paimon.demo.orders").await;
    assert_eq!((waits, requests.len()), (2, 4), "{requests:?}");
    // Six schemas: the last one is waited for, and those that files were written with.
    let (waits, requests) = plan(&context, &store, "SELECT * FROM paimon.append.codecs_orc").await;
    assert!(waits <= 6, "{waits} {requests:?}");
    for (name, why) in
        [("nope.t", "table 'paimon.nope.t' not found"), ("demo.nope", "table 'paimon.demo.nope' not found")]
    {
        let e = context.sql(&format!("SELECT * FROM paimon.{name}")).await.unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    }
}
