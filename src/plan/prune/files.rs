//! Leaves out live files by their statistics: [`FilePruning`].
//!
//! In: the residual predicate of a file's partition, the file's schema and its key and value statistics. Out: whether it
//! may hold rows that are taken, by its statistics ([`file_stats`]) and then by the file index in its manifest entry. Java:
//! `AppendOnlyFileStoreScan`, `KeyValueFileStoreScan`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{PartitionVerdict, Pruning};
use crate::error::Result;
use crate::plan::report::Kept;
use crate::predicate::file_index::{FileIndexResult, ask_embedded};
use crate::predicate::file_stats::ByValue;
use crate::predicate::{Predicate, file_stats};
use crate::spec::data_file::DataFileMeta;
use crate::spec::stats_parts::StatsParts;
use crate::spec::table_schema::TableSchema;

/// Prunes the live files of a branch.
#[derive(Debug)]
pub struct FilePruning<'p> {
    pruning: &'p Pruning,
    schemas: &'p HashMap<i64, Arc<TableSchema>>,
    /// The trimmed primary key, by ids; none in an append table.
    key_ids: HashSet<i32>,
}

impl<'p> FilePruning<'p> {
    /// Prunes files of `schemas`, which are those of all live files; `schema` is the one that is read.
    pub fn new(pruning: &'p Pruning, schema: &TableSchema, schemas: &'p HashMap<i64, Arc<TableSchema>>) -> Self {
        let key_ids = match schema.primary_keys.is_empty() {
            true => HashSet::new(),
            false => schema.trimmed_primary_key_fields().iter().map(|f| f.id).collect(),
        };
        Self { pruning, schemas, key_ids }
    }

    /// Which parts of statistics that are laid out by `schema` are asked about in a partition; `None` where these may be
    /// all.
    pub fn parts<'v>(&self, verdict: &'v PartitionVerdict, schema: Option<i64>) -> Option<&'v StatsParts> {
        let schema = schema?;
        let parts = verdict.parts.get_or_init(|| {
            let columns = verdict.residual.column_ids();
            let parts = |schema: &TableSchema| StatsParts::of(&schema.fields, &|id| columns.contains(&id));
            self.schemas.iter().filter_map(|(id, schema)| Some((*id, parts(schema)?))).collect()
        });
        parts.iter().find(|(id, _)| *id == schema).map(|(_, parts)| parts)
    }

    /// Whether the bounds of a file's key let it hold keys that are taken. All versions of a key are in files that are
    /// kept, so this may be asked before files are merged.
    pub fn keeps_by_key(&self, partition: &[u8], file: &DataFileMeta) -> Result<bool> {
        if self.key_ids.is_empty() || self.pruning.predicate.is_always() {
            return Ok(true);
        }
        let verdict = self.pruning.partition(partition)?;
        let of_key = || verdict.residual.on_columns(&|c| self.key_ids.contains(&c.id));
        let predicate = verdict.of_key.get_or_init(of_key);
        let Some(schema) = self.schemas.get(&file.schema_id) else { return Ok(true) };
        if predicate.is_always() {
            return Ok(true);
        }
        Ok(file_stats::may_match_by_key(predicate, file, schema))
    }

    /// Whether the bounds of a file's columns let it hold rows that are taken. To be asked only of a file whose rows are
    /// rows of the table, or of all files together of which such rows are chosen.
    pub fn keeps_by_value(&self, partition: &[u8], file: &DataFileMeta) -> Result<bool> {
        Ok(self.of_partition(partition)?.is_none_or(|verdict| self.keeps(&ByValue::new(&verdict.residual), file)))
    }

    /// Whether anything is asked of files.
    pub fn asks(&self) -> bool {
        !self.pruning.predicate.is_always()
    }

    /// What is asked of the columns of files of a partition; `None` where nothing is.
    pub fn of_partition(&self, partition: &[u8]) -> Result<Option<Arc<PartitionVerdict>>> {
        if !self.asks() {
            return Ok(None);
        }
        Ok(Some(self.pruning.partition(partition)?).filter(|verdict| !verdict.residual.is_always()))
    }

    /// Whether the bounds of a file's columns, and the index in its manifest entry, let it hold rows that are taken.
    pub fn keeps(&self, asked: &ByValue<'_>, file: &DataFileMeta) -> bool {
        let Some(schema) = self.schemas.get(&file.schema_id) else { return true };
        asked.may_match(file, schema) && self.keeps_by_index(asked.predicate(), file, schema)
    }

    /// Whether the index in a file's manifest entry lets it hold rows that are taken. One that cannot be read leaves
    /// nothing out.
    fn keeps_by_index(&self, predicate: &Predicate, file: &DataFileMeta, schema: &TableSchema) -> bool {
        let said = if self.pruning.file_index { ask_embedded(predicate, file, schema) } else { None };
        let Some(said) = said else { return true };
        let kept = !matches!(said, Ok(FileIndexResult::Skip));
        self.pruning.count(|report| report.index.count(kept));
        kept
    }

    /// Counts a file that statistics were asked about.
    pub fn count(&self, kept: bool) {
        self.count_all(1, usize::from(kept));
    }

    /// Counts files that statistics were asked about.
    pub fn count_all(&self, seen: usize, kept: usize) {
        if !self.pruning.is_idle() {
            self.pruning.count(|report| report.files.add(Kept { seen, kept }));
        }
    }
}
