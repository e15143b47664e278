//! Names of files and folders inside of a table.
//!
//! In: ids and names. Out: paths relative to the table's folder, parts joined by `/`, and back from names to ids.
//! A [`MetadataFolder`] is where schemas, snapshots and tags of a branch lie; manifests, indexes, statistics and data
//! of all branches lie in the table's own folder. Java: `SnapshotManager`, `SchemaManager`, `TagManager`,
//! `BranchManager`, `FileStorePathFactory`, `DataFilePathFactory`.

use crate::error::{Error, Result};

/// The branch that is the table itself.
pub const MAIN_BRANCH: &str = "main";
/// The folder of schemas.
pub const SCHEMA_FOLDER: &str = "schema";
/// The folder of snapshots.
pub const SNAPSHOT_FOLDER: &str = "snapshot";
/// The folder of changelogs that outlive their snapshots.
pub const CHANGELOG_FOLDER: &str = "changelog";
/// The folder of tags.
pub const TAG_FOLDER: &str = "tag";
/// The folder of branches.
pub const BRANCH_FOLDER: &str = "branch";
/// The folder of consumers.
pub const CONSUMER_FOLDER: &str = "consumer";
/// The hint at the latest snapshot or changelog.
pub const LATEST: &str = "LATEST";
/// The hint at the earliest snapshot or changelog.
pub const EARLIEST: &str = "EARLIEST";
/// The bucket of rows that have no bucket yet.
pub const POSTPONE_BUCKET: i32 = -2;

const SCHEMA_PREFIX: &str = "schema-";
const SNAPSHOT_PREFIX: &str = "snapshot-";
const CHANGELOG_PREFIX: &str = "changelog-";
const TAG_PREFIX: &str = "tag-";
const BRANCH_PREFIX: &str = "branch-";
const CONSUMER_PREFIX: &str = "consumer-";
const BUCKET_PREFIX: &str = "bucket-";

/// The folder of a branch's schemas, snapshots, tags, changelogs and consumers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct MetadataFolder {
    /// With a slash at its end; empty for the main branch.
    prefix: String,
}

impl MetadataFolder {
    /// That of the main branch: the table's own.
    pub fn main() -> Self {
        Self::default()
    }

    /// That of a branch.
    pub fn of_branch(branch: &str) -> Self {
        if branch == MAIN_BRANCH {
            return Self::main();
        }
        Self { prefix: format!("{BRANCH_FOLDER}/{BRANCH_PREFIX}{branch}/") }
    }

    /// One of the folders in it, such as [`SNAPSHOT_FOLDER`].
    pub fn folder(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The file of a schema.
    pub fn schema(&self, id: i64) -> String {
        format!("{}{SCHEMA_FOLDER}/{SCHEMA_PREFIX}{id}", self.prefix)
    }

    /// The file of a snapshot.
    pub fn snapshot(&self, id: i64) -> String {
        format!("{}{SNAPSHOT_FOLDER}/{SNAPSHOT_PREFIX}{id}", self.prefix)
    }

    /// A hint, [`LATEST`] or [`EARLIEST`], at snapshots.
    pub fn snapshot_hint(&self, hint: &str) -> String {
        format!("{}{SNAPSHOT_FOLDER}/{hint}", self.prefix)
    }

    /// The file of a changelog that outlives its snapshot.
    pub fn changelog(&self, id: i64) -> String {
        format!("{}{CHANGELOG_FOLDER}/{CHANGELOG_PREFIX}{id}", self.prefix)
    }

    /// A hint, [`LATEST`] or [`EARLIEST`], at changelogs.
    pub fn changelog_hint(&self, hint: &str) -> String {
        format!("{}{CHANGELOG_FOLDER}/{hint}", self.prefix)
    }

    /// The file of a tag.
    pub fn tag(&self, name: &str) -> String {
        format!("{}{TAG_FOLDER}/{TAG_PREFIX}{name}", self.prefix)
    }

    /// The file of a consumer.
    pub fn consumer(&self, id: &str) -> String {
        format!("{}{CONSUMER_FOLDER}/{CONSUMER_PREFIX}{id}", self.prefix)
    }
}

/// The id in the name of a schema, `schema-3`.
pub fn schema_id(name: &str) -> Option<i64> {
    id_after(SCHEMA_PREFIX, name)
}

/// The id in the name of a snapshot, `snapshot-3`.
pub fn snapshot_id(name: &str) -> Option<i64> {
    id_after(SNAPSHOT_PREFIX, name)
}

/// The id in the name of a changelog, `changelog-3`.
pub fn changelog_id(name: &str) -> Option<i64> {
    id_after(CHANGELOG_PREFIX, name)
}

fn id_after(prefix: &str, name: &str) -> Option<i64> {
    let digits = name.strip_prefix(prefix)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The tag that a file is of, `tag-x`.
pub fn tag_name(name: &str) -> Option<&str> {
    name.strip_prefix(TAG_PREFIX)
}

/// The branch that a folder is of, `branch-b`.
pub fn branch_name(name: &str) -> Option<&str> {
    name.strip_prefix(BRANCH_PREFIX)
}

/// The consumer that a file is of, `consumer-x`.
pub fn consumer_id(name: &str) -> Option<&str> {
    name.strip_prefix(CONSUMER_PREFIX)
}

/// A manifest, manifest list or index manifest.
pub fn manifest(name: &str) -> String {
    format!("manifest/{name}")
}

/// An index file that is not beside its data files.
pub fn index(name: &str) -> String {
    format!("index/{name}")
}

/// A file of table statistics.
pub fn statistics(name: &str) -> String {
    format!("statistics/{name}")
}

/// The folder of a bucket inside of its partition's.
pub fn bucket_folder(bucket: i32) -> String {
    if bucket == POSTPONE_BUCKET { format!("{BUCKET_PREFIX}postpone") } else { format!("{BUCKET_PREFIX}{bucket}") }
}

/// The bucket of a folder, `bucket-3`.
pub fn bucket_of_folder(name: &str) -> Option<i32> {
    match name.strip_prefix(BUCKET_PREFIX)? {
        "postpone" => Some(POSTPONE_BUCKET),
        number => number.parse().ok(),
    }
}

/// The folder of a bucket: below the folder of table option `data-file.path-directory`, where that is set, and the
/// folder of the partition, empty for tables without partitions.
pub fn bucket_path(path_directory: Option<&str>, partition_path: &str, bucket: i32) -> String {
    let directory = path_directory.unwrap_or_default().trim_matches('/');
    let bucket = bucket_folder(bucket);
    let parts = [directory, partition_path.trim_matches('/'), &bucket];
    parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("/")
}

/// A file of a bucket.
pub fn data_file_path(path_directory: Option<&str>, partition_path: &str, bucket: i32, name: &str) -> String {
    format!("{}/{name}", bucket_path(path_directory, partition_path, bucket))
}

/// A side file of a data file: in the same folder, wherever that is.
pub fn side_file(data_file_path: &str, name: &str) -> String {
    match data_file_path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{name}"),
        None => name.to_owned(),
    }
}

/// The file in which the changelog of several buckets was compacted, and the part of it that one name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactedChangelog {
    /// The bucket in whose folder the file is.
    pub bucket: i32,
    /// The name of the file.
    pub file_name: String,
    /// Where the part, a complete file in itself, begins.
    pub offset_bytes: u64,
    /// The length of the part.
    pub length_bytes: u64,
    /// The format of the part.
    pub format: String,
}

impl CompactedChangelog {
    /// Reads `…${bucket}-{length}.cc-{format}`, or the name of another part of the same file,
    /// `…${bucket}-{length}-{offset}-{part length}.cc-{format}`; `None` for all other names.
    pub fn parse(name: &str) -> Result<Option<Self>> {
        let Some((stem, format)) = name.rsplit_once(".cc-") else { return Ok(None) };
        let wrong = || Error::corrupt(format!("'{name}' is no name of a compacted changelog"));
        let (base, place) = stem.rsplit_once('$').ok_or_else(wrong)?;
        let numbers = place.split('-').map(|n| n.parse::<u64>().ok()).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
        let (bucket, length, offset_bytes, length_bytes) = match numbers.as_slice() {
            [bucket, length] => (*bucket, *length, 0, *length),
            [bucket, length, offset, part] => (*bucket, *length, *offset, *part),
            _ => return Err(wrong()),
        };
        Ok(Some(Self {
            bucket: i32::try_from(bucket).map_err(|_| wrong())?,
            file_name: format!("{base}${bucket}-{length}.cc-{format}"),
            offset_bytes,
            length_bytes,
            format: format.to_owned(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn metadata_of_a_branch_is_in_its_folder() {
        for (branch, prefix) in [("main", ""), ("b 1", "branch/branch-b 1/")] {
            let m = MetadataFolder::of_branch(branch);
            for (got, want) in [
                (m.folder(TAG_FOLDER), "tag"),
                (m.schema(0), "schema/schema-0"),
                (m.snapshot(12), "snapshot/snapshot-12"),
                (m.snapshot_hint(LATEST), "snapshot/LATEST"),
                (m.changelog(7), "changelog/changelog-7"),
                (m.changelog_hint(EARLIEST), "changelog/EARLIEST"),
                (m.tag("x"), "tag/tag-x"),
                (m.consumer("c"), "consumer/consumer-c"),
            ] {
                assert_eq!(got, format!("{prefix}{want}"));
            }
        }
    }

    #[test]
    fn ids_are_read_from_names() {
        for (name, want) in [
            ("snapshot-12", Some(12)),
            ("snapshot-9223372036854775807", Some(i64::MAX)),
            ("snapshot-9223372036854775808", None),
            ("snapshot--1", None),
            ("snapshot-+1", None),
            ("snapshot-", None),
            ("snapshot-1.tmp", None),
            (".snapshot-1.tmp", None),
            ("LATEST", None),
        ] {
            assert_eq!(snapshot_id(name), want, "{name}");
        }
        assert_eq!(
            (schema_id("schema-0"), changelog_id("changelog-5"), schema_id("snapshot-0")),
            (Some(0), Some(5), None)
        );
        assert_eq!((tag_name("tag-a-b"), branch_name("branch-b"), consumer_id("x")), (Some("a-b"), Some("b"), None));
    }

    #[test]
    fn files_lie_in_buckets_of_partitions() {
        for (directory, partition, bucket, want) in [
            (None, "", 0, "bucket-0/f"),
            (None, "a=1/b=2", 3, "a=1/b=2/bucket-3/f"),
            (Some("data"), "a=1", POSTPONE_BUCKET, "data/a=1/bucket-postpone/f"),
            (Some("/data/"), "", -1, "data/bucket--1/f"),
            (Some(""), "a=1/", 0, "a=1/bucket-0/f"),
        ] {
            assert_eq!(data_file_path(directory, partition, bucket, "f"), want);
        }
        assert_eq!(side_file("s3://b/x/f.orc", "f.index"), "s3://b/x/f.index");
        assert_eq!(side_file("f", "g"), "g");
        for bucket in [0, 7, -2, i32::MAX] {
            assert_eq!(bucket_of_folder(&bucket_folder(bucket)), Some(bucket));
        }
        assert_eq!((bucket_of_folder("bucket-x"), bucket_of_folder("a=1")), (None, None));
        assert_eq!([manifest("m"), index("i"), statistics("s")], ["manifest/m", "index/i", "statistics/s"]);
    }

    #[test]
    fn compacted_changelogs_are_parts_of_a_file() {
        let part = |offset_bytes, length_bytes| CompactedChangelog {
            bucket: 2,
            file_name: "compacted-changelog-u-0$2-100.cc-orc".into(),
            offset_bytes,
            length_bytes,
            format: "orc".into(),
        };
        for (name, want) in [
            ("compacted-changelog-u-0$2-100.cc-orc", part(0, 100)),
            ("compacted-changelog-u-0$2-100-300-40.cc-orc", part(300, 40)),
        ] {
            assert_eq!(CompactedChangelog::parse(name).unwrap(), Some(want));
        }
        assert_eq!(CompactedChangelog::parse("changelog-u-0.orc").unwrap(), None);
        for bad in ["x.cc-orc", "x$1.cc-orc", "x$1-2-3.cc-orc", "x$a-2.cc-orc", "x$99999999999-1.cc-orc"] {
            assert!(CompactedChangelog::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_name_panics(name in "\\PC{0,30}(\\.cc-)?") {
            let _ = (snapshot_id(&name), bucket_of_folder(&name), CompactedChangelog::parse(&name).is_ok());
        }
    }
}
