//! Says by name what this reader cannot read.
//!
//! In: a table's schema and options. Out: nothing, or the error that names the feature. A table that passes is read
//! right; there is no half support.

use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::options::enums::TableType;
use crate::spec::table_schema::TableSchema;

/// Refuses tables with features that reading does not have.
pub fn check_supported(schema: &TableSchema, options: &TableOptions) -> Result<()> {
    let refuse = |feature: &str| Err(Error::unsupported(format!("{feature} cannot be read yet")));
    match options.table_type {
        TableType::Table | TableType::MaterializedTable => {}
        other => return refuse(&format!("tables of type '{}'", other.as_str())),
    }
    if options.data_evolution_enabled {
        return refuse("tables with data evolution ('data-evolution.enabled')");
    }
    if !schema.primary_keys.is_empty() {
        let vectors = options.deletion_vectors_enabled && !options.deletion_vectors_merge_on_read;
        if options.pk_clustering_override && !vectors {
            return refuse(
                "primary-key tables ordered by other columns without deletion vectors ('pk-clustering-override')",
            );
        }
        if options.sequence_snapshot_ordering {
            return refuse("primary-key tables ordered by snapshots ('sequence.snapshot-ordering')");
        }
    }
    Ok(())
}
