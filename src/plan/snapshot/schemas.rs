//! Schemas of a branch, by id. Java: `SchemaManager`.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use futures::join;

use super::{SnapshotManager, number};
use crate::error::{Error, Result};
use crate::spec::table_schema::TableSchema;
use crate::storage::{FileStamp, Listing, Location};

impl SnapshotManager {
    /// The ids of all schemas, ascending.
    pub async fn schema_ids(&self) -> Result<Vec<i64>> {
        let listing = self.storage.list(&self.schema_folder()?).await?;
        Ok(self.listed(&listing))
    }

    /// The files in the folder of the schemas. Of a branch that was not read before, what is asked for next is fetched
    /// beside: the first schema, which most tables keep, and the hint at the latest snapshot. Both are remembered and
    /// are no more than where a later search begins, so that nothing is read that is older than this call.
    pub async fn first_look(&self) -> Result<Listing> {
        let folder = self.schema_folder()?;
        let branch = self.folder.to_string();
        if self.known.latest(&branch).is_some() {
            return self.storage.list(&folder).await;
        }
        let first = folder.join("schema-0")?;
        let (listing, schema, hint) =
            join!(self.storage.list(&folder), self.storage.read_stamped(&first), self.hint("LATEST"));
        let listing = listing?;
        if let Some(id) = hint {
            self.known.suppose_latest(&branch, id);
        }
        let listed = listing.files.iter().zip(&listing.stamps).find(|(name, _)| *name == first.name());
        // Whatever is wrong with the file is said when it is asked for.
        if let (Some((_, stamp)), Ok(Some((bytes, read)))) = (listed, schema)
            && stamp.is_same_version(&read)
            && let Ok(schema) = TableSchema::from_json(&bytes)
        {
            self.known.remember_schema((first.to_string(), stamp.clone()), &Arc::new(schema));
        }
        Ok(listing)
    }

    /// The folder that holds the schemas of the branch.
    pub fn schema_folder(&self) -> Result<Location> {
        self.folder.join("schema")
    }

    /// Notes the files of a listing; the ids of its schemas, ascending.
    fn listed(&self, listing: &Listing) -> Vec<i64> {
        let files = listing.files.iter().zip(&listing.stamps);
        let stamps: HashMap<i64, FileStamp> =
            files.filter_map(|(name, stamp)| Some((number(name, "schema-")?, stamp.clone()))).collect();
        let mut ids: Vec<i64> = stamps.keys().copied().collect();
        ids.sort_unstable();
        *self.stamps.lock().unwrap_or_else(PoisonError::into_inner) = stamps;
        ids
    }

    /// The schema of that id; an error where there is none. Read once, as long as its file is the same.
    pub async fn schema(&self, id: i64) -> Result<Arc<TableSchema>> {
        let location = self.schema_folder()?.join(&format!("schema-{id}"))?;
        let stamp = self.stamps.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        let key = stamp.map(|stamp| (location.to_string(), stamp));
        let kept = match &key {
            Some(key) => self.known.schema(key),
            None => self.schemas.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned(),
        };
        if let Some(schema) = kept {
            return Ok(schema);
        }
        let Some(schema) = self.read_json(&location, TableSchema::from_json).await? else {
            return Err(self.missing_schema(id).await?);
        };
        let schema = Arc::new(schema);
        match key {
            Some(key) => self.known.remember_schema(key, &schema),
            None => drop(self.schemas.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&schema))),
        }
        Ok(schema)
    }

    async fn missing_schema(&self, id: i64) -> Result<Error> {
        let ids = self.schema_ids().await?;
        let there = match (ids.first(), ids.last()) {
            (Some(first), Some(last)) => format!("schemas reach from {first} to {last}"),
            _ => "there is no schema".to_owned(),
        };
        Ok(Error::not_found(format!("schema {id} of {} does not exist; {there}", self.name())))
    }

    /// The newest schema, an error where there is none: then this is no table, or no branch of it.
    pub async fn latest_schema(&self) -> Result<Arc<TableSchema>> {
        match &self.moment {
            Some(moment) => moment.schema.get_or_try_init(|| self.find_latest_schema()).await.cloned(),
            None => self.find_latest_schema().await,
        }
    }

    /// The newest schema as it is now, whatever this plan has seen before.
    pub async fn find_latest_schema(&self) -> Result<Arc<TableSchema>> {
        self.newest_of(self.schema_ids().await?).await
    }

    /// The newest of the schemas that a listing of their folder has.
    pub async fn latest_schema_of(&self, listing: &Listing) -> Result<Arc<TableSchema>> {
        self.newest_of(self.listed(listing)).await
    }

    async fn newest_of(&self, mut ids: Vec<i64>) -> Result<Arc<TableSchema>> {
        if let Some(id) = ids.pop() {
            return self.schema(id).await;
        }
        self.check_branch().await?;
        Err(Error::not_found(format!("{} is no Paimon table: there is no file 'schema/schema-N'", self.name())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{schema_file, table};

    #[tokio::test]
    async fn the_newest_schema_has_the_largest_number() {
        let stray = ("schema/.schema-77.tmp".to_owned(), String::new());
        let files = [schema_file(2, "a", ""), schema_file(10, "b", ""), schema_file(9, "c", ""), stray];
        let m = table("main", &files).await;
        assert_eq!(m.schema_ids().await.unwrap(), [2, 9, 10]);
        assert_eq!(m.latest_schema().await.unwrap().fields[0].name, "b");
        assert_eq!(m.schema(2).await.unwrap().fields[0].name, "a");
        let e = m.schema(3).await.unwrap_err();
        assert!(e.to_string().contains("schema 3 of memory:///t does not exist; schemas reach from 2 to 10"), "{e}");
    }

    #[tokio::test]
    async fn a_folder_without_schemas_is_no_table() {
        let m = table("main", &[]).await;
        assert!(m.latest_schema().await.unwrap_err().to_string().contains("memory:///t is no Paimon table"));
        let e = m.with_branch("b").unwrap().latest_schema().await.unwrap_err();
        assert!(e.to_string().contains("branch 'b' of memory:///t does not exist; there is no branch"), "{e}");
    }
}
