//! Runs one statement.
//!
//! In: its text. Out: its rows, printed. datafusion-cli does it, after version clauses have been spelled so that the
//! session's dialect can read them; but `STORED AS PAIMON` is done here: datafusion-cli checks the options of every
//! external table against those of the formats that it knows, and Paimon's are not among them.

use datafusion::common::instant::Instant;
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, dialect_from_str};
use datafusion_cli::exec::exec_from_commands;
use datafusion_cli::print_format::PrintFormat;
use datafusion_cli::print_options::PrintOptions;
use datafusion_paimon::sql::{FILE_TYPE, expand_version_clauses};

use crate::context::CliContext;

/// The dialect that a session reads SQL in.
pub fn dialect(context: &CliContext) -> Box<dyn Dialect> {
    let name = context.session.task_ctx().session_config().options().sql_parser.dialect;
    dialect_from_str(name).unwrap_or_else(|| Box::new(GenericDialect {}))
}

/// Runs one statement and prints its rows.
pub async fn execute(context: &CliContext, sql: &str, print: &PrintOptions) -> Result<()> {
    let sql = expand_version_clauses(sql, dialect(context).as_ref()).into_owned();
    match external_paimon_table(context, &sql) {
        Some(statement) => create_table(context, statement, print).await,
        None => exec_from_commands(context, vec![sql], print).await,
    }
}

/// The statement, if it makes a table stored as Paimon.
fn external_paimon_table(context: &CliContext, sql: &str) -> Option<Statement> {
    if !sql.to_ascii_uppercase().contains(FILE_TYPE) {
        return None;
    }
    let mut statements = DFParser::parse_sql_with_dialect(sql, dialect(context).as_ref()).ok()?;
    let statement = statements.pop_front().filter(|_| statements.is_empty())?;
    let is_ours =
        matches!(&statement, Statement::CreateExternalTable(c) if c.file_type.eq_ignore_ascii_case(FILE_TYPE));
    is_ours.then_some(statement)
}

async fn create_table(context: &CliContext, statement: Statement, print: &PrintOptions) -> Result<(), DataFusionError> {
    let start = Instant::now();
    let plan = context.session.state().statement_to_plan(statement).await?;
    let frame = context.session.execute_logical_plan(plan).await?;
    let schema = frame.schema().inner().clone();
    let rows = frame.collect().await?;
    let mut print = print.clone();
    if print.format == PrintFormat::Automatic {
        print.format = PrintFormat::Table;
    }
    let state = context.session.state();
    print.print_batches(schema, &rows, start, rows.iter().map(|r| r.num_rows()).sum(), &state.config_options().format)
}
