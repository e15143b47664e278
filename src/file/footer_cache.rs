//! Decoded footers of data files, kept between reads in the session's shared metadata cache.
//!
//! In: an [`InputFile`] and its size. Out: the footer that a format reader put there, of the reader's own type. The
//! cache is DataFusion's, so its memory limit (`datafusion.runtime.metadata_cache_limit`) and its listing cover
//! these entries too. Data files never change, so an entry is valid as long as the size agrees; a file of unknown
//! store is not cached, since equal paths of two stores would be taken for one.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use chrono::DateTime;
use datafusion::execution::cache::cache_manager::{CachedFileMetadataEntry, FileMetadata, FileMetadataCache};
use datafusion::execution::runtime_env::RuntimeEnv;
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::storage::InputFile;

/// A view on DataFusion's cache of file metadata.
pub struct FooterCache {
    cache: Arc<FileMetadataCache>,
}

impl fmt::Debug for FooterCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FooterCache")
    }
}

impl FooterCache {
    /// The cache of a session.
    pub fn new(runtime: &RuntimeEnv) -> Self {
        Self { cache: runtime.cache_manager.get_file_metadata_cache() }
    }

    /// The footer of a file, if it is there and of type `T`.
    pub fn get<T: FileMetadata>(&self, file: &InputFile, size_bytes: u64) -> Option<Arc<T>> {
        let entry = self.cache.get(&key(file)?)?;
        if entry.meta.size != size_bytes {
            return None;
        }
        let any: Arc<dyn Any + Send + Sync> = entry.file_metadata;
        any.downcast().ok()
    }

    /// Keeps the footer of a file.
    pub fn put(&self, file: &InputFile, size_bytes: u64, footer: Arc<dyn FileMetadata>) {
        let Some(key) = key(file) else { return };
        let meta = ObjectMeta {
            location: key.clone(),
            last_modified: DateTime::UNIX_EPOCH,
            size: size_bytes,
            e_tag: None,
            version: None,
        };
        self.cache.put(&key, CachedFileMetadataEntry::new(meta, footer));
    }
}

/// DataFusion's cache knows paths only: the store goes in front.
fn key(file: &InputFile) -> Option<Path> {
    Some(Path::from_iter([file.store_url()?, file.path().as_ref()]))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::storage::{Location, Storage};

    struct Footer(u8);

    impl FileMetadata for Footer {
        fn as_any(&self) -> &dyn Any {
            self
        }
        fn memory_size(&self) -> usize {
            1
        }
        fn extra_info(&self) -> datafusion::common::HashMap<String, String> {
            HashMap::<String, String>::new().into_iter().collect()
        }
    }

    #[test]
    fn an_entry_is_of_one_store_one_path_and_one_size() {
        let runtime = RuntimeEnv::default();
        for url in ["memory://a", "memory://b"] {
            let url = url::Url::parse(url).unwrap();
            runtime.register_object_store(&url, Arc::new(object_store::memory::InMemory::new()));
        }
        let storage = Storage::new(&runtime);
        let file = |text: &str| storage.file(&Location::parse(text).unwrap(), None).unwrap();
        let cache = FooterCache::new(&runtime);
        cache.put(&file("memory://a/x"), 10, Arc::new(Footer(7)));
        assert_eq!(cache.get::<Footer>(&file("memory://a/x"), 10).map(|f| f.0), Some(7));
        assert!(cache.get::<Footer>(&file("memory://a/x"), 11).is_none());
        assert!(cache.get::<Footer>(&file("memory://b/x"), 10).is_none());
        let by_hand = InputFile::new(Arc::new(object_store::memory::InMemory::new()), Path::from("x"), None);
        cache.put(&by_hand, 10, Arc::new(Footer(8)));
        assert!(cache.get::<Footer>(&by_hand, 10).is_none());
    }
}
