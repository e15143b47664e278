//! A warehouse as a catalog: every database and table of it by name.
//!
//! `cargo run --features cli --example catalog`

use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_paimon::sql::{register, register_catalog};

#[tokio::main]
async fn main() -> Result<()> {
    let context = SessionContext::new_with_config(SessionConfig::new().with_information_schema(true));
    register(&context)?;
    // A path, or a URL such as s3://bucket/warehouse.
    let warehouse = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/warehouse");
    register_catalog(&context, "paimon", warehouse)?;

    let sql = "SELECT country, count(*) AS orders, sum(quantity * price) AS revenue
               FROM paimon.demo.orders GROUP BY country ORDER BY revenue DESC";
    context.sql(sql).await?.show().await?;

    // A table that another tool writes to is read as it is when the query begins: nothing need be refreshed.
    let sql = "SELECT product, sum(quantity) AS sold FROM paimon.demo.orders
               WHERE country IN ('DE', 'FR') GROUP BY product ORDER BY sold DESC";
    context.sql(sql).await?.show().await
}
