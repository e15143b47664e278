//! Merges ADD and DELETE entries into the live files of a snapshot.
//!
//! In: the entries of all manifests, in any order. Out: the ADD entries that no DELETE entry takes back. A file is
//! identified by partition, bucket, level and name (and what [`FileIdentity`] adds): a compaction that lifts a file to
//! another level deletes and adds the same name. Java: `FileEntry.mergeEntries`, `AbstractFileStoreScan`.

use std::collections::HashSet;

use crate::spec::manifest_entry::{FileIdentity, FileKind, ManifestEntry};

/// The live files among the entries of some manifests.
pub fn live_entries(manifests: Vec<Vec<ManifestEntry>>) -> Vec<ManifestEntry> {
    let deletes = |e: &&ManifestEntry| e.kind == FileKind::Delete;
    let deleted: HashSet<FileIdentity<'_>> =
        manifests.iter().flatten().filter(deletes).map(ManifestEntry::identity).collect();
    let live: Vec<bool> = manifests
        .iter()
        .flatten()
        .map(|e| e.kind == FileKind::Add && (deleted.is_empty() || !deleted.contains(&e.identity())))
        .collect();
    manifests.into_iter().flatten().zip(live).filter_map(|(entry, live)| live.then_some(entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::data_file::DataFileMeta;

    fn entry(kind: FileKind, bucket: i32, level: i32, name: &str) -> ManifestEntry {
        let file = DataFileMeta { file_name: name.into(), level, ..DataFileMeta::empty() };
        ManifestEntry { kind, partition: vec![0; 12].into(), bucket, total_buckets: -1, file }
    }

    #[test]
    fn a_delete_takes_back_its_file_only_wherever_it_stands() {
        use FileKind::{Add, Delete};
        let live = live_entries(vec![
            vec![entry(Delete, 0, 0, "late"), entry(Add, 0, 0, "a"), entry(Add, 1, 0, "a")],
            vec![entry(Add, 0, 0, "late"), entry(Delete, 0, 0, "a"), entry(Add, 0, 5, "a")],
        ]);
        let names: Vec<_> = live.iter().map(|e| (e.bucket, e.file.level, e.file.file_name.as_str())).collect();
        assert_eq!(names, [(1, 0, "a"), (0, 5, "a")]);
    }
}
