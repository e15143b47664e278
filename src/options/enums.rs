//! The options that are one of a few words.

use super::value::option_enum;

option_enum! {
    /// How rows of the same primary key become one.
    MergeEngine {
        /// The last row wins.
        Deduplicate = "deduplicate",
        /// Columns that are not NULL overwrite those of older rows.
        PartialUpdate = "partial-update",
        /// Each column is folded by its aggregate function.
        Aggregation = "aggregation",
        /// The first row wins.
        FirstRow = "first-row",
    }
}

option_enum! {
    /// Where changelog files come from.
    ChangelogProducer {
        /// There are none.
        None = "none",
        /// The input is written twice.
        Input = "input",
        /// Every full compaction compares its result with the one before.
        FullCompaction = "full-compaction",
        /// Compaction looks up the older value.
        Lookup = "lookup",
    }
}

option_enum! {
    /// How a bucket key becomes a bucket.
    BucketFunctionType {
        /// The hash of the binary row.
        Default = "default",
        /// The key itself, a number.
        Mod = "mod",
        /// The hash that Hive has.
        Hive = "hive",
    }
}

option_enum! {
    /// The order of sequence fields.
    SortOrder {
        /// The largest sequence wins.
        Ascending = "ascending",
        /// The smallest sequence wins.
        Descending = "descending",
    }
}

option_enum! {
    /// How sorted runs are merged. Both give the same, but where versions of a key are of equal age.
    SortEngine {
        /// By a heap.
        MinHeap = "min-heap",
        /// By a loser tree.
        LoserTree = "loser-tree",
    }
}

option_enum! {
    /// What kind of table it is.
    TableType {
        /// A Paimon table.
        Table = "table",
        /// A folder of files of one format.
        FormatTable = "format-table",
        /// A Paimon table that an engine keeps up to date from a query.
        MaterializedTable = "materialized-table",
        /// A list of the objects below a path.
        ObjectTable = "object-table",
        /// A Lance table.
        LanceTable = "lance-table",
        /// An Iceberg table.
        IcebergTable = "iceberg-table",
    }
}

option_enum! {
    /// Which state of the table a read sees.
    StartupMode {
        /// By the other options; the latest snapshot where there are none.
        Default = "default",
        /// The latest snapshot.
        LatestFull = "latest-full",
        /// The old name of `latest-full`.
        Full = "full",
        /// The latest snapshot.
        Latest = "latest",
        /// Only what the latest snapshot changed.
        LatestDelta = "latest-delta",
        /// The snapshot of the latest compaction.
        CompactedFull = "compacted-full",
        /// The latest snapshot at or before a time.
        FromTimestamp = "from-timestamp",
        /// The first snapshot at or after a time.
        FromCreationTimestamp = "from-creation-timestamp",
        /// The latest snapshot, of which only files made at or after a time.
        FromFileCreationTime = "from-file-creation-time",
        /// A snapshot by id, tag or watermark.
        FromSnapshot = "from-snapshot",
        /// A snapshot by id.
        FromSnapshotFull = "from-snapshot-full",
        /// The changes between two snapshots, tags or times.
        Incremental = "incremental",
    }
}

option_enum! {
    /// What a read between two snapshots gives.
    IncrementalScanMode {
        /// `delta` for tables without a changelog, else `changelog`.
        Auto = "auto",
        /// The rows of the new data files.
        Delta = "delta",
        /// The rows of the changelog files.
        Changelog = "changelog",
        /// What differs between the two states.
        Diff = "diff",
    }
}

option_enum! {
    /// What a batch read is for.
    BatchScanMode {
        /// For queries.
        None = "none",
        /// For compaction, which wants level 0 too.
        Compact = "compact",
    }
}

option_enum! {
    /// How often tags are created by themselves.
    TagCreationPeriod {
        /// Every day.
        Daily = "daily",
        /// Every hour.
        Hourly = "hourly",
        /// Every two hours.
        TwoHours = "two-hours",
    }
}

option_enum! {
    /// How tags that are created by themselves are spelled.
    TagPeriodFormatter {
        /// `2024-01-31 05`
        WithDashes = "with_dashes",
        /// `20240131 05`
        WithoutDashes = "without_dashes",
        /// `2024013105`
        WithoutDashesAndSpaces = "without_dashes_and_spaces",
    }
}

option_enum! {
    /// How far a file is prepared before the one before it is at its end.
    WarmupLevel {
        /// Not at all.
        None = "none",
        /// It is opened, and its first ranges are fetched.
        Raw = "raw",
        /// Its first batches are decoded, too.
        Decoded = "decoded",
    }
}
