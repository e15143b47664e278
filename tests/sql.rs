//! Runs `sql-tests/*.slt`, each in a fresh session over the golden tables (catalog `paimon`).
//!
//! In: sqllogictest files; `$DATA` in a statement stands for the folder of the golden data, and in answers the folder is
//! written `$DATA`. Values are printed as DataFusion's own sqllogictest prints them. `SLT_COMPLETE=1` rewrites the
//! expectations with what comes out; `SLT_ONLY=text` runs the files whose names contain the text.

#![allow(clippy::unwrap_used)] // A test that cannot go on fails.

#[path = "it/support/session.rs"]
mod session;
#[path = "it/support/slt_values.rs"]
mod slt_values;

use std::fmt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use datafusion::common::DataFusionError;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion_paimon::sql::expand_version_clauses;
use futures::TryStreamExt;
use sqllogictest::{AsyncDB, DBOutput, Runner, default_normalizer, default_validator, strict_column_validator};

use session::{data_dir, session};
use slt_values::{SltType, rows, types};

/// A failed statement, with the data's folder written `$DATA`.
#[derive(Debug)]
struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<DataFusionError> for Failure {
    fn from(e: DataFusionError) -> Self {
        Failure(without_data_dir(&e.to_string()))
    }
}

fn with_data_dir(sql: &str) -> String {
    sql.replace("$DATA", &data_dir().to_string_lossy())
}

fn without_data_dir(text: &str) -> String {
    let folder = data_dir().to_string_lossy().into_owned();
    // Stores print paths without the leading slash.
    text.replace(&folder, "$DATA").replace(folder.trim_start_matches('/'), "$DATA")
}

/// The engine under test.
struct Engine {
    context: SessionContext,
}

#[async_trait]
impl AsyncDB for Engine {
    type Error = Failure;
    type ColumnType = SltType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<SltType>, Failure> {
        let sql = with_data_dir(sql);
        let sql = expand_version_clauses(&sql, &GenericDialect {});
        let plan = self.context.sql(&sql).await?.create_physical_plan().await?;
        let stream = execute_stream(plan, self.context.task_ctx())?;
        let schema = stream.schema();
        let batches: Vec<_> = stream.try_collect().await?;
        let rows: Vec<Vec<String>> = rows(&batches)
            .map_err(|e| Failure(e.to_string()))?
            .into_iter()
            .map(|row| row.iter().map(|cell| without_data_dir(cell)).collect())
            .collect();
        if rows.is_empty() && schema.fields().is_empty() {
            return Ok(DBOutput::StatementComplete(0));
        }
        Ok(DBOutput::Rows { types: types(&schema), rows })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "datafusion-paimon"
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql-tests");
    let only = std::env::var("SLT_ONLY").unwrap_or_default();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "slt"))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(&only)))
        .collect();
    files.sort();
    files
}

async fn run(file: &Path, complete: bool) -> Result<(), String> {
    let mut runner = Runner::new(|| async { Ok(Engine { context: session()? }) });
    runner.with_column_validator(strict_column_validator);
    let result = if complete {
        let columns = strict_column_validator;
        let update = runner.update_test_file(file, " ", default_validator, default_normalizer, columns).await;
        update.map_err(|e| e.to_string())
    } else {
        runner.run_file_async(file).await.map_err(|e| e.to_string())
    };
    runner.shutdown_async().await;
    result
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sql_tests() {
    let complete = std::env::var("SLT_COMPLETE").is_ok_and(|v| v == "1");
    let (mut ran, mut failures) = (0, Vec::new());
    for file in files() {
        ran += 1;
        if let Err(e) = run(&file, complete).await {
            failures.push(e);
        }
    }
    assert!(failures.is_empty(), "\n{} of {ran} files failed:\n{}\n", failures.len(), failures.join("\n\n"));
    assert!(ran > 0, "no files in sql-tests");
}
