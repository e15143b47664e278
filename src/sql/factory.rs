//! `CREATE EXTERNAL TABLE … STORED AS PAIMON LOCATION '…' OPTIONS (…)`.
//!
//! In: the statement. Out: the table at the location, with the options as dynamic options. The columns, the partitioning
//! and the order are the table's own: a statement that gives them is refused by name. Options that begin with `aws.`,
//! `gcp.` or `azure.` are for the object store and make one for the location's bucket.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::error::Result;
use datafusion::logical_expr::CreateExternalTable;

use super::session::{PaimonSettings, zone};
use super::table::PaimonTableProvider;
use crate::error::{Error, ErrorKind};
use crate::storage::{Location, Storage};

/// What SQL calls the format.
pub const FILE_TYPE: &str = "PAIMON";

const STORE_PREFIXES: [&str; 3] = ["aws.", "gcp.", "azure."];

/// Makes tables of `CREATE EXTERNAL TABLE`.
#[derive(Debug, Default)]
pub struct PaimonTableFactory;

#[async_trait]
impl TableProviderFactory for PaimonTableFactory {
    async fn create(&self, state: &dyn Session, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let location = Location::parse(location(command)?)?;
        let (table_options, store_options) = split_options(command);
        if !store_options.is_empty() {
            make_store(state, &location, store_options)?;
        }
        let config = state.config_options();
        let mut options = PaimonSettings::of(config).table_options;
        options.extend(table_options);
        let storage = Storage::new(state.runtime_env());
        Ok(Arc::new(PaimonTableProvider::open(&storage, &location, None, options, zone(config)?).await?))
    }
}

/// The one location, if nothing is said that cannot be honoured.
fn location(command: &CreateExternalTable) -> crate::error::Result<&str> {
    let refuse = |what: &str| {
        Err(Error::unsupported(format!("{what} in CREATE EXTERNAL TABLE {} STORED AS PAIMON", command.name)))
    };
    if !command.schema.fields().is_empty() {
        return refuse("a list of columns (the table has its own)");
    }
    if !command.table_partition_cols.is_empty() {
        return refuse("PARTITIONED BY (the table has its own)");
    }
    if !command.order_exprs.is_empty() {
        return refuse("WITH ORDER");
    }
    if command.unbounded {
        return refuse("UNBOUNDED");
    }
    match command.locations.as_slice() {
        [location] => Ok(location),
        _ => refuse("more than one LOCATION"),
    }
}

/// Options of the table, and options of the object store.
fn split_options(command: &CreateExternalTable) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let mut store = BTreeMap::new();
    let mut table = BTreeMap::new();
    for (key, value) in &command.options {
        // The planner puts `format.` before every key without a dot.
        let key = key.strip_prefix("format.").filter(|k| !k.contains('.')).unwrap_or(key);
        let key = key.strip_prefix("paimon.").unwrap_or(key);
        let is_store = STORE_PREFIXES.iter().any(|p| key.starts_with(p));
        let into = if is_store { &mut store } else { &mut table };
        into.insert(key.to_owned(), value.clone());
    }
    (table, store)
}

/// Registers a store for the location's bucket, from the environment overlaid with options (`aws.endpoint`).
fn make_store(state: &dyn Session, location: &Location, options: BTreeMap<String, String>) -> crate::error::Result<()> {
    let url = location.store_url()?;
    // Later ones win. Keys are spelled as variables of the environment are.
    let options = options.into_iter().map(|(key, value)| (key.replace(['.', '-'], "_"), value));
    let options = std::env::vars().chain(options);
    let (store, _) = object_store::parse_url_opts(&url, options).map_err(|e| {
        Error::new(ErrorKind::Storage, format!("no object store could be made for '{url}'")).caused_by(e)
    })?;
    state.runtime_env().register_object_store(&url, store.into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use crate::sql::register;

    #[tokio::test]
    async fn a_statement_makes_a_table_or_says_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("Odd table é%20+x");
        std::fs::create_dir_all(path.join("schema")).unwrap();
        let schema =
            r#"{"version":3,"id":0,"fields":[],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{}}"#;
        std::fs::write(path.join("schema/schema-0"), schema).unwrap();
        let path = path.to_str().unwrap();
        let context = SessionContext::new();
        register(&context).unwrap();
        for sql in [
            format!("CREATE EXTERNAL TABLE a STORED AS PAIMON LOCATION '{path}'"),
            format!("CREATE EXTERNAL TABLE b STORED AS paimon LOCATION 'file://{path}' OPTIONS ('read.batch-size' 10)"),
        ] {
            context.sql(&sql).await.unwrap();
        }
        assert!(context.table_exist("a").unwrap() && context.table_exist("b").unwrap());
        for (sql, want) in [
            (format!("CREATE EXTERNAL TABLE x (a INT) STORED AS PAIMON LOCATION '{path}'"), "list of columns"),
            (
                format!("CREATE EXTERNAL TABLE x STORED AS PAIMON PARTITIONED BY (a) LOCATION '{path}'"),
                "PARTITIONED BY",
            ),
            (format!("CREATE UNBOUNDED EXTERNAL TABLE x STORED AS PAIMON LOCATION '{path}'"), "UNBOUNDED"),
            (format!("CREATE EXTERNAL TABLE x STORED AS PAIMON LOCATION '{path}/nope'"), "not found"),
        ] {
            let e = context.sql(&sql).await.unwrap_err().to_string();
            assert!(e.contains(want), "{sql}: {e}");
        }
    }
}
