//! What changed between two snapshots, tags or times: `incremental-*`.
//!
//! The start is exclusive, the end inclusive. Java: `AbstractDataTableScan.createIncrementalStartingScanner`,
//! `IncrementalDiffStartingScanner`, `IncrementalDeltaStartingScanner`.

use futures::future::try_join;

use super::auto_tag::auto_tag_time;
use super::history::History;
use super::{ReadVersion, Resolver, ScanKind};
use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::options::enums::{ChangelogProducer, IncrementalScanMode};
use crate::options::value::OptionValue;
use crate::spec::snapshot::Snapshot;
use crate::spec::table_schema::TableSchema;

/// The changes that a read sees.
#[derive(Debug, Clone, PartialEq)]
pub enum Incremental {
    /// None, for both ends are the same.
    Empty,
    /// The rows that APPEND snapshots after one id and up to another added.
    Delta {
        /// The snapshot before the first one.
        start_exclusive: i64,
        /// The last snapshot.
        end_inclusive: i64,
    },
    /// The rows of the changelog files of snapshots after one id and up to another.
    Changelog {
        /// The snapshot before the first one.
        start_exclusive: i64,
        /// The last snapshot.
        end_inclusive: i64,
    },
    /// The rows of one state that are not in an older one.
    Diff {
        /// The older state.
        start: Box<Snapshot>,
        /// The newer state.
        end: Box<Snapshot>,
    },
}

impl Resolver<'_> {
    /// The changes that the options ask for.
    pub(super) async fn incremental(&self) -> Result<ReadVersion> {
        let o = self.options;
        let changes = if let Some(text) = &o.incremental_between {
            self.between(text).await?
        } else if let Some(text) = &o.incremental_between_timestamp {
            self.between_times(text).await?
        } else if let Some(tag) = &o.incremental_to_auto_tag {
            self.to_auto_tag(tag).await?
        } else {
            return Err(Error::internal("an incremental read without its options"));
        };
        self.found(None, ScanKind::Incremental(changes)).await
    }

    /// Between two tags, if both exist, else between two snapshots.
    async fn between(&self, text: &str) -> Result<Incremental> {
        let (from, to) = two(text, "incremental-between")?;
        if let (Some(start), Some(end)) = try_join(self.manager.try_tag(from), self.manager.try_tag(to)).await? {
            return self.between_tags(start.snapshot, end.snapshot).await;
        }
        let (Some(start), Some(end)) = (i64::parse(from), i64::parse(to)) else {
            let tags = self.manager.tag_names().await?.join("', '");
            return Err(Error::not_found(format!(
                "'incremental-between' = '{text}': neither two tags of {} nor two ids of snapshots; tags are '{tags}'",
                self.manager.table()
            )));
        };
        in_order(start, end, "incremental-between", text)?;
        if start == end {
            return Ok(Incremental::Empty);
        }
        let ends = try_join(self.manager.earliest_id(), self.manager.latest_id()).await?;
        let (Some(earliest), Some(latest)) = ends else { return Ok(Incremental::Empty) };
        if self.options.incremental_between_scan_mode == IncrementalScanMode::Diff {
            let (start, end) = try_join(self.manager.snapshot(start), self.manager.snapshot(end)).await?;
            return self.diff(start, end).await;
        }
        if start < earliest.saturating_sub(1) || end > latest {
            return Err(Error::not_found(format!(
                "'incremental-between' = '{text}': snapshots of {} reach from {earliest} to {latest}",
                self.manager.table()
            )));
        }
        Ok(self.files_between(start, end))
    }

    async fn between_tags(&self, start: Snapshot, end: Snapshot) -> Result<Incremental> {
        in_order(start.id, end.id, "incremental-between", "snapshots of the tags")?;
        if start.id == end.id {
            return Ok(Incremental::Empty);
        }
        let as_snapshots = self.options.incremental_between_tag_to_snapshot
            && self.options.incremental_between_scan_mode != IncrementalScanMode::Diff;
        if as_snapshots { Ok(self.files_between(start.id, end.id)) } else { self.diff(start, end).await }
    }

    /// Between two times, each in milliseconds or as local time.
    async fn between_times(&self, text: &str) -> Result<Incremental> {
        const KEY: &str = "incremental-between-timestamp";
        let (from, to) = two(text, KEY)?;
        let (start, end) = match (i64::parse(from), i64::parse(to)) {
            (Some(start), Some(end)) => (start, end),
            _ => (self.local_millis(KEY, from)?, self.local_millis(KEY, to)?),
        };
        in_order(start, end, KEY, text)?;
        let history = self.history().await?;
        let (Some(oldest), Some(newest)) = try_join(history.oldest(), history.newest()).await? else {
            return Ok(Incremental::Empty);
        };
        if start == end || start > newest.time_millis || end < oldest.time_millis {
            return Ok(Incremental::Empty);
        }
        self.between_found(&history, start, end, (oldest, newest)).await
    }

    /// Between the last snapshots at or before two times that the history reaches.
    async fn between_found(
        &self,
        history: &History<'_>,
        start: i64,
        end: i64,
        (oldest, newest): (Snapshot, Snapshot),
    ) -> Result<Incremental> {
        let (start, end) = try_join(history.last_until(start), history.last_until(end)).await?;
        let end = end.unwrap_or(newest);
        if self.options.incremental_between_scan_mode == IncrementalScanMode::Diff {
            return self.diff(start.unwrap_or(oldest), end).await;
        }
        let start = start.map_or(oldest.id.saturating_sub(1), |s| s.id);
        Ok(if start == end.id { Incremental::Empty } else { self.files_between(start, end.id) })
    }

    /// Between a tag that was created by itself and the one before it.
    async fn to_auto_tag(&self, name: &str) -> Result<Incremental> {
        let (period, formatter) = (self.options.tag_creation_period, self.options.tag_period_formatter);
        let Some(end_time) = auto_tag_time(name, period, formatter) else {
            return Err(Error::invalid_option(format!(
                "'incremental-to-auto-tag' = '{name}': expected the name of a tag that was created by itself"
            )));
        };
        let Some(end) = self.manager.try_tag(name).await? else { return Ok(Incremental::Empty) };
        let tags = self.manager.tag_names().await?;
        let earlier = tags.iter().filter_map(|tag| Some((auto_tag_time(tag, period, formatter)?, tag)));
        match earlier.filter(|(time, _)| *time < end_time).max() {
            Some((_, start)) => self.diff(self.manager.tag(start).await?.snapshot, end.snapshot).await,
            None => Ok(Incremental::Empty),
        }
    }

    /// The new files of snapshots: data files, or changelog files where the table has them.
    fn files_between(&self, start_exclusive: i64, end_inclusive: i64) -> Incremental {
        let changelog = match self.options.incremental_between_scan_mode {
            IncrementalScanMode::Auto => self.options.changelog_producer != ChangelogProducer::None,
            mode => mode == IncrementalScanMode::Changelog,
        };
        if changelog {
            Incremental::Changelog { start_exclusive, end_inclusive }
        } else {
            Incremental::Delta { start_exclusive, end_inclusive }
        }
    }

    /// The difference of two states, which must have the same number of buckets.
    async fn diff(&self, start: Snapshot, end: Snapshot) -> Result<Incremental> {
        if start.schema_id != end.schema_id {
            let schemas = try_join(self.manager.schema(start.schema_id), self.manager.schema(end.schema_id)).await?;
            let buckets = |schema: &TableSchema| TableOptions::parse(schema.options.clone()).map(|o| o.bucket);
            let (before, after) = (buckets(&schemas.0)?, buckets(&schemas.1)?);
            if before != after {
                return Err(Error::unsupported(format!(
                    "the difference of snapshots {} and {}, for the number of buckets went from {before} to {after}",
                    start.id, end.id
                )));
            }
        }
        Ok(Incremental::Diff { start: Box::new(start), end: Box::new(end) })
    }
}

/// Both ends of `FROM,TO`.
fn two<'t>(text: &'t str, key: &str) -> Result<(&'t str, &'t str)> {
    let ends = text.split_once(',').map(|(from, to)| (from.trim(), to.trim()));
    ends.filter(|(from, to)| !from.is_empty() && !to.is_empty() && !to.contains(','))
        .ok_or_else(|| Error::invalid_option(format!("'{key}' = '{text}': expected FROM,TO")))
}

fn in_order(start: i64, end: i64, key: &str, text: &str) -> Result<()> {
    if start <= end {
        return Ok(());
    }
    Err(Error::invalid_option(format!("'{key}' = '{text}': the end {end} is before the start {start}")))
}
