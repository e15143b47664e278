//! A table as it was: by snapshot, by tag, by time; and what changed since.
//!
//! `cargo run --features cli --example time_travel`

use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion_paimon::sql::{expand_version_clauses, register, register_catalog};

#[tokio::main]
async fn main() -> Result<()> {
    let context = SessionContext::new();
    register(&context)?;
    register_catalog(&context, "paimon", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/warehouse"))?;

    for sql in [
        "SELECT count(*) AS now FROM paimon.demo.orders",
        // A snapshot or tag behind the table's name works in every SQL dialect…
        r#"SELECT count(*) AS snapshot_2 FROM paimon.demo."orders@2""#,
        r#"SELECT count(*) AS new_year FROM paimon.demo."orders@new-year""#,
        // … as does a function with options of the table.
        "SELECT count(*) AS second FROM paimon_table('paimon.demo.orders', 'scan.snapshot-id', '2')",
        // Clauses that DataFusion's default dialect lacks are spelled out beforehand; paimon-cli does so by itself.
        "SELECT count(*) AS on_the_second FROM paimon.demo.orders TIMESTAMP AS OF '2024-01-02 18:00:00'",
        // Orders that are new since the tag.
        r#"SELECT min(order_id) AS first_new FROM paimon.demo.orders
           WHERE order_id NOT IN (SELECT order_id FROM paimon.demo."orders@new-year")"#,
    ] {
        let sql = expand_version_clauses(sql, &GenericDialect {});
        context.sql(&sql).await?.show().await?;
    }
    Ok(())
}
