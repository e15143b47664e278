//! The catalogs of the program. Those of datafusion-cli take a name that they do not know for a file or URL; the
//! warehouse does not, so it is kept beside them.

use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, CatalogProviderList};
use datafusion_paimon::sql::{DEFAULT_CATALOG, PaimonCatalog};

/// datafusion-cli's catalogs and a warehouse.
#[derive(Debug)]
pub struct WithWarehouse {
    others: Arc<dyn CatalogProviderList>,
    warehouse: Arc<PaimonCatalog>,
}

impl WithWarehouse {
    /// The warehouse beside other catalogs, before any of its name.
    pub fn new(others: Arc<dyn CatalogProviderList>, warehouse: PaimonCatalog) -> Self {
        Self { others, warehouse: Arc::new(warehouse) }
    }
}

impl CatalogProviderList for WithWarehouse {
    fn register_catalog(&self, name: String, catalog: Arc<dyn CatalogProvider>) -> Option<Arc<dyn CatalogProvider>> {
        self.others.register_catalog(name, catalog)
    }

    fn catalog_names(&self) -> Vec<String> {
        let mut names = self.others.catalog_names();
        names.retain(|name| name != DEFAULT_CATALOG);
        names.push(DEFAULT_CATALOG.to_owned());
        names
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        if name == DEFAULT_CATALOG {
            return Some(Arc::clone(&self.warehouse) as _);
        }
        self.others.catalog(name)
    }
}
