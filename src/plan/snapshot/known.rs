//! What is remembered of metadata files from one query to the next: [`KnownMetadata`], and within one plan: [`Moment`].
//!
//! Schemas are remembered by where they lie and by what a listing says of their files, so that a table that was made anew
//! at the same place is read anew. The id of the latest snapshot is only where the search for it begins.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use tokio::sync::OnceCell;

use crate::spec::snapshot::Snapshot;
use crate::spec::table_schema::TableSchema;
use crate::storage::FileStamp;

/// How many schemas, and how many branches, are remembered.
const MAX_REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

/// Where a schema lies, and which version of the file it is.
type SchemaKey = (String, FileStamp);

/// What is remembered of the tables of a catalog, or of one table.
pub struct KnownMetadata {
    latest: Mutex<LruCache<String, i64>>,
    schemas: Mutex<LruCache<SchemaKey, Arc<TableSchema>>>,
}

impl Default for KnownMetadata {
    fn default() -> Self {
        let (latest, schemas) = (LruCache::new(MAX_REMEMBERED), LruCache::new(MAX_REMEMBERED));
        Self { latest: Mutex::new(latest), schemas: Mutex::new(schemas) }
    }
}

impl std::fmt::Debug for KnownMetadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KnownMetadata")
    }
}

impl KnownMetadata {
    /// The id that the latest snapshot of a branch, by its folder, had last.
    pub(super) fn latest(&self, folder: &str) -> Option<i64> {
        locked(&self.latest).get(folder).copied()
    }

    pub(super) fn remember_latest(&self, folder: &str, id: i64) {
        locked(&self.latest).put(folder.to_owned(), id);
    }

    /// The same of a branch of which nothing is remembered by now.
    pub(super) fn suppose_latest(&self, folder: &str, id: i64) {
        locked(&self.latest).get_or_insert(folder.to_owned(), || id);
    }

    pub(super) fn schema(&self, key: &SchemaKey) -> Option<Arc<TableSchema>> {
        locked(&self.schemas).get(key).cloned()
    }

    pub(super) fn remember_schema(&self, key: SchemaKey, schema: &Arc<TableSchema>) {
        locked(&self.schemas).put(key, Arc::clone(schema));
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one plan has looked up: the same question is answered alike until it is done.
#[derive(Debug, Default)]
pub(super) struct Moment {
    pub(super) schema: OnceCell<Arc<TableSchema>>,
    pub(super) snapshot: OnceCell<Option<Snapshot>>,
}
