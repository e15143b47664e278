//! Ranged reads over object stores.
//!
//! In: a path with or without a scheme. Out: bytes. [`Storage`] finds the store of a [`Location`], [`InputFile`] is one
//! immutable file of it whose ranges are read coalesced. Knows nothing of Paimon.

pub mod coalesce;
mod gate;
mod location;
mod page_cache;
mod recording;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::RuntimeEnv;
use futures::future::try_join_all;
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt};
use tracing::{Instrument, debug_span};
use url::Url;

use crate::error::{Error, ErrorKind, Result};

pub use coalesce::Coalescing;
pub use gate::RequestGate;
pub use location::Location;
use page_cache::Disk;
pub use recording::{RecordingStore, Request};

/// The object stores of a session.
#[derive(Clone)]
pub struct Storage {
    registry: Arc<dyn ObjectStoreRegistry>,
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Storage")
    }
}

/// What a folder holds, names only, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Names of the folders in it.
    pub folders: Vec<String>,
    /// Names of the files in it.
    pub files: Vec<String>,
    /// What tells each of the files from others of the same name.
    pub stamps: Vec<FileStamp>,
}

/// What tells one version of a file from another of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileStamp {
    size_bytes: u64,
    modified_nanos: Option<i64>,
    tag: Option<String>,
}

impl FileStamp {
    fn of(file: &ObjectMeta) -> Self {
        let modified_nanos = file.last_modified.timestamp_nanos_opt();
        Self { size_bytes: file.size, modified_nanos, tag: file.e_tag.clone() }
    }

    /// Whether it is certain that both are of the same version. Times do not tell: a listing has more digits of them
    /// than an answer's header.
    pub fn is_same_version(&self, other: &Self) -> bool {
        self.tag.is_some() && self.tag == other.tag && self.size_bytes == other.size_bytes
    }
}

impl Storage {
    /// The stores that are registered with a runtime.
    pub fn new(runtime: &RuntimeEnv) -> Self {
        Self { registry: Arc::clone(&runtime.object_store_registry) }
    }

    /// The store of a location: the registered one, else one made from the environment (`AWS_ENDPOINT` …) where the
    /// scheme is one of a store that this build has.
    fn store(&self, location: &Location) -> Result<Arc<dyn ObjectStore>> {
        self.store_at(&location.store_url()?)
    }

    fn store_at(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if let Ok(store) = self.registry.get_store(url) {
            return Ok(store);
        }
        let (store, _) = object_store::parse_url_opts(url, std::env::vars()).map_err(|e| {
            Error::new(ErrorKind::Storage, format!("no object store is registered for '{url}', and none can be made"))
                .caused_by(e)
        })?;
        let store: Arc<dyn ObjectStore> = store.into();
        self.registry.register_store(url, Arc::clone(&store));
        Ok(store)
    }

    /// The file at a location; `size_bytes` where it is known beforehand.
    pub fn file(&self, location: &Location, size_bytes: Option<u64>) -> Result<InputFile> {
        let url = location.store_url()?;
        let mut file = InputFile::new(self.store_at(&url)?, location.path().clone(), size_bytes);
        file.store_url = Some(url.as_str().into());
        file.disk = if location.is_local() { Disk::of(file.store.as_ref()) } else { None };
        Ok(file)
    }

    /// The whole file at a location.
    pub async fn read(&self, location: &Location) -> Result<Bytes> {
        self.file(location, None)?.read().await
    }

    /// The whole file at a location, `None` where there is none.
    pub async fn read_optional(&self, location: &Location) -> Result<Option<Bytes>> {
        match self.read(location).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The whole file at a location, and which version of it that is; `None` where there is none.
    pub async fn read_stamped(&self, location: &Location) -> Result<Option<(Bytes, FileStamp)>> {
        let read = async {
            let answer = self.store(location)?.get(location.path()).await?;
            let stamp = FileStamp::of(&answer.meta);
            Result::<_, Error>::Ok((answer.bytes().await?, stamp))
        };
        match read.await {
            Ok(read) => Ok(Some(read)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e.in_file(location)),
        }
    }

    /// Whether a file (not a folder) is there.
    pub async fn exists(&self, location: &Location) -> Result<bool> {
        match self.store(location)?.head(location.path()).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(e) => Err(Error::from(e).in_file(location)),
        }
    }

    /// What a folder holds; nothing where there is no such folder.
    pub async fn list(&self, folder: &Location) -> Result<Listing> {
        let listed = self.store(folder)?.list_with_delimiter(Some(folder.path())).await;
        let listed = match listed {
            Err(object_store::Error::NotFound { .. }) => return Ok(Listing::default()),
            other => other.map_err(|e| Error::from(e).in_file(folder))?,
        };
        let names = |paths: &mut dyn Iterator<Item = &Path>| {
            let mut names: Vec<_> = paths.filter_map(|p| p.filename()).map(str::to_owned).collect();
            names.sort_unstable();
            names
        };
        let stamp = |file: &ObjectMeta| Some((file.location.filename()?.to_owned(), FileStamp::of(file)));
        let mut files: Vec<_> = listed.objects.iter().filter_map(stamp).collect();
        files.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let (files, stamps) = files.into_iter().unzip();
        Ok(Listing { folders: names(&mut listed.common_prefixes.iter()), files, stamps })
    }
}

/// What was asked of a store, summed up; shared by the files of one reader.
#[derive(Debug, Default)]
pub struct IoStats {
    requests: AtomicU64,
    bytes: AtomicU64,
    nanos: AtomicU64,
}

impl IoStats {
    /// How many calls were made of the store.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// How many bytes came back.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How long the calls took, summed over calls, in nanoseconds.
    pub fn nanos(&self) -> u64 {
        self.nanos.load(Ordering::Relaxed)
    }

    fn add(&self, since: Instant, bytes: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.nanos.fetch_add(u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// One immutable file.
#[derive(Clone)]
pub struct InputFile {
    store: Arc<dyn ObjectStore>,
    /// Which of the session's stores it is; unknown for a file made by hand.
    store_url: Option<Arc<str>>,
    path: Path,
    size_bytes: Option<u64>,
    /// The local disk, where that is its store and nothing else.
    disk: Option<Disk>,
    stats: Option<Arc<IoStats>>,
    gate: Option<Arc<RequestGate>>,
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputFile({})", self.path)
    }
}

impl InputFile {
    /// A file of a store; `size_bytes` where it is known beforehand.
    pub fn new(store: Arc<dyn ObjectStore>, path: Path, size_bytes: Option<u64>) -> Self {
        Self { store, store_url: None, path, size_bytes, disk: None, stats: None, gate: None }
    }

    /// The same file, whose reads are counted.
    #[must_use]
    pub fn with_stats(self, stats: Arc<IoStats>) -> Self {
        Self { stats: Some(stats), ..self }
    }

    /// The same file, whose requests pass a gate that others use too.
    #[must_use]
    pub fn with_gate(self, gate: Arc<RequestGate>) -> Self {
        Self { gate: Some(gate), ..self }
    }

    /// Whether it lies on a disk of this machine, where a read costs no round trip.
    pub fn is_local(&self) -> bool {
        self.store_url.as_deref().is_some_and(|url| url.starts_with("file:"))
    }

    /// How many bytes come back when some ranges are read.
    pub fn fetched_bytes(&self, ranges: &[Range<u64>]) -> u64 {
        match self.is_local() {
            true => ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum(),
            false => self.coalescing().fetched_bytes(ranges),
        }
    }

    fn coalescing(&self) -> Coalescing {
        self.gate.as_ref().map(|gate| gate.coalescing).unwrap_or_default()
    }

    fn count(&self, since: Instant, bytes: u64) {
        if let Some(stats) = &self.stats {
            stats.add(since, bytes);
        }
    }

    /// Scheme and authority of its store; unknown for a file that was not found through [`Storage`]. With the path it
    /// names the file in the whole session.
    pub fn store_url(&self) -> Option<&str> {
        self.store_url.as_deref()
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
        let since = Instant::now();
        let bytes = match self.disk.and_then(|disk| disk.file(&self.path)) {
            Some(bytes) => bytes,
            None => {
                let read = async { self.store.get(&self.path).await?.bytes().await };
                let read = read.instrument(debug_span!("fetch", file = %self.path));
                read.await.map_err(|e| Error::from(e).in_file(&self.path))?
            }
        };
        self.count(since, bytes.len() as u64);
        Ok(bytes)
    }

    /// The first bytes of it: as many as asked for, or all where it is shorter.
    pub async fn read_start(&self, bytes: u64) -> Result<Bytes> {
        let since = Instant::now();
        let options = GetOptions { range: Some((0..bytes).into()), ..GetOptions::default() };
        let read = async { self.store.get_opts(&self.path, options).await?.bytes().await };
        let read = read.instrument(debug_span!("fetch", file = %self.path, bytes));
        let bytes = read.await.map_err(|e| Error::from(e).in_file(&self.path))?;
        self.count(since, bytes.len() as u64);
        Ok(bytes)
    }

    /// One range of it; an error when the file is shorter.
    pub async fn read_range(&self, range: Range<u64>) -> Result<Bytes> {
        let bytes = self.read_ranges(std::slice::from_ref(&range)).await?.pop();
        bytes.ok_or_else(|| Error::internal("the store gave no bytes for a range").in_file(&self.path))
    }

    /// Several ranges, in the order asked for; near ones come with one request. An error when the file is shorter.
    pub async fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = |ranges: &[Range<u64>]| ranges.iter().map(|r| r.end.saturating_sub(r.start)).sum::<u64>();
        let span = debug_span!("fetch", file = %self.path, ranges = ranges.len(), bytes = bytes(ranges));
        self.read_whole_ranges(ranges).instrument(span).await
    }

    async fn read_whole_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let parts = match self.is_local() {
            true => self.read_local(ranges).await?,
            false => self.read_coalesced(ranges).await?,
        };
        for (range, part) in ranges.iter().zip(&parts) {
            let want = range.end.saturating_sub(range.start);
            if part.len() as u64 != want {
                let (start, got) = (range.start, part.len() as u64);
                let message = format!("the file ends early: wanted {want} bytes at {start}, it has {got} there");
                return Err(Error::corrupt(message).in_file(&self.path));
            }
        }
        Ok(parts)
    }

    /// All ranges with one call.
    async fn read_local(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let since = Instant::now();
        if let Some(parts) = self.disk.and_then(|disk| disk.ranges(&self.path, ranges)) {
            self.count(since, parts.iter().map(|p| p.len() as u64).sum());
            return Ok(parts);
        }
        let parts = match self.store.get_ranges(&self.path, ranges).await {
            Ok(parts) => parts,
            Err(e) => return Err(self.failure(e, ranges.iter().map(|range| range.end).max()).await),
        };
        self.count(since, parts.iter().map(|p| p.len() as u64).sum());
        Ok(parts)
    }

    /// With as few requests as are good, all under way at a time as far as the gate lets them.
    async fn read_coalesced(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let idle = self.gate.as_ref().map_or(1, |gate| gate.idle());
        let requests = self.coalescing().requests(ranges, idle);
        let parts = try_join_all(requests.iter().map(|range| self.request(range.clone()))).await?;
        let part = |range| coalesce::part(&requests, &parts, range).unwrap_or_default();
        Ok(ranges.iter().map(part).collect())
    }

    async fn request(&self, range: Range<u64>) -> Result<Bytes> {
        let _permit = match &self.gate {
            Some(gate) => gate.pass().await,
            None => None,
        };
        let since = Instant::now();
        let end = range.end;
        let bytes = match self.store.get_range(&self.path, range).await {
            Ok(bytes) => bytes,
            Err(e) => return Err(self.failure(e, Some(end)).await),
        };
        self.count(since, bytes.len() as u64);
        Ok(bytes)
    }

    /// Why bytes up to `end` could not be read: stores say in many ways that a file is shorter.
    async fn failure(&self, error: object_store::Error, end: Option<u64>) -> Error {
        let error = Error::from(error).in_file(&self.path);
        if error.kind() != ErrorKind::Storage {
            return error;
        }
        match (self.store.head(&self.path).await, end) {
            (Ok(found), Some(end)) if found.size < end => {
                let (wanted, size) = (self.size_bytes.map_or(end, |size| size.max(end)), found.size);
                let message = format!("the file ends early: wanted {wanted} bytes, it has {size}");
                Error::corrupt(message).caused_by(error).in_file(&self.path)
            }
            _ => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use object_store::local::LocalFileSystem;
    use object_store::memory::InMemory;

    use super::*;

    #[tokio::test]
    async fn a_file_that_is_shorter_than_it_should_be_is_corrupt_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let local = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
        let stores: [Arc<dyn ObjectStore>; 2] = [Arc::new(InMemory::new()), Arc::new(local)];
        let path = Path::from("t/bucket-0/data-1.orc");
        for store in stores {
            store.put(&path, vec![7; 100].into()).await.unwrap();
            let mut file = InputFile::new(Arc::clone(&store), path.clone(), Some(150));
            for url in [None, Some("file:///")] {
                file.store_url = url.map(Arc::from);
                for (range, wanted) in [(120..150, "wanted 150 bytes, it has 100"), (90..150, "wanted")] {
                    let error = file.read_range(range).await.unwrap_err();
                    assert_eq!((error.kind(), error.file()), (ErrorKind::Corrupt, Some(path.as_ref())), "{error}");
                    assert!(error.to_string().contains(wanted), "{store} {error}");
                }
                assert_eq!(file.read_range(90..100).await.unwrap().len(), 10);
            }
            store.delete(&path).await.unwrap();
            assert_eq!(file.read_range(0..1).await.unwrap_err().kind(), ErrorKind::NotFound);
        }
    }
}
