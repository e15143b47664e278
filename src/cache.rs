//! What is kept between queries: [`PaimonCache`], over a [`Cache`] that can be replaced.
//!
//! In: a key that names an immutable thing (a manifest, a section's files) and a way to load it. Out: the thing, loaded
//! once however many ask for it at the same time. The built-in [`LruCache`] is bounded by the memory that its values
//! hold. A cache is an optimisation: a value that is not kept is loaded again, and an error is never kept.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::OnceCell;

use crate::error::Result;

/// How much memory the built-in cache of a session holds at most, in bytes.
pub const DEFAULT_CAPACITY_BYTES: usize = 256 << 20;

/// What kind of thing a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheKind {
    /// The decoded entries of one manifest.
    Manifest,
    /// The live entries of a snapshot.
    LiveEntries,
    /// Which rows of the files of a section survive merging.
    MergedSection,
    /// Which rows of a file its index leaves.
    FileIndex,
    /// Which rows of a file conditions leave.
    FilteredFile,
}

impl CacheKind {
    /// All kinds.
    pub const ALL: [CacheKind; 5] = [
        CacheKind::Manifest,
        CacheKind::LiveEntries,
        CacheKind::MergedSection,
        CacheKind::FileIndex,
        CacheKind::FilteredFile,
    ];

    /// What the kind is called in SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            CacheKind::Manifest => "manifest",
            CacheKind::LiveEntries => "live_entries",
            CacheKind::MergedSection => "merged_section",
            CacheKind::FileIndex => "file_index",
            CacheKind::FilteredFile => "filtered_file",
        }
    }
}

/// Names a value. Equal names mean equal values for ever.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheKey {
    /// What kind of thing it is.
    pub kind: CacheKind,
    /// Its name among its kind: full paths, and whatever else the value depends on.
    pub name: Arc<str>,
}

impl CacheKey {
    /// The key of a thing of that name.
    pub fn new(kind: CacheKind, name: impl Into<Arc<str>>) -> Self {
        Self { kind, name: name.into() }
    }
}

/// Something that can be kept.
pub trait CacheValue: Any + Send + Sync {
    /// The memory it holds on the heap, in bytes.
    fn heap_bytes(&self) -> usize;
}

/// Keeps values. Implementations decide what to keep and for how long; all methods may be called at the same time.
pub trait Cache: fmt::Debug + Send + Sync {
    /// The value of a key, if it is kept.
    fn get(&self, key: &CacheKey) -> Option<Arc<dyn CacheValue>>;

    /// Offers a value.
    fn put(&self, key: CacheKey, value: Arc<dyn CacheValue>);

    /// Forgets a value.
    fn remove(&self, key: &CacheKey);

    /// Forgets everything.
    fn clear(&self);

    /// What is kept, the last used first.
    fn list(&self) -> Vec<Kept>;

    /// How many bytes the values may hold together.
    fn capacity_bytes(&self) -> usize;

    /// Changes how many bytes the values may hold together; forgets what is too much already. False where the cache
    /// decides that itself, as it does unless it says otherwise.
    fn set_capacity_bytes(&self, _bytes: usize) -> bool {
        false
    }

    /// How many values of a kind are kept, and how many bytes they hold.
    fn usage(&self, kind: CacheKind) -> (usize, usize) {
        let of_kind = self.list().into_iter().filter(|kept| kept.key.kind == kind);
        of_kind.fold((0, 0), |(count, bytes), kept| (count + 1, bytes + kept.bytes))
    }
}

/// A value that is kept, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its key.
    pub key: CacheKey,
    /// What it weighs.
    pub bytes: usize,
    /// How often it was asked for since it came.
    pub hits: u64,
}

/// Keeps the values that were used last, up to a number of bytes.
pub struct LruCache {
    slots: Mutex<Slots>,
}

/// The values, what they weigh together, and what they may.
struct Slots {
    values: lru::LruCache<CacheKey, Slot>,
    bytes: usize,
    capacity_bytes: usize,
}

struct Slot {
    value: Arc<dyn CacheValue>,
    bytes: usize,
    hits: u64,
}

impl LruCache {
    /// An empty cache.
    pub fn new(capacity_bytes: usize) -> Self {
        Self { slots: Mutex::new(Slots { values: lru::LruCache::unbounded(), bytes: 0, capacity_bytes }) }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    /// Takes out what was used longest ago until the rest is within the capacity.
    fn evict(&mut self, gone: &mut Vec<Slot>) {
        while self.bytes > self.capacity_bytes
            && let Some((_, slot)) = self.values.pop_lru()
        {
            self.bytes = self.bytes.saturating_sub(slot.bytes);
            gone.push(slot);
        }
    }
}

impl fmt::Debug for LruCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LruCache").field("capacity_bytes", &self.capacity_bytes()).finish_non_exhaustive()
    }
}

impl Cache for LruCache {
    fn get(&self, key: &CacheKey) -> Option<Arc<dyn CacheValue>> {
        self.slots().values.get_mut(key).map(|slot| {
            slot.hits += 1;
            Arc::clone(&slot.value)
        })
    }

    fn put(&self, key: CacheKey, value: Arc<dyn CacheValue>) {
        let bytes = value.heap_bytes().saturating_add(key.name.len());
        let mut slots = self.slots();
        if bytes > slots.capacity_bytes {
            return;
        }
        slots.bytes = slots.bytes.saturating_add(bytes);
        let mut gone = vec![];
        gone.extend(slots.values.put(key, Slot { value, bytes, hits: 0 }));
        slots.bytes = gone.iter().fold(slots.bytes, |bytes, slot| bytes.saturating_sub(slot.bytes));
        slots.evict(&mut gone);
        // Large values are dropped when others need not wait for it.
        drop(slots);
    }

    fn remove(&self, key: &CacheKey) {
        let mut slots = self.slots();
        let gone = slots.values.pop(key);
        slots.bytes = slots.bytes.saturating_sub(gone.as_ref().map_or(0, |slot| slot.bytes));
        drop(slots);
    }

    fn clear(&self) {
        let mut slots = self.slots();
        let gone = std::mem::replace(&mut slots.values, lru::LruCache::unbounded());
        slots.bytes = 0;
        drop(slots);
        drop(gone);
    }

    fn list(&self) -> Vec<Kept> {
        let slots = self.slots();
        slots.values.iter().map(|(key, slot)| Kept { key: key.clone(), bytes: slot.bytes, hits: slot.hits }).collect()
    }

    fn capacity_bytes(&self) -> usize {
        self.slots().capacity_bytes
    }

    fn set_capacity_bytes(&self, bytes: usize) -> bool {
        let (mut slots, mut gone) = (self.slots(), vec![]);
        slots.capacity_bytes = bytes;
        slots.evict(&mut gone);
        drop(slots);
        true
    }
}

/// A load that is under way, by what is loaded.
type Flights = HashMap<CacheKey, Weak<OnceCell<Arc<dyn CacheValue>>>>;

/// The cache of a session: a [`Cache`] under which nothing is loaded twice at the same time.
#[derive(Debug)]
pub struct PaimonCache {
    cache: Arc<dyn Cache>,
    flights: Mutex<Flights>,
    groups: Mutex<HashMap<Arc<str>, Vec<CacheKey>>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Default for PaimonCache {
    fn default() -> Self {
        Self::new(Arc::new(LruCache::new(DEFAULT_CAPACITY_BYTES)))
    }
}

impl PaimonCache {
    /// A session's cache that keeps its values in `cache`.
    pub fn new(cache: Arc<dyn Cache>) -> Self {
        let (flights, groups) = (Mutex::default(), Mutex::default());
        Self { cache, flights, groups, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// Where values are kept.
    pub fn cache(&self) -> &Arc<dyn Cache> {
        &self.cache
    }

    /// How often a value was there, and how often it was not.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    /// The value of a key, if it is kept and of type `T`.
    pub fn get<T: CacheValue>(&self, key: &CacheKey) -> Option<Arc<T>> {
        let value = self.cache.get(key).and_then(downcast);
        let counter = if value.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        value
    }

    /// The value of a key, if it is kept and of type `T`; counts neither as a hit nor as a miss.
    pub fn peek<T: CacheValue>(&self, key: &CacheKey) -> Option<Arc<T>> {
        self.cache.get(key).and_then(downcast)
    }

    /// The value of a key; loads it unless it is kept or somebody is loading it. When the one who loads gives up, or
    /// fails, the next one who waits loads.
    pub async fn get_or_load<T: CacheValue>(
        &self,
        key: CacheKey,
        load: impl Future<Output = Result<T>>,
    ) -> Result<Arc<T>> {
        if let Some(value) = self.get(&key) {
            return Ok(value);
        }
        let flight = self.flight(&key);
        let loaded = flight.get_or_try_init(|| async {
            let value: Arc<dyn CacheValue> = Arc::new(load.await?);
            self.cache.put(key.clone(), Arc::clone(&value));
            Ok::<_, crate::error::Error>(value)
        });
        let value = Arc::clone(loaded.await?);
        downcast(value).ok_or_else(|| crate::error::Error::internal(format!("{key:?} has values of two types")))
    }

    /// Keeps of the values of a group only the last `max`: that of `key`, and those that were kept last before it.
    pub fn keep_in_group(&self, group: &str, key: &CacheKey, max: usize) {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = groups.entry(group.into()).or_default();
        keys.retain(|other| other != key);
        keys.push(key.clone());
        let gone: Vec<CacheKey> = keys.drain(..keys.len().saturating_sub(max)).collect();
        drop(groups);
        gone.iter().for_each(|key| self.cache.remove(key));
    }

    /// The keys of a group, the one that was kept last first.
    pub fn group(&self, group: &str) -> Vec<CacheKey> {
        let groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.get(group).map(|keys| keys.iter().rev().cloned().collect()).unwrap_or_default()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.cache.clear();
    }

    /// The load that is under way for a key, or a new one.
    fn flight(&self, key: &CacheKey) -> Arc<OnceCell<Arc<dyn CacheValue>>> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.get(key).and_then(Weak::upgrade) {
            return flight;
        }
        flights.retain(|_, flight| flight.strong_count() > 0);
        let flight = Arc::new(OnceCell::new());
        flights.insert(key.clone(), Arc::downgrade(&flight));
        flight
    }
}

fn downcast<T: CacheValue>(value: Arc<dyn CacheValue>) -> Option<Arc<T>> {
    let any: Arc<dyn Any + Send + Sync> = value;
    any.downcast().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use super::*;
    use crate::error::Error;

    #[derive(Debug)]
    struct Bytes(usize);

    impl CacheValue for Bytes {
        fn heap_bytes(&self) -> usize {
            self.0
        }
    }

    fn key(name: &str) -> CacheKey {
        CacheKey::new(CacheKind::Manifest, name)
    }

    #[test]
    fn the_values_used_last_stay_within_the_bytes() {
        let cache = LruCache::new(33);
        for name in ["a", "b", "c"] {
            cache.put(key(name), Arc::new(Bytes(10)));
        }
        assert!(cache.get(&key("a")).is_some());
        cache.put(key("d"), Arc::new(Bytes(10)));
        cache.put(key("too large"), Arc::new(Bytes(1000)));
        let there = ["a", "b", "c", "d", "too large"].map(|name| cache.get(&key(name)).is_some());
        assert_eq!(there, [true, false, true, true, false]);
        assert_eq!(cache.usage(CacheKind::Manifest), (3, 33));
        cache.put(key("d"), Arc::new(Bytes(1)));
        assert_eq!(cache.usage(CacheKind::Manifest), (3, 24));
        cache.clear();
        assert_eq!(cache.usage(CacheKind::Manifest), (0, 0));
    }

    #[test]
    fn a_smaller_cache_forgets_what_was_used_longest_ago() {
        let cache = LruCache::new(100);
        for name in ["a", "b", "c"] {
            cache.put(key(name), Arc::new(Bytes(10)));
        }
        assert!(cache.get(&key("a")).is_some());
        assert!(cache.set_capacity_bytes(22));
        assert_eq!(["a", "b", "c"].map(|name| cache.get(&key(name)).is_some()), [true, false, true]);
        assert_eq!((cache.capacity_bytes(), cache.usage(CacheKind::Manifest)), (22, (2, 22)));
        assert!(cache.set_capacity_bytes(0));
        cache.put(key("d"), Arc::new(Bytes(0)));
        assert!(cache.list().is_empty());
    }

    #[tokio::test]
    async fn a_value_is_loaded_once_and_an_error_is_not_kept() {
        let (cache, loads) = (PaimonCache::default(), AtomicUsize::new(0));
        let load = || async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if loads.fetch_add(1, Ordering::Relaxed) == 0 { Err(Error::corrupt("first")) } else { Ok(Bytes(3)) }
        };
        let all = futures::future::join_all((0..4).map(|_| cache.get_or_load(key("k"), load()))).await;
        assert_eq!(all.iter().filter(|r| r.is_err()).count(), 1);
        assert_eq!(loads.load(Ordering::Relaxed), 2);
        assert_eq!(cache.get_or_load(key("k"), load()).await.unwrap().0, 3);
        assert_eq!(loads.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn who_waits_loads_when_the_one_who_loads_gives_up() {
        let cache = PaimonCache::default();
        let never = cache.get_or_load(key("k"), std::future::pending::<Result<Bytes>>());
        let _ = tokio::time::timeout(Duration::from_millis(5), never).await;
        assert_eq!(cache.get_or_load(key("k"), async { Ok(Bytes(1)) }).await.unwrap().0, 1);
    }
}
