//! Queries that sort: their rows are the same, in the same order, whether the scan knows of it or not, and files that
//! cannot have the first rows are not opened.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::util::pretty::{pretty_format_batches, pretty_format_columns};
use datafusion::error::Result;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_paimon::sql::{register, register_catalog};

use crate::support::conditions::sorted;
use crate::support::expected::{Version, answers, tables};
use crate::support::ran::Ran;
use crate::support::session::data_dir;

/// A session over the golden tables whose scans know of sorting, or do not.
fn session(partitions: usize, knows: bool) -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(partitions);
    config.options_mut().optimizer.enable_sort_pushdown = knows;
    let context = SessionContext::new_with_config(config);
    register(&context).unwrap();
    register_catalog(&context, "paimon", &data_dir().join("warehouse").to_string_lossy()).unwrap();
    context
}

/// The rows of a query.
async fn rows(context: &SessionContext, sql: &str) -> Result<RecordBatch> {
    let frame = context.sql(sql).await?;
    let schema = std::sync::Arc::new(frame.schema().as_arrow().clone());
    Ok(concat_batches(&schema, &frame.collect().await?)?)
}

fn text(column: &ArrayRef) -> String {
    pretty_format_columns("c", std::slice::from_ref(column)).unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_column_sorts_as_it_does_without_the_scan() {
    let (plain, knowing) = (session(2, false), session(2, true));
    let databases = ["append", "demo", "merge", "partitioned"];
    let all = tables();
    let wanted = all.iter().filter(|(database, _)| databases.contains(&database.as_str()));
    for answer in wanted.flat_map(|(database, table)| answers(database, table)) {
        let source = answer.source();
        if answer.version != Version::Latest || answer.rows.len() > 100 {
            continue;
        }
        let all = rows(&plain, &format!("SELECT * FROM {source}")).await.unwrap();
        let all_sorted = sorted(std::slice::from_ref(&all)).unwrap();
        for (at, field) in all.schema().fields().iter().enumerate().filter(|(_, f)| !f.data_type().is_nested()).take(4)
        {
            let direction = ["ASC", "DESC", "DESC NULLS LAST", "ASC NULLS FIRST"][at % 4];
            let sql = format!("SELECT * FROM {source} ORDER BY \"{}\" {direction}", field.name().replace('"', "\"\""));
            let (want, got) = (rows(&plain, &sql).await.unwrap(), rows(&knowing, &sql).await.unwrap());
            // Rows with equal values come in any order.
            assert_eq!(text(got.column(at)), text(want.column(at)), "{sql}");
            assert_eq!(sorted(&[got]).unwrap(), all_sorted, "{sql}");
            let first = rows(&knowing, &format!("{sql} LIMIT 3")).await.unwrap();
            let want = want.slice(0, want.num_rows().min(3));
            assert_eq!(text(first.column(at)), text(want.column(at)), "{sql} LIMIT 3");
        }
    }
}

/// Orders that leave no two rows alike, and whether the scan can give them.
const ORDERS: [(&str, &str, bool); 16] = [
    ("merge.sorted_parquet", "k, n", true),
    ("merge.sorted_orc", "k, n", true),
    ("merge.sorted_avro", "k, n", true),
    ("merge.sorted_parquet", "k, n NULLS FIRST", true),
    ("merge.sorted_parquet", "k, n DESC", false),
    ("merge.sorted_parquet", "k DESC, n DESC", false),
    ("merge.sorted_parquet", "n, k", false),
    // DataFusion knows that the key decides the rest.
    ("merge.sorted_parquet", "k, n, v", true),
    ("merge.sorted_parquet", "k || 'x', n", false),
    ("merge.sorted_days", "day, id", true),
    ("merge.sorted_days", "day DESC, id", true),
    ("merge.sorted_days", "id, day", false),
    ("merge.sorted_days", "day, id DESC", false),
    ("merge.buckets", "day, id", false),
    ("merge.aggregation", "id", false),
    ("demo.orders", "order_id", false),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_scan_sorts_where_its_files_are_sorted() {
    for partitions in [2, 3] {
        let (plain, knowing) = (session(partitions, false), session(partitions, true));
        for (table, order, sorts) in ORDERS {
            let sql = format!("SELECT * FROM paimon.{table} ORDER BY {order}");
            let ran = Ran::new(&knowing, &sql).await.unwrap();
            assert_eq!(!ran.text().contains("SortExec"), sorts, "{sql}\n{}", ran.text());
            assert_eq!(ran.text().contains("output_ordering="), sorts, "{}", ran.text());
            let want = rows(&plain, &sql).await.unwrap();
            assert_eq!(concat_batches(&want.schema(), &ran.batches).unwrap(), want, "{sql}");
            for limit in [1, 7, 1000] {
                let sql = format!("{sql} LIMIT {limit}");
                let want = want.slice(0, want.num_rows().min(limit));
                assert_eq!(rows(&knowing, &sql).await.unwrap(), want, "{sql}");
                // Without the columns that it sorts by, and with a condition.
                let (given, wanted) = (format!("SELECT 1 AS one FROM ({sql})"), want.num_rows());
                assert_eq!(rows(&knowing, &given).await.unwrap().num_rows(), wanted, "{given}");
            }
        }
    }
}

#[tokio::test]
async fn a_sort_stays_where_memory_is_short() {
    for (bytes, sorts) in [(1_000, false), (100_000_000, true)] {
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(bytes, 1.0).build_arc().unwrap();
        let context = SessionContext::new_with_config_rt(SessionConfig::new().with_target_partitions(2), runtime);
        register(&context).unwrap();
        register_catalog(&context, "paimon", &data_dir().join("warehouse").to_string_lossy()).unwrap();
        let frame = context.sql("EXPLAIN SELECT * FROM paimon.merge.sorted_parquet ORDER BY k, n").await.unwrap();
        let shown = pretty_format_batches(&frame.collect().await.unwrap()).unwrap().to_string();
        assert_eq!((!shown.contains("SortExec"), shown.contains("output_ordering")), (sorts, sorts), "{shown}");
    }
}

#[tokio::test]
async fn a_partition_column_sorts_by_itself() {
    let knowing = session(1, true);
    for (table, column, limit) in
        [("demo.orders", "country", 1), ("merge.buckets", "day", 4), ("merge.sorted_days", "day", 4)]
    {
        for direction in ["", " DESC"] {
            let sql = format!("SELECT * FROM paimon.{table} ORDER BY {column}{direction} LIMIT {limit}");
            let ran = Ran::new(&knowing, &sql).await.unwrap();
            assert!(!ran.text().contains("SortExec"), "{}", ran.text());
            assert_eq!(ran.rows, limit);
        }
    }
}

#[tokio::test]
async fn files_that_cannot_have_the_first_rows_are_not_opened() {
    let (knowing, plain) = (session(1, true), session(1, false));
    for (query, most, all) in [
        ("merge.sorted_parquet ORDER BY k, n LIMIT 3", 1, 5),
        ("merge.sorted_orc ORDER BY k, n LIMIT 3", 1, 5),
        ("merge.sorted_avro ORDER BY k, n LIMIT 3", 1, 5),
        ("merge.sorted_parquet ORDER BY k DESC, n DESC LIMIT 3", 2, 5),
        ("merge.sorted_days ORDER BY day DESC LIMIT 3", 1, 12),
        ("merge.sorted_days ORDER BY id LIMIT 3", 5, 12),
        ("demo.orders ORDER BY country LIMIT 3", 1, 12),
        ("demo.orders ORDER BY order_id LIMIT 1", 3, 12),
        ("demo.orders ORDER BY order_id DESC LIMIT 1", 2, 12),
    ] {
        let sql = format!("SELECT * FROM paimon.{query}");
        let (ran, want) = (Ran::new(&knowing, &sql).await.unwrap(), Ran::new(&plain, &sql).await.unwrap());
        let opened = ran.counted("files_opened").0;
        assert!((1..=most).contains(&opened), "{sql}: {opened} of {all} files\n{}", ran.text());
        assert_eq!(ran.rows, want.rows, "{sql}");
        assert!(want.counted("files_opened").0 >= opened, "{sql}");
    }
}
