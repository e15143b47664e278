//! The rows of a file that the conditions of a scan leave, where an earlier query found that they are few: [`UnitRows`].
//!
//! In: the conditions of a scan, and a unit. Out: the rows that alone can fulfil them, if they are known. They are known
//! once a query with the same conditions has read the file to its end, through a reader that says which rows it left
//! ([`FoundRows`]). A file never changes: what was found stays true for as long as it is kept, in the session's cache.
//! It may be more rows than fulfil the conditions, never fewer.

use std::sync::Arc;

use super::assign::ScanUnit;
use super::context::ScanContext;
use super::kept_rows::{Conditions, KeptRows, MAX_ROWS};
use crate::cache::{CacheKey, CacheKind, PaimonCache};
use crate::file::FoundRows;
use crate::selection::RowSelection;

/// Where the rows of a unit are kept that the conditions of its scan leave.
#[derive(Debug)]
pub struct UnitRows {
    cache: Arc<PaimonCache>,
    key: CacheKey,
    conditions: Conditions,
    rows: usize,
}

impl UnitRows {
    /// `None` where they are not kept: there are no conditions or some that change, or merging takes rows away.
    pub fn new(context: &ScanContext, unit: &ScanUnit) -> Option<Self> {
        let conditions = context.conditions()?.clone();
        if unit.merge.is_some() {
            return None;
        }
        let rows = usize::try_from(unit.file.meta.row_count).ok()?;
        // A file may be of several partitions: those of a chain table are.
        let (file, of) = (&unit.file, (&unit.branch, &unit.partition));
        let deletion = file.deletion.as_ref().map(|deletion| (&deletion.path, deletion.offset, deletion.length));
        let name = format!("{}\n{:?} {deletion:?} {of:?}\nwhere {}", file.path, file.range, conditions.name());
        let key = CacheKey::new(CacheKind::FilteredFile, name);
        Some(Self { cache: Arc::clone(&context.spec().cache), key, conditions, rows })
    }

    /// The rows of the file that alone can fulfil the conditions, if they are known.
    pub fn known(&self) -> Option<RowSelection> {
        self.cache.get::<KeptRows>(&self.key)?.rows(&self.conditions)?.pop()
    }
}

impl FoundRows for UnitRows {
    fn most(&self) -> usize {
        MAX_ROWS
    }

    fn found(&self, positions: &[u64]) {
        let rows = RowSelection::only(self.rows, positions.iter().copied());
        if let Some(kept) = KeptRows::new(&self.conditions, &[rows]) {
            self.cache.cache().put(self.key.clone(), Arc::new(kept));
        }
    }
}
