//! Every switch of an optimisation, on and off: the rows are the same.

use std::sync::Arc;

use arrow::compute::concat_batches;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;

use crate::support::conditions::{conditions, sorted};
use crate::support::expected::{Version, answers, tables};
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

async fn answers_of(context: &SessionContext, source: &str) -> Result<Option<Vec<Vec<String>>>> {
    let frame = context.sql(&format!("SELECT * FROM {source}")).await?;
    let schema = Arc::new(frame.schema().as_arrow().clone());
    let Ok(batches) = frame.clone().collect().await else { return Ok(None) };
    let rows = concat_batches(&schema, &batches)?;
    let mut all = vec![];
    for condition in conditions(&rows)? {
        all.push(sorted(&frame.clone().filter(condition)?.collect().await?)?);
    }
    let ordered = schema.fields().iter().find(|f| !f.data_type().is_nested());
    for sql in ordered.map(|field| queries(source, field.name())).into_iter().flatten() {
        all.push(sorted(&context.sql(&sql).await?.collect().await?)?);
    }
    Ok(Some(all))
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
        if answer.version != Version::Latest
            || !matches!(answer.database.as_str(), "append" | "demo" | "index" | "merge")
        {
            continue;
        }
        let source = answer.source();
        let Some(want) = answers_of(&off, &source).await.unwrap() else { continue };
        for (what, context) in &others {
            if answers_of(context, &source).await.unwrap().as_ref() != Some(&want) {
                wrong.push(format!("{source}: {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}
