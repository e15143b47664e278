//! The statistics of an ANALYZE: `statistics/stat-{uuid}-{n}`.
//!
//! They are of the snapshot that they name, and so may be older than the one that refers to them. Java: `Statistics`,
//! `ColStats`.

use std::collections::BTreeMap;

use super::json::JsonFields;
use crate::error::{Error, Result};

/// Statistics of a table at one snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// The snapshot that was counted.
    pub snapshot_id: i64,
    /// Its schema.
    pub schema_id: i64,
    /// Rows after merging.
    pub merged_record_count: Option<i64>,
    /// Their size in bytes.
    pub merged_record_size: Option<i64>,
    /// By name of column.
    pub columns: BTreeMap<String, ColumnStatistics>,
}

/// Statistics of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnStatistics {
    /// The column's field id.
    pub field_id: i64,
    /// How many different values.
    pub distinct_count: Option<i64>,
    /// The smallest value as text.
    pub min: Option<String>,
    /// The largest value as text.
    pub max: Option<String>,
    /// How many NULLs.
    pub null_count: Option<i64>,
    /// The mean length in bytes.
    pub average_length: Option<i64>,
    /// The largest length in bytes.
    pub max_length: Option<i64>,
}

impl Statistics {
    /// Reads a statistics file.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        let f = JsonFields::parse("statistics", bytes)?;
        let columns = match f.get("colStats") {
            None => BTreeMap::new(),
            Some(columns) => JsonFields::of("colStats", columns.clone())?
                .into_entries()
                .map(|(name, value)| column(&name, value).map(|c| (name, c)))
                .collect::<Result<_>>()?,
        };
        Ok(Self {
            snapshot_id: f.long("snapshotId")?,
            schema_id: f.long("schemaId")?,
            merged_record_count: f.optional_long("mergedRecordCount")?,
            merged_record_size: f.optional_long("mergedRecordSize")?,
            columns,
        })
    }
}

fn column(name: &str, value: serde_json::Value) -> Result<ColumnStatistics> {
    let read = || -> Result<ColumnStatistics> {
        let f = JsonFields::of("column statistics", value)?;
        Ok(ColumnStatistics {
            field_id: f.long("colId")?,
            distinct_count: f.optional_long("distinctCount")?,
            min: f.optional_string("min")?,
            max: f.optional_string("max")?,
            null_count: f.optional_long("nullCount")?,
            average_length: f.optional_long("avgLen")?,
            max_length: f.optional_long("maxLen")?,
        })
    };
    read().map_err(|e| Error::corrupt(format!("statistics of column '{name}'")).caused_by(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_may_say_little() {
        let s = Statistics::from_json(
            br#"{"snapshotId":1,"schemaId":0,"mergedRecordCount":20,"colStats":{
            "id":{"colId":0,"distinctCount":20,"min":"0","max":"19","nullCount":0,"avgLen":4,"maxLen":4},
            "s":{"colId":1}}}"#,
        )
        .unwrap();
        assert_eq!((s.snapshot_id, s.merged_record_count, s.merged_record_size), (1, Some(20), None));
        assert_eq!((s.columns["id"].max.as_deref(), s.columns["s"].min.as_deref()), (Some("19"), None));
        let e = Statistics::from_json(br#"{"snapshotId":1,"schemaId":0,"colStats":{"s":{}}}"#).unwrap_err();
        assert!(e.to_string().contains("column 's'") && e.to_string().contains("lacks 'colId'"), "{e}");
    }
}
