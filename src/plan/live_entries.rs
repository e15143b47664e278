//! The live files of a snapshot: [`LiveEntries`].
//!
//! In: the packed entries of manifests, ADD and DELETE alike, in any order. Out: the ADD entries that no DELETE entry
//! takes back, sorted by partition, bucket and sequence number, so that those of any partition and bucket are one slice:
//!
//! ```text
//! partitions   |        dt=1        |     dt=2    |
//! buckets      |   0   |   1   | 2  |   0    |  1 |
//! rows         | f f f | f f f | f  | f f f f| f f|      each the place of a packed entry
//! ```
//!
//! What is known of a bucket's files together is kept with it ([`BucketFacts`]).
//!
//! A file is identified by partition, bucket, level and name (and what [`PackedEntries::is_same_file`] adds): a
//! compaction that lifts a file to another level deletes and adds the same name. Nothing of a request is in it, so it is
//! kept and shared. Java: `FileEntry.mergeEntries`, `AbstractFileStoreScan`.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;

use super::bucket_facts::BucketFacts;
use super::bucket_statistics::{BucketStatistics, KnownStatistics};
use super::threads::on_threads;
use crate::cache::CacheValue;
use crate::spec::column_range::KnownRanges;
use crate::spec::manifest_entry::{FileKind, ManifestEntry};
use crate::spec::packed_entries::PackedEntries;
use crate::spec::packed_statistics::TOUCHES;

/// All entries of one manifest.
#[derive(Debug)]
pub struct PackedManifest {
    /// Its name, without folder.
    pub name: Arc<str>,
    /// Its entries, in order.
    pub chunks: Vec<Arc<PackedEntries>>,
}

impl PackedManifest {
    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl CacheValue for PackedManifest {
    fn heap_bytes(&self) -> usize {
        let chunks = self.chunks.iter().map(|c| c.heap_bytes() + size_of::<Arc<PackedEntries>>());
        chunks.sum::<usize>() + self.name.len()
    }
}

/// The place of an entry: its chunk and its row there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryRef {
    chunk: u32,
    row: u32,
}

/// The live entries of a bucket.
#[derive(Debug, Clone)]
pub struct LiveBucket {
    /// The bucket's number.
    pub bucket: i32,
    /// What is known of its files together.
    pub facts: BucketFacts,
    rows: Range<u32>,
    /// Its files are in some of these chunks.
    chunks: Range<u32>,
}

/// Live entries of a bucket that are wanted.
#[derive(Debug, Clone)]
pub enum BucketEntries {
    /// All that the bucket has.
    All(LiveBucket),
    /// Some of them.
    Some(Vec<EntryRef>),
}

impl BucketEntries {
    /// The entries.
    pub fn of<'a>(&'a self, live: &'a LiveEntries) -> &'a [EntryRef] {
        match self {
            Self::All(bucket) => live.rows_of(bucket),
            Self::Some(entries) => entries,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::All(bucket) => bucket.rows.len(),
            Self::Some(entries) => entries.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is known of their files together; `None` where there are none.
    pub fn facts(&self, live: &LiveEntries) -> Option<BucketFacts> {
        match self {
            Self::All(bucket) => Some(bucket.facts.clone()),
            Self::Some(entries) => BucketFacts::of(entries.iter().filter_map(|entry| live.get(*entry))),
        }
    }
}

/// The buckets of a partition.
#[derive(Debug, Clone)]
pub struct LivePartition {
    /// The partition's values, as a serialized `BinaryRow`.
    pub partition: Arc<[u8]>,
    buckets: Range<u32>,
}

/// The live entries of a snapshot.
#[derive(Debug, Default)]
pub struct LiveEntries {
    manifests: Vec<Arc<PackedManifest>>,
    /// Of all manifests, one behind the other.
    chunks: Vec<Arc<PackedEntries>>,
    partitions: Vec<LivePartition>,
    buckets: Vec<LiveBucket>,
    rows: Vec<EntryRef>,
    schema_ids: Vec<i64>,
    /// What names of files end in, each once.
    extensions: Vec<String>,
    /// What was found of columns in all chunks.
    ranges: KnownRanges,
    /// The statistics of buckets that were asked for.
    statistics: KnownStatistics,
}

/// The statistics of buckets that are kept take one of so many parts of what all entries take.
const STATISTICS_PART: usize = 16;

/// Working out what is live is worth a thread of its own for so many entries.
const ENTRIES_PER_THREAD: usize = 16_384;

/// Further entries of a bucket.
struct Group {
    /// The partition, as a number in order of appearance.
    partition: u32,
    bucket: i32,
    /// In their order.
    entries: Vec<EntryRef>,
}

/// What is live of a bucket.
struct LiveGroup {
    partition: u32,
    bucket: i32,
    /// None, or what is known of the files together.
    facts: Option<BucketFacts>,
    /// By sequence number.
    entries: Vec<EntryRef>,
}

impl LiveEntries {
    /// The live entries among those of some manifests.
    pub fn of(manifests: Vec<Arc<PackedManifest>>) -> Self {
        Self::default().with(manifests)
    }

    /// The live entries after further manifests.
    #[must_use]
    pub fn with(&self, further: Vec<Arc<PackedManifest>>) -> Self {
        let first_new = self.chunks.len();
        let mut all = Self { manifests: self.manifests.clone(), chunks: self.chunks.clone(), ..Self::default() };
        all.chunks.extend(further.iter().flat_map(|m| m.chunks.iter().cloned()));
        all.manifests.extend(further);
        let (names, groups) = all.grouped(first_new, &self.partitions);
        all.fill(self, names, groups);
        all.schema_ids = all.distinct_schema_ids();
        all.extensions = all.chunks.iter().flat_map(|chunk| chunk.extensions()).cloned().collect();
        all.extensions.sort_unstable();
        all.extensions.dedup();
        all.statistics = KnownStatistics::new(all.manifest_bytes() / STATISTICS_PART);
        all
    }

    /// Groups the entries of chunks from a first one on, by partition and bucket; partitions that are known keep their
    /// numbers.
    fn grouped(&self, first: usize, known: &[LivePartition]) -> (Vec<Arc<[u8]>>, Vec<Group>) {
        let mut names: Vec<Arc<[u8]>> = known.iter().map(|p| Arc::clone(&p.partition)).collect();
        let numbered = |(n, p): (usize, &Arc<[u8]>)| (Arc::clone(p), n as u32);
        let mut numbers: HashMap<Arc<[u8]>, u32> = names.iter().enumerate().map(numbered).collect();
        let mut groups: BTreeMap<(u32, i32), Vec<EntryRef>> = BTreeMap::new();
        for (at, chunk) in self.chunks.iter().enumerate().skip(first) {
            let mut number = |partition: &Arc<[u8]>| {
                *numbers.entry(Arc::clone(partition)).or_insert_with(|| {
                    names.push(Arc::clone(partition));
                    names.len() as u32 - 1
                })
            };
            let numbers: Vec<u32> = chunk.partitions().iter().map(&mut number).collect();
            for row in 0..chunk.len() {
                let partition = numbers.get(chunk.partition_code(row)).copied().unwrap_or(0);
                let entries = groups.entry((partition, chunk.bucket(row))).or_default();
                entries.push(EntryRef { chunk: at as u32, row: row as u32 });
            }
        }
        let groups = groups.into_iter();
        (names, groups.map(|((partition, bucket), entries)| Group { partition, bucket, entries }).collect())
    }

    /// Fills in slices: those of `old` where there is nothing new.
    fn fill(&mut self, old: &Self, names: Vec<Arc<[u8]>>, new: Vec<Group>) {
        let mut new = self.live_groups(old, new).into_iter().peekable();
        for (number, partition) in names.into_iter().enumerate() {
            let first = self.buckets.len() as u32;
            let mut known = old.partitions.get(number).map(|p| old.buckets_of(p)).unwrap_or_default().iter().peekable();
            loop {
                let changed = new.peek().filter(|group| group.partition as usize == number).map(|group| group.bucket);
                let bucket = known.next_if(|known| changed.is_none_or(|changed| known.bucket <= changed));
                match bucket.filter(|bucket| Some(bucket.bucket) != changed) {
                    Some(bucket) => self.take_over(bucket, old.rows_of(bucket)),
                    None if changed.is_some() => new.next().into_iter().for_each(|group| self.push(group)),
                    None => break,
                }
            }
            if self.buckets.len() as u32 > first {
                self.partitions.push(LivePartition { partition, buckets: first..self.buckets.len() as u32 });
            }
        }
        self.rows.shrink_to_fit();
        self.buckets.shrink_to_fit();
    }

    /// What is live of buckets, with what they had in `old`; of very many entries on several threads.
    fn live_groups(&self, old: &Self, mut groups: Vec<Group>) -> Vec<LiveGroup> {
        let threads = groups.iter().map(|group| group.entries.len()).sum::<usize>() / ENTRIES_PER_THREAD;
        let live = |share: &mut [Group]| share.iter_mut().map(|group| self.live_group(old, group)).collect::<Vec<_>>();
        let shares = on_threads(&mut groups, threads, live).into_iter();
        shares.flat_map(|live| live.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    }

    /// The entries of a bucket that are live; those of the group are taken.
    fn live_group(&self, old: &Self, group: &mut Group) -> LiveGroup {
        let new = std::mem::take(&mut group.entries);
        let known = old.partitions.get(group.partition as usize).map(|p| old.buckets_of(p)).unwrap_or_default();
        let known = known.binary_search_by_key(&group.bucket, |bucket| bucket.bucket).ok().and_then(|at| known.get(at));
        let old = known.map(|bucket| old.rows_of(bucket)).unwrap_or_default();
        let kind = |entry: &EntryRef| self.get(*entry).map_or(FileKind::Add, |(chunk, row)| chunk.kind(row));
        let mut deleted: HashMap<u32, Vec<EntryRef>> = HashMap::new();
        for entry in new.iter().filter(|entry| kind(entry) == FileKind::Delete) {
            deleted.entry(self.hash(*entry)).or_default().push(*entry);
        }
        let is_live = |entry: &&EntryRef| {
            let takes_back = |delete: &EntryRef| self.is_same_file(*delete, **entry);
            deleted.is_empty() || !deleted.get(&self.hash(**entry)).is_some_and(|d| d.iter().any(takes_back))
        };
        let added = new.iter().filter(|entry| kind(entry) == FileKind::Add);
        let mut entries: Vec<EntryRef> = old.iter().chain(added).filter(is_live).copied().collect();
        let sequence = |entry: &EntryRef| self.get(*entry).map_or(0, |(chunk, row)| chunk.min_sequence_number(row));
        if !entries.is_sorted_by_key(sequence) {
            entries.sort_by_key(sequence);
        }
        let facts = BucketFacts::of(entries.iter().filter_map(|entry| self.get(*entry)));
        LiveGroup { partition: group.partition, bucket: group.bucket, facts, entries }
    }

    /// Appends a bucket where it has live entries.
    fn push(&mut self, LiveGroup { bucket, facts, entries, .. }: LiveGroup) {
        let Some(facts) = facts else { return };
        let start = self.rows.len() as u32;
        let chunks = entries.iter().map(|entry| entry.chunk);
        let chunks = chunks.clone().min().unwrap_or(0)..chunks.max().map_or(0, |last| last + 1);
        self.rows.extend(entries);
        self.buckets.push(LiveBucket { bucket, facts, rows: start..self.rows.len() as u32, chunks });
    }

    /// Appends a bucket that is as it was.
    fn take_over(&mut self, bucket: &LiveBucket, rows: &[EntryRef]) {
        let start = self.rows.len() as u32;
        self.rows.extend_from_slice(rows);
        self.buckets.push(LiveBucket { rows: start..self.rows.len() as u32, ..bucket.clone() });
    }

    fn hash(&self, entry: EntryRef) -> u32 {
        self.get(entry).map_or(0, |(chunk, row)| chunk.identity_hash(row))
    }

    fn is_same_file(&self, a: EntryRef, b: EntryRef) -> bool {
        let (Some((a, row)), Some((b, other_row))) = (self.get(a), self.get(b)) else { return false };
        a.is_same_file(row, b, other_row)
    }

    fn distinct_schema_ids(&self) -> Vec<i64> {
        let mut ids: Vec<i64> = vec![];
        let mut add = |id: i64| {
            if ids.last() != Some(&id) && !ids.contains(&id) {
                ids.push(id);
            }
        };
        for bucket in &self.buckets {
            match bucket.facts.written_with {
                Some((_, id)) => add(id),
                None => {
                    let entries = self.rows_of(bucket).iter().filter_map(|entry| self.get(*entry));
                    entries.for_each(|(chunk, row)| add(chunk.schema_id(row)));
                }
            }
        }
        ids
    }

    /// The manifests that it was made of.
    pub fn manifests(&self) -> &[Arc<PackedManifest>] {
        &self.manifests
    }

    /// The number of live entries.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The partitions that have live entries.
    pub fn partitions(&self) -> &[LivePartition] {
        &self.partitions
    }

    /// The buckets of a partition, ascending.
    pub fn buckets_of(&self, partition: &LivePartition) -> &[LiveBucket] {
        self.buckets.get(partition.buckets.start as usize..partition.buckets.end as usize).unwrap_or_default()
    }

    /// The live entries of a bucket, by sequence number.
    pub fn rows_of(&self, bucket: &LiveBucket) -> &[EntryRef] {
        self.rows.get(bucket.rows.start as usize..bucket.rows.end as usize).unwrap_or_default()
    }

    /// The ids of all schemas that live files were written with.
    pub fn schema_ids(&self) -> &[i64] {
        &self.schema_ids
    }

    /// What names of files end in, each once.
    pub fn extensions(&self) -> &[String] {
        &self.extensions
    }

    /// What was found of columns in all chunks.
    pub fn ranges(&self) -> &KnownRanges {
        &self.ranges
    }

    /// How many chunks there are.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// Where an entry is packed.
    #[inline]
    pub fn get(&self, entry: EntryRef) -> Option<(&PackedEntries, usize)> {
        let chunk = self.chunks.get(entry.chunk as usize)?;
        Some((chunk, entry.row as usize))
    }

    /// The statistics of a bucket whose entries are far apart in memory, brought together. To be asked for few buckets at
    /// a time: `files` is how many files are asked about in all.
    pub fn statistics_of(&self, bucket: &LiveBucket, files: usize) -> Option<Arc<BucketStatistics>> {
        let entries = self.rows_of(bucket);
        let few = files <= self.rows.len() / STATISTICS_PART;
        (few && are_apart(entries)).then(|| self.statistics.of(self, bucket.rows.start, entries)).flatten()
    }

    /// Brings the statistics of entries that are far apart in memory into the processor's caches, all at once rather than
    /// one after another.
    pub fn look_ahead(&self, entries: &[EntryRef]) {
        if !are_apart(entries) {
            return;
        }
        for step in 0..TOUCHES {
            let touched = entries.iter().filter_map(|entry| self.get(*entry));
            black_box(touched.map(|(chunk, row)| chunk.touch_statistics(row, step)).fold(0, usize::wrapping_add));
        }
    }

    fn manifest_bytes(&self) -> usize {
        self.manifests.iter().map(|m| m.heap_bytes()).sum()
    }

    /// Chunks that have all the given entries, each once; of whole buckets there may be chunks without any between those
    /// with some.
    pub fn chunks_of<'a>(
        &self,
        entries: impl Iterator<Item = &'a BucketEntries>,
    ) -> impl Iterator<Item = &PackedEntries> {
        let mut has = vec![false; self.chunks.len()];
        for entries in entries {
            match entries {
                BucketEntries::All(LiveBucket { chunks, .. }) => {
                    has.get_mut(chunks.start as usize..chunks.end as usize).unwrap_or_default().fill(true);
                }
                BucketEntries::Some(entries) => entries.iter().for_each(|entry| {
                    has.get_mut(entry.chunk as usize).into_iter().for_each(|has| *has = true);
                }),
            }
        }
        self.chunks.iter().zip(has).filter(|(_, has)| *has).map(|(chunk, _)| chunk.as_ref())
    }

    /// Decodes all entries, for nothing but to have done it.
    pub fn decode_all(&self) {
        self.rows.iter().for_each(|entry| drop(self.entry(*entry)));
    }

    /// The whole entry.
    pub fn entry(&self, entry: EntryRef) -> Option<ManifestEntry> {
        self.get(entry).and_then(|(chunk, row)| chunk.entry(row))
    }
}

/// Whether entries that follow each other mostly are not in one chunk.
fn are_apart(entries: &[EntryRef]) -> bool {
    let apart = entries.iter().zip(entries.iter().skip(1)).filter(|(a, b)| a.chunk != b.chunk).count();
    apart * 2 >= entries.len()
}

impl CacheValue for LiveEntries {
    fn heap_bytes(&self) -> usize {
        self.manifest_bytes()
            + self.statistics.capacity_bytes()
            + self.chunks.capacity() * size_of::<Arc<PackedEntries>>()
            + self.rows.capacity() * size_of::<EntryRef>()
            + self.buckets.capacity() * size_of::<LiveBucket>()
            + self.partitions.capacity() * size_of::<LivePartition>()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::spec::columns_for_tests::batch_of_entries;
    use crate::spec::data_file::DataFileMeta;
    use crate::spec::manifest_entry::ManifestEntries;

    /// A manifest of the given entries, in chunks of three.
    pub(crate) fn manifest(name: &str, entries: &[ManifestEntry]) -> Arc<PackedManifest> {
        manifest_of(name, entries, 3)
    }

    /// A manifest of the given entries, in chunks of so many.
    pub(crate) fn manifest_of(name: &str, entries: &[ManifestEntry], chunk: usize) -> Arc<PackedManifest> {
        let pack = |entries: &[ManifestEntry]| {
            let batch = batch_of_entries(entries);
            Arc::new(PackedEntries::pack(&ManifestEntries::new(&batch).unwrap()).unwrap())
        };
        Arc::new(PackedManifest { name: name.into(), chunks: entries.chunks(chunk).map(pack).collect() })
    }

    fn entry(kind: FileKind, bucket: i32, level: i32, name: &str) -> ManifestEntry {
        let file = DataFileMeta { file_name: name.into(), level, ..DataFileMeta::empty() };
        ManifestEntry { kind, partition: vec![0; 12].into(), bucket, total_buckets: -1, file }
    }

    fn all(live: &LiveEntries) -> Vec<ManifestEntry> {
        let buckets = live.partitions().iter().flat_map(|p| live.buckets_of(p));
        buckets.flat_map(|b| live.rows_of(b)).map(|row| live.entry(*row).unwrap()).collect()
    }

    #[test]
    fn a_delete_takes_back_its_file_only_wherever_it_stands() {
        use FileKind::{Add, Delete};
        let live = LiveEntries::of(vec![
            manifest("1", &[entry(Delete, 0, 0, "late"), entry(Add, 0, 0, "a"), entry(Add, 1, 0, "a")]),
            manifest("2", &[entry(Add, 0, 0, "late"), entry(Delete, 0, 0, "a"), entry(Add, 0, 5, "a")]),
        ]);
        let live = all(&live);
        let names: Vec<_> = live.iter().map(|e| (e.bucket, e.file.level, e.file.file_name.as_str())).collect();
        assert_eq!(names, [(0, 5, "a"), (1, 0, "a")]);
    }

    #[test]
    fn very_many_entries_are_those_of_a_simple_merge() {
        const FILES: i32 = 2 * ENTRIES_PER_THREAD as i32;
        let entry = |kind, n: i32| ManifestEntry {
            partition: vec![(n % 3) as u8; 4].into(),
            file: DataFileMeta {
                min_sequence_number: i64::from(FILES - n),
                ..entry(kind, n % 7, 0, &n.to_string()).file
            },
            ..entry(kind, n % 7, 0, "")
        };
        let added: Vec<_> = (0..FILES).map(|n| entry(FileKind::Add, n)).collect();
        let deleted: Vec<_> = (0..FILES).step_by(5).map(|n| entry(FileKind::Delete, n)).collect();
        let live = LiveEntries::of(vec![manifest_of("1", &added, 1024), manifest_of("2", &deleted, 1024)]);
        assert_eq!(live.partitions().len(), 3);
        for partition in live.partitions() {
            let buckets: Vec<_> = live.buckets_of(partition).iter().map(|bucket| bucket.bucket).collect();
            assert_eq!(buckets, [0, 1, 2, 3, 4, 5, 6]);
            for bucket in live.buckets_of(partition) {
                let rows = live.rows_of(bucket).iter().map(|row| live.entry(*row).unwrap());
                let got: Vec<_> = rows.map(|entry| entry.file.file_name).collect();
                let of = |n: &i32| partition.partition[0] == (n % 3) as u8 && bucket.bucket == n % 7 && n % 5 != 0;
                let want: Vec<_> = (0..FILES).rev().filter(of).map(|n| n.to_string()).collect();
                assert_eq!((got, bucket.facts.bytes), (want, 0));
            }
        }
    }

    fn some_entry() -> impl Strategy<Value = ManifestEntry> {
        (any::<bool>(), 0u8..3, -1i32..3, 0i32..2, 0u8..6).prop_map(|(delete, partition, bucket, level, name)| {
            let kind = if delete { FileKind::Delete } else { FileKind::Add };
            let partition: Arc<[u8]> = vec![partition; 4].into();
            ManifestEntry { partition, ..entry(kind, bucket, level, &format!("f-{name}.orc")) }
        })
    }

    proptest! {
        #[test]
        fn entries_are_those_of_a_simple_merge(
            entries in proptest::collection::vec(some_entry(), 0..40),
            cut in 0usize..40,
        ) {
            let (first, second) = entries.split_at(cut.min(entries.len()));
            let live = LiveEntries::of(vec![manifest("1", first), manifest("2", second)]);
            let deletes = entries.iter().filter(|e| e.kind == FileKind::Delete);
            let deleted: HashSet<_> = deletes.map(ManifestEntry::identity).collect();
            let mut want: Vec<_> = entries
                .iter()
                .filter(|e| e.kind == FileKind::Add && !deleted.contains(&e.identity()))
                .cloned()
                .collect();
            let mut got = all(&live);
            prop_assert_eq!(live.len(), got.len());
            let sorted: Vec<_> = live.partitions().iter().flat_map(|p| live.buckets_of(p)).map(|b| b.bucket).collect();
            for partition in live.partitions() {
                prop_assert!(live.buckets_of(partition).windows(2).all(|w| w[0].bucket < w[1].bucket), "{:?}", sorted);
            }
            let key = |e: &ManifestEntry| (e.partition.to_vec(), e.bucket, e.file.level, e.file.file_name.clone());
            want.sort_by_key(key);
            got.sort_by_key(key);
            prop_assert_eq!(got, want);
        }

        #[test]
        fn later_manifests_may_come_later(first in proptest::collection::vec(some_entry(), 0..30),
            second in proptest::collection::vec(some_entry(), 0..30)) {
            // A file that was deleted does not come again.
            let gone: HashSet<_> =
                first.iter().filter(|e| e.kind == FileKind::Delete).map(ManifestEntry::identity).collect();
            let second: Vec<_> = second.iter().filter(|e| !gone.contains(&e.identity())).cloned().collect();
            let (a, b) = (manifest("1", &first), manifest("2", &second));
            let whole = LiveEntries::of(vec![Arc::clone(&a), Arc::clone(&b)]);
            let grown = LiveEntries::of(vec![a]).with(vec![b]);
            let key = |e: &ManifestEntry| (e.partition.to_vec(), e.bucket);
            let (mut whole, mut grown) = (all(&whole), all(&grown));
            // Partitions stand in the order in which they first had live entries.
            whole.sort_by_key(key);
            grown.sort_by_key(key);
            prop_assert_eq!(whole, grown);
        }
    }
}
