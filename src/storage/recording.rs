//! A store that writes down what is asked of it: [`RecordingStore`].
//!
//! In: another store. Out: the same answers, and a log of all reads in the order in which they began. For tests that say
//! which requests a query makes, and for finding out why one is slow.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// One read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Whether a file is there, and its size.
    Head(Path),
    /// A whole file, or one range of it.
    Get(Path, Option<GetRange>),
    /// Several ranges of a file, which the store may coalesce.
    GetRanges(Path, Vec<Range<u64>>),
    /// What a folder holds.
    List(Option<Path>),
}

impl Request {
    /// The file or folder that is asked for; empty for the root of the store.
    pub fn path(&self) -> &str {
        match self {
            Request::Head(path) | Request::Get(path, _) | Request::GetRanges(path, _) => path.as_ref(),
            Request::List(path) => path.as_ref().map(Path::as_ref).unwrap_or_default(),
        }
    }
}

/// Passes everything on to another store, and keeps a log of reads.
#[derive(Debug)]
pub struct RecordingStore {
    inner: Arc<dyn ObjectStore>,
    log: Mutex<Log>,
    answer_after: Duration,
}

/// What was asked for, and how much of it one after the other.
#[derive(Debug, Default)]
struct Log {
    requests: Vec<Request>,
    /// The most requests in a row, each begun when the one before it was answered, of which all are answered.
    answered: usize,
    /// The same, of which the last one is begun.
    begun: usize,
}

impl fmt::Display for RecordingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordingStore({})", self.inner)
    }
}

impl RecordingStore {
    /// Records what is asked of `inner`.
    pub fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self { inner, log: Mutex::default(), answer_after: Duration::ZERO }
    }

    /// The same, but every read takes at least so long.
    #[must_use]
    pub fn answering_after(self, answer_after: Duration) -> Self {
        Self { answer_after, ..self }
    }

    async fn wait(&self) {
        if !self.answer_after.is_zero() {
            tokio::time::sleep(self.answer_after).await;
        }
    }

    /// The reads since the last call.
    pub fn take(&self) -> Vec<Request> {
        std::mem::take(&mut self.log().requests)
    }

    /// How many requests came one after the other since the last call, those that were under way at the same time
    /// counted once: how often a query waits for the store.
    pub fn take_waits(&self) -> usize {
        let mut log = self.log();
        log.answered = 0;
        std::mem::take(&mut log.begun)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request; its place in a row of requests.
    fn begin(&self, request: Request) -> usize {
        let mut log = self.log();
        log.requests.push(request);
        let place = log.answered + 1;
        log.begun = log.begun.max(place);
        place
    }

    fn end(&self, place: usize) {
        let mut log = self.log();
        log.answered = log.answered.max(place);
    }
}

#[async_trait]
impl ObjectStore for RecordingStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let place = self.begin(match options.head {
            true => Request::Head(location.clone()),
            false => Request::Get(location.clone(), options.range.clone()),
        });
        self.wait().await;
        let got = self.inner.get_opts(location, options).await;
        self.end(place);
        got
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let place = self.begin(Request::GetRanges(location.clone(), ranges.to_vec()));
        self.wait().await;
        let got = self.inner.get_ranges(location, ranges).await;
        self.end(place);
        got
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.begin(Request::List(prefix.cloned()));
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let place = self.begin(Request::List(prefix.cloned()));
        self.wait().await;
        let got = self.inner.list_with_delimiter(prefix).await;
        self.end(place);
        got
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
