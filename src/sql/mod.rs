//! Paimon in DataFusion's SQL: catalog, external tables, table functions, time travel, settings.
//!
//! In: a [`SessionContext`]. Out: the same, in which Paimon's tables can be used:
//!
//! ```
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! use datafusion::prelude::SessionContext;
//! use datafusion_paimon::sql::{register, register_catalog};
//!
//! let context = SessionContext::new();
//! register(&context)?;
//! register_catalog(&context, "paimon", "s3://bucket/warehouse")?;
//! context.sql(r#"SELECT * FROM paimon."db"."t$branch_b""#).await?.show().await?;
//! context.sql(r#"SELECT * FROM paimon."db"."t@3""#).await?.show().await?;
//! # Ok(()) }
//! ```

mod block_on;
mod cache;
mod catalog;
mod constant;
mod factory;
mod filter;
mod name;
mod session;
mod table;
mod table_function;
#[cfg(test)]
mod testing;
mod time_travel;
mod version_clause;
mod warehouse;

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::common::TableReference;
use datafusion::execution::context::SessionContext;

use crate::cache::PaimonCache;
use crate::storage::{Location, Storage};

pub use block_on::block_on;
pub use catalog::PaimonCatalog;
pub use factory::{FILE_TYPE, PaimonTableFactory};
pub use session::{PaimonSettings, zone};
pub use table::PaimonTableProvider;
pub use table_function::PaimonFunction;
pub use time_travel::TimeTravelPlanner;
pub use version_clause::expand_version_clauses;

/// The catalog in which names are looked up that are not found otherwise.
pub const DEFAULT_CATALOG: &str = "paimon";

/// The database of a warehouse that a name without one means.
pub const DEFAULT_DATABASE: &str = "default";

/// Makes a session know Paimon: `STORED AS PAIMON`, the table functions, version clauses, the settings `paimon.*`, and its
/// cache, unless the session's configuration has a [`PaimonCache`] as an extension already.
pub fn register(context: &SessionContext) -> datafusion::error::Result<()> {
    for function in PaimonFunction::ALL {
        context.register_udtf(function.name(), Arc::new(function));
    }
    context.register_udtf(cache::SHOW_CACHE, Arc::new(cache::ShowCache));
    context.register_relation_planner(Arc::new(TimeTravelPlanner))?;
    // So that programs that check options before they reach the factory let 'paimon.KEY' pass.
    context.register_table_options_extension(PaimonSettings::default());
    let state = context.state_ref();
    let mut state = state.write();
    state.table_factories_mut().insert(FILE_TYPE.to_owned(), Arc::new(PaimonTableFactory));
    let kept = state.config().get_extension::<PaimonCache>().unwrap_or_default();
    state.config_mut().set_extension(Arc::clone(&kept));
    let settings = PaimonSettings::of(state.config_options()).with_cache(Arc::clone(&kept))?;
    state.config_mut().options_mut().extensions.insert(settings);
    drop(state);
    context.register_udf(cache::clear_cache(kept));
    Ok(())
}

/// Registers a warehouse, a path or URL, as a catalog.
pub fn register_catalog(
    context: &SessionContext,
    name: impl Into<String>,
    warehouse: &str,
) -> datafusion::error::Result<()> {
    context.register_catalog(name, Arc::new(PaimonCatalog::in_session(context, warehouse)?));
    Ok(())
}

/// Opens the table at a path or URL with dynamic options and registers it.
pub async fn register_table(
    context: &SessionContext,
    name: impl Into<TableReference>,
    location: &str,
    options: BTreeMap<String, String>,
) -> datafusion::error::Result<()> {
    let state = context.state();
    let storage = Storage::new(state.runtime_env());
    let mut all = PaimonSettings::of(state.config_options()).table_options;
    all.extend(options);
    let zone = zone(state.config_options())?;
    let table = PaimonTableProvider::open(&storage, &Location::parse(location)?, None, all, zone).await?;
    context.register_table(name, Arc::new(table))?;
    Ok(())
}
