//! A store that takes its time, counts what is under way, and fails when it is told to: [`SlowStore`].

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// What was, and is, under way.
#[derive(Debug, Default, Clone)]
pub struct Counts {
    pub begun: usize,
    pub running: usize,
    pub most_running: usize,
    pub running_bytes: u64,
    pub most_running_bytes: u64,
}

/// Which reads fail: of a file whose path holds `path`, those from `from` on, `times` times.
#[derive(Debug, Clone)]
pub struct Fault {
    pub path: String,
    pub from: u64,
    pub times: usize,
}

#[derive(Debug)]
pub struct SlowStore {
    inner: Arc<dyn ObjectStore>,
    latency: Duration,
    counts: Arc<Mutex<Counts>>,
    fault: Mutex<Option<Fault>>,
}

/// A read that is under way; it is not any more when this is dropped.
struct Running(Arc<Mutex<Counts>>, u64);

impl Drop for Running {
    fn drop(&mut self) {
        let mut counts = self.0.lock().unwrap();
        counts.running -= 1;
        counts.running_bytes -= self.1;
    }
}

impl SlowStore {
    pub fn new(inner: Arc<dyn ObjectStore>, latency: Duration) -> Arc<Self> {
        Arc::new(Self { inner, latency, counts: Arc::default(), fault: Mutex::default() })
    }

    pub fn counts(&self) -> Counts {
        self.counts.lock().unwrap().clone()
    }

    pub fn fail(&self, fault: Fault) {
        *self.fault.lock().unwrap() = Some(fault);
    }

    /// Only reads of data files count.
    fn begin(&self, path: &Path, range: Option<&GetRange>) -> Option<Running> {
        path.extension().filter(|extension| ["parquet", "orc", "avro"].contains(extension))?;
        let bytes = match range {
            Some(GetRange::Bounded(Range { start, end })) => end - start,
            _ => 0,
        };
        let mut counts = self.counts.lock().unwrap();
        counts.begun += 1;
        counts.running += 1;
        counts.running_bytes += bytes;
        counts.most_running = counts.most_running.max(counts.running);
        counts.most_running_bytes = counts.most_running_bytes.max(counts.running_bytes);
        Some(Running(Arc::clone(&self.counts), bytes))
    }

    fn fails(&self, path: &Path, range: Option<&GetRange>) -> bool {
        let mut fault = self.fault.lock().unwrap();
        let Some(fault) = fault.as_mut() else { return false };
        let from = match range {
            Some(GetRange::Bounded(range)) => range.start,
            _ => 0,
        };
        let fails = fault.times > 0 && path.as_ref().contains(&fault.path) && from >= fault.from;
        fault.times -= usize::from(fails);
        fails
    }
}

impl fmt::Display for SlowStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SlowStore({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for SlowStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(&self, path: &Path, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let _running = self.begin(location, options.range.as_ref());
        tokio::time::sleep(self.latency).await;
        if self.fails(location, options.range.as_ref()) {
            return Err(Error::Generic { store: "slow", source: "the wire was cut".into() });
        }
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
