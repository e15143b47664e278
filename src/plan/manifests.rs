//! Reads the manifest lists of a snapshot and the manifests they name.
//!
//! In: a [`Snapshot`] and the table's root. Out: manifest entries, ADD and DELETE alike, in the order of the lists.
//! Files are fetched at the same time, each decoded on a blocking thread.

use bytes::Bytes;
use datafusion::common::runtime::SpawnedTask;
use futures::{StreamExt, TryStreamExt, stream};

use crate::error::{Error, Result};
use crate::file::container::read_container;
use crate::spec::index_manifest::{IndexManifestEntry, index_files};
use crate::spec::layout;
use crate::spec::manifest_entry::{ManifestEntries, ManifestEntry};
use crate::spec::manifest_list::{ManifestFileMeta, manifest_files};
use crate::spec::snapshot::Snapshot;
use crate::storage::{Location, Storage};

/// How many manifests are under way at once.
const CONCURRENT_MANIFESTS: usize = 16;

/// Reads metadata files of one table.
#[derive(Debug, Clone)]
pub struct ManifestReader {
    storage: Storage,
    root: Location,
}

impl ManifestReader {
    /// A reader of the manifests below a table's root.
    pub fn new(storage: Storage, root: Location) -> Self {
        Self { storage, root }
    }

    /// The manifests of a snapshot: those before its commit, then those of its commit.
    pub async fn of_snapshot(&self, snapshot: &Snapshot) -> Result<Vec<ManifestFileMeta>> {
        let base = self.list(&snapshot.base_manifest_list);
        let delta = self.list(&snapshot.delta_manifest_list);
        let (mut manifests, delta) = futures::try_join!(base, delta)?;
        manifests.extend(delta);
        Ok(manifests)
    }

    /// The manifests that one list names.
    pub async fn list(&self, name: &str) -> Result<Vec<ManifestFileMeta>> {
        self.decode(&layout::manifest(name), manifest_files).await
    }

    /// The entries of manifests, one `Vec` for each.
    pub async fn entries(&self, manifests: &[ManifestFileMeta]) -> Result<Vec<Vec<ManifestEntry>>> {
        let names: Vec<_> = manifests.iter().map(|m| layout::manifest(&m.file_name)).collect();
        let read = names.into_iter().map(|path| {
            let reader = self.clone();
            SpawnedTask::spawn(
                async move { reader.decode(&path, |batch| ManifestEntries::new(batch)?.entries()).await },
            )
        });
        let joined = stream::iter(read).map(|task| async move {
            task.await.unwrap_or_else(|e| Err(Error::internal("reading a manifest was aborted").caused_by(e)))
        });
        joined.buffered(CONCURRENT_MANIFESTS).try_collect().await
    }

    /// The index files of a snapshot; none where it names no index manifest.
    pub async fn index_files(&self, snapshot: &Snapshot) -> Result<Vec<IndexManifestEntry>> {
        match &snapshot.index_manifest {
            Some(name) => self.decode(&layout::manifest(name), index_files).await,
            None => Ok(vec![]),
        }
    }

    /// Reads a container and decodes its batches away from the async runtime.
    pub async fn decode<T: Send + 'static>(
        &self,
        path: &str,
        rows: fn(&arrow::array::RecordBatch) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        let location = self.root.join(path)?;
        let bytes: Bytes = self.storage.read(&location).await?;
        let decoded = SpawnedTask::spawn_blocking(move || {
            let batches = read_container(bytes, &[])?;
            let decoded = batches.iter().map(rows).collect::<Result<Vec<_>>>()?;
            Ok(decoded.into_iter().flatten().collect())
        });
        let decoded = decoded.await.unwrap_or_else(|e| Err(Error::internal("decoding was aborted").caused_by(e)));
        decoded.map_err(|e: Error| e.in_file(&location))
    }

    /// The table's root.
    pub fn root(&self) -> &Location {
        &self.root
    }
}
