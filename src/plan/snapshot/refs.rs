//! Names: tags, branches, consumers, and the statistics of a snapshot. Java: `TagManager`, `BranchManager`.

use super::{MAIN_BRANCH, SnapshotManager, file_name};
use crate::error::{Error, Result};
use crate::spec::snapshot::Snapshot;
use crate::spec::statistics::Statistics;
use crate::spec::tag::{Tag, consumer_next_snapshot};

impl SnapshotManager {
    /// The tag of that name, among those of the branch; an error where there is none.
    pub async fn tag(&self, name: &str) -> Result<Tag> {
        if let Some(tag) = self.try_tag(name).await? {
            return Ok(tag);
        }
        let there = there("tag", &self.tag_names().await?);
        Err(Error::not_found(format!("tag '{name}' of {} does not exist; {there}", self.name())))
    }

    /// The tag of that name, where there is one.
    pub async fn try_tag(&self, name: &str) -> Result<Option<Tag>> {
        let Ok(name) = file_name(name, "tag") else { return Ok(None) };
        self.read_json(&self.folder.join(&format!("tag/tag-{name}"))?, Tag::from_json).await
    }

    /// The names of all tags, sorted.
    pub async fn tag_names(&self) -> Result<Vec<String>> {
        let listing = self.storage.list(&self.folder.join("tag")?).await?;
        Ok(behind("tag-", &listing.files))
    }

    /// The names of all branches but the main one, sorted.
    pub async fn branches(&self) -> Result<Vec<String>> {
        let listing = self.storage.list(&self.table.join("branch")?).await?;
        Ok(behind("branch-", &listing.folders))
    }

    /// An error where the branch does not exist.
    pub async fn check_branch(&self) -> Result<()> {
        if self.branch == MAIN_BRANCH {
            return Ok(());
        }
        let branches = self.branches().await?;
        if branches.contains(&self.branch) {
            return Ok(());
        }
        let there = there("branch", &branches);
        Err(Error::not_found(format!("branch '{}' of {} does not exist; {there}", self.branch, self.table)))
    }

    /// The names of all consumers, sorted, and the snapshot that each reads next.
    pub async fn consumers(&self) -> Result<Vec<(String, i64)>> {
        let listing = self.storage.list(&self.folder.join("consumer")?).await?;
        let mut consumers = vec![];
        for name in behind("consumer-", &listing.files) {
            let location = self.folder.join(&format!("consumer/consumer-{name}"))?;
            let next = self.read_json(&location, consumer_next_snapshot).await?;
            consumers.extend(next.map(|next| (name, next)));
        }
        Ok(consumers)
    }

    /// The statistics that a snapshot refers to; they may be of an older one.
    pub async fn statistics(&self, snapshot: &Snapshot) -> Result<Option<Statistics>> {
        let Some(name) = &snapshot.statistics else { return Ok(None) };
        let location = self.table.join("statistics")?.join(name)?;
        let missing = || Error::not_found("no such statistics file").in_file(&location);
        self.read_json(&location, Statistics::from_json).await?.ok_or_else(missing).map(Some)
    }
}

/// What follows a prefix in names that have it.
fn behind(prefix: &str, names: &[String]) -> Vec<String> {
    names.iter().filter_map(|n| n.strip_prefix(prefix)).filter(|n| !n.is_empty()).map(str::to_owned).collect()
}

/// What there is, for messages.
fn there(what: &str, names: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = names.iter().take(SHOWN).map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => format!("there is no {what}"),
        1..=SHOWN => format!("there is {shown}"),
        more => format!("there are {shown} and {} more", more.saturating_sub(SHOWN)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::table;
    use crate::error::ErrorKind;
    use crate::spec::snapshot::tests::snapshot;

    fn files(names: &[(&str, &str)]) -> Vec<(String, String)> {
        names.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[tokio::test]
    async fn tags_may_have_odd_names_and_are_those_of_the_branch() {
        let json = snapshot(5, 1).to_json();
        let all = files(&[
            ("tag/tag-7", &json),
            ("tag/tag-v 2.0%ü#?", &json),
            ("tag/other", "x"),
            ("branch/branch-b/tag/tag-x", &json),
        ]);
        let m = table("main", &all).await;
        assert_eq!(m.tag_names().await.unwrap(), ["7", "v 2.0%ü#?"]);
        assert_eq!(m.tag("v 2.0%ü#?").await.unwrap().snapshot.id, 5);
        let e = m.tag("x").await.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotFound);
        assert!(e.to_string().contains("tag 'x' of memory:///t does not exist; there is '7', 'v 2.0%ü#?'"), "{e}");
        for name in ["", " ", "../tag/tag-7", "a/b", "a\nb"] {
            assert_eq!(m.tag(name).await.unwrap_err().kind(), ErrorKind::NotFound, "{name:?}");
        }
        let b = m.with_branch("b").unwrap();
        assert_eq!((b.tag("x").await.is_ok(), b.tag("7").await.is_err()), (true, true));
    }

    #[tokio::test]
    async fn branches_are_folders() {
        let m = table("c", &files(&[("branch/branch-b/schema/schema-0", "x"), ("branch/README", "x")])).await;
        assert_eq!(m.branches().await.unwrap(), ["b"]);
        let e = m.check_branch().await.unwrap_err();
        assert!(e.to_string().contains("branch 'c' of memory:///t does not exist; there is 'b'"), "{e}");
        assert!(m.with_branch("b").unwrap().check_branch().await.is_ok());
        assert!(m.with_branch("main").unwrap().check_branch().await.is_ok());
        assert_eq!(m.with_branch("../x").unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn consumers_and_statistics() {
        let m = table(
            "main",
            &files(&[
                ("consumer/consumer-a", r#"{"nextSnapshot":4}"#),
                ("statistics/s", r#"{"snapshotId":1,"schemaId":0}"#),
            ]),
        )
        .await;
        assert_eq!(m.consumers().await.unwrap(), [("a".to_owned(), 4)]);
        let mut s = snapshot(2, 1);
        assert!(m.statistics(&s).await.unwrap().is_none());
        s.statistics = Some("s".into());
        assert_eq!(m.statistics(&s).await.unwrap().unwrap().snapshot_id, 1);
        s.statistics = Some("gone".into());
        assert_eq!(m.statistics(&s).await.unwrap_err().kind(), ErrorKind::NotFound);
    }
}
