//! Every switch of an optimisation, on and off: the rows are the same.

use std::sync::Arc;

use arrow::compute::concat_batches;
use datafusion::error::Result;
use datafusion::prelude::{Expr, SessionContext};

use crate::support::conditions::{conditions, sorted};
use crate::support::expected::{Answer, Version, answers, tables};
use crate::support::session::session;

/// The switches: a setting, what turns it on, what turns it off.
const SWITCHES: [(&str, &str, &str); 7] = [
    ("datafusion.execution.parquet.pushdown_filters", "true", "false"),
    ("datafusion.execution.parquet.pruning", "true", "false"),
    ("datafusion.execution.parquet.enable_page_index", "true", "false"),
    ("datafusion.execution.parquet.bloom_filter_on_read", "true", "false"),
    ("datafusion.optimizer.enable_dynamic_filter_pushdown", "true", "false"),
    ("datafusion.execution.collect_statistics", "true", "false"),
    ("paimon.file-index.read.enabled", "true", "false"),
];

/// A session where a switch is on, by its place.
fn session_where(on: impl Fn(usize) -> bool) -> Result<SessionContext> {
    let context = session()?;
    for (at, (key, yes, no)) in SWITCHES.iter().enumerate() {
        let value = if on(at) { yes } else { no };
        context.state_ref().write().config_mut().options_mut().set(key, value)?;
    }
    Ok(context)
}

/// Queries over a table besides those with a condition on each column.
fn queries(source: &str, column: &str) -> Vec<String> {
    let column = format!("\"{}\"", column.replace('"', "\"\""));
    vec![
        format!("SELECT count(*), count({column}), min({column}), max({column}) FROM {source}"),
        format!("SELECT {column} FROM {source} ORDER BY {column} DESC NULLS LAST LIMIT 3"),
        format!(
            "SELECT a.{column}, count(*) FROM {source} a JOIN (SELECT max({column}) m FROM {source}) b \
             ON a.{column} = b.m GROUP BY a.{column}"
        ),
    ]
}

/// The conditions and queries that a table is asked; `None` where it cannot be read.
async fn questions(context: &SessionContext, source: &str) -> Result<Option<(Vec<Expr>, Vec<String>)>> {
    let frame = context.sql(&format!("SELECT * FROM {source}")).await?;
    let schema = Arc::new(frame.schema().as_arrow().clone());
    let Ok(batches) = frame.collect().await else { return Ok(None) };
    let ordered = schema.fields().iter().find(|f| !f.data_type().is_nested());
    let queries = ordered.map(|field| queries(source, field.name())).unwrap_or_default();
    Ok(Some((conditions(&concat_batches(&schema, &batches)?)?, queries)))
}

async fn ask(context: &SessionContext, source: &str, asked: &(Vec<Expr>, Vec<String>)) -> Result<Vec<Vec<String>>> {
    let (conditions, queries) = asked;
    let frame = context.sql(&format!("SELECT * FROM {source}")).await?;
    let mut all = vec![];
    for condition in conditions {
        all.push(sorted(&frame.clone().filter(condition.clone())?.collect().await?)?);
    }
    for sql in queries {
        all.push(sorted(&context.sql(sql).await?.collect().await?)?);
    }
    Ok(all)
}

/// Tables that give the switches something to do.
fn is_asked(answer: &Answer) -> bool {
    match answer.database.as_str() {
        "append" => !answer.table.starts_with("codecs") && !answer.table.starts_with("manifests"),
        database => matches!(database, "demo" | "index" | "merge"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_switch_changes_a_row() {
    let off = session_where(|_| false).unwrap();
    let mut others = vec![("all on", session_where(|_| true).unwrap())];
    for (at, (key, ..)) in SWITCHES.iter().enumerate() {
        others.push((key, session_where(|other| other != at).unwrap()));
    }
    let mut wrong = vec![];
    for answer in tables().iter().flat_map(|(database, table)| answers(database, table)) {
        if answer.version != Version::Latest || !is_asked(&answer) {
            continue;
        }
        let source = answer.source();
        let Some(asked) = questions(&off, &source).await.unwrap() else { continue };
        let want = ask(&off, &source, &asked).await.unwrap();
        for (what, context) in &others {
            let got = ask(context, &source, &asked).await.unwrap();
            if let Some(at) = (0..want.len()).find(|at| got[*at] != want[*at]) {
                let (conditions, queries) = &asked;
                let question =
                    conditions.get(at).map_or_else(|| queries[at - conditions.len()].clone(), Expr::to_string);
                wrong.push(format!("{what}, {source}, {question}: {:?} instead of {:?}", got[at], want[at]));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}
