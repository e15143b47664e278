//! Snapshots, tags, consumers, schemas and statistics: the first byte says which of them the rest is read as.
#![no_main]

use datafusion_paimon::spec::snapshot::Snapshot;
use datafusion_paimon::spec::statistics::Statistics;
use datafusion_paimon::spec::table_schema::TableSchema;
use datafusion_paimon::spec::tag::{Tag, consumer_next_snapshot};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((kind, json)) = data.split_first() else { return };
    match kind % 5 {
        0 => {
            // What was understood is written so that it is understood again, the same.
            if let Ok(snapshot) = Snapshot::from_json(json) {
                let again = Snapshot::from_json(snapshot.to_json().as_bytes());
                assert_eq!(again.ok(), Some(snapshot));
            }
        }
        1 => drop(Tag::from_json(json)),
        2 => drop(TableSchema::from_json(json)),
        3 => drop(Statistics::from_json(json)),
        _ => drop(consumer_next_snapshot(json)),
    }
});
