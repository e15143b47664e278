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
    /// A snapshot id or the name of a tag.
    Version,
    /// A point in time.
    Timestamp,
}

impl AsOf {
    /// The table options that a clause stands for.
    pub fn options(self, value: &ScalarValue, zone: Tz) -> crate::error::Result<BTreeMap<String, String>> {
        let (key, value) = match self {
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
