//! How long it takes to plan a scan: the first time, and again on an unchanged table.
//!
//! ```text
//! cargo bench --features cli --bench planning -- WAREHOUSE paimon.db.t "dt = '2025-01-10'" "dt = '2025-01-10' AND k = 7"
//! ```
//! For each condition, and for none, a line: *first* is the whole statement in a session of its own, opening the table
//! included; *table* what `TableProvider::scan` takes of it when asked again, *statement* all from SQL to the physical plan,
//! each the least and the median of many. Without arguments: a small table of the tests.

use std::time::{Duration, Instant};

use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{LogicalPlan, TableScan};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_paimon::{register, register_catalog};

/// Plans that are timed of each kind.
const PLANS: usize = 200;

fn session(warehouse: &str) -> Result<SessionContext> {
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    register(&context)?;
    register_catalog(&context, "paimon", warehouse)?;
    Ok(context)
}

async fn timed<T>(work: impl Future<Output = Result<T>>) -> Result<(Duration, T)> {
    let start = Instant::now();
    let done = work.await?;
    Ok((start.elapsed(), done))
}

/// Plans a statement; the optimized logical plan.
async fn plan(context: &SessionContext, statement: &str) -> Result<LogicalPlan> {
    let plan = context.sql(statement).await?.into_optimized_plan()?;
    context.state().query_planner().create_physical_plan(&plan, &context.state()).await?;
    Ok(plan)
}

/// The scan of a plan.
fn scan_of(plan: &LogicalPlan) -> Result<Option<TableScan>> {
    let mut scan = None;
    plan.apply(|node| {
        if let LogicalPlan::TableScan(node) = node {
            scan = Some(node.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(scan)
}

fn shown(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let millis = |at: usize| times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3);
    format!("{:7.2} {:7.2}", millis(0), millis(times.len() / 2))
}

async fn line(warehouse: &str, table: &str, condition: Option<&str>) -> Result<()> {
    let mut statement = format!("SELECT * FROM {table}");
    statement.extend(condition.map(|condition| format!(" WHERE {condition}")));
    let context = session(warehouse)?;
    let (first, logical) = timed(plan(&context, &statement)).await?;
    let (mut of_table, mut of_statement) = (vec![], vec![]);
    if let Some(scan) = scan_of(&logical)? {
        let (provider, state) = (source_as_provider(&scan.source)?, context.state());
        for _ in 0..PLANS {
            let scan = provider.scan(&state, scan.projection.as_ref(), &scan.filters, scan.fetch);
            of_table.push(timed(scan).await?.0);
        }
    }
    for _ in 0..PLANS {
        of_statement.push(timed(plan(&context, &statement)).await?.0);
    }
    let first = first.as_secs_f64() * 1e3;
    println!("{first:8.1}  {}  {}  {}", shown(of_table), shown(of_statement), condition.unwrap_or("(no condition)"));
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warehouse");
    let warehouse = arguments.next().unwrap_or_else(|| golden.display().to_string());
    let table = arguments.next().unwrap_or_else(|| "paimon.demo.orders".to_owned());
    println!("   first    table: least, median  statement: least, median (ms)");
    line(&warehouse, &table, None).await?;
    for condition in arguments {
        line(&warehouse, &table, Some(&condition)).await?;
    }
    Ok(())
}
