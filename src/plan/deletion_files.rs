//! Finds the deletion vector of each data file.
//!
//! In: the index files of a snapshot. Out: by partition, bucket and name of the data file, where its vector lies: at the
//! entry's external path, in the folder of the data files, or in the table's folder `index/`. Java:
//! `IndexFileHandler.scanDVIndex`, `IndexPathFactory`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::spec::index_manifest::{DELETION_VECTORS_INDEX, IndexManifestEntry};
use crate::spec::layout;
use crate::spec::manifest_entry::ManifestEntry;
use crate::split::DeletionFile;

/// Partition, bucket and name of a data file.
type FileKey = (Arc<[u8]>, i32, String);

/// Gives the full path of the folder of a partition's bucket.
pub type BucketPath<'a> = &'a mut dyn FnMut(&[u8], i32) -> Result<String>;

/// The deletion vectors of a snapshot.
#[derive(Debug, Default)]
pub struct DeletionFiles {
    by_file: HashMap<FileKey, DeletionFile>,
}

impl DeletionFiles {
    /// The vectors of the given index files. `bucket_path` gives the full path of the folder of a partition's bucket,
    /// where index files lie beside the data (option `index-file-in-data-file-dir`); otherwise it is `None`.
    pub fn new(index_files: Vec<IndexManifestEntry>, root: &str, bucket_path: Option<BucketPath<'_>>) -> Result<Self> {
        let mut by_file = HashMap::new();
        let mut bucket_path = bucket_path;
        for entry in index_files.into_iter().filter(|e| e.index_type == DELETION_VECTORS_INDEX) {
            let path = match (&entry.external_path, &mut bucket_path) {
                (Some(path), _) => path.clone(),
                (None, Some(folder)) => format!("{}/{}", folder(&entry.partition, entry.bucket)?, entry.file_name),
                (None, None) => format!("{root}/{}", layout::index(&entry.file_name)),
            };
            for vector in &entry.deletion_vectors {
                let key = (Arc::clone(&entry.partition), entry.bucket, vector.data_file_name.clone());
                let file = DeletionFile {
                    path: path.clone(),
                    file_size_bytes: u64::try_from(entry.file_size).unwrap_or(0),
                    offset: vector.offset,
                    length: vector.length,
                    cardinality: vector.cardinality,
                };
                by_file.insert(key, file);
            }
        }
        Ok(Self { by_file })
    }

    /// Whether no file has deleted rows.
    pub fn is_empty(&self) -> bool {
        self.by_file.is_empty()
    }

    /// Where the vector of an entry's file lies.
    pub fn of(&self, entry: &ManifestEntry) -> Option<DeletionFile> {
        if self.by_file.is_empty() {
            return None;
        }
        let key = (Arc::clone(&entry.partition), entry.bucket, entry.file.file_name.clone());
        self.by_file.get(&key).cloned()
    }
}
