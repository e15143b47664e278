//! Apache Paimon tables as ordinary DataFusion tables.
//!
//! A table is opened by its place, or found in a warehouse that is a catalog; then it is asked in SQL:
//!
//! ```
//! use datafusion::prelude::SessionContext;
//! use datafusion_paimon::{register, register_catalog};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! let context = SessionContext::new();
//! register(&context)?;
//! register_catalog(&context, "paimon", "tests/data/warehouse")?;
//! let orders = context.sql("SELECT country, count(*) FROM paimon.demo.orders GROUP BY country").await?;
//! assert_eq!(orders.collect().await?.iter().map(|b| b.num_rows()).sum::<usize>(), 4);
//! # Ok(()) }
//! ```
//!
//! # How it is built
//! Data flows one way. A stage imports what is drawn below it and the vocabulary, never what is above or beside it:
//!
//! ```text
//!    SQL / DataFrame
//!          │
//!    sql/      tables, catalog, functions, Expr → Predicate      knows DataFusion's planner
//!          │ predicate, projection, limit
//!    plan/     snapshot → manifests → live entries → splits ──┐  metadata only
//!          │                                                  │ DataSplit
//!    exec/     raw reads, merging, deletions, evolution  ◄────┘  knows DataFusion's executor
//!          │ ReadRequest
//!    file/     Parquet, ORC, Avro: one file in, batches out
//!          │ ranges of bytes
//!    storage/  ranged reads over object stores
//!
//!    vocabulary, used by every stage: spec/ predicate/ options/ split selection cache error
//! ```
//!
//! What is public below [`sql`] can be used by itself, to plan without SQL or to read a file, and may change more often.

pub mod cache;
pub mod error;
pub mod exec;
pub mod file;
pub mod options;
pub mod plan;
pub mod predicate;
pub mod selection;
pub mod spec;
pub mod split;
pub mod sql;
pub mod storage;

pub use cache::{Cache, CacheKey, CacheKind, CacheValue, Kept, LruCache, PaimonCache};
pub use error::{Error, ErrorKind, Result};
pub use exec::PaimonScanExec;
pub use options::TableOptions;
pub use sql::{
    PaimonCatalog, PaimonTableFactory, PaimonTableProvider, expand_version_clauses, register, register_catalog,
    register_table,
};
pub use storage::{Location, Storage};
