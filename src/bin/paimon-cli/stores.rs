//! The object stores of the program: datafusion-cli's, which can report requests, and behind them stores that are made
//! on demand where `--option` said how.

use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion_cli::object_storage::instrumented::InstrumentedObjectStoreRegistry;
use object_store::ObjectStore;
use url::Url;

/// datafusion-cli's registry with options for stores.
#[derive(Debug)]
pub struct CliStores {
    inner: Arc<InstrumentedObjectStoreRegistry>,
    /// As variables of the environment are spelled: `aws_endpoint`.
    options: Vec<(String, String)>,
}

impl CliStores {
    /// A registry with the given options, overlaid on the environment.
    pub fn new(inner: Arc<InstrumentedObjectStoreRegistry>, options: &[(String, String)]) -> Self {
        let spelled = |key: &str| key.to_ascii_lowercase().replace(['.', '-'], "_");
        Self { inner, options: options.iter().map(|(key, value)| (spelled(key), value.clone())).collect() }
    }
}

impl ObjectStoreRegistry for CliStores {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.inner.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        self.inner.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let found = self.inner.get_store(url);
        if found.is_ok() || self.options.is_empty() {
            return found;
        }
        let options = std::env::vars().chain(self.options.iter().cloned());
        let (store, _) = object_store::parse_url_opts(url, options).map_err(DataFusionError::from)?;
        self.inner.register_store(url, store.into());
        self.inner.get_store(url)
    }
}
