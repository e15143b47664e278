//! Pruning of manifests, entries and files.

use std::collections::BTreeMap;

use super::files::FilePruning;
use super::*;
use crate::plan::live_entries::LiveEntries;
use crate::plan::live_entries::tests::manifest as manifest_of;
use crate::plan::visible::Visible;
use crate::predicate::testing::{column, int, text};
use crate::predicate::{ColumnRef, Test};
use crate::spec::binary_row::serialize_row;
use crate::spec::data_file::DataFileMeta;
use crate::spec::datum::Datum;
use crate::spec::manifest_entry::{FileKind, ManifestEntry};
use crate::spec::simple_stats::SimpleStats;
use crate::storage::{Location, Storage};

/// `dt` and `id` are the primary key, `dt` the partition; ids of columns are their positions.
fn schema(id: i64, columns: &[(&str, &str)], options: &[(&str, &str)]) -> TableSchema {
    let fields = columns.iter().enumerate();
    TableSchema {
        version: 3,
        id,
        fields: fields.map(|(i, (name, t))| DataField::new(i as i32, *name, DataType::parse(t).unwrap())).collect(),
        highest_field_id: 9,
        partition_keys: vec!["dt".into()],
        primary_keys: vec!["dt".into(), "id".into()],
        options: options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        comment: None,
        time_millis: 0,
    }
}

const COLUMNS: [(&str, &str); 4] = [("dt", "STRING"), ("id", "INT"), ("v", "INT"), ("s", "STRING")];

fn own_schema() -> TableSchema {
    schema(1, &COLUMNS, &[("bucket", "4")])
}

fn pruning(predicate: &Predicate, schema: &TableSchema) -> Pruning {
    let options = TableOptions::effective(&schema.options, &BTreeMap::new()).unwrap();
    Pruning::new(predicate, schema, &options)
}

fn leaf(id: i32, test: Test) -> Predicate {
    let (name, data_type) = COLUMNS[id as usize];
    Predicate::leaf(ColumnRef { name: name.into(), ..column(id, data_type) }, test)
}

fn dt(value: &str) -> Predicate {
    leaf(0, Test::Equal(text(value)))
}

fn id(value: i32) -> Predicate {
    leaf(1, Test::Equal(int(value)))
}

fn row(types: &[&str], values: &[Option<Datum>]) -> Vec<u8> {
    let types: Vec<_> = types.iter().map(|t| DataType::parse(t).unwrap()).collect();
    serialize_row(&types, values).unwrap()
}

fn partition(value: Option<&str>) -> Vec<u8> {
    row(&["STRING"], &[value.map(text)])
}

fn manifest(min: &str, max: &str, nulls: i64) -> ManifestFileMeta {
    ManifestFileMeta {
        file_name: format!("{min}-{max}"),
        file_size: 0,
        num_added_files: 5,
        num_deleted_files: 1,
        partition_stats: SimpleStats {
            min_values: partition(Some(min)),
            max_values: partition(Some(max)),
            null_counts: vec![Some(nulls)],
        },
        schema_id: 1,
        min_bucket: Some(0),
        max_bucket: Some(1),
        min_level: None,
        max_level: None,
        min_row_id: None,
        max_row_id: None,
        total_buckets: None,
    }
}

fn manager() -> SnapshotManager {
    let storage = Storage::new(&Default::default());
    SnapshotManager::new(storage, Location::parse("memory:///t").unwrap(), "main").unwrap()
}

async fn kept_manifests(predicate: &Predicate, all: Vec<ManifestFileMeta>) -> Vec<String> {
    let pruning = pruning(predicate, &own_schema());
    let manager = manager();
    let kept = pruning.manifests(&manager, &all).await;
    assert_eq!(pruning.report().manifests, Kept { seen: all.len(), kept: kept.len() });
    kept.into_iter().map(|m| m.file_name.clone()).collect()
}

#[tokio::test]
async fn manifests_are_left_out_by_their_partitions() {
    let all = || vec![manifest("a", "c", 0), manifest("d", "f", 1)];
    let broken = SimpleStats { min_values: vec![0, 0, 0, 9], ..SimpleStats::default() };
    assert_eq!(kept_manifests(&dt("e"), all()).await, ["d-f"]);
    assert_eq!(kept_manifests(&leaf(0, Test::IsNull), all()).await, ["d-f"]);
    assert_eq!(kept_manifests(&Predicate::all_of([dt("b"), id(5)]), all()).await, ["a-c"]);
    assert_eq!(kept_manifests(&Predicate::any_of([dt("b"), id(5)]), all()).await.len(), 2);
    let unknown = ManifestFileMeta { partition_stats: broken, ..manifest("x", "x", 0) };
    assert_eq!(kept_manifests(&dt("e"), vec![unknown]).await, ["x-x"]);
}

#[tokio::test]
async fn manifests_are_left_out_by_their_buckets_where_all_entries_agree() {
    // INT 42 hashes to 907821237, which is bucket 1 of 4.
    let within = |min, max, total| ManifestFileMeta {
        min_bucket: Some(min),
        max_bucket: Some(max),
        total_buckets: total,
        schema_id: 0,
        ..manifest("a", "c", 0)
    };
    let own = TableSchema { id: 0, ..own_schema() };
    let kept = async |m: ManifestFileMeta| !pruning(&id(42), &own).manifests(&manager(), &[m]).await.is_empty();
    assert!(kept(within(0, 1, Some(4))).await);
    assert!(!kept(within(2, 3, Some(4))).await);
    assert!(kept(within(2, 3, None)).await);
    // Of a schema that cannot be read nothing is known.
    assert!(kept(ManifestFileMeta { schema_id: 3, ..within(2, 3, Some(4)) }).await);
}

#[test]
fn a_partition_is_decided_once_and_what_is_left_decides_its_buckets() {
    let predicate = Predicate::any_of([
        Predicate::all_of([dt("a"), id(42)]),
        Predicate::all_of([dt("b"), leaf(2, Test::Less(int(5)))]),
        leaf(0, Test::IsNull),
    ]);
    let schema = own_schema();
    let pruning = pruning(&predicate, &schema);
    let of = |value| pruning.partition(&partition(value)).unwrap();
    assert_eq!(of(Some("a")).residual, id(42));
    assert_eq!(of(Some("b")).residual, leaf(2, Test::Less(int(5))));
    assert!(of(None).residual.is_always() && !of(Some("")).is_kept());
    assert!(Arc::ptr_eq(&of(Some("a")), &of(Some("a"))));
    for (value, bucket, total, want) in [
        (Some("a"), 1, 4, true),
        (Some("a"), 2, 4, false),
        (Some("a"), 0, 3, true),
        (Some("a"), 1, 3, false),
        (Some("a"), 2, -1, true),
        (Some("b"), 2, 4, true),
        (None, 2, 4, true),
    ] {
        assert_eq!(pruning.keeps_bucket(&of(value), bucket, total, 1), want, "{value:?} {bucket} of {total}");
    }
    assert!(pruning.partition(&[0, 0]).is_err());
}

#[test]
fn schemas_that_deal_rows_otherwise_are_not_asked() {
    let own = own_schema();
    let pruning = pruning(&Predicate::all_of([dt("a"), id(42)]), &own);
    let verdict = pruning.partition(&partition(Some("a"))).unwrap();
    assert_eq!(pruning.unknown_schemas([0, 1, 0, 2]), [0, 2]);
    assert!(pruning.keeps_bucket(&verdict, 2, 4, 0));
    assert!(pruning.deals_alike(&schema(0, &COLUMNS, &[("bucket", "2")])));
    let wide = [("dt", "STRING"), ("id", "BIGINT")];
    assert!(!pruning.deals_alike(&schema(0, &wide, &[])));
    assert!(!pruning.deals_alike(&schema(0, &COLUMNS, &[("bucket-key", "v")])));
    assert!(!pruning.deals_alike(&schema(0, &COLUMNS, &[("bucket-function.type", "mod")])));
    pruning.bucketed_alike.lock().unwrap().extend([(0, true), (2, false)]);
    assert!(pruning.unknown_schemas([0, 1, 2]).is_empty());
    assert!(!pruning.keeps_bucket(&verdict, 2, 4, 0) && pruning.keeps_bucket(&verdict, 2, 4, 2));
}

#[test]
fn tables_without_fixed_buckets_are_not_asked() {
    for bucket in ["-1", "0"] {
        let schema = schema(1, &COLUMNS, &[("bucket", bucket)]);
        let pruning = pruning(&id(42), &schema);
        let verdict = pruning.partition(&partition(Some("a"))).unwrap();
        assert!((0..4).all(|b| pruning.keeps_bucket(&verdict, b, 4, 1)));
    }
    let schema = schema(1, &COLUMNS, &[("bucket", "-1"), ("scan.bucket", "3")]);
    let pruning = pruning(&Predicate::always(), &schema);
    let verdict = pruning.partition(&partition(Some("a"))).unwrap();
    assert_eq!((0..4).filter(|b| pruning.keeps_bucket(&verdict, *b, -1, 1)).collect::<Vec<_>>(), [3]);
    assert!(!pruning.is_idle() && pruning.report().has_filter);
}

#[test]
fn live_entries_are_selected_by_partition_and_bucket() {
    let schema = own_schema();
    let pruning = pruning(&Predicate::all_of([dt("a"), id(42)]), &schema);
    let entry = |value: &str, bucket, level, name: &str| ManifestEntry {
        kind: FileKind::Add,
        partition: partition(Some(value)).into(),
        bucket,
        total_buckets: 4,
        file: DataFileMeta { schema_id: 1, level, ..DataFileMeta::for_tests(name) },
    };
    let entries = [
        entry("a", 0, 3, "x"),
        entry("a", 1, 1, "y"),
        entry("b", 1, 3, "z"),
        entry("a", 1, 2, "w"),
        entry("a", 2, 3, "v"),
    ];
    let live = LiveEntries::of(vec![manifest_of("m", &entries)]);
    let names = |selected: &Selected| -> Vec<String> {
        let rows = selected.buckets.iter().flat_map(|b| b.rows.of(&live));
        rows.map(|row| live.entry(*row).unwrap().file.file_name).collect()
    };
    let selected = select(&live, &pruning, &Visible::new(i32::MIN..=i32::MAX, None)).unwrap();
    assert_eq!(names(&selected), ["y", "w"]);
    assert_eq!(selected.partitions, HashSet::from([partition(Some("a")).into()]));
    let report = pruning.report();
    assert_eq!((report.partitions.seen, report.partitions.kept), (2, 1));
    assert_eq!((report.buckets.seen, report.buckets.kept), (3, 1));
    assert_eq!((report.entries.seen, report.entries.kept), (5, 2));
    let some = |levels| select(&live, &pruning, &Visible::new(levels, None)).unwrap();
    assert_eq!(names(&some(2..=3)), ["w"]);
    let hidden = some(3..=3);
    assert!(hidden.buckets.is_empty() && hidden.partitions.len() == 1);
    assert!(some(5..=9).partitions.is_empty());
}

fn value_stats(types: &[&str], min: &[Option<Datum>], max: &[Option<Datum>], nulls: &[Option<i64>]) -> SimpleStats {
    SimpleStats { min_values: row(types, min), max_values: row(types, max), null_counts: nulls.to_vec() }
}

/// A file of ten rows, `id` 1 to 5, `v` 10 to 20, `s` NULL.
fn file() -> DataFileMeta {
    let types = ["STRING", "INT", "INT", "STRING"];
    let bounds = |id, v| [Some(text("a")), Some(int(id)), Some(int(v)), None];
    DataFileMeta {
        file_name: "f.parquet".into(),
        row_count: 10,
        schema_id: 1,
        key_stats: value_stats(&["INT"], &[Some(int(1))], &[Some(int(5))], &[Some(0)]),
        value_stats: value_stats(&types, &bounds(1, 10), &bounds(5, 20), &[Some(0), Some(0), Some(2), Some(10)]),
        ..DataFileMeta::empty()
    }
}

struct Asked {
    schemas: HashMap<i64, Arc<TableSchema>>,
    schema: TableSchema,
}

impl Asked {
    fn new(schema: TableSchema, others: Vec<TableSchema>) -> Self {
        let schemas = others.into_iter().chain([schema.clone()]).map(|s| (s.id, Arc::new(s))).collect();
        Self { schemas, schema }
    }

    fn by_value(&self, predicate: &Predicate, file: &DataFileMeta) -> bool {
        let pruning = pruning(predicate, &self.schema);
        let files = FilePruning::new(&pruning, &self.schema, &self.schemas);
        files.keeps_by_value(&partition(Some("a")), file).unwrap()
    }

    fn by_key(&self, predicate: &Predicate, file: &DataFileMeta) -> bool {
        let pruning = pruning(predicate, &self.schema);
        let files = FilePruning::new(&pruning, &self.schema, &self.schemas);
        files.keeps_by_key(&partition(Some("a")), file).unwrap()
    }
}

#[test]
fn files_are_left_out_by_their_bounds() {
    let asked = Asked::new(own_schema(), vec![]);
    let v = |test| leaf(2, test);
    let file = file();
    for (predicate, want) in [
        (v(Test::Equal(int(15))), true),
        (v(Test::Equal(int(30))), false),
        (v(Test::IsNull), true),
        (leaf(3, Test::IsNotNull), false),
        (leaf(3, Test::IsNull), true),
        (Predicate::all_of([dt("a"), v(Test::Greater(int(20)))]), false),
        (Predicate::any_of([dt("a"), v(Test::Greater(int(20)))]), true),
        (Predicate::any_of([dt("b"), v(Test::Greater(int(20)))]), false),
    ] {
        assert_eq!(asked.by_value(&predicate, &file), want, "{predicate}");
    }
    assert!(!asked.by_key(&id(6), &file) && asked.by_key(&id(5), &file));
    assert!(asked.by_key(&v(Test::Equal(int(30))), &file));
    assert!(!asked.by_key(&Predicate::all_of([id(6), v(Test::Equal(int(30)))]), &file));
}

#[test]
fn an_orc_file_that_is_said_to_be_all_null_may_hold_values() {
    let asked = Asked::new(own_schema(), vec![]);
    let nothing = |columns: &[&str]| value_stats(columns, &vec![None; columns.len()], &vec![None; columns.len()], &[]);
    let all_null = |columns: &[&str]| SimpleStats { null_counts: vec![Some(10); columns.len()], ..nothing(columns) };
    let types = ["STRING", "INT", "INT", "STRING"];
    let of = |name: &str| DataFileMeta {
        file_name: name.into(),
        key_stats: all_null(&["INT"]),
        value_stats: all_null(&types),
        ..file()
    };
    let (orc, parquet) = (of("f.orc"), of("f.parquet"));
    let v = leaf(2, Test::Equal(int(15)));
    assert!(asked.by_value(&v, &orc) && asked.by_key(&id(3), &orc) && asked.by_value(&leaf(3, Test::IsNotNull), &orc));
    assert!(!asked.by_value(&v, &parquet) && !asked.by_key(&id(3), &parquet));
    // Fewer are believed.
    let mut some = of("f.orc");
    some.value_stats.null_counts = vec![Some(0), Some(0), Some(9), Some(0)];
    assert!(!asked.by_value(&leaf(1, Test::IsNull), &some) && asked.by_value(&leaf(2, Test::IsNull), &some));
}

#[test]
fn dense_and_missing_statistics() {
    let asked = Asked::new(own_schema(), vec![]);
    let v = |value| leaf(2, Test::Equal(int(value)));
    let names = |list: &[&str]| Some(list.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
    let one = |min, max, nulls| value_stats(&["INT"], &[Some(int(min))], &[Some(int(max))], nulls);
    let dense = DataFileMeta { value_stats_cols: names(&["v"]), value_stats: one(10, 20, &[Some(0)]), ..file() };
    assert!(asked.by_value(&v(15), &dense) && !asked.by_value(&v(30), &dense));
    assert!(asked.by_value(&id(99), &dense));
    let none = DataFileMeta { value_stats_cols: names(&[]), value_stats: value_stats(&[], &[], &[], &[]), ..file() };
    assert!(asked.by_value(&v(30), &none));
    let uncounted = DataFileMeta { value_stats: one(10, 20, &[]), ..dense.clone() };
    assert!(!asked.by_value(&v(30), &uncounted) && asked.by_value(&leaf(2, Test::IsNull), &uncounted));
    // As pypaimon once wrote them, with columns that nothing lists.
    let shifted = DataFileMeta { value_stats_cols: None, ..dense };
    assert!(asked.by_value(&id(99), &shifted) && asked.by_value(&v(99), &shifted));
    let system = ["_KEY_id", "_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "v"];
    let types = ["INT", "BIGINT", "TINYINT", "INT", "INT"];
    let bounds = |v| [Some(int(1)), Some(Datum::BigInt(7)), Some(Datum::TinyInt(0)), Some(int(1)), Some(int(v))];
    let listed = DataFileMeta {
        value_stats_cols: names(&system),
        value_stats: value_stats(&types, &bounds(10), &bounds(20), &[Some(0); 5]),
        ..file()
    };
    assert!(asked.by_value(&v(15), &listed) && !asked.by_value(&v(30), &listed));
    let garbage = SimpleStats { min_values: vec![1; 20], max_values: vec![0, 0, 0, 4], null_counts: vec![] };
    assert!(asked.by_value(&v(30), &DataFileMeta { value_stats: garbage, ..file() }));
}

#[test]
fn statistics_of_older_schemas_are_brought_over_where_that_is_exact() {
    let wide = [("dt", "STRING"), ("key", "BIGINT"), ("w", "BIGINT"), ("s", "STRING"), ("new", "INT")];
    let renamed = TableSchema { primary_keys: vec!["dt".into(), "key".into()], ..schema(2, &wide, &[("bucket", "4")]) };
    let asked = Asked::new(renamed, vec![own_schema()]);
    let leaf = |id: i32, test| Predicate::leaf(column(id, wide[id as usize].1), test);
    let long = Datum::BigInt;
    let file = file();
    assert!(asked.by_value(&leaf(2, Test::Equal(long(15))), &file));
    assert!(!asked.by_value(&leaf(2, Test::Greater(long(3_000_000_000))), &file));
    assert!(
        !asked.by_key(&leaf(1, Test::Equal(long(6))), &file) && asked.by_key(&leaf(1, Test::Equal(long(5))), &file)
    );
    assert!(!asked.by_value(&leaf(4, Test::Greater(int(3))), &file) && asked.by_value(&leaf(4, Test::IsNull), &file));

    let narrow = [("dt", "STRING"), ("id", "INT"), ("v", "SMALLINT"), ("s", "INT")];
    let asked = Asked::new(schema(2, &narrow, &[("bucket", "4")]), vec![own_schema()]);
    let leaf = |id: i32, test| Predicate::leaf(column(id, narrow[id as usize].1), test);
    assert!(asked.by_value(&leaf(2, Test::Equal(Datum::SmallInt(99))), &file));
    assert!(asked.by_value(&leaf(2, Test::IsNull), &file) && asked.by_value(&leaf(3, Test::IsNotNull), &file));
    let unread = DataFileMeta { schema_id: 7, ..file };
    assert!(asked.by_value(&leaf(1, Test::Equal(int(99))), &unread) && asked.by_key(&id(99), &unread));
}

#[test]
fn times_of_orc_have_slack() {
    let columns = [("dt", "STRING"), ("id", "INT"), ("t", "TIMESTAMP(3)"), ("d", "DATE")];
    let asked = Asked::new(schema(1, &columns, &[]), vec![]);
    let types = columns.map(|(_, t)| t);
    let at = |millis| Datum::Timestamp { millis, nano_of_milli: 0 };
    let bounds = [Some(text("a")), Some(int(1)), Some(at(0)), Some(Datum::Date(-5))];
    let stats = value_stats(&types, &bounds, &bounds, &[Some(0); 4]);
    let file = |name: &str| DataFileMeta { file_name: name.into(), value_stats: stats.clone(), ..file() };
    let day = |id: i32, value| Predicate::leaf(column(id, columns[id as usize].1), Test::Equal(value));
    for (predicate, orc, parquet) in [
        (day(2, at(0)), true, true),
        (day(2, at(3_600_000)), true, false),
        (day(2, at(90_000_000)), false, false),
        (day(3, Datum::Date(-4)), true, false),
        (day(3, Datum::Date(-3)), false, false),
    ] {
        assert_eq!(asked.by_value(&predicate, &file("f.orc")), orc, "{predicate}");
        assert_eq!(asked.by_value(&predicate, &file("f.parquet")), parquet, "{predicate}");
    }
}
