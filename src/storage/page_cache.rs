//! What of the local disk is in memory already: [`Disk`].
//!
//! In: ranges of a file. Out: their bytes, if all of them are in the page cache, so that copying them is all there is to
//! do; then no other thread need be asked, which for small reads takes longer than the read. `None` wherever that is not
//! so, or cannot be told: then the store is asked. Only for the local disk as `object_store` has it; a store that somebody
//! put in its place sees every read.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::LazyLock;

use bytes::Bytes;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;

/// Larger reads are left to a thread that may be kept busy.
pub const MOST_BYTES: u64 = 256 << 10;

/// What the whole local disk is called as a store.
static NAME: LazyLock<String> = LazyLock::new(|| LocalFileSystem::new().to_string());

/// The local disk.
#[derive(Debug, Clone, Copy)]
pub struct Disk(());

impl Disk {
    /// The local disk where `store` is just that.
    pub fn of(store: &dyn ObjectStore) -> Option<Self> {
        (cfg!(target_os = "linux") && store.to_string() == *NAME).then_some(Self(()))
    }

    /// Ranges of a file, if they are in memory.
    pub fn ranges(self, path: &Path, ranges: &[Range<u64>]) -> Option<Vec<Bytes>> {
        let length = |range: &Range<u64>| range.end.checked_sub(range.start);
        let bytes = ranges.iter().map(length).try_fold(0_u64, |sum, length| sum.checked_add(length?))?;
        (bytes <= MOST_BYTES).then(|| read::ranges(&on_disk(path), ranges)).flatten()
    }

    /// A whole file, if it is small and in memory.
    pub fn file(self, path: &Path) -> Option<Bytes> {
        read::file(&on_disk(path), MOST_BYTES)
    }
}

/// Where the disk has what is at a path of the store: the parts of both are the same.
fn on_disk(path: &Path) -> PathBuf {
    format!("/{path}").into()
}

#[cfg(target_os = "linux")]
mod read {
    use std::fs::File;
    use std::io::IoSliceMut;
    use std::ops::Range;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    use bytes::Bytes;
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    /// Whether a file system was met that cannot tell what is in memory.
    static CANNOT_TELL: AtomicBool = AtomicBool::new(false);

    pub fn ranges(path: &Path, ranges: &[Range<u64>]) -> Option<Vec<Bytes>> {
        if CANNOT_TELL.load(Ordering::Relaxed) {
            return None;
        }
        let file = File::open(path).ok()?;
        ranges
            .iter()
            .map(|range| range_of(&file, range.start, usize::try_from(range.end - range.start).ok()?))
            .collect()
    }

    pub fn file(path: &Path, most_bytes: u64) -> Option<Bytes> {
        if CANNOT_TELL.load(Ordering::Relaxed) {
            return None;
        }
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= most_bytes)?;
        range_of(&file, 0, usize::try_from(metadata.len()).ok()?)
    }

    /// So many bytes, if all of them are there at once.
    fn range_of(file: &File, start: u64, length: usize) -> Option<Bytes> {
        let mut bytes = vec![0; length];
        match preadv2(file, &mut [IoSliceMut::new(&mut bytes)], start, ReadWriteFlags::NOWAIT) {
            Ok(read) => (read == length).then(|| bytes.into()),
            Err(e) => {
                CANNOT_TELL.fetch_or(e == Errno::OPNOTSUPP || e == Errno::NOSYS, Ordering::Relaxed);
                None
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod read {
    use std::ops::Range;
    use std::path::Path;

    use bytes::Bytes;

    pub fn ranges(_: &Path, _: &[Range<u64>]) -> Option<Vec<Bytes>> {
        None
    }

    pub fn file(_: &Path, _: u64) -> Option<Bytes> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::storage::RecordingStore;

    fn ranges(pairs: &[(usize, usize)]) -> Vec<Range<u64>> {
        pairs.iter().map(|(from, to)| *from as u64..*to as u64).collect()
    }

    #[test]
    fn what_is_there_is_what_the_file_holds_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a b%20é");
        let content: Vec<u8> = (0..1000).map(|n| n as u8).collect();
        std::fs::write(&file, &content).unwrap();
        let Some(disk) = Disk::of(&LocalFileSystem::new()) else { return };
        let path = Path::parse(file.to_str().unwrap().trim_start_matches('/')).unwrap();
        // Temporary folders may lie where nothing can be told of the page cache.
        for pairs in [&[(0, 10), (990, 1000)][..], &[], &[(5, 5)], &[(0, 1000)]] {
            let got = disk.ranges(&path, &ranges(pairs));
            let want: Vec<Bytes> = pairs.iter().map(|(from, to)| content[*from..*to].to_vec().into()).collect();
            assert!(got.is_none_or(|got| got == want), "{pairs:?}");
        }
        assert!(disk.file(&path).is_none_or(|got| got == content));
        // Reads that fail or are large are those of the store.
        let large = MOST_BYTES as usize + 1;
        for pairs in [&[(990, 1001)][..], &[(10, 5)], &[(0, large)], &[(0, usize::MAX), (0, usize::MAX)]] {
            assert_eq!(disk.ranges(&path, &ranges(pairs)), None, "{pairs:?}");
        }
        let missing = Path::parse("no/such/file").unwrap();
        assert!(disk.ranges(&missing, &ranges(&[(0, 1)])).is_none() && disk.file(&missing).is_none());
    }

    #[test]
    fn a_store_in_the_place_of_the_disk_is_not_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Disk::of(&RecordingStore::new(Arc::new(LocalFileSystem::new()))).is_none());
        assert!(Disk::of(&LocalFileSystem::new_with_prefix(folder.path()).unwrap()).is_none());
    }
}
