//! Six snapshots, two schemas, tags: what every option sees.

use std::collections::BTreeMap;

use super::*;
use crate::plan::snapshot::tests::{file, schema_file, table};
use crate::spec::snapshot::CommitKind;
use crate::spec::snapshot::tests::snapshot;

/// Snapshots 2 to 6, of 2000 to 6000 ms with watermarks 20, none, 40, none, 60; 3 and 5 are compactions; from 4 on the
/// second schema. Tags: `two` of 2, `6` of 3, `watermark-60` of 4, and days.
async fn travel() -> SnapshotManager {
    let mut snapshots = (2..=6).map(|id| snapshot(id, id * 1000)).collect::<Vec<_>>();
    for s in &mut snapshots {
        s.raw_watermark = (s.id % 2 == 0).then_some(s.id * 10);
        s.schema_id = i64::from(s.id >= 4);
        s.commit_kind = if s.id % 2 == 1 { CommitKind::Compact } else { CommitKind::Append };
    }
    let mut files = snapshots.iter().map(file).collect::<Vec<_>>();
    let mut tag = |name: &str, index: usize| files.push((format!("tag/tag-{name}"), snapshots[index].to_json()));
    tag("two", 0);
    tag("6", 1);
    tag("watermark-60", 2);
    tag("2024-01-01", 0);
    tag("2024-01-03", 1);
    files.extend([(0, "a", "1"), (1, "b", "1"), (2, "c", "2")].map(|(id, column, bucket)| schema(id, column, bucket)));
    table("main", &files).await
}

/// The file of a schema with one column.
fn schema(id: i64, column: &str, bucket: &str) -> (String, String) {
    schema_file(id, column, &format!(r#""bucket":"{bucket}""#))
}

/// What a read with the given options sees, in short: snapshot, column of the schema, and the rest.
async fn seen(manager: &SnapshotManager, pairs: &[(&str, &str)]) -> std::result::Result<String, String> {
    let dynamic = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>();
    let options = TableOptions::effective(&BTreeMap::from([("x".into(), "y".into())]), &dynamic).unwrap();
    let v = resolve(&options, manager, Tz::Asia__Tokyo).await.map_err(|e| e.to_string())?;
    assert_eq!(v.schema.options, *options.raw());
    let id = v.snapshot.map_or("none".into(), |s| s.id.to_string());
    let kind = match v.kind {
        ScanKind::All => String::new(),
        ScanKind::Delta => " delta".into(),
        ScanKind::Incremental(Incremental::Diff { start, end }) => format!(" diff {} {}", start.id, end.id),
        ScanKind::Incremental(Incremental::Delta { start_exclusive, end_inclusive }) => {
            format!(" added {start_exclusive} {end_inclusive}")
        }
        ScanKind::Incremental(Incremental::Changelog { start_exclusive, end_inclusive }) => {
            format!(" changelog {start_exclusive} {end_inclusive}")
        }
        ScanKind::Incremental(Incremental::Empty) => " empty".into(),
    };
    let since = v.file_creation_time_millis.map_or(String::new(), |m| format!(" since {m}"));
    Ok(format!("{id} {}{kind}{since}", v.schema.fields[0].name))
}

#[tokio::test]
async fn a_read_sees_the_snapshot_that_it_asks_for() {
    let m = travel().await;
    for (pairs, want) in [
        (&[][..], "6 c"),
        (&[("scan.mode", "latest")], "6 c"),
        (&[("scan.mode", "latest-delta")], "6 c delta"),
        (&[("scan.mode", "compacted-full")], "5 c"),
        (&[("scan.mode", "compacted-full"), ("full-compaction.delta-commits", "3")], "3 c"),
        (&[("scan.mode", "compacted-full"), ("full-compaction.delta-commits", "2")], "6 c"),
        (&[("scan.snapshot-id", "3")], "3 a"),
        (&[("scan.snapshot-id", "6")], "6 b"),
        (&[("scan.tag-name", "6")], "3 a"),
        (&[("scan.version", "6")], "3 a"),
        (&[("scan.version", "5")], "5 b"),
        (&[("scan.version", "two")], "2 a"),
        (&[("scan.version", "watermark-60")], "4 b"),
        (&[("scan.version", "watermark-59")], "6 b"),
        (&[("scan.watermark", "-1")], "2 a"),
        (&[("scan.watermark", "20")], "2 a"),
        (&[("scan.watermark", "21")], "4 b"),
        (&[("scan.watermark", "60")], "6 b"),
        (&[("scan.timestamp-millis", "2000")], "2 a"),
        (&[("scan.timestamp-millis", "3999")], "3 a"),
        (&[("scan.timestamp-millis", "9999999")], "6 b"),
        (&[("scan.timestamp", "1970-01-01 09:00:04.5")], "4 b"),
        (&[("scan.creation-time-millis", "2000")], "6 c since 32402000"),
        (&[("scan.creation-time-millis", "2001")], "3 c"),
        (&[("scan.creation-time-millis", "6000")], "6 c"),
        (&[("scan.creation-time-millis", "6001")], "6 c since 32406001"),
        (&[("scan.file-creation-time-millis", "1")], "6 c since 32400001"),
    ] {
        assert_eq!(seen(&m, pairs).await.as_deref(), Ok(want), "{pairs:?}");
    }
}

#[tokio::test]
async fn what_is_not_there_says_what_is() {
    let m = travel().await;
    for (pairs, want) in [
        (&[("scan.snapshot-id", "7")][..], "snapshot 7 of memory:///t does not exist; snapshots reach from 2 to 6"),
        (&[("scan.tag-name", "none")], "tag 'none' of memory:///t does not exist; there is '2024-01-01', "),
        (&[("scan.version", "none")], "tag 'none' of memory:///t does not exist"),
        (&[("scan.version", "watermark-x")], "tag 'watermark-x' of memory:///t does not exist"),
        (&[("scan.version", "99999999999999999999")], "the number is too large"),
        (&[("scan.watermark", "61")], "no snapshot of memory:///t has a watermark of 61 or more"),
        (&[("scan.timestamp-millis", "1999")], "the first one is of 1970-01-01T00:00:02Z (2000 ms)"),
        (&[("scan.timestamp", "yesterday")], "'scan.timestamp' = 'yesterday': expected yyyy-MM-dd"),
        (&[("incremental-between", "2,9")], "snapshots of memory:///t reach from 2 to 6"),
        (&[("incremental-between", "0,3")], "snapshots of memory:///t reach from 2 to 6"),
        (&[("incremental-between", "two,3")], "neither two tags of memory:///t nor two ids"),
        (&[("incremental-between", "4,3")], "the end 3 is before the start 4"),
        (&[("incremental-between", "4")], "expected FROM,TO"),
        (&[("incremental-between", "1,3"), ("incremental-between-scan-mode", "diff")], "snapshot 1 of"),
        (&[("incremental-to-auto-tag", "two")], "expected the name of a tag that was created by itself"),
    ] {
        let e = seen(&m, pairs).await.unwrap_err();
        assert!(e.contains(want), "{pairs:?}: {e}");
    }
}

#[tokio::test]
async fn an_incremental_read_sees_changes() {
    let m = travel().await;
    let mode = |mode| ("incremental-between-scan-mode", mode);
    for (pairs, want) in [
        (&[("incremental-between", "1,4")][..], "added 1 4"),
        (&[("incremental-between", "4,4")], "empty"),
        (&[("incremental-between", "2,4"), mode("changelog")], "changelog 2 4"),
        (&[("incremental-between", "2,4"), ("changelog-producer", "input")], "changelog 2 4"),
        (&[("incremental-between", "2,4"), mode("delta"), ("changelog-producer", "input")], "added 2 4"),
        (&[("incremental-between", "2,4"), mode("diff")], "diff 2 4"),
        (&[("incremental-between", "two,6")], "diff 2 3"),
        (&[("incremental-between", "two,6"), ("incremental-between-tag-to-snapshot", "true")], "added 2 3"),
        (&[("incremental-between-timestamp", "2000,4500")], "added 2 4"),
        (&[("incremental-between-timestamp", "1,4500")], "added 1 4"),
        (&[("incremental-between-timestamp", "1,4500"), mode("diff")], "diff 2 4"),
        (&[("incremental-between-timestamp", "1970-01-01 09:00:02,1970-01-01 09:00:05")], "added 2 5"),
        (&[("incremental-between-timestamp", "1,1")], "empty"),
        (&[("incremental-between-timestamp", "1,1999")], "empty"),
        (&[("incremental-between-timestamp", "6001,7000")], "empty"),
        (&[("incremental-to-auto-tag", "2024-01-03")], "diff 2 3"),
        (&[("incremental-to-auto-tag", "2024-01-01")], "empty"),
        (&[("incremental-to-auto-tag", "2024-01-02")], "empty"),
    ] {
        assert_eq!(seen(&m, pairs).await, Ok(format!("none c {want}")), "{pairs:?}");
    }
}

#[tokio::test]
async fn a_table_that_was_never_written_has_its_newest_schema() {
    let m = table("main", &[schema(0, "a", "1")]).await;
    assert_eq!(seen(&m, &[]).await.as_deref(), Ok("none a"));
    assert_eq!(seen(&m, &[("scan.mode", "compacted-full")]).await.as_deref(), Ok("none a"));
    assert_eq!(seen(&m, &[("scan.creation-time-millis", "1")]).await.as_deref(), Ok("none a since 32400001"));
    for mode in ["delta", "diff"] {
        let changes = [("incremental-between", "1,2"), ("incremental-between-scan-mode", mode)];
        assert_eq!(seen(&m, &changes).await.as_deref(), Ok("none a empty"));
    }
    for (key, value) in [("scan.snapshot-id", "1"), ("scan.timestamp-millis", "1"), ("scan.watermark", "1")] {
        assert!(seen(&m, &[(key, value)]).await.unwrap_err().starts_with("not found: "), "{key}");
    }
}

#[tokio::test]
async fn a_changelog_before_the_first_snapshot_says_that_the_history_reaches_back() {
    let changelog = ("changelog/changelog-4".to_owned(), snapshot(4, 4000).to_json());
    let m = table("main", &[schema(0, "a", "1"), changelog, file(&snapshot(5, 5000)), file(&snapshot(6, 6000))]).await;
    for (millis, want) in [("4000", "6 a since 32404000"), ("4001", "5 a"), ("5000", "5 a"), ("5001", "6 a")] {
        assert_eq!(seen(&m, &[("scan.creation-time-millis", millis)]).await.as_deref(), Ok(want), "{millis}");
    }
}

#[tokio::test]
async fn a_difference_across_numbers_of_buckets_is_refused() {
    let mut after = snapshot(2, 2);
    after.schema_id = 1;
    let m = table("main", &[schema(0, "a", "1"), schema(1, "a", "2"), file(&snapshot(1, 1)), file(&after)]).await;
    let changes = [("incremental-between", "1,2"), ("incremental-between-scan-mode", "diff")];
    let e = seen(&m, &changes).await.unwrap_err();
    assert!(e.contains("unsupported: ") && e.contains("the number of buckets went from 1 to 2"), "{e}");
}
