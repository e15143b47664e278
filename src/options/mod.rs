//! Table options: what a table's schema stores, overlaid by what a query asks for, parsed once.
//!
//! In: key-value pairs. Out: [`TableOptions`] with a typed field for every option that affects reading. An option is
//! one declaration in `table_options.rs`: key, older keys, type, default, documentation; what a session says of itself
//! is declared likewise in `session_options.rs`. A value that cannot be used is an error that names key, value and what
//! was expected.

pub mod enums;
pub mod local_time;
pub mod value;

mod declaration;
mod session_options;
mod table_options;

use std::collections::BTreeMap;

use crate::error::{Error, Result};

pub use declaration::OptionDeclaration;
pub use session_options::SessionOptions;
pub use table_options::TableOptions;

/// The options that choose which state of a table is seen. Asking for one in a query means that none of those which
/// the table stores count.
const TRAVEL_KEYS: [&str; 14] = [
    "scan.mode",
    "log.scan",
    "scan.snapshot-id",
    "scan.tag-name",
    "scan.version",
    "scan.watermark",
    "scan.timestamp",
    "scan.timestamp-millis",
    "log.scan.timestamp-millis",
    "scan.file-creation-time-millis",
    "scan.creation-time-millis",
    "incremental-between",
    "incremental-between-timestamp",
    "incremental-to-auto-tag",
];

/// The options that say how the files were written, so that a query cannot choose them.
const FIXED_KEYS: [&str; 14] = [
    "bucket-key",
    "bucket-function.type",
    "data-file.path-directory",
    "merge-engine",
    "aggregation.remove-record-on-delete",
    "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group",
    "rowkind.field",
    "force-lookup",
    "row-tracking.enabled",
    "data-evolution.enabled",
    "index-file-in-data-file-dir",
    "blob-descriptor-field",
    "pk-clustering-override",
];

impl TableOptions {
    /// The options of a read: those that the table stores, overlaid by those of the query.
    pub fn effective(stored: &BTreeMap<String, String>, dynamic: &BTreeMap<String, String>) -> Result<Self> {
        for key in FIXED_KEYS {
            if dynamic.get(key).is_some_and(|value| stored.get(key) != Some(value)) {
                return Err(Error::invalid_option(format!("'{key}' belongs to the table, a query cannot change it")));
            }
        }
        let mut options = stored.clone();
        if TRAVEL_KEYS.iter().any(|key| dynamic.contains_key(*key)) {
            options.retain(|key, _| !TRAVEL_KEYS.contains(&key.as_str()));
        }
        options.extend(dynamic.iter().map(|(k, v)| (k.clone(), v.clone())));
        Self::parse(options)
    }

    /// The options that choose which state of the table is seen.
    pub fn time_travel(&self) -> BTreeMap<String, String> {
        let chosen = TRAVEL_KEYS.iter().filter_map(|key| self.raw.get_key_value(*key));
        chosen.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// All options as text, those too that are not declared.
    pub fn raw(&self) -> &BTreeMap<String, String> {
        &self.raw
    }

    /// The text of an option, for keys that hold the name of a column (`fields.NAME.aggregate-function`).
    pub fn get(&self, key: &str) -> Option<&str> {
        self.raw.get(key).map(String::as_str)
    }

    /// The aggregate function of a column, by its own option or the common one.
    pub fn aggregate_function(&self, column: &str) -> Option<&str> {
        self.get(&format!("fields.{column}.aggregate-function")).or(self.default_aggregate_function.as_deref())
    }

    /// Whether rows of one key are compared with what compaction finds: then only the lowest level above 0 of an
    /// older row counts. Java: `CoreOptions.needLookup`.
    pub fn needs_lookup(&self) -> bool {
        self.changelog_producer == enums::ChangelogProducer::Lookup
            || self.merge_engine == enums::MergeEngine::FirstRow
            || self.deletion_vectors_enabled
            || self.force_lookup
    }

    /// The level of files that compaction has merged completely. Java: `CoreOptions.numLevels` - 1.
    pub fn top_level(&self) -> i32 {
        self.num_levels.map_or(self.num_sorted_run_compaction_trigger, |levels| levels.saturating_sub(1))
    }

    /// The documentation of all options as a Markdown table.
    pub fn markdown() -> String {
        declaration::markdown(&Self::declarations())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::enums::{MergeEngine, StartupMode};
    use super::*;
    use crate::error::ErrorKind;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    fn effective(stored: &[(&str, &str)], dynamic: &[(&str, &str)]) -> Result<TableOptions> {
        TableOptions::effective(&map(stored), &map(dynamic))
    }

    #[test]
    fn defaults_hold_where_nothing_is_set() {
        let o = effective(&[], &[]).unwrap();
        assert_eq!((o.bucket, o.merge_engine, o.branch.as_str()), (-1, MergeEngine::Deduplicate, "main"));
        assert_eq!(o.source_split_target_size.bytes, 128 << 20);
        assert_eq!((o.num_levels, o.scan_snapshot_id, o.bucket_key), (None, None, None));
        assert!(o.file_index_read_enabled && !o.deletion_vectors_enabled);
    }

    #[test]
    fn the_query_goes_before_the_table_and_the_key_before_older_keys() {
        let o = effective(
            &[
                ("bucket", "4"),
                ("first-row.ignore-delete", "true"),
                ("fields.a.aggregate-function", "sum"),
                ("merge-engine", "Partial-Update"),
            ],
            &[("bucket", "5"), ("merge-engine", "Partial-Update")],
        )
        .unwrap();
        assert_eq!((o.bucket, o.merge_engine, o.ignore_delete), (5, MergeEngine::PartialUpdate, true));
        assert_eq!(o.get("fields.a.aggregate-function"), Some("sum"));
        let o = effective(&[("ignore-delete", "false"), ("first-row.ignore-delete", "true")], &[]).unwrap();
        assert!(!o.ignore_delete);
    }

    #[test]
    fn time_travel_of_the_query_replaces_that_of_the_table() {
        let stored = [("scan.mode", "from-timestamp"), ("scan.timestamp-millis", "5"), ("bucket", "2")];
        let o = effective(&stored, &[("scan.snapshot-id", "3")]).unwrap();
        assert_eq!((o.scan_mode, o.scan_timestamp_millis), (StartupMode::Default, None));
        assert_eq!((o.scan_snapshot_id, o.bucket), (Some(3), 2));
        let o = effective(&stored, &[("branch", "b")]).unwrap();
        assert_eq!((o.scan_mode, o.scan_timestamp_millis), (StartupMode::FromTimestamp, Some(5)));
    }

    #[test]
    fn a_wrong_value_names_key_value_and_what_was_expected() {
        for (key, value, expected) in [
            ("bucket", "many", "a 32-bit number"),
            ("merge-engine", "last", "one of deduplicate, partial-update, aggregation, first-row"),
            ("source.split.target-size", "1 mile", "a size such as '128 mb'"),
            ("log.scan", "x", "one of default"),
            ("deletion-vectors.enabled", "yes", "true or false"),
        ] {
            let e = effective(&[(key, value)], &[]).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidOption);
            assert!(e.to_string().contains(&format!("'{key}' = '{value}': expected {expected}")), "{e}");
        }
    }

    #[test]
    fn a_query_cannot_change_how_files_were_written() {
        let stored = [("merge-engine", "aggregation")];
        assert!(effective(&stored, &stored).is_ok());
        assert_eq!(effective(&stored, &[("merge-engine", "first-row")]).unwrap_err().kind(), ErrorKind::InvalidOption);
        assert!(effective(&[], &[("row-tracking.enabled", "true")]).is_err());
    }

    #[test]
    fn every_option_is_declared_once_and_documented() {
        let declarations = TableOptions::declarations();
        let mut keys = HashSet::new();
        for d in &declarations {
            assert!(keys.insert(d.key) && d.fallback_keys.iter().all(|k| keys.insert(k)), "{} twice", d.key);
            assert!(d.doc.ends_with('.') || d.doc.ends_with('`'), "{}", d.key);
        }
        for key in TRAVEL_KEYS {
            assert!(keys.contains(key), "{key}");
        }
        let markdown = TableOptions::markdown();
        assert_eq!(markdown.lines().count(), declarations.len() + 2);
        assert!(markdown.contains("| `scan.mode`, once `log.scan` | one of default, latest-full,"), "{markdown}");
        assert!(markdown.contains("| `bucket` | a 32-bit number | `-1` | The number of buckets;"), "{markdown}");
    }
}
