//! Reads the manifest lists of a snapshot and the manifests they name.
//!
//! In: a [`Snapshot`] and the table's root. Out: packed manifest entries, ADD and DELETE alike, in the order of the
//! lists. Files are fetched at the same time, parts of large ones decoded on blocking threads; nothing goes on when the
//! future is dropped, but for what such a thread has begun.

use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::Bytes;
use datafusion::common::runtime::SpawnedTask;
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};

use super::decoders::Decoders;
use super::live_entries::PackedManifest;
use crate::error::{Error, Result};
use crate::file::container::{ContainerPart, container_parts, read_container};
use crate::spec::index_manifest::{IndexManifestEntry, index_files};
use crate::spec::layout;
use crate::spec::manifest_entry::ManifestEntries;
use crate::spec::manifest_list::{ManifestFileMeta, manifest_files};
use crate::spec::packed_entries::PackedEntries;
use crate::spec::snapshot::Snapshot;
use crate::storage::{Location, Storage};

/// How many manifests are under way at once.
const CONCURRENT_MANIFESTS: usize = 32;

/// How many entries are packed together; few, so that decoding them needs little memory.
const CHUNK_ROWS: usize = 1024;

/// Manifests up to this size are decoded where they are read.
const SMALL_MANIFEST_BYTES: usize = 64 << 10;

/// Large manifests are decoded in parts of this size, so that few of them keep all processors busy to the end.
const PART_BYTES: usize = 256 << 10;

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

    /// The entries of manifests, packed. Manifests are read at the same time, each in a task of its own.
    pub async fn packed(&self, manifests: Vec<ManifestFileMeta>) -> Result<Vec<Arc<PackedManifest>>> {
        let decoders = Arc::new(Decoders::default());
        let read = stream::iter(manifests).map(|manifest| {
            let (reader, decoders) = (self.clone(), Arc::clone(&decoders));
            async move {
                let task = SpawnedTask::spawn(async move { reader.packed_one(&manifest, &decoders).await }).await;
                task.unwrap_or_else(|e| Err(Error::internal("reading a manifest was aborted").caused_by(e)))
            }
        });
        read.buffered(CONCURRENT_MANIFESTS).try_collect().await
    }

    async fn packed_one(&self, manifest: &ManifestFileMeta, decoders: &Decoders) -> Result<Arc<PackedManifest>> {
        let location = self.root.join(&layout::manifest(&manifest.file_name))?;
        let bytes = self.storage.read(&location).await?;
        let chunks = chunks_of(bytes, decoders).await.map_err(|e: Error| e.in_file(&location))?;
        Ok(Arc::new(PackedManifest { name: manifest.file_name.as_str().into(), chunks }))
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

/// The entries of a manifest, packed. What takes less than the way to another thread is done here.
async fn chunks_of(bytes: Bytes, decoders: &Decoders) -> Result<Vec<Arc<PackedEntries>>> {
    let is_small = bytes.len() <= SMALL_MANIFEST_BYTES;
    let parts = container_parts(bytes, PART_BYTES)?;
    let chunks = match is_small {
        true => parts.into_iter().map(pack).collect::<Result<Vec<_>>>()?,
        false => {
            let packed = parts.into_iter().map(|part| decoders.decode(move || pack(part)));
            try_join_all(packed).await?
        }
    };
    Ok(chunks.into_iter().flatten().collect())
}

fn pack(part: ContainerPart) -> Result<Vec<Arc<PackedEntries>>> {
    let mut chunks = vec![];
    part.visit(CHUNK_ROWS, &mut |batch| {
        chunks.push(Arc::new(PackedEntries::pack(&ManifestEntries::new(&batch)?)?));
        Ok(())
    })?;
    Ok(chunks)
}

/// Decodes away from the async runtime.
pub(super) async fn blocking<T: Send + 'static>(decode: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let decoded = SpawnedTask::spawn_blocking(decode).await;
    decoded.unwrap_or_else(|e| Err(Error::internal("decoding was aborted").caused_by(e)))
}
