//! Reading ahead: what is under way at a time, what stops, and that rows and errors are the same with and without it.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_paimon::file::prefetch::{PrefetchMetrics, ReadAhead, ReadAheadSettings};
use datafusion_paimon::file::{self, BatchStream, FileFormat, Lane, ReadRequest};
use datafusion_paimon::spec::data_type::{DataField, DataType};
use datafusion_paimon::storage::{Coalescing, InputFile};
use datafusion_paimon::{Result, register, register_catalog};
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStoreExt;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use url::Url;

use crate::support::slow_store::{Fault, SlowStore};

const GROUPS: usize = 40;
const GROUP_ROWS: usize = 500;

/// A Parquet file of [`GROUPS`] row groups of about 50 kB each.
fn file_bytes() -> Vec<u8> {
    let rows = GROUPS * GROUP_ROWS;
    let n: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows as i32));
    let text = |i: usize| format!("{:0100}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let s: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(text)));
    let batch = RecordBatch::try_from_iter([("n", n), ("s", s)]).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(GROUP_ROWS)).build();
    let mut writer = ArrowWriter::try_new(vec![], batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn settings(budget_bytes: u64) -> ReadAheadSettings {
    ReadAheadSettings {
        budget_bytes,
        coalescing: Coalescing { hole_bytes: 0, request_bytes: 1 << 20 },
        ..ReadAheadSettings::default()
    }
}

/// A slow store with the file, and how it is read.
struct Scene {
    store: Arc<SlowStore>,
    scan: Arc<ReadAhead>,
    metrics: PrefetchMetrics,
    request: ReadRequest,
}

impl Scene {
    async fn new(latency_millis: u64, settings: ReadAheadSettings, pool: Option<Arc<dyn MemoryPool>>) -> Self {
        let (bytes, path, inner) = (file_bytes(), Path::from("f.parquet"), Arc::new(InMemory::new()));
        let size_bytes = bytes.len() as u64;
        inner.put(&path, bytes.into()).await.unwrap();
        let store = SlowStore::new(inner, Duration::from_millis(latency_millis));
        let scan = ReadAhead::new(settings, pool.as_ref());
        let metrics = PrefetchMetrics::default();
        let lane = Lane::new(&scan, metrics.clone(), Arc::default());
        let field = |id, name, text| DataField::new(id, name, DataType::parse(text).unwrap());
        let file = InputFile::new(Arc::clone(&store) as _, path, Some(size_bytes));
        let request = ReadRequest {
            file: lane.counted(file),
            format: FileFormat::Parquet,
            fields: vec![field(0, "n", "INT"), field(1, "s", "STRING")],
            written: vec![],
            range: None,
            selection: None,
            batch_size: 100,
            orc_legacy_ltz: false,
            footers: None,
            narrowing: Default::default(),
            lane,
            limit: None,
        };
        Self { store, scan, metrics, request }
    }

    async fn open(&self) -> BatchStream {
        file::open(self.request.clone()).await.unwrap()
    }
}

/// The numbers of the rows until the end or an error, and whether there was one.
async fn numbers(mut batches: BatchStream) -> (Vec<i32>, bool) {
    let mut numbers = vec![];
    while let Some(batch) = batches.next().await {
        match batch {
            Ok(batch) => numbers.extend_from_slice(batch.column(0).as_primitive::<Int32Type>().values()),
            Err(_) => return (numbers, true),
        }
    }
    (numbers, false)
}

fn all_numbers() -> Vec<i32> {
    (0..(GROUPS * GROUP_ROWS) as i32).collect()
}

#[tokio::test]
async fn rows_come_in_order_and_what_is_under_way_stays_within_the_budget() {
    for budget in [200_000, 400_000, 2_000_000] {
        let scene = Scene::new(5, settings(budget), None).await;
        assert_eq!(numbers(scene.open().await).await, (all_numbers(), false));
        let counts = scene.store.counts();
        assert!(counts.most_running > 2, "nothing was read ahead: {counts:?}");
        assert!(counts.most_running_bytes <= budget && scene.scan.budget().peak_bytes() <= budget, "{counts:?}");
        assert!(scene.metrics.hits.value() > 0);
        drop(scene.request);
        assert_eq!(scene.scan.budget().used_bytes(), 0);
    }
}

#[tokio::test]
async fn without_reading_ahead_or_memory_one_range_is_under_way() {
    let empty: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1));
    for (settings, pool) in [(ReadAheadSettings::off(), None), (settings(1 << 20), Some(Arc::clone(&empty)))] {
        let scene = Scene::new(1, settings, pool).await;
        assert_eq!(numbers(scene.open().await).await, (all_numbers(), false));
        assert_eq!(scene.store.counts().most_running, 1);
    }
    assert_eq!(empty.reserved(), 0);
}

#[tokio::test]
async fn a_dropped_stream_leaves_nothing_behind() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let scene = Scene::new(30, settings(1 << 20), None).await;
    let before = tasks();
    let mut batches = scene.open().await;
    // Two row groups, so that there was room for more after the first.
    for _ in 0..=GROUP_ROWS / 100 {
        batches.next().await.unwrap().unwrap();
    }
    tokio::task::yield_now().await;
    assert!(tasks() > before && scene.store.counts().running > 0);
    drop(batches);
    tokio::task::yield_now().await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let counts = scene.store.counts();
    assert_eq!((tasks(), counts.running), (before, 0));
    tokio::time::sleep(Duration::from_millis(80)).await;
    assert_eq!(scene.store.counts().begun, counts.begun);
}

#[tokio::test]
async fn a_limit_reads_no_further_than_its_rows() {
    let mut scene = Scene::new(1, settings(1 << 24), None).await;
    scene.request.limit = Some(GROUP_ROWS + 1);
    let mut batches = scene.open().await;
    batches.next().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    // The footer, and two row groups.
    assert_eq!(scene.store.counts().begun, 3);
}

#[tokio::test]
async fn a_fetch_that_failed_ahead_is_made_again_when_it_is_needed() {
    let scene = Scene::new(20, settings(1 << 24), None).await;
    let mut batches = scene.open().await;
    tokio::task::yield_now().await;
    // Of the ranges that are under way some fail.
    scene.store.fail(Fault { path: "f.parquet".into(), from: 0, times: 3 });
    let first = batches.next().await.unwrap().unwrap();
    let (rest, failed) = numbers(batches).await;
    let mut all = first.column(0).as_primitive::<Int32Type>().values().to_vec();
    all.extend(rest);
    assert_eq!((all, failed), (all_numbers(), false));
    assert!(scene.metrics.retries.value() > 0);
}

#[tokio::test]
async fn an_error_comes_after_the_rows_before_it() {
    let scene = Scene::new(1, settings(1 << 24), None).await;
    let batches = scene.open().await;
    scene.store.fail(Fault { path: "f.parquet".into(), from: 500_000, times: usize::MAX });
    let (rows, failed) = numbers(batches).await;
    assert!(failed && rows.len() > GROUP_ROWS && rows.len() % GROUP_ROWS == 0, "{} rows", rows.len());
    assert_eq!(rows, all_numbers()[..rows.len()]);
}

/// A session over the golden warehouse, on a slow store.
fn session(latency_millis: u64, options: &[(&str, &str)], pool_bytes: usize) -> (SessionContext, Arc<SlowStore>) {
    let warehouse = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warehouse");
    let files = LocalFileSystem::new_with_prefix(warehouse).unwrap();
    let store = SlowStore::new(Arc::new(files), Duration::from_millis(latency_millis));
    let config = SessionConfig::new().with_target_partitions(2);
    let runtime = RuntimeEnvBuilder::new().with_memory_limit(pool_bytes, 1.0).build_arc().unwrap();
    let context = SessionContext::new_with_config_rt(config, runtime);
    context.register_object_store(&Url::parse("slow://warehouse").unwrap(), Arc::clone(&store) as _);
    register(&context).unwrap();
    let state = context.state_ref();
    for (key, value) in options {
        state.write().config_mut().options_mut().set(&format!("paimon.prefetch.{key}"), value).unwrap();
    }
    register_catalog(&context, "paimon", "slow://warehouse").unwrap();
    (context, store)
}

async fn rows(context: &SessionContext, sql: &str) -> Result<Vec<String>, datafusion::error::DataFusionError> {
    let batches = context.sql(sql).await?.collect().await?;
    let text = arrow::util::pretty::pretty_format_batches(&batches)?.to_string();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    Ok(lines)
}

const TABLES: [&str; 7] = [
    "demo.orders",
    "append.many_batches_parquet",
    "append.many_batches_orc",
    "append.many_batches_avro",
    "append.mixed_formats",
    "merge.many_keys",
    "merge.partial_update_orc",
];

#[tokio::test]
async fn every_level_gives_the_same_rows() {
    let (plain, _) = session(0, &[("enabled", "false"), ("warmup-level", "none")], 1 << 30);
    for options in [
        &[("warmup-level", "raw")][..],
        &[("warmup-level", "decoded")],
        &[("warmup-level", "decoded"), ("pre-buffer-limit", "1 kb"), ("range-size-limit", "1 kb")],
        &[("hole-size-limit", "0"), ("max-parallel-num", "1")],
    ] {
        let (ahead, _) = session(0, options, 1 << 30);
        for table in TABLES {
            let sql = format!("SELECT * FROM paimon.{table}");
            assert_eq!(rows(&ahead, &sql).await.unwrap(), rows(&plain, &sql).await.unwrap(), "{table} {options:?}");
        }
    }
}

#[tokio::test]
async fn files_are_warmed_up_as_the_level_says_and_not_for_small_limits() {
    let sql = "SELECT sum(quantity) FROM paimon.demo.orders";
    let mut most = vec![];
    for level in ["none", "raw", "decoded"] {
        let (context, store) = session(3, &[("warmup-level", level)], 1 << 30);
        rows(&context, sql).await.unwrap();
        most.push(store.counts().most_running);
    }
    assert!(most[1] > most[0] && most[2] > most[0], "{most:?}");
    let (context, store) = session(3, &[], 1 << 30);
    rows(&context, "SELECT * FROM paimon.demo.orders LIMIT 1").await.unwrap();
    assert!(store.counts().most_running <= 2, "{:?}", store.counts());
}

#[tokio::test]
async fn a_file_that_failed_to_open_ahead_is_opened_again() {
    let (context, store) = session(1, &[], 1 << 30);
    let sql = "SELECT * FROM paimon.demo.orders";
    let want = rows(&context, sql).await.unwrap();
    for times in [1, 2] {
        let (context, store) = session(1, &[], 1 << 30);
        store.fail(Fault { path: "bucket-0/data-".into(), from: 0, times });
        // What fails when it is needed fails the query; what failed ahead does not.
        if let Ok(rows) = rows(&context, sql).await {
            assert_eq!(rows, want);
        }
    }
    store.fail(Fault { path: "bucket-0/data-".into(), from: 0, times: usize::MAX });
    let error = rows(&context, sql).await.unwrap_err().to_string();
    assert!(error.contains("the wire was cut"), "{error}");
}

#[tokio::test]
async fn a_small_memory_pool_only_makes_scans_slower() {
    let (large, _) = session(0, &[], 1 << 30);
    let (small, _) = session(0, &[("warmup-level", "decoded")], 1 << 10);
    // Merging cannot do without memory.
    let (merging, _) = session(0, &[("warmup-level", "decoded")], 1 << 20);
    for table in TABLES {
        let small = if table.starts_with("merge.") { &merging } else { &small };
        let sql = format!("SELECT * FROM paimon.{table}");
        assert_eq!(rows(small, &sql).await.unwrap(), rows(&large, &sql).await.unwrap(), "{table}");
    }
}

#[tokio::test]
async fn dropping_a_query_stops_its_reads() {
    let (context, store) = session(20, &[], 1 << 30);
    let sql = "SELECT * FROM paimon.demo.orders";
    let mut stream = context.sql(sql).await.unwrap().execute_stream().await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(store.counts().running, 0);
    let all: Vec<RecordBatch> =
        context.sql(sql).await.unwrap().execute_stream().await.unwrap().try_collect().await.unwrap();
    assert!(!all.is_empty());
}
