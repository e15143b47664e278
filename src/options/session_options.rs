//! The settings of a session that are no options of tables: the one list of their declarations.

use std::collections::BTreeMap;

use super::declaration::{self, OptionDeclaration, table_options};
use super::value::{MemorySize, OptionValue};
use crate::error::Result;

table_options! {
    /// What a session says of itself, typed.
    SessionOptions {
        /// The most memory that the session's cache holds: `256 mb` unless the session was given another cache. A change
        /// takes effect at once, for all sessions of the cache; 0: nothing is kept.
        cache_max_memory: MemorySize, "cache.max-memory";
    }
}

impl SessionOptions {
    /// Nothing is set.
    pub fn none() -> Self {
        Self { raw: BTreeMap::new(), cache_max_memory: None }
    }

    /// Whether `key` is one of these settings.
    pub fn has(key: &str) -> bool {
        Self::declarations().iter().any(|declared| declared.key == key)
    }

    /// These settings and one more.
    pub fn with(&self, key: &str, value: &str) -> Result<Self> {
        let mut raw = self.raw.clone();
        raw.insert(key.to_owned(), value.to_owned());
        Self::parse(raw)
    }

    /// The documentation of all settings as a Markdown table.
    pub fn markdown() -> String {
        declaration::markdown(&Self::declarations())
    }
}
