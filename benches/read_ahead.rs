//! What reading ahead is worth on an object store: a query with each level of it, over a store that takes its time.
//!
//! ```text
//! cargo bench --features cli --bench read_ahead -- WAREHOUSE "SELECT sum(x) FROM paimon.db.t" [LATENCY_MILLIS] [MB_PER_SECOND]
//! ```
//! Each line is the least time of three runs in sessions of their own. Without arguments: a small table of the tests.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_paimon::{register, register_catalog};
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult,
};
use url::Url;

const ROUNDS: usize = 3;

const LEVELS: [(&str, &[(&str, &str)]); 5] = [
    ("nothing is read ahead", &[("enabled", "false"), ("warmup-level", "none")]),
    ("prefetch, warmup none", &[("warmup-level", "none")]),
    ("prefetch, warmup raw", &[("warmup-level", "raw")]),
    ("prefetch, warmup decoded", &[("warmup-level", "decoded")]),
    ("raw, budget of 8 MB", &[("warmup-level", "raw"), ("pre-buffer-limit", "8 mb")]),
];

/// What is asked of which warehouse, and how slow its store is.
struct Bench {
    warehouse: String,
    query: String,
    latency: Duration,
    bytes_per_second: f64,
}

impl Bench {
    fn from_arguments() -> Self {
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warehouse");
        let warehouse = arguments.next().unwrap_or_else(|| golden.display().to_string());
        let query = arguments.next().unwrap_or_else(|| "SELECT sum(quantity) FROM paimon.demo.orders".to_owned());
        let mut number = |default: f64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
        let latency = Duration::from_secs_f64(number(30.0) / 1e3);
        Self { warehouse, query, latency, bytes_per_second: number(50.0) * 1e6 }
    }

    fn session(&self, settings: &[(&str, &str)]) -> Result<SessionContext> {
        let config = SessionConfig::new().with_target_partitions(2);
        let context = SessionContext::new_with_config(config);
        let files = LocalFileSystem::new_with_prefix(&self.warehouse)?;
        let store = SlowFiles { files, latency: self.latency, bytes_per_second: self.bytes_per_second };
        let url = Url::parse("slow://warehouse").map_err(|e| datafusion::error::DataFusionError::External(e.into()))?;
        context.register_object_store(&url, Arc::new(store));
        register(&context)?;
        for (key, value) in settings {
            let state = context.state_ref();
            state.write().config_mut().options_mut().set(&format!("paimon.prefetch.{key}"), value)?;
        }
        register_catalog(&context, "paimon", "slow://warehouse")?;
        Ok(context)
    }

    async fn time(&self, settings: &[(&str, &str)]) -> Result<Duration> {
        let context = self.session(settings)?;
        let start = Instant::now();
        context.sql(&self.query).await?.collect().await?;
        Ok(start.elapsed())
    }
}

/// Files of which each answer takes a time, and each byte of it.
#[derive(Debug)]
struct SlowFiles {
    files: LocalFileSystem,
    latency: Duration,
    bytes_per_second: f64,
}

impl fmt::Display for SlowFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slow {}", self.files)
    }
}

#[async_trait::async_trait]
impl ObjectStore for SlowFiles {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        let answer = self.files.get_opts(location, options).await;
        let bytes = answer.as_ref().map_or(0, |answer| answer.range.end - answer.range.start);
        tokio::time::sleep(self.latency + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second)).await;
        answer
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        tokio::time::sleep(self.latency).await;
        self.files.list_with_delimiter(prefix).await
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.files.list(prefix)
    }

    async fn put_opts(&self, to: &Path, payload: PutPayload, options: PutOptions) -> object_store::Result<PutResult> {
        self.files.put_opts(to, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        to: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.files.put_multipart_opts(to, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.files.delete_stream(locations)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.files.copy_opts(from, to, options).await
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let bench = Bench::from_arguments();
    println!("{}", bench.query);
    for (name, settings) in LEVELS {
        let mut least = Duration::MAX;
        for _ in 0..ROUNDS {
            least = least.min(bench.time(settings).await?);
        }
        println!("{name:26} {:8.1} ms", least.as_secs_f64() * 1e3);
    }
    Ok(())
}
