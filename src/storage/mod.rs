//! Ranged reads over object stores.
//!
//! In: a path with or without a scheme. Out: bytes. [`Storage`] finds the store of a location, [`InputFile`] is one
//! immutable file of it whose ranges are read coalesced. Knows nothing of Paimon.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::error::{Error, Result};

/// One immutable file.
#[derive(Clone)]
pub struct InputFile {
    store: Arc<dyn ObjectStore>,
    path: Path,
    size_bytes: Option<u64>,
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputFile({})", self.path)
    }
}

impl InputFile {
    /// A file of a store; `size_bytes` where it is known beforehand.
    pub fn new(store: Arc<dyn ObjectStore>, path: Path, size_bytes: Option<u64>) -> Self {
        Self { store, path, size_bytes }
    }

    /// Its path inside the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size, asked of the store where it was not known.
    pub async fn size_bytes(&self) -> Result<u64> {
        match self.size_bytes {
            Some(size) => Ok(size),
            None => Ok(self.store.head(&self.path).await.map_err(|e| Error::from(e).in_file(&self.path))?.size),
        }
    }

    /// The whole file.
    pub async fn read(&self) -> Result<Bytes> {
        let read = async { self.store.get(&self.path).await?.bytes().await };
        read.await.map_err(|e| Error::from(e).in_file(&self.path))
    }

    /// One range of it; an error when the file is shorter.
    pub async fn read_range(&self, range: Range<u64>) -> Result<Bytes> {
        let bytes = self.read_ranges(std::slice::from_ref(&range)).await?.pop();
        bytes.ok_or_else(|| Error::internal("the store gave no bytes for a range").in_file(&self.path))
    }

    /// Several ranges, in the order asked for; near ones come with one request. An error when the file is shorter.
    pub async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let parts = self.store.get_ranges(&self.path, ranges).await.map_err(|e| Error::from(e).in_file(&self.path))?;
        for (range, part) in ranges.iter().zip(&parts) {
            let want = range.end.saturating_sub(range.start);
            if part.len() as u64 != want {
                let message = format!("ends early: wanted {want} bytes at {}, got {}", range.start, part.len());
                return Err(Error::corrupt(message).in_file(&self.path));
            }
        }
        Ok(parts)
    }
}
