//! What the options of a read point at, and that they do not contradict each other.
//!
//! `scan.mode` decides; where it is not given, the option that is set decides. Every mode has its own options, of
//! which exactly one must be set and any other is an error. Java: `CoreOptions.startupMode`,
//! `SchemaValidation.validateStartupMode`.

use crate::error::{Error, Result};
use crate::options::TableOptions;
use crate::options::enums::StartupMode;

/// What a read points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target<'a> {
    Latest,
    LatestDelta,
    Compacted,
    SnapshotId(i64),
    Tag(&'a str),
    Version(&'a str),
    Watermark(i64),
    Time(&'a str),
    TimeMillis(i64),
    FileCreationTime(i64),
    CreationTime(i64),
    Incremental,
}

impl<'a> Target<'a> {
    /// Reads the target out of the options.
    pub(super) fn of(options: &'a TableOptions) -> Result<Self> {
        let set = set_targets(options);
        let mode = match options.scan_mode {
            StartupMode::Default => set.first().map_or(StartupMode::LatestFull, |(_, target)| target.mode()),
            mode => mode,
        };
        let fits = |target: &Self| {
            target.mode() == mode || (mode == StartupMode::FromSnapshotFull && matches!(target, Self::SnapshotId(_)))
        };
        let keys = || set.iter().map(|(key, _)| format!("'{key}'")).collect::<Vec<_>>().join(", ");
        if let Some((key, _)) = set.iter().find(|(_, target)| !fits(target)) {
            let given = options.scan_mode != StartupMode::Default;
            let why = if given { format!("'scan.mode' = '{mode}'") } else { format!("the others of {}", keys()) };
            return Err(Error::invalid_option(format!("'{key}' cannot be combined with {why}")));
        }
        match (set.as_slice(), mode) {
            ([(_, target)], _) => Ok(*target),
            ([], StartupMode::LatestFull | StartupMode::Full | StartupMode::Latest) => Ok(Self::Latest),
            ([], StartupMode::LatestDelta) => Ok(Self::LatestDelta),
            ([], StartupMode::CompactedFull) => Ok(Self::Compacted),
            ([], mode) => {
                let one = keys_of(mode).join("', '");
                Err(Error::invalid_option(format!("'scan.mode' = '{mode}' needs one of '{one}'")))
            }
            _ => Err(Error::invalid_option(format!("only one may be set of {}", keys()))),
        }
    }

    /// The mode that the target belongs to.
    fn mode(&self) -> StartupMode {
        match self {
            Self::Latest => StartupMode::LatestFull,
            Self::LatestDelta => StartupMode::LatestDelta,
            Self::Compacted => StartupMode::CompactedFull,
            Self::SnapshotId(_) | Self::Tag(_) | Self::Version(_) | Self::Watermark(_) => StartupMode::FromSnapshot,
            Self::Time(_) | Self::TimeMillis(_) => StartupMode::FromTimestamp,
            Self::FileCreationTime(_) => StartupMode::FromFileCreationTime,
            Self::CreationTime(_) => StartupMode::FromCreationTimestamp,
            Self::Incremental => StartupMode::Incremental,
        }
    }
}

/// The targets that are set, each with its key; the first one decides the mode where none is given.
fn set_targets(o: &TableOptions) -> Vec<(&'static str, Target<'_>)> {
    let incremental = |text: &Option<String>| text.as_ref().map(|_| Target::Incremental);
    let all = [
        ("scan.timestamp-millis", o.scan_timestamp_millis.map(Target::TimeMillis)),
        ("scan.timestamp", o.scan_timestamp.as_deref().map(Target::Time)),
        ("scan.snapshot-id", o.scan_snapshot_id.map(Target::SnapshotId)),
        ("scan.tag-name", o.scan_tag_name.as_deref().map(Target::Tag)),
        ("scan.watermark", o.scan_watermark.map(Target::Watermark)),
        ("scan.version", o.scan_version.as_deref().map(Target::Version)),
        ("scan.file-creation-time-millis", o.scan_file_creation_time_millis.map(Target::FileCreationTime)),
        ("scan.creation-time-millis", o.scan_creation_time_millis.map(Target::CreationTime)),
        ("incremental-between", incremental(&o.incremental_between)),
        ("incremental-between-timestamp", incremental(&o.incremental_between_timestamp)),
        ("incremental-to-auto-tag", incremental(&o.incremental_to_auto_tag)),
    ];
    all.into_iter().filter_map(|(key, target)| Some((key, target?))).collect()
}

/// The options of which a mode needs one.
fn keys_of(mode: StartupMode) -> &'static [&'static str] {
    match mode {
        StartupMode::FromTimestamp => &["scan.timestamp-millis", "scan.timestamp"],
        StartupMode::FromSnapshot => &["scan.snapshot-id", "scan.tag-name", "scan.watermark", "scan.version"],
        StartupMode::FromSnapshotFull => &["scan.snapshot-id"],
        StartupMode::FromFileCreationTime => &["scan.file-creation-time-millis"],
        StartupMode::FromCreationTimestamp => &["scan.creation-time-millis"],
        StartupMode::Incremental => {
            &["incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag"]
        }
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn target(pairs: &[(&str, &str)]) -> std::result::Result<String, String> {
        let map = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>();
        let options = TableOptions::parse(map).unwrap();
        Target::of(&options).map(|t| format!("{t:?}")).map_err(|e| e.to_string())
    }

    #[test]
    fn the_option_that_is_set_decides() {
        for (pairs, want) in [
            (&[][..], "Latest"),
            (&[("scan.mode", "full")], "Latest"),
            (&[("scan.mode", "LATEST")], "Latest"),
            (&[("scan.mode", "latest-delta")], "LatestDelta"),
            (&[("scan.mode", "compacted-full")], "Compacted"),
            (&[("scan.snapshot-id", "3")], "SnapshotId(3)"),
            (&[("scan.tag-name", "3")], "Tag(\"3\")"),
            (&[("scan.version", "3")], "Version(\"3\")"),
            (&[("scan.watermark", "-3")], "Watermark(-3)"),
            (&[("scan.timestamp", "2024-01-01")], "Time(\"2024-01-01\")"),
            (&[("log.scan.timestamp-millis", "5")], "TimeMillis(5)"),
            (&[("scan.file-creation-time-millis", "5")], "FileCreationTime(5)"),
            (&[("scan.creation-time-millis", "5")], "CreationTime(5)"),
            (&[("incremental-between", "1,2")], "Incremental"),
            (&[("scan.mode", "from-snapshot-full"), ("scan.snapshot-id", "2")], "SnapshotId(2)"),
            (&[("scan.mode", "from-snapshot"), ("scan.version", "x")], "Version(\"x\")"),
        ] {
            assert_eq!(target(pairs).as_deref(), Ok(want), "{pairs:?}");
        }
    }

    #[test]
    fn contradictions_are_errors() {
        for (pairs, want) in [
            (
                &[("scan.snapshot-id", "1"), ("scan.tag-name", "t")][..],
                "only one may be set of 'scan.snapshot-id', 'scan.tag-name'",
            ),
            (
                &[("scan.snapshot-id", "1"), ("scan.timestamp", "t")],
                "'scan.snapshot-id' cannot be combined with the others",
            ),
            (&[("scan.watermark", "1"), ("incremental-between", "1,2")], "'incremental-between' cannot be combined"),
            (
                &[("scan.mode", "latest"), ("scan.version", "1")],
                "'scan.version' cannot be combined with 'scan.mode' = 'latest'",
            ),
            (&[("scan.mode", "from-snapshot-full"), ("scan.tag-name", "t")], "'scan.tag-name' cannot be combined"),
            (&[("scan.mode", "from-timestamp")], "needs one of 'scan.timestamp-millis', 'scan.timestamp'"),
            (&[("scan.mode", "from-snapshot-full")], "needs one of 'scan.snapshot-id'"),
            (&[("scan.mode", "incremental")], "needs one of 'incremental-between',"),
        ] {
            let e = target(pairs).unwrap_err();
            assert!(e.starts_with("invalid option: ") && e.contains(want), "{e}");
        }
    }
}
