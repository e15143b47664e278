//! How fast a table is read, beside DataFusion over the same Parquet files.
//!
//! ```text
//! cargo run --release --features cli --example compare_with_parquet -- PATH_OF_TABLE "SELECT sum(x) FROM {t}"
//! ```
//! Asks the query ten times of each in turn and prints the least times and their ratio. Only for append tables and
//! compacted ones: the plain files of others hold rows that are not in the table.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use datafusion_paimon::{PaimonScanExec, register, register_table};

const ROUNDS: usize = 10;

/// The data files that a plan reads.
fn files(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
    let own = plan.downcast_ref::<PaimonScanExec>().and_then(|scan| scan.splits().ok()).unwrap_or_default();
    let own = own.iter().flat_map(|split| split.all_files()).map(|file| file.path.clone());
    own.chain(plan.children().into_iter().flat_map(files)).collect()
}

async fn time(context: &SessionContext, query: &str) -> Result<Duration> {
    let start = Instant::now();
    context.sql(query).await?.collect().await?;
    Ok(start.elapsed())
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(query)) = (arguments.next(), arguments.next()) else {
        println!("usage: compare_with_parquet PATH_OF_TABLE \"SELECT … FROM {{t}} …\"");
        return Ok(());
    };
    let context = SessionContext::new();
    register(&context)?;
    register_table(&context, "paimon_table_itself", &path, BTreeMap::new()).await?;
    let plan = context.table("paimon_table_itself").await?.create_physical_plan().await?;
    let raw = context.read_parquet(files(&plan), ParquetReadOptions::default()).await?;
    context.register_table("raw_files", raw.into_view())?;
    let (mut table, mut raw) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        table = table.min(time(&context, &query.replace("{t}", "paimon_table_itself")).await?);
        raw = raw.min(time(&context, &query.replace("{t}", "raw_files")).await?);
    }
    let ratio = table.as_secs_f64() / raw.as_secs_f64();
    println!("table {table:?}, raw files {raw:?}, ratio {ratio:.2}");
    Ok(())
}
