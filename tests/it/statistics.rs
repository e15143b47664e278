//! Counts, minima and maxima from metadata: where they are certain nothing is read, and they are never wrong.

use datafusion::error::Result;
use datafusion::prelude::SessionContext;

use crate::support::conditions::sorted;
use crate::support::expected::{Version, answers, tables};
use crate::support::ran::Ran;
use crate::support::session::session;

/// The columns of a table that have a least and a greatest value.
async fn columns(context: &SessionContext, source: &str) -> Result<Vec<String>> {
    let frame = context.sql(&format!("SELECT * FROM {source}")).await?;
    let fields = frame.schema().as_arrow().fields().clone();
    let ordered = fields.iter().filter(|f| !f.data_type().is_nested());
    Ok(ordered.map(|f| format!("\"{}\"", f.name().replace('"', "\"\""))).collect())
}

/// The same aggregates, from metadata where that tells them and from the rows.
async fn differ(context: &SessionContext, source: &str) -> Result<Vec<String>> {
    let mut wrong = vec![];
    for column in columns(context, source).await? {
        let aggregates = format!("SELECT count(*), count({column}), min({column}), max({column}) FROM");
        let told = context.sql(&format!("{aggregates} {source}")).await?.collect().await;
        // A limit makes all statistics estimates.
        let rows = format!("(SELECT {column} FROM {source} LIMIT 1000000)");
        let read = context.sql(&format!("{aggregates} {rows}")).await?.collect().await;
        let (Ok(told), Ok(read)) = (told, read) else { continue };
        if sorted(&told)? != sorted(&read)? {
            wrong.push(format!("{source} {column}: {told:?} instead of {read:?}"));
        }
    }
    Ok(wrong)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_metadata_tell_is_what_the_rows_are() {
    let context = session().unwrap();
    let mut wrong = vec![];
    for answer in tables().iter().flat_map(|(database, table)| answers(database, table)) {
        if !matches!(answer.version, Version::Tag(_)) {
            wrong.extend(differ(&context, &answer.source()).await.unwrap());
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[tokio::test]
async fn certain_aggregates_need_no_scan_and_others_do() {
    let context = session().unwrap();
    for (sql, from_metadata) in [
        ("SELECT count(*) FROM paimon.demo.orders", true),
        ("SELECT count(*) FROM paimon.demo.orders WHERE country = 'DE'", true),
        ("SELECT min(order_id), max(order_id), count(order_id) FROM paimon.demo.orders", true),
        ("SELECT min(country), max(country) FROM paimon.demo.orders", true),
        ("SELECT count(*) FROM paimon.demo.orders WHERE quantity > 2", false),
        ("SELECT sum(quantity) FROM paimon.demo.orders", false),
        // Text may be cut, floats have NaN.
        ("SELECT max(name) FROM paimon.append.plain_parquet", false),
        ("SELECT max(score) FROM paimon.append.plain_parquet", false),
        // Rows of several versions, and rows that are deleted.
        ("SELECT count(*) FROM paimon.merge.many_keys", false),
        ("SELECT max(id) FROM paimon.unsupported.deletion_vectors", false),
    ] {
        let ran = Ran::new(&context, sql).await.unwrap();
        assert_eq!(!ran.text().contains("PaimonScanExec"), from_metadata, "{sql}\n{}", ran.text());
    }
}
