//! Where a table's metadata lies and how it is found: snapshots, tags, branches, schemas.
//!
//! In: a table's folder and a branch. Out: parsed metadata files. A [`SnapshotManager`] keeps no snapshot: after a
//! rollback the same id names another one. Schemas it keeps ([`KnownMetadata`]). What is asked for and not there is an
//! error that says what is there instead. Java: `SnapshotManager`, `HintFileUtils`.

mod known;
mod refs;
mod schemas;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join;

use crate::error::{Error, ErrorKind, Result};
use crate::spec::snapshot::Snapshot;
use crate::spec::table_schema::TableSchema;
use crate::storage::{FileStamp, Location, Storage};

pub use known::KnownMetadata;
use known::Moment;

/// The branch that a table is without a branch.
pub const MAIN_BRANCH: &str = "main";

/// How often the latest snapshot is looked for again when it goes away while it is found.
const LATEST_ATTEMPTS: usize = 3;

/// How long a file that is no JSON may still be being written.
const PARSE_RETRY_AFTER: Duration = Duration::from_millis(50);

/// The metadata of one branch of a table.
#[derive(Debug, Clone)]
pub struct SnapshotManager {
    storage: Storage,
    table: Location,
    branch: String,
    /// The folder that holds `snapshot`, `schema` and `tag` of the branch.
    folder: Location,
    schemas: Arc<Mutex<HashMap<i64, Arc<TableSchema>>>>,
    /// What the last listing said of the files of schemas.
    stamps: Arc<Mutex<HashMap<i64, FileStamp>>>,
    known: Arc<KnownMetadata>,
    moment: Option<Arc<Moment>>,
}

impl SnapshotManager {
    /// The metadata of a branch; a blank name is the main branch. Whether the branch exists is not asked.
    pub fn new(storage: Storage, table: Location, branch: &str) -> Result<Self> {
        let branch = if branch.trim().is_empty() { MAIN_BRANCH } else { branch };
        let folder = match branch {
            MAIN_BRANCH => table.clone(),
            _ => table.join(&format!("branch/branch-{}", file_name(branch, "branch")?))?,
        };
        let (schemas, stamps, known) = (Arc::default(), Arc::default(), Arc::default());
        Ok(Self { storage, table, branch: branch.to_owned(), folder, schemas, stamps, known, moment: None })
    }

    /// The same, with what is remembered from earlier queries.
    #[must_use]
    pub fn with_known(self, known: Arc<KnownMetadata>) -> Self {
        Self { known, ..self }
    }

    /// The metadata of another branch of the table.
    pub fn with_branch(&self, branch: &str) -> Result<Self> {
        let other = Self::new(self.storage.clone(), self.table.clone(), branch)?;
        Ok(other.with_known(Arc::clone(&self.known)))
    }

    /// The same for one plan: what is the latest is looked up once.
    #[must_use]
    pub fn at_this_moment(&self) -> Self {
        Self { moment: Some(Arc::default()), ..self.clone() }
    }

    /// The stores that files are read from.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The table's folder, which holds manifests and data of all branches.
    pub fn table(&self) -> &Location {
        &self.table
    }

    /// The name of the branch.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Where the snapshot of that id lies.
    pub fn snapshot_location(&self, id: i64) -> Result<Location> {
        self.folder.join(&format!("snapshot/snapshot-{id}"))
    }

    /// The snapshot of that id; an error where there is none.
    pub async fn snapshot(&self, id: i64) -> Result<Snapshot> {
        match self.try_snapshot(id).await? {
            Some(snapshot) => Ok(snapshot),
            None => Err(self.missing_snapshot(id).await?),
        }
    }

    /// The snapshot of that id, where there is one.
    pub async fn try_snapshot(&self, id: i64) -> Result<Option<Snapshot>> {
        self.read_json(&self.snapshot_location(id)?, Snapshot::from_json).await
    }

    async fn missing_snapshot(&self, id: i64) -> Result<Error> {
        let ids = self.snapshot_ids().await?;
        let there = match (ids.first(), ids.last()) {
            (Some(first), Some(last)) => format!("snapshots reach from {first} to {last}"),
            _ => "there is no snapshot".to_owned(),
        };
        Ok(Error::not_found(format!("snapshot {id} of {} does not exist; {there}", self.name())))
    }

    /// The newest snapshot; none of a table that was never written.
    pub async fn latest_snapshot(&self) -> Result<Option<Snapshot>> {
        match &self.moment {
            Some(moment) => moment.snapshot.get_or_try_init(|| self.find_latest_snapshot()).await.cloned(),
            None => self.find_latest_snapshot().await,
        }
    }

    async fn find_latest_snapshot(&self) -> Result<Option<Snapshot>> {
        let folder = self.folder.to_string();
        let mut snapshot = match self.known.latest(&folder) {
            Some(id) => self.if_latest(id).await?,
            None => None,
        };
        if snapshot.is_none()
            && let Some(id) = self.hint("LATEST").await
        {
            snapshot = self.if_latest(id).await?;
        }
        if snapshot.is_none() {
            snapshot = self.latest_by_listing().await?;
        }
        if let Some(snapshot) = &snapshot {
            self.known.remember_latest(&folder, snapshot.id);
        }
        Ok(snapshot)
    }

    /// The snapshot of that id, unless there is a newer one.
    async fn if_latest(&self, id: i64) -> Result<Option<Snapshot>> {
        let next = self.snapshot_location(id.saturating_add(1))?;
        let (next, this) = join(self.storage.exists(&next), self.try_snapshot(id)).await;
        if next? { Ok(None) } else { this }
    }

    async fn latest_by_listing(&self) -> Result<Option<Snapshot>> {
        for _ in 0..LATEST_ATTEMPTS {
            let Some(id) = self.snapshot_ids().await?.pop() else { return Ok(None) };
            let snapshot = self.try_snapshot(id).await?;
            if snapshot.is_some() {
                return Ok(snapshot);
            }
        }
        Err(Error::not_found(format!("the latest snapshot of {} goes away while it is read", self.name())))
    }

    /// The id of the newest snapshot: that of the hint, unless the one after it exists.
    pub async fn latest_id(&self) -> Result<Option<i64>> {
        if let Some(id) = self.hint("LATEST").await {
            let (next, this) = (self.snapshot_location(id.saturating_add(1))?, self.snapshot_location(id)?);
            let (next, this) = join(self.storage.exists(&next), self.storage.exists(&this)).await;
            if !next? && this? {
                return Ok(Some(id));
            }
        }
        Ok(self.snapshot_ids().await?.pop())
    }

    /// The id of the oldest snapshot: that of the hint, if it exists.
    pub async fn earliest_id(&self) -> Result<Option<i64>> {
        if let Some(id) = self.hint("EARLIEST").await
            && self.storage.exists(&self.snapshot_location(id)?).await?
        {
            return Ok(Some(id));
        }
        Ok(self.snapshot_ids().await?.first().copied())
    }

    /// The ids of all snapshots, ascending.
    pub async fn snapshot_ids(&self) -> Result<Vec<i64>> {
        self.numbered("snapshot", "snapshot-").await
    }

    /// The ids of the changelogs that outlive their snapshots, ascending.
    pub async fn changelog_ids(&self) -> Result<Vec<i64>> {
        self.numbered("changelog", "changelog-").await
    }

    /// The snapshot that a changelog of that id has kept, where there is one.
    pub async fn try_changelog(&self, id: i64) -> Result<Option<Snapshot>> {
        self.read_json(&self.folder.join(&format!("changelog/changelog-{id}"))?, Snapshot::from_json).await
    }

    /// A hint file's number; none where it cannot be read or makes no sense, for it is only a hint.
    async fn hint(&self, name: &str) -> Option<i64> {
        let location = self.folder.join(&format!("snapshot/{name}")).ok()?;
        let bytes = self.storage.read_optional(&location).await.ok()??;
        std::str::from_utf8(&bytes).ok()?.trim().parse().ok().filter(|id| *id > 0)
    }

    /// The numbers behind a prefix in the names of a folder's files, ascending; other names do not count.
    async fn numbered(&self, folder: &str, prefix: &str) -> Result<Vec<i64>> {
        let listing = self.storage.list(&self.folder.join(folder)?).await?;
        let mut numbers = listing.files.iter().filter_map(|name| number(name, prefix)).collect::<Vec<_>>();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Reads a small file; none where it does not exist. One that makes no sense may still be being written and is
    /// read once more.
    async fn read_json<T>(&self, location: &Location, parse: fn(&[u8]) -> Result<T>) -> Result<Option<T>> {
        let Some(bytes) = self.storage.read_optional(location).await? else { return Ok(None) };
        match parse(&bytes) {
            Err(e) if e.kind() == ErrorKind::Corrupt => {}
            parsed => return parsed.map(Some).map_err(|e| e.in_file(location)),
        }
        pause(PARSE_RETRY_AFTER).await;
        let Some(bytes) = self.storage.read_optional(location).await? else { return Ok(None) };
        parse(&bytes).map(Some).map_err(|e| e.in_file(location))
    }

    /// The table, and the branch if it is not the main one, for messages.
    fn name(&self) -> String {
        match self.branch.as_str() {
            MAIN_BRANCH => self.table.to_string(),
            branch => format!("branch '{branch}' of {}", self.table),
        }
    }
}

/// The number behind a prefix in a file's name.
fn number(name: &str, prefix: &str) -> Option<i64> {
    let digits = name.strip_prefix(prefix).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok()
}

/// Waits, on a thread that may block: the runtime need not have a timer. Without a runtime there is no waiting.
async fn pause(time: Duration) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        let _ = runtime.spawn_blocking(move || std::thread::sleep(time)).await;
    }
}

/// A name that becomes a part of a path must not lead out of its folder.
fn file_name<'a>(name: &'a str, what: &str) -> Result<&'a str> {
    let wrong = name.trim().is_empty() || name.contains('/') || name.chars().any(char::is_control);
    if wrong { Err(Error::not_found(format!("'{name}' cannot be the name of a {what}"))) } else { Ok(name) }
}

#[cfg(test)]
pub(crate) mod tests {
    use datafusion::execution::runtime_env::RuntimeEnv;
    use object_store::memory::InMemory;
    use object_store::{ObjectStoreExt, PutPayload};
    use url::Url;

    use super::*;
    use crate::spec::snapshot::tests::snapshot;

    /// A table in memory with the given files, seen from a branch.
    pub(crate) async fn table(branch: &str, files: &[(String, String)]) -> SnapshotManager {
        let store = Arc::new(InMemory::new());
        for (name, text) in files {
            let path = object_store::path::Path::parse(format!("t/{name}")).unwrap();
            store.put(&path, PutPayload::from(text.clone())).await.unwrap();
        }
        let runtime = RuntimeEnv::default();
        runtime.register_object_store(&Url::parse("memory://").unwrap(), store);
        let location = Location::parse("memory:///t").unwrap();
        SnapshotManager::new(Storage::new(&runtime), location, branch).unwrap()
    }

    /// The file of a snapshot.
    pub(crate) fn file(snapshot: &Snapshot) -> (String, String) {
        (format!("snapshot/snapshot-{}", snapshot.id), snapshot.to_json())
    }

    /// The file of a schema with one column and the given options.
    pub(crate) fn schema_file(id: i64, column: &str, options: &str) -> (String, String) {
        let json = format!(
            r#"{{"version":3,"id":{id},"fields":[{{"id":0,"name":"{column}","type":"INT"}}],"highestFieldId":0,
            "partitionKeys":[],"primaryKeys":[],"options":{{{options}}},"timeMillis":1}}"#
        );
        (format!("schema/schema-{id}"), json)
    }

    fn text(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[tokio::test]
    async fn hints_are_only_hints() {
        let stray =
            [text("snapshot/README", "x"), text("snapshot/.snapshot-9.tmp", "x"), text("snapshot/snapshot-9x", "")];
        for (latest, earliest) in [
            (None, None),
            (Some("4"), Some("2")),
            (Some("2"), Some("1")),
            (Some("7"), Some("9")),
            (Some(""), Some("x")),
            (Some("0"), Some("-2")),
            (Some("4\n"), None),
            (Some("9223372036854775807"), None),
        ] {
            let mut files = stray.to_vec();
            files.extend([2, 3, 4].map(|id| file(&snapshot(id, id))));
            files.extend(latest.map(|hint| text("snapshot/LATEST", hint)));
            files.extend(earliest.map(|hint| text("snapshot/EARLIEST", hint)));
            let m = table("main", &files).await;
            assert_eq!(m.latest_snapshot().await.unwrap().unwrap().id, 4, "{latest:?}");
            let ends = (m.earliest_id().await.unwrap(), m.latest_id().await.unwrap());
            assert_eq!(ends, (Some(2), Some(4)), "{latest:?} {earliest:?}");
            assert_eq!(m.snapshot_ids().await.unwrap(), [2, 3, 4]);
        }
    }

    #[tokio::test]
    async fn a_table_that_was_never_written_has_no_snapshot() {
        let m = table("", &[]).await;
        assert_eq!(m.latest_snapshot().await.unwrap(), None);
        assert_eq!((m.latest_id().await.unwrap(), m.earliest_id().await.unwrap()), (None, None));
        let e = m.snapshot(1).await.unwrap_err();
        assert_eq!(e.to_string(), "not found: snapshot 1 of memory:///t does not exist; there is no snapshot");
    }

    #[tokio::test]
    async fn a_missing_snapshot_says_which_exist_and_a_broken_one_where_it_lies() {
        let m = table("b", &[text("branch/branch-b/snapshot/snapshot-3", "{")]).await;
        let e = m.snapshot(2).await.unwrap_err();
        assert!(
            e.to_string().contains("snapshot 2 of branch 'b' of memory:///t does not exist; snapshots reach from 3")
        );
        let e = m.snapshot(3).await.unwrap_err();
        assert_eq!((e.kind(), e.file()), (ErrorKind::Corrupt, Some("memory:///t/branch/branch-b/snapshot/snapshot-3")));
    }

    #[tokio::test]
    async fn changelogs_outlive_snapshots() {
        let m = table("main", &[text("changelog/changelog-1", &snapshot(1, 1).to_json())]).await;
        assert_eq!(m.changelog_ids().await.unwrap(), [1]);
        assert_eq!(m.try_changelog(1).await.unwrap().unwrap().id, 1);
        assert_eq!(m.try_snapshot(1).await.unwrap(), None);
    }
}
