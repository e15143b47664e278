//! Which state of a table a read sees.
//!
//! In: the options of the read (`scan.*`, `incremental-*`), the metadata of the branch, the session's zone. Out: a
//! [`ReadVersion`]. A read that travels to a snapshot, tag, time or watermark sees that snapshot's schema, any other
//! read the newest one; the options are in both cases those of the read. Java: `TimeTravelUtil`,
//! `AbstractDataTableScan`.

mod auto_tag;
mod history;
mod incremental;
mod target;

use std::sync::Arc;

use chrono::{DateTime, TimeZone};
use chrono_tz::Tz;
use futures::future::try_join;

use super::snapshot::SnapshotManager;
use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::options::enums::ChangelogProducer;
use crate::options::local_time::parse_local_millis;
use crate::spec::snapshot::{CommitKind, Snapshot};
use crate::spec::table_schema::TableSchema;

pub use incremental::Incremental;
use target::Target;

/// What `scan.version` begins with where it means a watermark.
const WATERMARK_PREFIX: &str = "watermark-";

/// The state of a table that a read sees.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadVersion {
    /// The snapshot; none where the table has none, or where [`ScanKind::Incremental`] says what is read.
    pub snapshot: Option<Snapshot>,
    /// The schema that rows are given in; its options are those of the read.
    pub schema: Arc<TableSchema>,
    /// What of the snapshot is read.
    pub kind: ScanKind,
    /// Only files whose `DataFileMeta::creation_time_millis` is at or above this.
    pub file_creation_time_millis: Option<i64>,
}

/// What of a snapshot is read.
#[derive(Debug, Clone, PartialEq)]
pub enum ScanKind {
    /// All of it.
    All,
    /// Only what its commit changed.
    Delta,
    /// What changed between two snapshots.
    Incremental(Incremental),
}

/// Finds what a read sees.
pub async fn resolve(options: &TableOptions, manager: &SnapshotManager, zone: Tz) -> Result<ReadVersion> {
    let resolver = Resolver { options, manager, zone };
    match Target::of(options)? {
        Target::Latest => resolver.latest(ScanKind::All).await,
        Target::LatestDelta => resolver.latest(ScanKind::Delta).await,
        Target::Compacted => resolver.compacted().await,
        Target::SnapshotId(id) => resolver.travelled(manager.snapshot(id).await?).await,
        Target::Tag(name) => resolver.travelled(manager.tag(name).await?.snapshot).await,
        Target::Version(version) => resolver.travelled(resolver.version(version).await?).await,
        Target::Watermark(watermark) => resolver.travelled(resolver.watermark(watermark).await?).await,
        Target::Time(text) => resolver.at_time(resolver.local_millis("scan.timestamp", text)?).await,
        Target::TimeMillis(millis) => resolver.at_time(millis).await,
        Target::FileCreationTime(millis) => resolver.files_since(millis).await,
        Target::CreationTime(millis) => resolver.created_since(millis).await,
        Target::Incremental => resolver.incremental().await,
    }
}

/// The schema that rows are given in; no snapshot is looked for where the newest one is read.
pub async fn resolve_schema(
    options: &TableOptions,
    manager: &SnapshotManager,
    latest: &TableSchema,
    zone: Tz,
) -> Result<Arc<TableSchema>> {
    match Target::of(options)? {
        Target::Latest | Target::LatestDelta => {
            Ok(Arc::new(TableSchema { options: options.raw().clone(), ..latest.clone() }))
        }
        _ => Ok(resolve(options, manager, zone).await?.schema),
    }
}

struct Resolver<'a> {
    options: &'a TableOptions,
    manager: &'a SnapshotManager,
    zone: Tz,
}

impl Resolver<'_> {
    /// The newest snapshot in the newest schema.
    async fn latest(&self, kind: ScanKind) -> Result<ReadVersion> {
        let (mut schema, snapshot) = try_join(self.manager.latest_schema(), self.manager.latest_snapshot()).await?;
        if snapshot.as_ref().is_some_and(|s| s.schema_id > schema.id) {
            // The schema was changed, and written with, between the two reads.
            schema = self.manager.find_latest_schema().await?;
        }
        Ok(self.read(snapshot, &schema, kind))
    }

    /// A snapshot in its own schema.
    async fn travelled(&self, snapshot: Snapshot) -> Result<ReadVersion> {
        let schema = self.manager.schema(snapshot.schema_id).await?;
        Ok(self.read(Some(snapshot), &schema, ScanKind::All))
    }

    /// A snapshot that was not asked for by name, in the newest schema.
    async fn found(&self, snapshot: Option<Snapshot>, kind: ScanKind) -> Result<ReadVersion> {
        let schema = self.manager.latest_schema().await?;
        Ok(self.read(snapshot, &schema, kind))
    }

    fn read(&self, snapshot: Option<Snapshot>, schema: &TableSchema, kind: ScanKind) -> ReadVersion {
        let schema = Arc::new(TableSchema { options: self.options.raw().clone(), ..schema.clone() });
        ReadVersion { snapshot, schema, kind, file_creation_time_millis: None }
    }

    /// The snapshot that `scan.version` names: a tag before a watermark before an id.
    async fn version(&self, version: &str) -> Result<Snapshot> {
        if let Some(tag) = self.manager.try_tag(version).await? {
            return Ok(tag.snapshot);
        }
        let wrong = || Error::invalid_option(format!("'scan.version' = '{version}': the number is too large"));
        if let Some(watermark) = version.strip_prefix(WATERMARK_PREFIX)
            && let Ok(watermark) = watermark.parse()
        {
            return self.watermark(watermark).await;
        }
        if !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit()) {
            return self.manager.snapshot(version.parse().map_err(|_| wrong())?).await;
        }
        // The error says which tags there are.
        Ok(self.manager.tag(version).await?.snapshot)
    }

    /// The first snapshot whose watermark is at or above a number.
    async fn watermark(&self, watermark: i64) -> Result<Snapshot> {
        let found = self.history().await?.first(|s| s.watermark().map(|w| w >= watermark)).await?;
        found.ok_or_else(|| {
            Error::not_found(format!("no snapshot of {} has a watermark of {watermark} or more", self.manager.table()))
        })
    }

    /// The last snapshot at or before a time, in its own schema.
    async fn at_time(&self, millis: i64) -> Result<ReadVersion> {
        let history = self.history().await?;
        if let Some(snapshot) = history.last_until(millis).await? {
            return self.travelled(snapshot).await;
        }
        let first = match history.oldest().await? {
            Some(s) => format!("the first one is of {} ({} ms)", display_millis(s.time_millis), s.time_millis),
            None => "there is none".to_owned(),
        };
        let time = display_millis(millis);
        Err(Error::not_found(format!(
            "no snapshot of {} is of {time} ({millis} ms) or earlier; {first}",
            self.manager.table()
        )))
    }

    /// The snapshot of the newest compaction, else the newest one. With changelogs from full compactions only those
    /// count.
    async fn compacted(&self) -> Result<ReadVersion> {
        let every = self.options.full_compaction_delta_commits.map(i64::from).filter(|n| *n > 0).unwrap_or(1);
        let only_full = self.options.changelog_producer == ChangelogProducer::FullCompaction
            || self.options.full_compaction_delta_commits.is_some();
        let is_full = |identifier: i64| identifier == i64::MAX || identifier.checked_rem(every) == Some(0);
        let wanted =
            |s: &Snapshot| s.commit_kind == CommitKind::Compact && (!only_full || is_full(s.commit_identifier));
        match self.history().await?.newest_where(wanted).await? {
            Some(snapshot) => self.found(Some(snapshot), ScanKind::All).await,
            None => self.latest(ScanKind::All).await,
        }
    }

    /// The newest snapshot, of which only files made at or after a time.
    async fn files_since(&self, millis: i64) -> Result<ReadVersion> {
        let mut version = self.latest(ScanKind::All).await?;
        version.file_creation_time_millis = Some(local_wall_millis(millis, self.zone));
        Ok(version)
    }

    /// The first snapshot at or after a time, where snapshots or changelogs reach back before it, else files made
    /// since.
    async fn created_since(&self, millis: i64) -> Result<ReadVersion> {
        let history = self.history().await?;
        if let Some(snapshot) = history.next_after_those_before(millis).await? {
            return self.found(Some(snapshot), ScanKind::All).await;
        }
        if let Some(oldest) = history.oldest().await?
            && oldest.time_millis >= millis
            && let Some(before) = self.manager.try_changelog(oldest.id.saturating_sub(1)).await?
            && before.time_millis < millis
        {
            return self.found(Some(oldest), ScanKind::All).await;
        }
        self.files_since(millis).await
    }

    async fn history(&self) -> Result<history::History<'_>> {
        history::History::of(self.manager).await
    }

    fn local_millis(&self, key: &str, text: &str) -> Result<i64> {
        parse_local_millis(text, self.zone).ok_or_else(|| {
            Error::invalid_option(format!("'{key}' = '{text}': expected yyyy-MM-dd or yyyy-MM-dd HH:mm:ss[.f]"))
        })
    }
}

/// What a clock of a zone shows at a time, as milliseconds as if it were UTC: how files say when they were made.
fn local_wall_millis(millis: i64, zone: Tz) -> i64 {
    match DateTime::from_timestamp_millis(millis) {
        Some(utc) => zone.from_utc_datetime(&utc.naive_utc()).naive_local().and_utc().timestamp_millis(),
        None => millis,
    }
}

fn display_millis(millis: i64) -> String {
    DateTime::from_timestamp_millis(millis).map_or_else(|| millis.to_string(), |t| format!("{t:?}"))
}

#[cfg(test)]
mod tests;
