//! Tables of which there is only metadata, for tests of names, clauses and options.

use std::fs;
use std::path::Path;

/// Writes a table without columns, with the snapshots 1 to 4, each a second after the other from 1970 on, and tags of
/// the last one.
pub fn make_table(folder: &Path) {
    for name in ["schema", "snapshot", "tag"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    let schema =
        r#"{"version":3,"id":0,"fields":[],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{}}"#;
    fs::write(folder.join("schema/schema-0"), schema).unwrap();
    let snapshot = |id: i64| {
        format!(
            r#"{{"version":3,"id":{id},"schemaId":0,"baseManifestList":"base","deltaManifestList":"delta",
            "commitUser":"u","commitIdentifier":1,"commitKind":"APPEND","timeMillis":{}}}"#,
            id * 1000
        )
    };
    for id in 1..=4 {
        fs::write(folder.join(format!("snapshot/snapshot-{id}")), snapshot(id)).unwrap();
    }
    for tag in ["tag", "v1", "x@y"] {
        fs::write(folder.join(format!("tag/tag-{tag}")), snapshot(4)).unwrap();
    }
}
