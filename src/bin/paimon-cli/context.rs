//! The session of the program.
//!
//! In: the arguments. Out: a session as datafusion-cli sets it up, with Paimon and the warehouse in it.

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::config::{ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::dataframe::DataFrame;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::context::{SessionConfig, SessionContext, SessionState};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, GreedyMemoryPool, MemoryPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::{ExplainFormat, LogicalPlan};
use datafusion_cli::catalog::DynamicObjectStoreCatalog;
use datafusion_cli::cli_context::CliSessionContext;
use datafusion_cli::functions::{ListFilesCacheFunc, MetadataCacheFunc, ParquetMetadataFunc, StatisticsCacheFunc};
use datafusion_cli::object_storage::instrumented::InstrumentedObjectStoreRegistry;
use datafusion_cli::object_storage::{AwsOptions, GcpOptions, StdinCarriesCommands};
use datafusion_cli::pool_type::PoolType;
use datafusion_paimon::sql::{PaimonCatalog, PaimonSettings, register};
use object_store::ObjectStore;
use url::Url;

use crate::args::Args;
use crate::catalogs::WithWarehouse;
use crate::stores::CliStores;

/// The session, and what its object stores are to be made with.
pub struct CliContext {
    /// DataFusion's session.
    pub session: SessionContext,
    store_options: Vec<(String, String)>,
}

impl CliContext {
    /// Sets up a session; comes with the registry that reports requests to object stores.
    pub async fn new(args: &Args) -> Result<(Self, Arc<InstrumentedObjectStoreRegistry>)> {
        let of_session = |key: &str| key.starts_with("datafusion.") || key.starts_with("paimon.");
        let (settings, store_options): (Vec<_>, Vec<_>) =
            args.options.iter().cloned().partition(|(key, _)| of_session(key));
        let (of_runtime, settings): (Vec<_>, Vec<_>) =
            settings.into_iter().partition(|(key, _)| key.starts_with("datafusion.runtime."));
        let registry = InstrumentedObjectStoreRegistry::new().with_profile_mode(args.object_store_profiling);
        let registry = Arc::new(registry);
        let runtime = runtime(args, CliStores::new(Arc::clone(&registry), &store_options))?;
        let session = SessionContext::new_with_config_rt(config(args, &settings)?, runtime).enable_url_table();
        session.refresh_catalogs().await?;
        register_catalogs(&session, args.warehouse.as_deref())?;
        register_functions(&session);
        for (key, value) in of_runtime {
            session.sql(&format!("SET {key} = '{}'", value.replace('\'', "''"))).await?;
        }
        Ok((Self { session, store_options }, registry))
    }
}

fn register_catalogs(session: &SessionContext, warehouse: Option<&str>) -> Result<()> {
    register(session)?;
    let listed = Arc::clone(session.state().catalog_list());
    let mut catalogs: Arc<_> = Arc::new(DynamicObjectStoreCatalog::new(listed, session.state_weak_ref())) as _;
    if let Some(warehouse) = warehouse {
        let warehouse = PaimonCatalog::in_session(session, warehouse)?;
        catalogs = Arc::new(WithWarehouse::new(catalogs, warehouse)) as _;
    }
    session.register_catalog_list(catalogs);
    Ok(())
}

fn register_functions(session: &SessionContext) {
    let caches = || Arc::clone(&session.runtime_env().cache_manager);
    session.register_udtf("parquet_metadata", Arc::new(ParquetMetadataFunc {}));
    session.register_udtf("metadata_cache", Arc::new(MetadataCacheFunc::new(caches())));
    session.register_udtf("statistics_cache", Arc::new(StatisticsCacheFunc::new(caches())));
    session.register_udtf("list_files_cache", Arc::new(ListFilesCacheFunc::new(caches())));
}

fn runtime(args: &Args, stores: CliStores) -> Result<Arc<RuntimeEnv>> {
    let mut builder = RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(stores));
    if let Some(limit) = args.memory_limit {
        builder = builder.with_memory_pool(memory_pool(args, limit));
    }
    if let Some(limit) = args.disk_limit {
        let disks = DiskManagerBuilder::default().with_mode(DiskManagerMode::OsTmpDirectory);
        builder = builder.with_disk_manager_builder(disks.with_max_temp_directory_size(limit as u64));
    }
    builder.build_arc()
}

fn memory_pool(args: &Args, limit: usize) -> Arc<dyn MemoryPool> {
    match (&args.mem_pool_type, NonZeroUsize::new(args.top_memory_consumers)) {
        (PoolType::Fair, None) => Arc::new(FairSpillPool::new(limit)),
        (PoolType::Fair, Some(top)) => Arc::new(TrackConsumersPool::new(FairSpillPool::new(limit), top)),
        (PoolType::Greedy, None) => Arc::new(GreedyMemoryPool::new(limit)),
        (PoolType::Greedy, Some(top)) => Arc::new(TrackConsumersPool::new(GreedyMemoryPool::new(limit), top)),
    }
}

/// The environment, what suits a terminal, then the arguments.
fn config(args: &Args, settings: &[(String, String)]) -> Result<SessionConfig> {
    let mut options = ConfigOptions::from_env()?;
    options.extensions.insert(PaimonSettings::default());
    if std::env::var_os("DATAFUSION_EXPLAIN_FORMAT").is_none() {
        options.explain.format = ExplainFormat::Tree;
    }
    if std::env::var_os("DATAFUSION_FORMAT_NULL").is_none() {
        options.format.null = "NULL".to_owned();
    }
    if let Some(size) = args.batch_size {
        options.set("datafusion.execution.batch_size", &size.to_string())?;
    }
    for (key, value) in settings {
        options.set(key, value)?;
    }
    let config = SessionConfig::from(options).with_information_schema(true);
    Ok(if args.reads_sql_from_stdin() { config.with_extension(Arc::new(StdinCarriesCommands)) } else { config })
}

/// Options of one kind of store, from those of the command line. Those that it does not know are for others.
fn with_store_options<T: ConfigExtension>(mut extension: T, given: &[(String, String)]) -> T {
    for (key, value) in given {
        let key = key.to_ascii_lowercase().replacen('_', ".", usize::from(!key.contains('.')));
        if key.split('.').next() == Some(T::PREFIX) {
            // An option that datafusion-cli does not know may still be one that stores know.
            let _ = ExtensionOptions::set(&mut extension, &key, value);
        }
    }
    extension
}

#[async_trait]
impl CliSessionContext for CliContext {
    fn task_ctx(&self) -> Arc<TaskContext> {
        self.session.task_ctx()
    }

    fn session_state(&self) -> SessionState {
        self.session.state()
    }

    fn register_object_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.session.register_object_store(url, store)
    }

    fn register_table_options_extension_from_scheme(&self, scheme: &str) {
        match scheme {
            "s3" | "oss" | "cos" => {
                let options = with_store_options(AwsOptions::default(), &self.store_options);
                self.session.register_table_options_extension(options);
            }
            "gs" | "gcs" => {
                let options = with_store_options(GcpOptions::default(), &self.store_options);
                self.session.register_table_options_extension(options);
            }
            _ => {}
        }
    }

    async fn execute_logical_plan(&self, plan: LogicalPlan) -> Result<DataFrame, DataFusionError> {
        self.session.execute_logical_plan(plan).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_reach_the_stores_of_datafusion_cli() {
        let given = [("AWS_ENDPOINT", "http://e"), ("aws.allow_http", "true"), ("gcp.x", "y"), ("aws.unknown", "z")];
        let given = given.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let options = with_store_options(AwsOptions::default(), &given);
        assert_eq!(options.endpoint.as_deref(), Some("http://e"));
        assert_eq!(options.allow_http, Some(true));
    }
}
