//! A snapshot: `snapshot/snapshot-{N}`, and `changelog/changelog-{N}`, which looks the same.
//!
//! In: its JSON, of any version. Out: a [`Snapshot`]; fields that a version does not have are `None`. Java: `Snapshot`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::json::JsonFields;
use crate::error::{Error, Result};

/// What a commit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitKind {
    /// Added files; nothing was removed.
    Append,
    /// Rewrote files; the rows stay the same.
    Compact,
    /// Replaced or removed rows.
    Overwrite,
    /// Wrote statistics.
    Analyze,
}

impl CommitKind {
    const ALL: [Self; 4] = [Self::Append, Self::Compact, Self::Overwrite, Self::Analyze];

    /// The word in the snapshot.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Append => "APPEND",
            Self::Compact => "COMPACT",
            Self::Overwrite => "OVERWRITE",
            Self::Analyze => "ANALYZE",
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text));
        known.ok_or_else(|| Error::unsupported(format!("snapshots of the kind '{text}'")))
    }
}

/// One state of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The layout of the JSON; absent in very old files.
    pub version: Option<i64>,
    /// A unique name of the snapshot.
    pub uuid: Option<String>,
    /// The `N` of `snapshot-N`.
    pub id: i64,
    /// The latest schema when the snapshot was committed.
    pub schema_id: i64,
    /// The manifest list of the state before this commit, a name in the folder `manifest`.
    pub base_manifest_list: String,
    /// Its size in bytes.
    pub base_manifest_list_size: Option<i64>,
    /// The manifest list of what this commit changed.
    pub delta_manifest_list: String,
    /// Its size in bytes.
    pub delta_manifest_list_size: Option<i64>,
    /// The manifest list of this commit's changelog files.
    pub changelog_manifest_list: Option<String>,
    /// Its size in bytes.
    pub changelog_manifest_list_size: Option<i64>,
    /// The list of all index files that are valid at this snapshot.
    pub index_manifest: Option<String>,
    /// Who committed.
    pub commit_user: String,
    /// The writer's number of the commit; `i64::MAX` from batch writers.
    pub commit_identifier: i64,
    /// What the commit did.
    pub commit_kind: CommitKind,
    /// The time of the commit in milliseconds since 1970.
    pub time_millis: i64,
    /// Physical rows of all data files, before merging.
    pub total_record_count: Option<i64>,
    /// Physical rows that this commit added, less those that it removed.
    pub delta_record_count: Option<i64>,
    /// Rows of this commit's changelog files.
    pub changelog_record_count: Option<i64>,
    /// The watermark as it is written; see [`Snapshot::watermark`].
    pub raw_watermark: Option<i64>,
    /// The name of the statistics file in the folder `statistics`.
    pub statistics: Option<String>,
    /// Free properties of the commit.
    pub properties: Option<BTreeMap<String, String>>,
    /// The row id that the next row gets, in tables with row tracking.
    pub next_row_id: Option<i64>,
    /// The version of the writer.
    pub writer_version: Option<String>,
    /// The statement behind the commit: `WRITE`, `DELETE`, `MERGE` …
    pub operation: Option<String>,
}

impl Snapshot {
    /// Reads a snapshot file.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        Self::from_fields(&JsonFields::parse("snapshot", bytes)?)
    }

    /// Reads the fields of a snapshot out of an object that may have more.
    pub(super) fn from_fields(f: &JsonFields<'_>) -> Result<Self> {
        Ok(Self {
            version: f.optional_long("version")?,
            uuid: f.optional_string("uuid")?,
            id: f.long("id")?,
            schema_id: f.long("schemaId")?,
            base_manifest_list: f.string("baseManifestList")?,
            base_manifest_list_size: f.optional_long("baseManifestListSize")?,
            delta_manifest_list: f.string("deltaManifestList")?,
            delta_manifest_list_size: f.optional_long("deltaManifestListSize")?,
            changelog_manifest_list: f.optional_string("changelogManifestList")?,
            changelog_manifest_list_size: f.optional_long("changelogManifestListSize")?,
            index_manifest: f.optional_string("indexManifest")?,
            commit_user: f.string("commitUser")?,
            commit_identifier: f.long("commitIdentifier")?,
            commit_kind: CommitKind::parse(&f.string("commitKind")?)?,
            time_millis: f.long("timeMillis")?,
            total_record_count: f.optional_long("totalRecordCount")?,
            delta_record_count: f.optional_long("deltaRecordCount")?,
            changelog_record_count: f.optional_long("changelogRecordCount")?,
            raw_watermark: f.optional_long("watermark")?,
            statistics: f.optional_string("statistics")?,
            properties: f.optional_strings("properties")?,
            next_row_id: f.optional_long("nextRowId")?,
            writer_version: f.optional_string("writerVersion")?,
            operation: f.optional_string("operation")?,
        })
    }

    /// The watermark, where there is one: the smallest number stands for none.
    pub fn watermark(&self) -> Option<i64> {
        self.raw_watermark.filter(|w| *w != i64::MIN)
    }

    /// The snapshot as a file has it; fields without a value are left out.
    pub fn to_json(&self) -> String {
        Value::Object(self.to_object()).to_string()
    }

    pub(super) fn to_object(&self) -> Map<String, Value> {
        let fields = [
            ("version", json!(self.version)),
            ("uuid", json!(self.uuid)),
            ("id", json!(self.id)),
            ("schemaId", json!(self.schema_id)),
            ("baseManifestList", json!(self.base_manifest_list)),
            ("baseManifestListSize", json!(self.base_manifest_list_size)),
            ("deltaManifestList", json!(self.delta_manifest_list)),
            ("deltaManifestListSize", json!(self.delta_manifest_list_size)),
            ("changelogManifestList", json!(self.changelog_manifest_list)),
            ("changelogManifestListSize", json!(self.changelog_manifest_list_size)),
            ("indexManifest", json!(self.index_manifest)),
            ("commitUser", json!(self.commit_user)),
            ("commitIdentifier", json!(self.commit_identifier)),
            ("commitKind", json!(self.commit_kind.as_str())),
            ("timeMillis", json!(self.time_millis)),
            ("totalRecordCount", json!(self.total_record_count)),
            ("deltaRecordCount", json!(self.delta_record_count)),
            ("changelogRecordCount", json!(self.changelog_record_count)),
            ("watermark", json!(self.raw_watermark)),
            ("statistics", json!(self.statistics)),
            ("properties", json!(self.properties)),
            ("nextRowId", json!(self.next_row_id)),
            ("writerVersion", json!(self.writer_version)),
            ("operation", json!(self.operation)),
        ];
        fields.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.to_owned(), v)).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;

    /// A snapshot of which only what is given matters.
    pub(crate) fn snapshot(id: i64, time_millis: i64) -> Snapshot {
        Snapshot::from_json(
            format!(
                r#"{{"version":3,"id":{id},"schemaId":0,"baseManifestList":"base-{id}","deltaManifestList":"delta-{id}",
                "commitUser":"u","commitIdentifier":{id},"commitKind":"APPEND","timeMillis":{time_millis}}}"#
            )
            .as_bytes(),
        )
        .unwrap()
    }

    #[test]
    fn unknown_fields_do_not_matter_and_null_is_none() {
        let s = Snapshot::from_json(
            br#"{"id":2,"schemaId":1,"baseManifestList":"b","deltaManifestList":"d","changelogManifestList":null,
            "commitUser":"u","commitIdentifier":9223372036854775807,"commitKind":"OVERWRITE","timeMillis":5,
            "logOffsets":{},"fromTheFuture":[1],"watermark":-9223372036854775808,"properties":{"a":"b"}}"#,
        )
        .unwrap();
        assert_eq!((s.version, s.id, s.schema_id, s.commit_kind), (None, 2, 1, CommitKind::Overwrite));
        assert_eq!((s.commit_identifier, s.watermark(), s.changelog_manifest_list), (i64::MAX, None, None));
        assert_eq!(s.properties.unwrap()["a"], "b");
    }

    #[test]
    fn what_is_no_snapshot_is_an_error_that_names_the_field() {
        let whole = snapshot(1, 2).to_json();
        for (from, to, message) in [
            (r#""id":1,"#, "", "lacks 'id'"),
            (r#""id":1,"#, r#""id":"1","#, "'id' must be a 64-bit number"),
            (r#""timeMillis":2,"#, r#""timeMillis":1e30,"#, "'timeMillis' must be a 64-bit number"),
            (r#""baseManifestList":"base-1","#, r#""baseManifestList":7,"#, "'baseManifestList' must be text"),
        ] {
            let e = Snapshot::from_json(whole.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert!(e.kind() == ErrorKind::Corrupt && e.to_string().contains(message), "{from}: {e}");
        }
        let e = Snapshot::from_json(whole.replace("APPEND", "REWIND").as_bytes()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
        assert!(Snapshot::from_json(b"{\"id\": 1").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            id in any::<i64>(), time in any::<i64>(), watermark in any::<Option<i64>>(), name in any::<Option<String>>(),
        ) {
            let mut s = snapshot(id, time);
            (s.raw_watermark, s.index_manifest, s.next_row_id) = (watermark, name.clone(), watermark);
            s.properties = name.map(|n| BTreeMap::from([(n.clone(), n)]));
            prop_assert_eq!(&Snapshot::from_json(s.to_json().as_bytes()).unwrap(), &s);
        }

        #[test]
        fn any_bytes_are_a_snapshot_or_an_error(at in 0_usize..300, byte in any::<u8>()) {
            let mut bytes = snapshot(1, 2).to_json().into_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = Snapshot::from_json(&bytes);
            let _ = Snapshot::from_json(&bytes[..at]);
        }
    }
}
