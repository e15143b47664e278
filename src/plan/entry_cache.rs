//! The live entries of snapshots, kept between queries: [`EntryCache`].
//!
//! In: a snapshot, and what a scan leaves out. Out: its live entries, of which it reads as little as it can:
//!
//! ```text
//! the snapshot is kept ─────────────────────────────► nothing is read
//! one of the table is kept ──► lists ► its manifests that are new ► kept
//! none, most is wanted ──────► lists ► all manifests ─────────────► kept
//! none, little is wanted ────► lists ► the wanted manifests          the next plan of the snapshot reads the rest
//! ```
//!
//! A snapshot is known by all that its file says, so one that a rollback or another table at the same place gave the same
//! id is another one; a manifest is known by its full name, which is never given again. Live entries are those of a set
//! of manifests, so what is kept of one snapshot can be used for any other.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::live_entries::{LiveEntries, PackedManifest};
use super::manifests::{ManifestReader, blocking};
use super::prune::Pruning;
use super::report::{Kept, LiveEntriesFrom};
use super::snapshot::SnapshotManager;
use crate::cache::{CacheKey, CacheKind, CacheValue, PaimonCache};
use crate::error::Result;
use crate::spec::layout;
use crate::spec::manifest_list::ManifestFileMeta;
use crate::spec::snapshot::Snapshot;

/// So many manifests more than wanted are read to know all.
const FEW_MANIFESTS: usize = 8;

/// So many entries more than wanted are read to know all.
const FEW_ENTRIES: i64 = 20_000;

/// What an entry takes in the cache, about, before it is known.
const ENTRY_BYTES: i64 = 200;

/// Finds live entries of one branch.
#[derive(Debug, Clone, Copy)]
pub struct EntryCache<'a> {
    /// What is kept.
    pub cache: &'a PaimonCache,
    /// How many snapshots of a branch are kept; none: nothing is.
    pub max_snapshots: usize,
    /// Reads what is not.
    pub reader: &'a ManifestReader,
    /// The branch.
    pub manager: &'a SnapshotManager,
    /// What the scan leaves out.
    pub pruning: &'a Pruning,
}

/// What the manifest lists of a snapshot name.
#[derive(Debug)]
struct ManifestLists(Vec<ManifestFileMeta>);

impl CacheValue for ManifestLists {
    fn heap_bytes(&self) -> usize {
        let bytes = |m: &ManifestFileMeta| {
            let stats = &m.partition_stats;
            let counts = stats.null_counts.capacity() * size_of::<Option<i64>>();
            m.file_name.capacity() + stats.min_values.capacity() + stats.max_values.capacity() + counts
        };
        self.0.capacity() * size_of::<ManifestFileMeta>() + self.0.iter().map(bytes).sum::<usize>()
    }
}

impl EntryCache<'_> {
    /// The live entries of a snapshot: all that the scan wants at least.
    pub async fn live_entries(&self, snapshot: &Snapshot) -> Result<Arc<LiveEntries>> {
        if self.max_snapshots == 0 {
            let all = self.reader.of_snapshot(snapshot).await?;
            return self.wanted(&all, false).await;
        }
        let name = identity(self.reader, self.manager, snapshot);
        let key = CacheKey::new(CacheKind::LiveEntries, name.as_str());
        if let Some(live) = self.cache.get::<LiveEntries>(&key) {
            self.came_from(LiveEntriesFrom::Cache);
            return Ok(live);
        }
        let lists_key = CacheKey::new(CacheKind::Manifest, format!("lists of {name}"));
        let known = self.cache.get::<ManifestLists>(&lists_key);
        let again = known.is_some();
        let lists = match known {
            Some(lists) => lists,
            None => Arc::new(ManifestLists(self.reader.of_snapshot(snapshot).await?)),
        };
        let all = &lists.0;
        if !(fits(all, self.cache) && (again || self.wants_most(all).await)) {
            self.cache.cache().put(lists_key, Arc::clone(&lists) as _);
            return self.wanted(all, true).await;
        }
        // Somebody else may be the one who reads.
        self.came_from(LiveEntriesFrom::Cache);
        let live = self.cache.get_or_load(key.clone(), self.whole(all)).await?;
        self.cache.cache().remove(&lists_key);
        self.cache.keep_in_group(&self.group(), &key, self.max_snapshots);
        Ok(live)
    }

    fn came_from(&self, from: LiveEntriesFrom) {
        self.pruning.count(|report| report.live_entries = from);
    }

    /// The snapshots of a branch.
    fn group(&self) -> String {
        format!("{} branch {}", self.reader.root(), self.manager.branch())
    }

    /// Whether reading all takes not much more than reading what is wanted.
    async fn wants_most(&self, all: &[ManifestFileMeta]) -> bool {
        let entries = |m: &ManifestFileMeta| m.num_added_files.saturating_add(m.num_deleted_files);
        let wanted = self.pruning.manifests(self.manager, all).await;
        let wanted_entries: i64 = wanted.iter().map(|m| entries(m)).sum();
        let others = all.len() - wanted.len();
        let other_entries = all.iter().map(entries).sum::<i64>().saturating_sub(wanted_entries);
        others <= wanted.len().max(FEW_MANIFESTS) && other_entries <= wanted_entries.max(FEW_ENTRIES)
    }

    /// The live entries of the manifests that the scan wants; each manifest is kept by itself.
    async fn wanted(&self, all: &[ManifestFileMeta], keep: bool) -> Result<Arc<LiveEntries>> {
        let wanted: Vec<_> = self.pruning.manifests(self.manager, all).await.into_iter().cloned().collect();
        let manifests = self.manifests(&wanted, &HashMap::new()).await?;
        if keep {
            for manifest in &manifests {
                self.cache.cache().put(self.key_of(&manifest.name), Arc::clone(manifest) as _);
            }
        }
        self.came_from(LiveEntriesFrom::WantedManifests);
        Ok(Arc::new(blocking(move || Ok(LiveEntries::of(manifests))).await?))
    }

    /// All live entries, out of those of another snapshot as far as they go.
    async fn whole(&self, all: &[ManifestFileMeta]) -> Result<LiveEntries> {
        let kept = self.cache.group(&self.group());
        let base = kept.iter().find_map(|key| self.cache.peek::<LiveEntries>(key)).unwrap_or_default();
        let known: HashMap<&str, &Arc<PackedManifest>> = base.manifests().iter().map(|m| (&*m.name, m)).collect();
        self.came_from(match known.is_empty() {
            true => LiveEntriesFrom::Manifests,
            false => LiveEntriesFrom::OtherSnapshot,
        });
        self.pruning.count(|report| report.manifests = Kept { seen: all.len(), kept: all.len() });
        let manifests = self.manifests(all, &known).await?;
        // What is part of the whole from here on need not be kept by itself.
        manifests.iter().for_each(|manifest| self.cache.cache().remove(&self.key_of(&manifest.name)));
        let names: HashSet<&str> = all.iter().map(|m| m.file_name.as_str()).collect();
        let only_more = base.manifests().iter().all(|m| names.contains(&*m.name));
        let (is_new, base) = (|m: &Arc<PackedManifest>| !known.contains_key(&*m.name), Arc::clone(&base));
        let further = manifests.iter().filter(|m| is_new(m)).cloned().collect();
        blocking(move || Ok(if only_more { base.with(further) } else { LiveEntries::of(manifests) })).await
    }

    /// Manifests, read where they are not known.
    async fn manifests(
        &self,
        all: &[ManifestFileMeta],
        known: &HashMap<&str, &Arc<PackedManifest>>,
    ) -> Result<Vec<Arc<PackedManifest>>> {
        let keeps = self.max_snapshots > 0;
        let kept = |m: &ManifestFileMeta| {
            let known = known.get(m.file_name.as_str()).map(|m| Arc::clone(m));
            known.or_else(|| if keeps { self.cache.peek(&self.key_of(&m.file_name)) } else { None })
        };
        let mut manifests: Vec<Option<Arc<PackedManifest>>> = all.iter().map(kept).collect();
        let missing = all.iter().zip(&manifests).filter(|(_, kept)| kept.is_none()).map(|(m, _)| m.clone());
        let missing: Vec<_> = missing.collect();
        self.pruning.count(|report| report.scanned_manifests += missing.len());
        let mut read = self.reader.packed(missing).await?.into_iter();
        manifests.iter_mut().filter(|m| m.is_none()).for_each(|m| *m = read.next());
        Ok(manifests.into_iter().flatten().collect())
    }

    fn key_of(&self, manifest: &str) -> CacheKey {
        CacheKey::new(CacheKind::Manifest, format!("{}/{}", self.reader.root(), layout::manifest(manifest)))
    }
}

/// All that makes a snapshot another one than any other.
fn identity(reader: &ManifestReader, manager: &SnapshotManager, snapshot: &Snapshot) -> String {
    let uuid = snapshot.uuid.as_deref().unwrap_or_default();
    format!(
        "{} branch {} snapshot {} {} {} {uuid} {} {}",
        reader.root(),
        manager.branch(),
        snapshot.id,
        snapshot.base_manifest_list,
        snapshot.delta_manifest_list,
        snapshot.commit_user,
        snapshot.time_millis
    )
}

/// Whether all entries will fit into the cache.
fn fits(all: &[ManifestFileMeta], cache: &PaimonCache) -> bool {
    let entries: i64 = all.iter().map(|m| m.num_added_files.saturating_add(m.num_deleted_files)).sum();
    let bytes = usize::try_from(entries.saturating_mul(ENTRY_BYTES)).unwrap_or(usize::MAX);
    bytes <= cache.cache().capacity_bytes()
}
