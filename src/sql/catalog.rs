//! A filesystem warehouse as a catalog of DataFusion.
//!
//! In: a warehouse's location. Out: its databases as schemas and its tables, as they are when they are asked for: nothing
//! is kept from one question to the next but the names of databases that were there. A database or table that is missing
//! is `None`, from which DataFusion makes its own error; one that is broken is the error that says what is broken.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use chrono_tz::Tz;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::TableType;

use super::block_on::block_on;
use super::name::is_folder_name;
use super::session::{PaimonSettings, zone};
use super::warehouse::Warehouse;
use crate::error::Result;
use crate::storage::{Location, Storage};

/// What a session says about the tables that it opens: its zone, and options for all of them.
type SessionView = Arc<dyn Fn() -> Result<(Tz, BTreeMap<String, String>)> + Send + Sync>;

/// A warehouse in the file system or an object store.
#[derive(Clone)]
pub struct PaimonCatalog {
    warehouse: Warehouse,
    session: SessionView,
    /// Databases that were found once: that they are still there need not be asked for every table.
    seen: Arc<Mutex<HashSet<String>>>,
}

impl fmt::Debug for PaimonCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PaimonCatalog({:?})", self.warehouse)
    }
}

impl PaimonCatalog {
    /// The warehouse at a location, read in UTC and without further options.
    pub fn new(storage: Storage, location: Location) -> Self {
        let session: SessionView = Arc::new(|| Ok((Tz::UTC, BTreeMap::new())));
        Self { warehouse: Warehouse::new(storage, location), session, seen: Arc::default() }
    }

    /// The warehouse at a path or URL, read with the object stores, the zone and the settings of a session.
    pub fn in_session(context: &SessionContext, location: &str) -> Result<Self> {
        let catalog = Self::new(Storage::new(&context.runtime_env()), Location::parse(location)?);
        let state = context.state_weak_ref();
        let session: SessionView = Arc::new(move || {
            let Some(state) = state.upgrade() else { return Ok((Tz::UTC, BTreeMap::new())) };
            let state = state.read();
            let config = state.config_options();
            Ok((zone(config)?, PaimonSettings::of(config).table_options))
        });
        Ok(Self { session, ..catalog })
    }

    /// Opens a table with dynamic options; `name` may name a branch, a system table or a version.
    pub async fn open(
        &self,
        database: &str,
        name: &str,
        options: BTreeMap<String, String>,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        let (zone, mut all) = (self.session)()?;
        all.extend(options);
        self.warehouse.open(database, name, all, zone).await
    }

    fn was_seen(&self, database: &str) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).contains(database)
    }
}

impl CatalogProvider for PaimonCatalog {
    fn schema_names(&self) -> Vec<String> {
        let warehouse = self.warehouse.clone();
        let names = block_on(async move { warehouse.databases().await }).unwrap_or_else(|e| {
            log::warn!("the databases of a warehouse could not be listed: {e}");
            vec![]
        });
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).extend(names.iter().cloned());
        names
    }

    /// In an object store a database is taken to be there: one that is not has no tables, and looking for it would make
    /// every first query wait.
    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let taken = !self.warehouse.is_local() && is_folder_name(name);
        let there = taken || self.was_seen(name) || self.schema_names().iter().any(|n| n == name);
        there.then(|| Arc::new(PaimonDatabase { catalog: self.clone(), name: name.to_owned() }) as _)
    }
}

/// A database of a warehouse.
#[derive(Debug)]
struct PaimonDatabase {
    catalog: PaimonCatalog,
    name: String,
}

#[async_trait]
impl SchemaProvider for PaimonDatabase {
    fn table_names(&self) -> Vec<String> {
        let (warehouse, name) = (self.catalog.warehouse.clone(), self.name.clone());
        block_on(async move { warehouse.tables(&name).await }).unwrap_or_else(|e| {
            log::warn!("the tables of a database could not be listed: {e}");
            vec![]
        })
    }

    async fn table(&self, name: &str) -> datafusion::error::Result<Option<Arc<dyn TableProvider>>> {
        Ok(self.catalog.open(&self.name, name, BTreeMap::new()).await?)
    }

    /// Does not open the table: one that is broken is listed all the same.
    async fn table_type(&self, name: &str) -> datafusion::error::Result<Option<TableType>> {
        Ok(self.catalog.warehouse.exists(&self.name, name).await?.then_some(TableType::Base))
    }

    fn table_exist(&self, name: &str) -> bool {
        let (warehouse, database, name) = (self.catalog.warehouse.clone(), self.name.clone(), name.to_owned());
        block_on(async move { warehouse.exists(&database, &name).await }).unwrap_or_else(|e| {
            log::warn!("a table could not be looked up: {e}");
            false
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use datafusion::assert_batches_eq;

    use super::*;
    use crate::sql::register;
    use crate::sql::testing::make_table;

    fn make(warehouse: &Path, table: &str) {
        make_table(&warehouse.join(table));
    }

    fn context(warehouse: &Path) -> SessionContext {
        let context = SessionContext::new();
        register(&context).unwrap();
        let catalog = PaimonCatalog::in_session(&context, warehouse.to_str().unwrap()).unwrap();
        context.register_catalog("paimon", Arc::new(catalog));
        context
    }

    #[tokio::test]
    async fn what_is_there_now_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = context(folder.path()).catalog("paimon").unwrap();
        assert!(catalog.schema_names().is_empty());
        assert!(catalog.schema("db").is_none());
        make(folder.path(), "db.db/t");
        make(folder.path(), "db.db/Odd table é%20+x");
        fs::create_dir_all(folder.path().join("db.db/no table")).unwrap();
        fs::create_dir_all(folder.path().join("no database")).unwrap();
        assert_eq!(catalog.schema_names(), ["db"]);
        let database = catalog.schema("db").unwrap();
        assert_eq!(database.table_names(), ["Odd table é%20+x", "t"]);
        assert!(database.table_exist("t") && !database.table_exist("no table"));
        make(folder.path(), "db.db/u");
        assert_eq!(database.table_names(), ["Odd table é%20+x", "t", "u"]);
        fs::remove_dir_all(folder.path().join("db.db")).unwrap();
        assert!(database.table("t").await.unwrap().is_none());
    }

    #[tokio::test]
    async fn names_lead_to_tables_branches_and_errors() {
        let folder = tempfile::tempdir().unwrap();
        for table in ["db.db/t", "db.db/t/branch/branch-b", "db.db/Odd t@3", "db.db/a@b", "db.db/broken"] {
            make(folder.path(), table);
        }
        fs::write(folder.path().join("db.db/broken/schema/schema-0"), "{").unwrap();
        let context = context(folder.path());
        for name in ["t", "t$branch_b", "t@3", "t$branch_b@v1", "Odd t@3", "Odd t@3@4", "a@b", "a@b@x@y"] {
            let plan = context.sql(&format!("SELECT * FROM paimon.db.\"{name}\"")).await;
            assert!(plan.is_ok(), "{name}: {plan:?}");
        }
        for (name, want) in [
            ("nope", "table 'paimon.db.nope' not found"),
            ("../db.db/t", "table 'paimon.db.../db.db/t' not found"),
            ("t$branch_x", "has no branch 'x'"),
            ("t$branch_../b", "has no branch '../b'"),
            ("t$branch_x@1", "has no branch 'x'"),
            ("t$snapshots", "unsupported: the system table $snapshots"),
            ("t$branch_b$files", "unsupported: the system table $files"),
            ("t$files@1", "unsupported: the system table $files"),
            ("t$nope", "table 'paimon.db.t$nope' not found"),
            ("broken", "corrupt: "),
        ] {
            let e = context.sql(&format!("SELECT * FROM paimon.db.\"{name}\"")).await.unwrap_err().to_string();
            assert!(e.contains(want), "{name}: {e}");
        }
        assert!(context.sql("SELECT * FROM paimon.nope.t").await.unwrap_err().to_string().contains("not found"));
    }

    #[tokio::test]
    async fn broken_tables_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), "db.db/broken");
        fs::write(folder.path().join("db.db/broken/schema/schema-0"), "{").unwrap();
        let config = datafusion::prelude::SessionConfig::new().with_information_schema(true);
        let context = SessionContext::new_with_config(config);
        let catalog = PaimonCatalog::in_session(&context, folder.path().to_str().unwrap()).unwrap();
        context.register_catalog("paimon", Arc::new(catalog));
        let sql = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'paimon' \
                   AND table_schema <> 'information_schema'";
        let rows = context.sql(sql).await.unwrap().collect().await.unwrap();
        let want = [
            "+--------------+------------+",
            "| table_schema | table_name |",
            "+--------------+------------+",
            "| db           | broken     |",
            "+--------------+------------+",
        ];
        assert_batches_eq!(want, &rows);
    }
}
