//! What reading ahead is worth on an object store: a query with each level of it, over a store that takes its time.
//!
//! ```text
//! cargo bench --features cli --bench read_ahead -- WAREHOUSE "SELECT sum(x) FROM paimon.db.t" [LATENCY_MILLIS] [MB_PER_SECOND]
//! ```
//! Each line is the least time of three runs in sessions of their own. Without arguments: a small table of the tests.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_paimon::{register, register_catalog};
use object_store::local::LocalFileSystem;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
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
    throttle: ThrottleConfig,
}

impl Bench {
    fn from_arguments() -> Self {
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warehouse");
        let warehouse = arguments.next().unwrap_or_else(|| golden.display().to_string());
        let query = arguments.next().unwrap_or_else(|| "SELECT sum(quantity) FROM paimon.demo.orders".to_owned());
        let mut number = |default: f64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
        let (latency, rate) = (number(30.0) / 1e3, number(50.0) * 1e6);
        let throttle = ThrottleConfig {
            wait_get_per_call: Duration::from_secs_f64(latency),
            wait_get_per_byte: Duration::from_secs_f64(1.0 / rate),
            wait_list_with_delimiter_per_call: Duration::from_secs_f64(latency),
            ..ThrottleConfig::default()
        };
        Self { warehouse, query, throttle }
    }

    fn session(&self, settings: &[(&str, &str)]) -> Result<SessionContext> {
        let config = SessionConfig::new().with_target_partitions(2);
        let context = SessionContext::new_with_config(config);
        let files = LocalFileSystem::new_with_prefix(&self.warehouse)?;
        let url =
            Url::parse("throttled://warehouse").map_err(|e| datafusion::error::DataFusionError::External(e.into()))?;
        context.register_object_store(&url, Arc::new(ThrottledStore::new(files, self.throttle)));
        register(&context)?;
        for (key, value) in settings {
            let state = context.state_ref();
            state.write().config_mut().options_mut().set(&format!("paimon.prefetch.{key}"), value)?;
        }
        register_catalog(&context, "paimon", "throttled://warehouse")?;
        Ok(context)
    }

    async fn time(&self, settings: &[(&str, &str)]) -> Result<Duration> {
        let context = self.session(settings)?;
        let start = Instant::now();
        context.sql(&self.query).await?.collect().await?;
        Ok(start.elapsed())
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
