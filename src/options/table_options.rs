//! The table options that affect reading: the one list of their declarations.

use std::collections::BTreeMap;

use super::declaration::{self, OptionDeclaration, table_options};
use super::enums::{
    BatchScanMode, BucketFunctionType, ChangelogProducer, IncrementalScanMode, MergeEngine, SortEngine, SortOrder,
    StartupMode, TableType, TagCreationPeriod, TagPeriodFormatter, WarmupLevel,
};
use super::value::{MemorySize, OptionValue};
use crate::error::Result;

table_options! {
    /// The options of one read of a table, typed. Made by [`TableOptions::effective`].
    TableOptions {
        /// What kind of table it is.
        table_type: TableType = "table", "type";
        /// The folder of the table, where a catalog has set it.
        path: String, "path";
        /// The branch that is read.
        branch: String = "main", "branch";

        /// The number of buckets; -1 without fixed buckets, -2 with postponed ones.
        bucket: i32 = "-1", "bucket";
        /// The columns that rows are dealt to buckets by; the primary key without the partition where not set.
        bucket_key: Vec<String>, "bucket-key";
        /// How a bucket key becomes a bucket.
        bucket_function_type: BucketFunctionType = "default", "bucket-function.type";
        /// The number of buckets that a batch writer gives a new partition of a table with postponed buckets.
        postpone_default_bucket_num: i32 = "1", "postpone.default-bucket-num";

        /// How rows of the same primary key become one.
        merge_engine: MergeEngine = "deduplicate", "merge-engine";
        /// Whether delete records have no effect.
        ignore_delete: bool = "false", "ignore-delete",
            ["first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"];
        /// The columns that decide which of two rows is the newer one.
        sequence_field: Vec<String>, "sequence.field";
        /// The order of the sequence fields.
        sequence_field_sort_order: SortOrder = "ascending", "sequence.field.sort-order";
        /// How sorted runs are merged.
        sort_engine: SortEngine = "loser-tree", "sort-engine";
        /// Whether rows are ordered by the snapshot that they came with.
        sequence_snapshot_ordering: bool = "false", "sequence.snapshot-ordering";
        /// The column that holds the kind of a row.
        rowkind_field: String, "rowkind.field";
        /// Whether a delete removes the whole row of a partial-update table.
        partial_update_remove_record_on_delete: bool = "false", "partial-update.remove-record-on-delete";
        /// The sequence groups whose deletes remove the whole row of a partial-update table.
        partial_update_remove_record_on_sequence_group: Vec<String>, "partial-update.remove-record-on-sequence-group";
        /// Whether a delete removes the whole row of an aggregation table.
        aggregation_remove_record_on_delete: bool = "false", "aggregation.remove-record-on-delete";
        /// The aggregate function of the columns that have none of their own.
        default_aggregate_function: String, "fields.default-aggregate-function";
        /// Where changelog files come from.
        changelog_producer: ChangelogProducer = "none", "changelog-producer";
        /// Whether compaction looks up older values although no changelog is wanted.
        force_lookup: bool = "false", "force-lookup";
        /// The number of sorted runs that sets off a compaction.
        num_sorted_run_compaction_trigger: i32 = "5", "num-sorted-run.compaction-trigger";
        /// The number of levels; the compaction trigger and one more where not set.
        num_levels: i32, "num-levels";
        /// Every how many commits a full compaction takes place.
        full_compaction_delta_commits: i32, "full-compaction.delta-commits";
        /// Whether data files leave out the key columns that the value columns hold anyway.
        data_file_thin_mode: bool = "false", "data-file.thin-mode";
        /// Whether files of a primary-key table are ordered by other columns than the key.
        pk_clustering_override: bool = "false", "pk-clustering-override";

        /// Whether deleted rows are marked in deletion vectors.
        deletion_vectors_enabled: bool = "false", "deletion-vectors.enabled";
        /// Whether new deletion vectors have 64-bit positions; readers go by what the vectors say.
        deletion_vectors_bitmap64: bool = "false", "deletion-vectors.bitmap64";
        /// Whether a table with deletion vectors is merged on read, so that level 0 is visible.
        deletion_vectors_merge_on_read: bool = "false", "deletion-vectors.merge-on-read";

        /// Whether index files lie in the folders of the data files.
        index_file_in_data_file_dir: bool = "false", "index-file-in-data-file-dir";
        /// The folder below the table that holds the data files.
        data_file_path_directory: String, "data-file.path-directory";
        /// What names of data files begin with.
        data_file_prefix: String = "data-", "data-file.prefix";
        /// What names of changelog files begin with.
        changelog_file_prefix: String = "changelog-", "changelog-file.prefix";
        /// The folder name of a partition whose value is NULL or blank.
        partition_default_name: String = "__DEFAULT_PARTITION__", "partition.default-name";
        /// Whether folder names spell values as Java's toString does (dates as numbers of days) instead of as SQL does.
        partition_legacy_name: bool = "true", "partition.legacy-name";
        /// The format of new data files; readers go by the file's name.
        file_format: String = "parquet", "file.format";
        /// The format of new manifests; readers go by the file's first bytes.
        manifest_format: String = "avro", "manifest.format";
        /// Whether ORC files hold TIMESTAMP WITH LOCAL TIME ZONE as a plain timestamp in the writer's zone.
        orc_timestamp_ltz_legacy_type: bool = "true", "orc.timestamp-ltz.legacy.type";

        /// Whether ranges of files are fetched before they are needed.
        prefetch_enabled: bool = "true", "prefetch.enabled";
        /// How far files are prepared before the one before them is at its end.
        prefetch_warmup_level: WarmupLevel = "raw", "prefetch.warmup-level";
        /// Whether files on local disks are not read ahead, because nothing is gained.
        prefetch_adaptive_enabled: bool = "true", "prefetch.adaptive-enabled";
        /// The most bytes of a scan that are fetched or decoded ahead; at most a quarter of a limited memory pool.
        prefetch_pre_buffer_limit: MemorySize = "64 mb", "prefetch.pre-buffer-limit";
        /// The most requests of a scan that are under way at a time.
        prefetch_max_parallel_num: i32 = "32", "prefetch.max-parallel-num";
        /// The most bytes of one request to an object store.
        prefetch_range_size_limit: MemorySize = "8 mb", "prefetch.range-size-limit";
        /// The most bytes between two ranges of a file that are fetched with one request, and thrown away.
        prefetch_hole_size_limit: MemorySize = "512 kb", "prefetch.hole-size-limit";
        /// The least bytes of an ORC file's wanted columns for which more than the next stripe is fetched ahead.
        orc_read_prefetch_threshold: MemorySize = "10 mb", "orc.read.enable-prefetch-read-size-threshold";

        /// How many bytes of files a split aims at.
        source_split_target_size: MemorySize = "128 mb", "source.split.target-size";
        /// How many bytes the opening of a file counts for.
        source_split_open_file_cost: MemorySize = "4 mb", "source.split.open-file-cost";
        /// Whether splits are given in the order of their partitions.
        scan_plan_sort_partition: bool = "false", "scan.plan-sort-partition";
        /// Whether file indexes are used to leave out files and rows.
        file_index_read_enabled: bool = "true", "file-index.read.enabled";
        /// Whether files that cannot be decoded are left out.
        scan_ignore_corrupt_files: bool = "false", "scan.ignore-corrupt-files";
        /// Whether files that are gone are left out.
        scan_ignore_lost_files: bool = "false", "scan.ignore-lost-files";

        /// How many snapshots of a branch are kept with their live manifest entries, within the bytes of the session's
        /// cache; 0: none is.
        scan_manifest_entry_cache_max_snapshots: i32 = "2", "scan.manifest-entry-cache.max-snapshots";
        /// Whether of a manifest entry only what is needed to select it is decoded first.
        scan_manifest_entry_lazy_decode_enabled: bool = "true", "scan.manifest-entry.lazy-decode.enabled";
        /// The only bucket that is read.
        scan_bucket: i32, "scan.bucket";
        /// Which state of the table a read sees.
        scan_mode: StartupMode = "default", "scan.mode", ["log.scan"];
        /// The snapshot to read, by id.
        scan_snapshot_id: i64, "scan.snapshot-id";
        /// The tag to read.
        scan_tag_name: String, "scan.tag-name";
        /// The version to read: a tag's name, `watermark-N`, or the id of a snapshot.
        scan_version: String, "scan.version";
        /// The first snapshot whose watermark is at or above this.
        scan_watermark: i64, "scan.watermark";
        /// The latest snapshot at or before this local time: `yyyy-MM-dd`, or `yyyy-MM-dd HH:mm:ss.f`.
        scan_timestamp: String, "scan.timestamp";
        /// The latest snapshot at or before this time in milliseconds since 1970.
        scan_timestamp_millis: i64, "scan.timestamp-millis", ["log.scan.timestamp-millis"];
        /// Only files made at or after this time in milliseconds since 1970.
        scan_file_creation_time_millis: i64, "scan.file-creation-time-millis";
        /// The first snapshot at or after this time in milliseconds since 1970, else only the files made since.
        scan_creation_time_millis: i64, "scan.creation-time-millis";
        /// The branch that partitions come from which this branch lacks.
        scan_fallback_branch: String, "scan.fallback-branch";
        /// The branch whose partitions go before those of this branch.
        scan_primary_branch: String, "scan.primary-branch";
        /// What a batch read is for.
        batch_scan_mode: BatchScanMode = "none", "batch-scan-mode";

        /// Changes between two snapshots or two tags, the first exclusive: `FROM,TO`.
        incremental_between: String, "incremental-between";
        /// Changes between two times, in milliseconds since 1970 or as local times: `FROM,TO`.
        incremental_between_timestamp: String, "incremental-between-timestamp";
        /// What a read between two snapshots gives.
        incremental_between_scan_mode: IncrementalScanMode = "auto", "incremental-between-scan-mode";
        /// Whether two tags stand for their snapshots, instead of the difference of their states.
        incremental_between_tag_to_snapshot: bool = "false", "incremental-between-tag-to-snapshot";
        /// The difference between this tag, created by itself, and the one before it.
        incremental_to_auto_tag: String, "incremental-to-auto-tag";
        /// How often tags are created by themselves.
        tag_creation_period: TagCreationPeriod = "daily", "tag.creation-period";
        /// How tags that are created by themselves are spelled.
        tag_period_formatter: TagPeriodFormatter = "with_dashes", "tag.period-formatter";

        /// Whether rows have ids.
        row_tracking_enabled: bool = "false", "row-tracking.enabled";
        /// Whether columns of a row may lie in several files.
        data_evolution_enabled: bool = "false", "data-evolution.enabled";
        /// The BLOB columns.
        blob_field: Vec<String>, "blob-field";
        /// The BLOB columns that hold a reference to the bytes.
        blob_descriptor_field: Vec<String>, "blob-descriptor-field", ["blob.stored-descriptor-fields"];
        /// Whether BLOB columns give a reference to the bytes instead of the bytes.
        blob_as_descriptor: bool = "false", "blob-as-descriptor";
        /// Whether splits count the bytes of BLOB files.
        blob_split_by_file_size: bool, "blob.split-by-file-size";
        /// Whether global indexes are used to leave out rows.
        global_index_enabled: bool = "true", "global-index.enabled";

        /// Whether the table is a chain of a snapshot branch and a delta branch.
        chain_table_enabled: bool = "false", "chain-table.enabled";
        /// The branch of a chain that holds whole partitions.
        scan_fallback_snapshot_branch: String, "scan.fallback-snapshot-branch";
        /// The branch of a chain that holds changes.
        scan_fallback_delta_branch: String, "scan.fallback-delta-branch";
        /// The partition columns that a chain runs along.
        chain_table_chain_partition_keys: Vec<String>, "chain-table.chain-partition-keys";
    }
}
