//! Filters that the scan takes over: the rows never change, whichever switches are on, and what is not needed is not read.

use std::sync::Arc;

use arrow::compute::concat_batches;
use datafusion::error::Result;
use datafusion::prelude::{SessionContext, col, lit};

use crate::support::conditions::{conditions, sorted};
use crate::support::expected::{Version, answers, tables};
use crate::support::ran::Ran;
use crate::support::session::session;

/// A session with settings of `datafusion.execution.*`, given as `key=value`.
async fn session_with(settings: &[&str]) -> Result<SessionContext> {
    let context = session()?;
    for setting in settings {
        context.sql(&format!("SET datafusion.execution.{setting}")).await?.collect().await?;
    }
    Ok(context)
}

const PUSHDOWN: &str = "parquet.pushdown_filters = true";

async fn check(source: &str, plain: &SessionContext, others: &[SessionContext]) -> Result<Vec<String>> {
    let frame = plain.sql(&format!("SELECT * FROM {source}")).await?;
    let schema = Arc::new(frame.schema().as_arrow().clone());
    let Ok(batches) = frame.collect().await else { return Ok(vec![]) };
    let rows = concat_batches(&schema, &batches)?;
    let mut wrong = vec![];
    for condition in conditions(&rows)? {
        let want = plain.read_batch(rows.clone())?.filter(condition.clone())?.collect().await?;
        for (at, context) in others.iter().enumerate() {
            let frame = context.sql(&format!("SELECT * FROM {source}")).await?.filter(condition.clone())?;
            if sorted(&frame.collect().await?)? != sorted(&want)? {
                wrong.push(format!("{source} WHERE {condition} in session {at}"));
            }
        }
    }
    Ok(wrong)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_give_the_same_rows_wherever_they_are_applied() {
    let plain = session_with(&["parquet.pruning = false"]).await.unwrap();
    let others = [session().unwrap(), session_with(&[PUSHDOWN, "batch_size = 7"]).await.unwrap()];
    let mut wrong = vec![];
    for answer in tables().iter().flat_map(|(database, table)| answers(database, table)) {
        if answer.version == Version::Latest {
            wrong.extend(check(&answer.source(), &plain, &others).await.unwrap());
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

const MANY: &str = "paimon.append.many_batches_parquet";

#[tokio::test]
async fn row_groups_and_pages_that_a_filter_rules_out_are_not_read() {
    let context = session().unwrap();
    let ran = Ran::new(&context, &format!("SELECT * FROM {MANY} WHERE id = 2000")).await.unwrap();
    assert!(ran.text().contains("FilterExec: id@0 = 2000"), "{}", ran.text());
    assert!(ran.text().contains("predicate=id@0 = 2000"), "{}", ran.text());
    assert_eq!(ran.counted("row_groups_pruned_statistics"), (2, 1));
    let (pruned, left) = ran.counted("page_index_rows_pruned");
    assert!(pruned > left && left > 0, "{pruned} {left}");
    // Where pages leave few rows the scan leaves these to the plan.
    assert_eq!((ran.counted("pushdown_rows_pruned").0, ran.counted("output_rows").0), (0, left));
    // Else an equality that leaves few rows of a file is applied by the scan too.
    let context = session_with(&["parquet.enable_page_index = false"]).await.unwrap();
    let ran = Ran::new(&context, &format!("SELECT * FROM {MANY} WHERE id = 2000")).await.unwrap();
    assert_eq!((ran.counted("pushdown_rows_pruned").0 > 0, ran.counted("output_rows").0), (true, 0));
    for (condition, rows, applied) in
        [("id IN (1, 10000, 3)", 2, true), ("id >= 10000", 2400, false), ("id = 1 OR score > 1000", 1, false)]
    {
        let ran = Ran::new(&context, &format!("SELECT word FROM {MANY} WHERE {condition}")).await.unwrap();
        let spared = ran.counted("pushdown_rows_pruned").0 > 0;
        assert_eq!((ran.rows, spared), (rows, applied), "{condition}\n{}", ran.text());
    }
    let all = Ran::new(&context, &format!("SELECT * FROM {MANY}")).await.unwrap();
    assert_eq!(all.counted("output_rows").0, 2500);
}

#[tokio::test]
async fn stripes_that_a_filter_rules_out_are_not_read() {
    let context = session_with(&["target_partitions = 1"]).await.unwrap();
    let of = |condition: &str| format!("SELECT * FROM paimon.append.many_batches_orc WHERE {condition}");
    for (condition, pruned) in [("id = 2000", 2), ("id > 5000000 OR id < 10", 1), ("word IS NULL", 0), ("score > 1", 0)]
    {
        let ran = Ran::new(&context, &of(condition)).await.unwrap();
        let (got, left) = ran.counted("row_groups_pruned_statistics");
        assert_eq!((got, got + left), (pruned, 3), "{condition}");
    }
    let ran =
        Ran::new(&context, "SELECT id FROM paimon.append.many_batches_orc WHERE id IN (4, 6250000)").await.unwrap();
    assert_eq!((ran.rows, ran.counted("row_groups_pruned_statistics").0), (1, 2));
}

#[tokio::test]
async fn row_groups_of_a_stripe_that_a_filter_rules_out_are_not_read() {
    let sql = "SELECT * FROM paimon.append.many_batches_orc WHERE id = 1040400";
    for (on, want) in [("true", (1000, 24)), ("false", (0, 0))] {
        let enabled = format!("parquet.enable_page_index = {on}");
        let context = session_with(&["target_partitions = 1", &enabled]).await.unwrap();
        let ran = Ran::new(&context, sql).await.unwrap();
        assert_eq!((ran.rows, ran.counted("page_index_rows_pruned")), (1, want));
        assert_eq!(ran.counted("output_rows").0, if on == "true" { 24 } else { 1024 });
        let analyzed = context.sql(&format!("EXPLAIN ANALYZE {sql}")).await.unwrap().collect().await.unwrap();
        let shown = arrow::util::pretty::pretty_format_batches(&analyzed).unwrap().to_string();
        let counted = if on == "true" { "1.02 K total → 24 matched" } else { "0 total → 0 matched" };
        assert!(shown.contains(&format!("page_index_rows_pruned={counted}")), "{shown}");
    }
}

#[tokio::test]
async fn a_join_passes_over_files_by_their_bounds_and_buckets() {
    let context = session_with(&["target_partitions = 1"]).await.unwrap();
    for (table, key, value, opened, all) in [
        ("demo.orders", "order_id", 1001, 1, 12),
        ("append.bucketed", "id", 3, 1, 6),
        ("append.plain_orc", "id", 4, 1, 2),
    ] {
        let sql = format!("SELECT t.* FROM paimon.{table} t JOIN (VALUES ({value})) v(k) ON t.{key} = v.k");
        let ran = Ran::new(&context, &sql).await.unwrap();
        let (pruned, left) = ran.counted("files_ranges_pruned_statistics");
        assert_eq!((ran.rows, left, pruned + left), (1, opened, all), "{sql}\n{}", ran.text());
    }
}

#[tokio::test]
async fn a_filter_that_the_scan_applies_leaves_no_other_and_needs_no_column_in_the_output() {
    let context = session_with(&[PUSHDOWN]).await.unwrap();
    for table in ["many_batches_parquet", "many_batches_orc", "many_batches_avro"] {
        let sql = format!("SELECT score FROM paimon.append.{table} WHERE id >= 1000 AND id % 10 = 1");
        let ran = Ran::new(&context, &sql).await.unwrap();
        let plain = Ran::new(&session().unwrap(), &sql).await.unwrap();
        assert!(!ran.text().contains("FilterExec"), "{}", ran.text());
        assert!(ran.text().contains("projection=[score]"), "{}", ran.text());
        assert_eq!((ran.rows, ran.counted("output_rows").0), (plain.rows, plain.rows), "{table}");
        let none =
            Ran::new(&context, &format!("SELECT count(*) FROM paimon.append.{table} WHERE id % 2 = 2")).await.unwrap();
        assert_eq!(none.counted("output_rows").0, 0);
    }
}

#[tokio::test]
async fn rows_of_several_versions_are_filtered_after_they_are_combined() {
    let context = session_with(&[PUSHDOWN, "target_partitions = 1"]).await.unwrap();
    for table in ["partial_update_parquet", "partial_update_orc", "partial_update_avro", "aggregation"] {
        let table = format!("paimon.merge.{table}");
        let all = Ran::new(&context, &format!("SELECT id FROM {table}")).await.unwrap();
        let ran = Ran::new(&context, &format!("SELECT id FROM {table} WHERE id % 2 = 2 LIMIT 1")).await.unwrap();
        assert!(ran.text().contains("FilterExec: ") && ran.text().contains("predicate="), "{}", ran.text());
        // The keys that have several versions come out of the scan whatever they are.
        let combined = ran.counted("output_rows").0;
        assert!(ran.rows == 0 && combined > 0 && combined <= all.rows, "{table}: {combined} of {}", all.rows);
    }
}

#[tokio::test]
async fn a_limit_counts_the_rows_that_the_filter_leaves() {
    for settings in [&[][..], &[PUSHDOWN], &[PUSHDOWN, "target_partitions = 1"]] {
        let context = session_with(settings).await.unwrap();
        for (table, limit, rows) in
            [("many_batches_parquet", 3, 3), ("many_batches_parquet", 400, 100), ("many_batches_avro", 3, 3)]
        {
            let sql = format!("SELECT id FROM paimon.append.{table} WHERE id > 2399 LIMIT {limit}");
            let ran = Ran::new(&context, &sql).await.unwrap();
            let least = ran.rows.min(limit);
            assert!(ran.rows == least && (ran.rows == rows || rows == 100), "{sql} {settings:?}: {}", ran.rows);
        }
        // A filter after the limit is no business of the scan.
        let sql = format!("SELECT id FROM (SELECT id FROM {MANY} LIMIT 10) WHERE id < 0");
        assert_eq!(Ran::new(&context, &sql).await.unwrap().rows, 0);
        let sql = format!("SELECT count(*) FROM (SELECT id FROM {MANY} LIMIT 10)");
        assert_eq!(Ran::new(&context, &sql).await.unwrap().rows, 1);
    }
}

#[tokio::test]
async fn a_top_n_passes_over_what_it_cannot_need() {
    for setting in ["parquet.pushdown_filters = false", PUSHDOWN] {
        let context = session_with(&["target_partitions = 1", setting]).await.unwrap();
        let ran = Ran::new(&context, &format!("SELECT id FROM {MANY} ORDER BY id LIMIT 2")).await.unwrap();
        assert!(ran.text().contains("predicate=DynamicFilter"), "{}", ran.text());
        assert_eq!((ran.rows, ran.counted("row_groups_pruned_dynamic_filter").0), (2, 2));
    }
}

/// The rows of a query with conditions of joins in the scan, and without.
async fn with_and_without(sql: &str) -> (Ran, Vec<String>, Vec<String>) {
    let with = session_with(&["target_partitions = 1"]).await.unwrap();
    let without = session_with(&["target_partitions = 1"]).await.unwrap();
    let off = "SET datafusion.optimizer.enable_dynamic_filter_pushdown = false";
    without.sql(off).await.unwrap().collect().await.unwrap();
    let ran = Ran::new(&with, sql).await.unwrap();
    let got = sorted(&ran.batches).unwrap();
    (ran, got, sorted(&Ran::new(&without, sql).await.unwrap().batches).unwrap())
}

#[tokio::test]
async fn a_join_merges_only_the_buckets_that_can_match() {
    for (table, on, keys, opened, all) in [
        ("merge.buckets", "t.id = v.k", "(5)", 4, 24),
        ("merge.buckets", "t.id = v.k", "(6)", 6, 24),
        ("merge.buckets", "t.id = v.k", "(7777)", 0, 24),
        ("merge.buckets", "t.day = v.k", "(2)", 12, 24),
        ("merge.buckets", "t.day = v.k", "(3)", 0, 24),
        ("merge.buckets", "t.id + t.day = v.k", "(9)", 24, 24),
        ("unsupported.primary_key", "t.id = v.k", "(1)", 2, 4),
    ] {
        let sql = format!("SELECT t.* FROM paimon.{table} t JOIN (VALUES {keys}) v(k) ON {on}");
        let (ran, got, want) = with_and_without(&sql).await;
        let (pruned, left) = ran.counted("files_ranges_pruned_statistics");
        assert_eq!((left, pruned + left), (opened, all), "{sql}\n{}", ran.text());
        assert!(ran.counted("files_opened").0 <= opened, "{sql}");
        assert_eq!(got, want, "{sql}");
    }
}

#[tokio::test]
async fn a_join_finds_rows_that_come_from_files_of_other_partitions() {
    let days = "('20240801'), ('20240802'), ('20240803'), ('20240804'), ('20240805'), ('20240806')";
    for (on, keys) in [("t.dt = v.k", days), ("t.dt = v.k", "('20240804')"), ("t.dt = v.k", "('20240803')")] {
        let sql = format!("SELECT t.* FROM paimon.merge.chain t JOIN (VALUES {keys}) v(k) ON {on}");
        let (_, got, want) = with_and_without(&sql).await;
        assert!(!want.is_empty());
        assert_eq!(got, want, "{sql}");
    }
    let sql = "SELECT t.* FROM paimon.merge.chain t JOIN (VALUES (1), (3)) v(k) ON t.id = v.k";
    let (_, got, want) = with_and_without(sql).await;
    assert_eq!(got, want);
}

#[tokio::test]
async fn a_join_opens_only_files_of_partitions_that_can_match() {
    let context = session().unwrap();
    let sql = "SELECT o.* FROM paimon.demo.orders o JOIN (VALUES ('FR')) v(c) ON o.country = v.c";
    let ran = Ran::new(&context, sql).await.unwrap();
    let (pruned, opened) = ran.counted("files_ranges_pruned_statistics");
    assert!((pruned, opened) == (9, 3), "{pruned} {opened}");
    assert_eq!(ran.counted("files_opened").0, 3);
    let expected = context.sql("SELECT * FROM paimon.demo.orders").await.unwrap().filter(col("country").eq(lit("FR")));
    assert_eq!(ran.rows, expected.unwrap().count().await.unwrap());
}
