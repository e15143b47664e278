//! Sessions in which the golden tables are the catalog `paimon`.

use std::path::{Path, PathBuf};

use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_paimon::sql::{register, register_catalog};

/// The folder of the golden data.
pub fn data_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// A fresh session over the golden tables. Two output partitions on every machine, so that plans are the same.
pub fn session() -> Result<SessionContext> {
    let config = SessionConfig::new().with_target_partitions(2).with_information_schema(true);
    let context = SessionContext::new_with_config(config);
    register(&context)?;
    register_catalog(&context, "paimon", &data_dir().join("warehouse").to_string_lossy())?;
    Ok(context)
}
