//! One table under a name of your choice, from Rust and from SQL, with an option.
//!
//! `cargo run --features cli --example register_table`

use std::collections::BTreeMap;

use datafusion::error::Result;
use datafusion::prelude::{SessionContext, col, lit};
use datafusion_paimon::sql::{register, register_table};

const ORDERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/warehouse/demo.db/orders");

#[tokio::main]
async fn main() -> Result<()> {
    let context = SessionContext::new();
    register(&context)?;

    // From Rust: the table as a data frame.
    register_table(&context, "orders", ORDERS, BTreeMap::new()).await?;
    let lamps = context.table("orders").await?.filter(col("product").eq(lit("lamp")))?;
    lamps.select_columns(&["order_id", "customer", "quantity"])?.show().await?;

    // From SQL: the table as it was at its first snapshot.
    let sql = format!(
        "CREATE EXTERNAL TABLE first_day STORED AS PAIMON LOCATION '{ORDERS}' OPTIONS ('scan.snapshot-id' '1')"
    );
    context.sql(&sql).await?.collect().await?;
    context.sql("SELECT count(*) AS orders_of_the_first_day FROM first_day").await?.show().await
}
