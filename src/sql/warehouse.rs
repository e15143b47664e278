//! A filesystem warehouse: databases are its folders `NAME.db`, tables are folders in them with a `schema/schema-N`.
//!
//! In: the warehouse's location, and names as SQL has them. Out: what is there now (nothing is kept), and open tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono_tz::Tz;
use datafusion::catalog::TableProvider;
use futures::{StreamExt, TryStreamExt};

use super::name::{ObjectName, READ_OPTIMIZED, SYSTEM_TABLES, is_folder_name, readings};
use super::table::PaimonTableProvider;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::snapshot::{KnownMetadata, MAIN_BRANCH, SnapshotManager};
use crate::storage::{Listing, Location, Storage};

const DATABASE_SUFFIX: &str = ".db";
const SCHEMA_FOLDER: &str = "schema";
const SCHEMA_PREFIX: &str = "schema-";
/// How many folders are looked into at once.
const LISTINGS_AT_ONCE: usize = 16;

/// A folder of databases.
#[derive(Debug, Clone)]
pub struct Warehouse {
    storage: Storage,
    location: Location,
    /// What earlier queries have seen of the tables' metadata.
    known: Arc<KnownMetadata>,
}

/// What a name leads to.
struct Found {
    name: ObjectName,
    /// The branch of the table.
    manager: SnapshotManager,
    /// The files in the folder of the branch's schemas.
    schemas: Listing,
}

impl Warehouse {
    /// The warehouse at a location.
    pub fn new(storage: Storage, location: Location) -> Self {
        Self { storage, location, known: Arc::default() }
    }

    /// Whether it is on a disk of this machine.
    pub fn is_local(&self) -> bool {
        self.location.is_local()
    }

    /// Names of the databases, sorted.
    pub async fn databases(&self) -> Result<Vec<String>> {
        let folders = self.storage.list(&self.location).await?.folders;
        Ok(folders.iter().filter_map(|f| f.strip_suffix(DATABASE_SUFFIX)).map(str::to_owned).collect())
    }

    /// Names of the tables of a database, sorted; none where there is no such database.
    pub async fn tables(&self, database: &str) -> Result<Vec<String>> {
        let Some(folder) = self.database(database)? else { return Ok(vec![]) };
        let names = self.storage.list(&folder).await?.folders;
        let checked = futures::stream::iter(names).map(|name| {
            let schemas = folder.join(&name).and_then(|table| table.join(SCHEMA_FOLDER));
            async move { Result::<_, Error>::Ok(has_schema(&self.storage.list(&schemas?).await?).then_some(name)) }
        });
        let found: Vec<_> = checked.buffered(LISTINGS_AT_ONCE).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Whether there is a table, branch or system table of this name, which is not opened.
    pub async fn exists(&self, database: &str, name: &str) -> Result<bool> {
        match self.find(database, name).await {
            Ok(found) => Ok(found.is_some()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Opens a table by its name, with its branch, system table or version if it names one; `None` where there is no
    /// such table.
    pub async fn open(
        &self,
        database: &str,
        name: &str,
        mut options: BTreeMap<String, String>,
        zone: Tz,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(Found { name: found, manager, schemas }) = self.find(database, name).await? else { return Ok(None) };
        let read_optimized = match found.system.as_deref() {
            None => false,
            Some(READ_OPTIMIZED) => true,
            Some(system) => return Err(Error::unsupported(format!("the system table ${system}"))),
        };
        if let Some(version) = found.version {
            options.entry("scan.version".to_owned()).or_insert(version);
        }
        let table = match found.branch {
            None if options.contains_key("branch") => {
                PaimonTableProvider::open(&self.storage, manager.table(), None, options, zone).await?
            }
            _ => PaimonTableProvider::open_listed(manager, &schemas, options, zone).await?,
        };
        Ok(Some(Arc::new(if read_optimized { table.into_read_optimized() } else { table })))
    }

    /// The first reading of a name that something answers to. An error where only the branch is missing.
    async fn find(&self, database: &str, name: &str) -> Result<Option<Found>> {
        let Some(folder) = self.database(database)? else { return Ok(None) };
        let mut failure = None;
        for reading in readings(name) {
            match self.check(&folder, reading).await {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(e) => failure = Some(e),
            }
        }
        failure.map_or(Ok(None), Err)
    }

    async fn check(&self, folder: &Location, name: Result<ObjectName>) -> Result<Option<Found>> {
        let name = name?;
        let is_known = |system: &String| SYSTEM_TABLES.contains(&system.as_str());
        if !is_folder_name(&name.table) || !name.system.as_ref().is_none_or(is_known) {
            return Ok(None);
        }
        let manager = SnapshotManager::new(self.storage.clone(), folder.join(&name.table)?, MAIN_BRANCH)?;
        let manager = manager.with_known(Arc::clone(&self.known));
        let schemas = manager.first_look().await?;
        if !has_schema(&schemas) {
            return Ok(None);
        }
        let Some(branch) = &name.branch else { return Ok(Some(Found { name, manager, schemas })) };
        let missing = || Error::not_found(format!("the table '{}' has no branch '{branch}'", name.table));
        if !is_folder_name(branch) {
            return Err(missing());
        }
        let manager = manager.with_branch(branch)?;
        let schemas = manager.first_look().await?;
        if has_schema(&schemas) { Ok(Some(Found { name, manager, schemas })) } else { Err(missing()) }
    }

    fn database(&self, name: &str) -> Result<Option<Location>> {
        is_folder_name(name).then(|| self.location.join(&format!("{name}{DATABASE_SUFFIX}"))).transpose()
    }
}

/// Whether a folder of schemas has one: then it is one of a table or branch.
fn has_schema(schemas: &Listing) -> bool {
    schemas.files.iter().any(|name| name.starts_with(SCHEMA_PREFIX))
}
