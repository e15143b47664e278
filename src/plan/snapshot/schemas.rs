//! Schemas of a branch, by id. Java: `SchemaManager`.

use std::sync::{Arc, PoisonError};

use super::SnapshotManager;
use crate::error::{Error, Result};
use crate::spec::table_schema::TableSchema;

impl SnapshotManager {
    /// The ids of all schemas, ascending.
    pub async fn schema_ids(&self) -> Result<Vec<i64>> {
        self.numbered("schema", "schema-").await
    }

    /// The schema of that id; an error where there is none. Read once.
    pub async fn schema(&self, id: i64) -> Result<Arc<TableSchema>> {
        let kept = self.schemas.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(schema) = kept {
            return Ok(schema);
        }
        let location = self.folder.join(&format!("schema/schema-{id}"))?;
        let Some(schema) = self.read_json(&location, TableSchema::from_json).await? else {
            return Err(self.missing_schema(id).await?);
        };
        let schema = Arc::new(schema);
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&schema));
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
        if let Some(id) = self.schema_ids().await?.pop() {
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
