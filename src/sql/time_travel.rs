//! `VERSION AS OF`, `TIMESTAMP AS OF` and `FOR SYSTEM_TIME AS OF` behind a table, in the SQL dialects that have them.
//!
//! In: a table of a query with such a clause. Out: the plan that reads the table as of then. DataFusion's own planning
//! ignores the clause, which would give the latest rows instead of those asked for; so every clause is either honoured
//! here or an error, on Paimon's tables and on all others. Dialects without the clauses: see
//! [`expand_version_clauses`](super::expand_version_clauses), or name the version in the table's name, `"t@3"`.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono_tz::Tz;
use datafusion::catalog::TableProvider;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::sql::sqlparser::ast::{Expr, ObjectName, TableFactor, TableVersion};

use super::block_on::block_on;
use super::constant::{evaluate, instant_millis, text};
use super::session::zone;
use super::table::PaimonTableProvider;
use crate::error::Error;

/// What a version clause counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// A snapshot id where it is a number, else the name of a tag.
    Version,
    /// A point in time.
    Timestamp,
}

impl AsOf {
    /// The table options that a clause stands for.
    pub fn options(self, value: &ScalarValue, zone: Tz) -> crate::error::Result<BTreeMap<String, String>> {
        let (key, value) = match self {
            AsOf::Version if value.data_type().is_integer() => ("scan.snapshot-id", text(value)?),
            AsOf::Version => ("scan.version", text(value)?),
            AsOf::Timestamp => ("scan.timestamp-millis", instant_millis(value, zone)?.to_string()),
        };
        Ok(BTreeMap::from([(key.to_owned(), value)]))
    }
}

/// A Paimon table with further options; an error for any other table.
pub fn with_options(
    table: Arc<dyn TableProvider>,
    name: &str,
    options: BTreeMap<String, String>,
    zone: Tz,
) -> Result<Arc<dyn TableProvider>> {
    if table.downcast_ref::<PaimonTableProvider>().is_none() {
        let message = format!("'{name}' is no Paimon table: it has neither versions nor Paimon's options");
        return Err(Error::unsupported(message).into());
    }
    block_on(async move {
        match table.downcast_ref::<PaimonTableProvider>() {
            Some(table) => Ok(Arc::new(table.with_options(options, zone).await?) as _),
            None => Err(DataFusionError::from(Error::internal("a provider changed its type"))),
        }
    })
}

/// Plans tables with a version clause.
#[derive(Debug, Default)]
pub struct TimeTravelPlanner;

impl RelationPlanner for TimeTravelPlanner {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        match relation {
            TableFactor::Table { name, alias, args: None, version: Some(version), .. } => {
                let (as_of, value) = clause(version)?;
                let plan = plan(name, as_of, value, context)?;
                Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
            }
            TableFactor::Table { name, version: Some(version), .. } => {
                let message = format!("'{version}' behind the table function {name}");
                Err(Error::unsupported(message).into())
            }
            other => Ok(RelationPlanning::Original(Box::new(other))),
        }
    }
}

fn clause(version: TableVersion) -> Result<(AsOf, Expr)> {
    match version {
        TableVersion::VersionAsOf(value) => Ok((AsOf::Version, value)),
        TableVersion::TimestampAsOf(value) | TableVersion::ForSystemTimeAsOf(value) => Ok((AsOf::Timestamp, value)),
        other => Err(Error::unsupported(format!("the clause '{other}' behind a table")).into()),
    }
}

fn plan(
    name: ObjectName,
    as_of: AsOf,
    value: Expr,
    context: &mut dyn RelationPlannerContext,
) -> Result<datafusion::logical_expr::LogicalPlan> {
    let reference = context.object_name_to_table_reference(name)?;
    let value = context.sql_to_expr(value, &DFSchema::empty())?;
    let provider = context.context_provider();
    let (config, source) = (provider.options(), provider.get_table_source(reference.clone())?);
    let zone = zone(config)?;
    let options = as_of.options(&evaluate(value, config)?, zone)?;
    let table = with_options(source_as_provider(&source)?, &reference.to_string(), options, zone)?;
    LogicalPlanBuilder::scan(reference, provider_as_source(table), None)?.build()
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{SessionConfig, SessionContext};

    use crate::sql::testing::make_table;
    use crate::sql::{register, register_catalog};

    /// A warehouse with the table `db.T`, in a session of a dialect.
    fn context(dialect: &str, folder: &std::path::Path) -> SessionContext {
        make_table(&folder.join("db.db/T"));
        let config = SessionConfig::new().set_str("datafusion.sql_parser.dialect", dialect);
        let context = SessionContext::new_with_config(config);
        register(&context).unwrap();
        register_catalog(&context, "paimon", folder.to_str().unwrap()).unwrap();
        context
    }

    #[tokio::test]
    async fn every_clause_is_honoured_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let snowflake = context("snowflake", folder.path());
        snowflake.sql("CREATE TABLE other AS VALUES (1)").await.unwrap();
        for (clause, want) in [
            ("paimon.db.\"T\" VERSION AS OF 3", Ok(())),
            ("paimon.db.\"T\" AS x", Ok(())),
            ("paimon.db.\"T\" TIMESTAMP AS OF '2024-01-01 00:00:00' AS x", Ok(())),
            ("paimon.db.\"T\" FOR SYSTEM_TIME AS OF now() - INTERVAL '1 hour' AS x", Ok(())),
            ("paimon.db.\"T\" VERSION AS OF 3 AS x JOIN paimon.db.\"T\" TIMESTAMP AS OF 7 AS y ON true", Ok(())),
            ("paimon.db.\"T\" AT(TIMESTAMP => 3)", Err("unsupported: the clause")),
            ("paimon.db.\"T\" TIMESTAMP AS OF 'never'", Err("no point in time")),
            ("paimon.db.\"T\" TIMESTAMP AS OF random()", Err("not a constant")),
            ("other VERSION AS OF 1", Err("'other' is no Paimon table")),
            ("nope VERSION AS OF 1", Err("not found")),
            ("paimon.db.\"T\" VERSION AS OF 5", Err("snapshot 5")),
            ("paimon.db.\"T\" TIMESTAMP AS OF 0", Err("snapshot")),
        ] {
            let planned = snowflake.sql(&format!("SELECT * FROM {clause}")).await;
            match (planned, want) {
                (Ok(_), Ok(())) => {}
                (Err(e), Err(want)) if e.to_string().contains(want) => {}
                (got, _) => panic!("{clause}: {got:?}"),
            }
        }
    }

    #[tokio::test]
    async fn dialects_with_other_quotes_work_too() {
        let folder = tempfile::tempdir().unwrap();
        let databricks = context("databricks", folder.path());
        for sql in [
            "SELECT * FROM paimon.db.`T` VERSION AS OF 3",
            "SELECT * FROM paimon_table('paimon.db.\"T\"', 'scan.version', '3')",
        ] {
            databricks.sql(sql).await.unwrap();
        }
    }

    #[tokio::test]
    async fn functions_find_tables_as_sql_does() {
        let folder = tempfile::tempdir().unwrap();
        let generic = context("generic", folder.path());
        for (call, want) in [
            ("paimon_table('paimon.\"db\".\"T\"')", Ok(())),
            ("paimon_table('db.\"T\"', 'scan.version', 3)", Ok(())),
            ("paimon_table('db.\"T@tag\"', 'a', true)", Ok(())),
            ("paimon_as_of('db.\"T\"', 'timestamp', now())", Ok(())),
            ("paimon_incremental_query('db.\"T\"', '1', '3')", Ok(())),
            ("paimon_table('db.T')", Err("table 'db.T' not found")),
            ("paimon_table('db.\"T$snapshots\"')", Err("the system table $snapshots")),
            ("paimon_table('db.\"T$branch_x\"')", Err("no branch 'x'")),
            ("paimon_table('db.\"T\"', 'a')", Err("an option has no value")),
            ("paimon_table()", Err("was expected")),
        ] {
            let planned = generic.sql(&format!("SELECT * FROM {call} AS x")).await;
            match (planned, want) {
                (Ok(_), Ok(())) => {}
                (Err(e), Err(want)) if e.to_string().contains(want) => {}
                (got, _) => panic!("{call}: {got:?}"),
            }
        }
    }
}
