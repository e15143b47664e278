//! Every golden table, branch, snapshot and tag gives the rows that the reference gives: all columns together, each column
//! alone, and as a count. Tables of the database `unsupported` may instead be refused as unsupported, never read wrongly.

use arrow::array::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::prelude::SessionContext;
use datafusion_paimon::error::{Error, ErrorKind};
use datafusion_paimon::spec::arrow_type::column_type;
use datafusion_paimon::spec::data_type::DataType;
use serde_json::Value;

use crate::support::canonical::rows;
use crate::support::expected::{Answer, Version, answers, difference, tables};
use crate::support::session::{data_dir, session};

async fn query(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>> {
    context.sql(sql).await?.collect().await
}

/// Whether an error says that something is not supported.
fn is_unsupported(error: &DataFusionError) -> bool {
    let DataFusionError::External(e) = error.find_root() else { return false };
    e.downcast_ref::<Error>().is_some_and(|e| e.kind() == ErrorKind::Unsupported)
}

/// What is wrong with all columns of an answer.
async fn check_all(context: &SessionContext, answer: &Answer) -> Result<Option<String>> {
    let frame = context.sql(&format!("SELECT * FROM {}", answer.source())).await?;
    let schema = frame.schema().as_arrow().clone();
    let names: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    let want: Vec<_> = answer.columns.iter().map(|(name, _)| name.as_str()).collect();
    if names != want {
        return Ok(Some(format!("want columns {want:?}, got {names:?}")));
    }
    for ((name, sql_type), field) in answer.columns.iter().zip(schema.fields()) {
        let want = column_type(&DataType::parse(sql_type)?);
        if *field.data_type() != want {
            return Ok(Some(format!("column {name} is {}, want {want} for {sql_type}", field.data_type())));
        }
    }
    Ok(difference(&answer.rows, &rows(&frame.collect().await?)))
}

/// What is wrong with the number of rows, and with each column read alone.
async fn check_parts(context: &SessionContext, answer: &Answer) -> Result<Option<String>> {
    let count = rows(&query(context, &format!("SELECT count(*) FROM {}", answer.source())).await?);
    if count != [[Value::from(answer.rows.len())]] {
        return Ok(Some(format!("count(*) is {count:?}, want {}", answer.rows.len())));
    }
    for (at, (name, _)) in answer.columns.iter().enumerate() {
        let quoted = name.replace('"', "\"\"");
        let got = query(context, &format!("SELECT \"{quoted}\" FROM {}", answer.source())).await?;
        let want: Vec<_> = answer.rows.iter().map(|row| vec![row[at].clone()]).collect();
        if let Some(what) = difference(&want, &rows(&got)) {
            return Ok(Some(format!("column {name} alone: {what}")));
        }
    }
    Ok(None)
}

async fn check(context: &SessionContext, answer: &Answer) -> Result<Option<String>> {
    match check_all(context, answer).await {
        Ok(None) if answer.version == Version::Latest => check_parts(context, answer).await,
        Err(e) if answer.database == "unsupported" && is_unsupported(&e) => Ok(None),
        other => other,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_tables_read_as_the_reference_reads_them() {
    let (mut asked, mut failures) = (0, Vec::new());
    for answer in tables().iter().flat_map(|(database, table)| answers(database, table)) {
        let context = session().unwrap();
        asked += 1;
        match check(&context, &answer).await {
            Ok(None) => {}
            Ok(Some(what)) => failures.push(format!("{}: {what}", answer.source())),
            Err(e) => failures.push(format!("{}: {e}", answer.source())),
        }
    }
    assert!(failures.is_empty(), "\n{} of {asked} failed:\n{}\n", failures.len(), failures.join("\n"));
}

#[test]
fn every_golden_table_is_in_the_catalogue() {
    let catalogue = std::fs::read_to_string(data_dir().join("README.md")).unwrap();
    let in_section = |database: &str, table: &str| {
        let section = catalogue.split("\n## ").find(|s| s.starts_with(&format!("{database}\n"))).unwrap_or_default();
        section.contains(&format!("`{table}`"))
    };
    let missing: Vec<_> = tables().into_iter().filter(|(database, table)| !in_section(database, table)).collect();
    assert!(missing.is_empty(), "not in tests/data/README.md: {missing:?}");
}
