//! Reads the manifest lists of a snapshot and the manifests they name.
//!
//! In: a [`Snapshot`] and the table's root. Out: manifest entries, ADD and DELETE alike, in the order of the lists.
//! Files are fetched at the same time, each decoded on a blocking thread.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::Bytes;
use datafusion::common::runtime::SpawnedTask;
use futures::{StreamExt, TryStreamExt, stream};

use super::prune::{EntrySelection, Pruning, SeenEntries};
use super::report::Kept;
use super::snapshot::SnapshotManager;
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
        self.each(manifests, |reader, path| async move {
            reader.decode(&path, |batch| ManifestEntries::new(batch)?.entries()).await
        })
        .await
    }

    /// The entries of manifests that a scan wants, one `Vec` for each; only these are decoded as a whole. The schemas of
    /// the entries are looked up with `manager`.
    pub async fn selected_entries(
        &self,
        manifests: &[ManifestFileMeta],
        pruning: &Arc<Pruning>,
        manager: &SnapshotManager,
    ) -> Result<Vec<Vec<ManifestEntry>>> {
        if pruning.is_idle() {
            let all = self.entries(manifests).await?;
            let entries = all.iter().map(Vec::len).sum();
            pruning.count(|report| report.entries = Kept { seen: entries, kept: entries });
            return Ok(all);
        }
        let selected = self.each(manifests, |reader, path| {
            let (pruning, manager) = (Arc::clone(pruning), manager.clone());
            async move { reader.select(&path, pruning, &manager).await }
        });
        let (entries, seen): (Vec<_>, Vec<_>) = selected.await?.into_iter().unzip();
        SeenEntries::count(seen, pruning);
        Ok(entries)
    }

    /// Does something with each manifest, some at once, in tasks of their own; in order.
    async fn each<T, F>(&self, manifests: &[ManifestFileMeta], read: impl Fn(Self, String) -> F) -> Result<Vec<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let tasks: Vec<F> = manifests.iter().map(|m| read(self.clone(), layout::manifest(&m.file_name))).collect();
        let joined = stream::iter(tasks).map(|task| async move {
            let task = SpawnedTask::spawn(task).await;
            task.unwrap_or_else(|e| Err(Error::internal("reading a manifest was aborted").caused_by(e)))
        });
        joined.buffered(CONCURRENT_MANIFESTS).try_collect().await
    }

    async fn select(&self, path: &str, pruning: Arc<Pruning>, manager: &SnapshotManager) -> Result<Selected> {
        let location = self.root.join(path)?;
        let bytes = self.storage.read(&location).await?;
        let first = Arc::clone(&pruning);
        let read = blocking(move || {
            let batches = read_container(bytes, &[])?;
            let unknown = first.unknown_schemas(distinct_schemas(&batches)?);
            let selected = if unknown.is_empty() { Some(select_in(&batches, &first)?) } else { None };
            Ok((batches, unknown, selected))
        });
        let (batches, unknown, selected) = read.await.map_err(|e| e.in_file(&location))?;
        if let Some(selected) = selected {
            return Ok(selected);
        }
        pruning.learn_schemas(manager, &unknown).await;
        blocking(move || select_in(&batches, &pruning)).await.map_err(|e| e.in_file(&location))
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
        rows: fn(&RecordBatch) -> Result<Vec<T>>,
    ) -> Result<Vec<T>> {
        let location = self.root.join(path)?;
        let bytes: Bytes = self.storage.read(&location).await?;
        let decoded = blocking(move || {
            let batches = read_container(bytes, &[])?;
            let decoded = batches.iter().map(rows).collect::<Result<Vec<_>>>()?;
            Ok(decoded.into_iter().flatten().collect())
        });
        decoded.await.map_err(|e| e.in_file(&location))
    }

    /// The table's root.
    pub fn root(&self) -> &Location {
        &self.root
    }
}

/// The wanted entries of a manifest, and what was seen of the others.
type Selected = (Vec<ManifestEntry>, SeenEntries);

/// Decodes away from the async runtime.
async fn blocking<T: Send + 'static>(decode: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let decoded = SpawnedTask::spawn_blocking(decode).await;
    decoded.unwrap_or_else(|e| Err(Error::internal("decoding was aborted").caused_by(e)))
}

fn select_in(batches: &[RecordBatch], pruning: &Pruning) -> Result<Selected> {
    let mut selection = EntrySelection::new(pruning);
    let mut wanted = vec![];
    for batch in batches {
        wanted.extend(selection.select(&ManifestEntries::new(batch)?)?);
    }
    Ok((wanted, selection.finish()))
}

fn distinct_schemas(batches: &[RecordBatch]) -> Result<HashSet<i64>> {
    let mut ids = HashSet::new();
    for batch in batches {
        let entries = ManifestEntries::new(batch)?;
        for row in 0..entries.len() {
            ids.insert(entries.schema_id(row)?);
        }
    }
    Ok(ids)
}
