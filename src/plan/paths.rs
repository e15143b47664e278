//! Full paths of data files: [`DataPaths`].
//!
//! In: a table's root, its options and partition columns. Out: the path of an entry's file: its external path, or the
//! folder of its partition and bucket. The folder of a partition is spelled once.

use std::collections::HashMap;
use std::sync::Arc;

use chrono_tz::Tz;

use crate::error::Result;
use crate::options::TableOptions;
use crate::spec::binary_row::BinaryRow;
use crate::spec::data_type::{DataField, DataType};
use crate::spec::layout;
use crate::spec::manifest_entry::ManifestEntry;
use crate::spec::partition_path::partition_path;

/// Spells the paths of the data files of a table.
#[derive(Debug, Clone)]
pub struct DataPaths {
    root: String,
    directory: Option<String>,
    fields: Vec<DataField>,
    types: Vec<DataType>,
    default_name: String,
    legacy_names: bool,
    zone: Tz,
    folders: HashMap<Arc<[u8]>, String>,
}

impl DataPaths {
    /// Paths below `root` of a table with the given partition columns.
    pub fn new(root: String, fields: Vec<DataField>, options: &TableOptions, zone: Tz) -> Self {
        Self {
            root,
            directory: options.data_file_path_directory.clone(),
            types: fields.iter().map(|f| f.data_type.clone()).collect(),
            fields,
            default_name: options.partition_default_name.clone(),
            legacy_names: options.partition_legacy_name,
            zone,
            folders: HashMap::new(),
        }
    }

    /// The full path of the file of an entry.
    pub fn of(&mut self, entry: &ManifestEntry) -> Result<String> {
        match &entry.file.external_path {
            Some(path) => Ok(path.clone()),
            None => Ok(format!("{}/{}", self.bucket(&entry.partition, entry.bucket)?, entry.file.file_name)),
        }
    }

    /// The full path of the folder of a bucket.
    pub fn bucket(&mut self, partition: &[u8], bucket: i32) -> Result<String> {
        if !self.folders.contains_key(partition) {
            let row = BinaryRow::from_serialized(partition)?.decode(&self.types)?;
            let path = partition_path(&self.fields, &row, &self.default_name, self.legacy_names, self.zone)?;
            self.folders.insert(partition.into(), path);
        }
        let folder = self.folders.get(partition).map(String::as_str).unwrap_or_default();
        Ok(format!("{}/{}", self.root, layout::bucket_path(self.directory.as_deref(), folder, bucket)))
    }
}
