//! Stand-in for the table provider: an empty table whose one column tells which options it was opened with.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use chrono_tz::Tz;
use datafusion::catalog::Session;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::error::{Error, Result};
use crate::storage::{Location, Storage};

/// A Paimon table in DataFusion.
#[derive(Debug)]
pub struct PaimonTableProvider {
    name: String,
    told: String,
    storage: Storage,
    location: Location,
    branch: Option<String>,
    options: BTreeMap<String, String>,
}

impl PaimonTableProvider {
    /// Opens the table at `location`; `options` are dynamic options that overlay the table's own. `branch` = None is main.
    pub async fn open(
        storage: &Storage,
        location: &Location,
        branch: Option<&str>,
        options: BTreeMap<String, String>,
        zone: Tz,
    ) -> Result<Self> {
        let schema = location.join("schema/schema-0")?;
        let bytes = storage.read(&schema).await?;
        serde_json::from_slice::<serde_json::Value>(&bytes)
            .map_err(|e| Error::corrupt("a schema must be JSON").in_file(&schema).caused_by(e))?;
        let told = format!("{} {branch:?} {options:?} {zone}", location.name());
        let (name, branch) = (location.name().to_owned(), branch.map(str::to_owned));
        Ok(Self { name, told, storage: storage.clone(), location: location.clone(), branch, options })
    }

    /// The same table with further dynamic options, re-resolved.
    pub async fn with_options(&self, options: BTreeMap<String, String>, zone: Tz) -> Result<Self> {
        let mut all = self.options.clone();
        all.extend(options);
        Self::open(&self.storage, &self.location, self.branch.as_deref(), all, zone).await
    }

    /// The name of the table.
    pub fn name(&self) -> &str {
        &self.name
    }
}

#[async_trait]
impl TableProvider for PaimonTableProvider {
    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("told", DataType::Utf8, false)]))
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> datafusion::error::Result<Arc<dyn ExecutionPlan>> {
        let rows = Arc::new(StringArray::from(vec![self.told.clone()]));
        let batch = RecordBatch::try_new(self.schema(), vec![rows])?;
        let table = MemTable::try_new(self.schema(), vec![vec![batch]])?;
        table.scan(state, projection, filters, limit).await
    }
}
