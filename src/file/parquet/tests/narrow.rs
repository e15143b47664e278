//! What predicates and row filters leave of a file: row groups, pages, Bloom filters, rows.

use std::sync::{Arc, Mutex};

use arrow::array::{
    ArrayRef, AsArray, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampNanosecondArray,
};
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::planner::logical2physical;
use datafusion::prelude::{Expr, col, lit};
use futures::{StreamExt, TryStreamExt};
use parquet::basic::Compression;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use proptest::prelude::*;

use super::super::footer::Footer;
use super::{fields, open, request, write};
use crate::error::{Error, Result};
use crate::file::{FilePredicate, FoundRows, Narrowing, PruneMetrics, PruneSwitches, ReadRequest, RowFilter};
use crate::selection::RowSelection;
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::DataField;

const ROWS: i64 = 40;

/// Four row groups of ten rows, each of pages of three: `n` counts up, `k` is its remainder by 7, `s` its text.
fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(10))
        .set_data_page_row_count_limit(3)
        .set_write_batch_size(3)
        .set_dictionary_enabled(false)
        .set_compression(Compression::UNCOMPRESSED)
}

fn file(properties: WriterPropertiesBuilder) -> Vec<u8> {
    let n: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let k: ArrayRef = Arc::new(Int32Array::from_iter((0..ROWS).map(|n| (n % 5 != 0).then_some((n % 7) as i32))));
    let s: ArrayRef = Arc::new(StringArray::from_iter_values((0..ROWS).map(|n| format!("text {:03}", n * 2))));
    write(vec![("n", n), ("k", k), ("s", s)], properties.build())
}

fn columns() -> Vec<DataField> {
    fields(&[("n", "BIGINT"), ("k", "INT"), ("s", "STRING")])
}

fn physical(expr: &Expr, fields: &[DataField]) -> Arc<dyn PhysicalExpr> {
    logical2physical(expr, &arrow_schema(fields))
}

/// Text as columns have it.
fn text(text: &str) -> Expr {
    lit(ScalarValue::Utf8View(Some(text.to_owned())))
}

fn predicate(expr: &Expr) -> Narrowing {
    let predicate = Some(FilePredicate::new(columns(), physical(expr, &columns())));
    Narrowing { predicate, ..Narrowing::default() }
}

/// A filter by an expression.
#[derive(Debug)]
struct ByExpr(Vec<DataField>, Arc<dyn PhysicalExpr>);

impl ByExpr {
    fn shared(expr: &Expr, fields: Vec<DataField>) -> Arc<dyn RowFilter> {
        let expr = physical(expr, &fields);
        Arc::new(Self(fields, expr))
    }
}

impl RowFilter for ByExpr {
    fn fields(&self) -> &[DataField] {
        &self.0
    }

    fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        assert_eq!(batch.schema(), arrow_schema(&self.0));
        let value = self.1.evaluate(batch).and_then(|v| v.into_array(batch.num_rows()));
        let value = value.map_err(|e| Error::internal("filter").caused_by(e))?;
        Ok(value.as_boolean().iter().map(|wanted| Some(wanted == Some(true))).collect())
    }
}

/// The same filter, which only spares work.
#[derive(Debug)]
struct Spares(Arc<dyn RowFilter>);

impl RowFilter for Spares {
    fn fields(&self) -> &[DataField] {
        self.0.fields()
    }

    fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        self.0.matches(batch)
    }

    fn is_needed(&self) -> bool {
        false
    }
}

async fn rows(file: Vec<u8>, columns: Vec<DataField>, narrowing: Narrowing) -> RecordBatch {
    read(ReadRequest { narrowing, ..request(file, columns).await }).await
}

async fn read(request: ReadRequest) -> RecordBatch {
    let schema = arrow_schema(&request.fields);
    let batches: Vec<_> = open(request).await.unwrap().try_collect().await.unwrap();
    concat_batches(&schema, &batches).unwrap()
}

fn numbers(batch: &RecordBatch) -> Vec<i64> {
    batch.column(0).as_primitive::<Int64Type>().values().to_vec()
}

#[tokio::test]
async fn statistics_of_row_groups_and_pages_take_rows_away() {
    for (expr, groups, left) in [
        (col("n").gt_eq(lit(25i64)), 2, (23..40).collect::<Vec<i64>>()),
        (col("n").eq(lit(13i64)), 1, (13..16).collect()),
        (col("n").lt(lit(0i64)), 0, vec![]),
        (col("s").eq(text("text 027")), 1, (13..16).collect()),
        (col("n").gt(lit(100i64)).or(col("n").is_null()), 0, vec![]),
        (col("n").gt(lit(5i64)).and(col("s").lt(text("text 020"))), 1, (6..10).collect()),
        (col("n").not_eq(lit(5i64)), 4, (0..40).collect()),
    ] {
        let narrowing = predicate(&expr);
        let metrics = narrowing.metrics.clone();
        let got = numbers(&rows(file(properties()), columns(), narrowing).await);
        assert_eq!((metrics.row_groups.matched(), metrics.row_groups.pruned()), (groups, 4 - groups), "{expr}");
        assert_eq!(got, left, "{expr}");
        assert_eq!(metrics.errors.value(), 0, "{expr}");
        if left.len() < 10 * groups {
            assert_eq!(metrics.page_rows.matched(), left.len(), "{expr}");
        }
    }
}

#[tokio::test]
async fn filters_that_spare_work_are_not_asked_where_pages_left_little() {
    let expr = col("n").eq(lit(13i64));
    let needed = || ByExpr::shared(&expr, fields(&[("n", "BIGINT")]));
    let spares = || Arc::new(Spares(needed())) as Arc<dyn RowFilter>;
    // Pages leave three rows, of ten or of forty.
    for (group_rows, filters, left) in [
        (10, vec![], vec![13, 14, 15]),
        (10, vec![spares()], vec![13]),
        (40, vec![spares()], vec![12, 13, 14]),
        (40, vec![needed()], vec![13]),
        (40, vec![spares(), needed()], vec![13]),
    ] {
        let file = file(properties().set_max_row_group_row_count(Some(group_rows)));
        let narrowing = Narrowing { row_filters: filters, ..predicate(&expr) };
        assert_eq!(numbers(&rows(file, columns(), narrowing).await), left, "{group_rows}");
    }
}

#[tokio::test]
async fn far_away_filters_that_spare_work_are_asked_where_much_is_spared() {
    let columns = |names: &[&str]| columns().into_iter().filter(|f| names.contains(&f.name.as_str())).collect();
    let filter = ByExpr::shared(&col("n").eq(lit(13i64)), columns(&["n"]));
    let spares = || Arc::new(Spares(Arc::clone(&filter))) as Arc<dyn RowFilter>;
    let one_page = || properties().set_max_row_group_row_count(Some(40)).set_data_page_row_count_limit(40);
    let file = || file(one_page().set_write_batch_size(40).set_dictionary_enabled(true));
    // The texts are worth a wait, the numbers are not; nor are the texts of a few rows.
    let some = || Some(RowSelection::only(40, 10..13));
    for (wanted, selection, filter, left) in [
        (vec!["n", "s"], None, spares(), 1),
        (vec!["n", "k"], None, spares(), 40),
        (vec!["n", "k"], None, Arc::clone(&filter), 1),
        (vec!["n", "s"], some(), spares(), 3),
    ] {
        let narrowing = Narrowing { row_filters: vec![filter], ..Narrowing::default() };
        let request = ReadRequest { selection, narrowing, ..request(file(), columns(&wanted)).await };
        assert!(!request.file.is_local());
        assert_eq!(read(request).await.num_rows(), left, "{wanted:?}");
    }
}

/// Who wants to know which rows are left.
#[derive(Debug, Default)]
struct Told(Mutex<Vec<Vec<u64>>>);

impl FoundRows for Told {
    fn most(&self) -> usize {
        12
    }

    fn found(&self, positions: &[u64]) {
        self.0.lock().unwrap().push(positions.to_vec());
    }
}

#[tokio::test]
async fn it_is_told_which_rows_are_left_of_a_file_that_was_read_to_its_end() {
    let is = |expr: &Expr| ByExpr::shared(expr, columns());
    let spares = |expr: &Expr| Arc::new(Spares(is(expr))) as Arc<dyn RowFilter>;
    let (point, some) = (col("n").eq(lit(13i64)), col("k").gt(lit(3)).and(col("n").lt(lit(23i64))));
    let deleted = Some(RowSelection::without(40, [13, 14, 18]));
    let cases = [
        (col("n").lt(lit(0i64)), vec![], None),
        (point.clone(), vec![], None),
        (point.clone(), vec![is(&point)], None),
        (point.clone(), vec![spares(&point)], None),
        (some.clone(), vec![is(&some)], None),
        (some.clone(), vec![is(&col("k").gt(lit(3))), is(&col("n").lt(lit(23i64)))], None),
        (some.clone(), vec![is(&some), spares(&col("s").lt(text("text 030")))], deleted.clone()),
        (point.clone(), vec![], deleted.clone()),
        (lit(true), vec![is(&some)], deleted),
        (lit(true), vec![is(&col("s").lt(text("a")))], None),
    ];
    for (number, (expr, row_filters, selection)) in cases.into_iter().enumerate() {
        for group_rows in [10, 40] {
            let file = file(properties().set_max_row_group_row_count(Some(group_rows)));
            let told = Arc::new(Told::default());
            let narrowing =
                Narrowing { row_filters: row_filters.clone(), found: Some(Arc::clone(&told) as _), ..predicate(&expr) };
            let request = ReadRequest { selection: selection.clone(), narrowing, ..request(file, columns()).await };
            let mut left_alone = open(request.clone()).await.unwrap();
            let any = left_alone.try_next().await.unwrap().is_some();
            drop(left_alone);
            assert_eq!(told.0.lock().unwrap().is_empty(), any, "case {number}");
            told.0.lock().unwrap().clear();
            // The values of n are the positions.
            let left: Vec<_> = numbers(&read(request).await).into_iter().map(|n| n as u64).collect();
            assert_eq!(*told.0.lock().unwrap(), vec![left], "case {number}, row groups of {group_rows}");
        }
    }
    let told = Arc::new(Told::default());
    let narrowing = Narrowing { found: Some(Arc::clone(&told) as _), ..predicate(&col("n").lt(lit(20i64))) };
    assert_eq!(rows(file(properties()), columns(), narrowing).await.num_rows(), 20);
    assert!(told.0.lock().unwrap().is_empty(), "so many are not wanted");
}

#[tokio::test]
async fn each_kind_of_statistics_can_be_switched_off() {
    let expr = col("n").eq(lit(13i64));
    for (statistics, page_index, left) in [(true, true, 3), (true, false, 10), (false, false, 40)] {
        let switches = PruneSwitches { statistics, page_index, bloom_filters: false, max_in_list_size: 20 };
        let narrowing = Narrowing { switches, ..predicate(&expr) };
        assert_eq!(rows(file(properties()), columns(), narrowing).await.num_rows(), left);
    }
}

#[tokio::test]
async fn bloom_filters_say_what_is_not_there() {
    let with_bloom = file(properties().set_bloom_filter_enabled(true));
    for (expr, left) in [
        (col("s").eq(text("text 027")), 0),
        (col("s").eq(text("text 026")), 3),
        (col("n").in_list(vec![lit(13i64), lit(77i64)], false), 3),
        (col("k").eq(lit(3)).and(col("s").eq(text("text 0260"))), 0),
        (col("s").eq(text("text 027")).or(col("n").eq(lit(1i64))), 20),
    ] {
        let narrowing = predicate(&expr);
        let got = rows(with_bloom.clone(), columns(), narrowing.clone()).await.num_rows();
        assert!(got <= left, "{expr}: {got}");
        assert_eq!(narrowing.metrics.errors.value(), 0);
        let off = PruneSwitches { bloom_filters: false, ..PruneSwitches::default() };
        let without = rows(with_bloom.clone(), columns(), Narrowing { switches: off, ..predicate(&expr) }).await;
        assert!(without.num_rows() >= got);
    }
}

#[tokio::test]
async fn bloom_filters_of_booleans_are_not_asked() {
    // Those of parquet-mr hold nothing.
    let bytes = || {
        write(
            vec![("b", Arc::new(BooleanArray::from(vec![true; 4])) as ArrayRef)],
            properties().set_bloom_filter_enabled(true).build(),
        )
    };
    let list = || col("b").in_list(vec![lit(true), lit(false), lit(true), lit(false)], false);
    for expr in [col("b").eq(lit(true)), list(), col("b").in_list(vec![lit(true)], false)] {
        let columns = fields(&[("b", "BOOLEAN")]);
        let predicate = Some(FilePredicate::new(columns.clone(), physical(&expr, &columns)));
        let request = request(bytes(), columns).await;
        let (footer, _) = Footer::load(&request.file, None).await.unwrap();
        assert!(footer.metadata.row_group(0).column(0).bloom_filter_offset().is_some());
        let narrowing = Narrowing { predicate, ..Narrowing::default() };
        let metrics = narrowing.metrics.clone();
        assert_eq!(read(ReadRequest { narrowing, ..request }).await.num_rows(), 4, "{expr}");
        assert_eq!((metrics.row_groups_bloom.matched(), metrics.row_groups_bloom.pruned()), (0, 0), "{expr}");
    }
}

#[tokio::test]
async fn what_statistics_do_not_know_takes_nothing_away() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN, -0.0]));
    let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1, 2, 3]));
    let bytes = || write(vec![("f", floats.clone()), ("t", times.clone())], WriterProperties::default());
    let wanted = || fields(&[("f", "DOUBLE"), ("t", "TIMESTAMP(3)"), ("absent", "INT")]);
    for (expr, left) in [
        // NaN is greater than all numbers, and no bound tells of it.
        (col("f").gt(lit(5.0)), 3),
        (col("f").is_null(), 0),
        (col("absent").eq(lit(1)), 3),
        (col("t").is_null(), 3),
    ] {
        let predicate = Some(FilePredicate::new(wanted(), physical(&expr, &wanted())));
        let batch = rows(bytes(), wanted(), Narrowing { predicate, ..Narrowing::default() }).await;
        assert_eq!(batch.num_rows(), left, "{expr}");
    }
}

#[tokio::test]
async fn deletions_and_pages_take_rows_away_together() {
    let selection = Some(RowSelection::without(40, [13, 24, 25, 39]));
    let request = request(file(properties()), columns()).await;
    let narrowing = predicate(&col("n").gt_eq(lit(24i64)));
    let narrowed = ReadRequest { selection: selection.clone(), narrowing, ..request.clone() };
    assert_eq!(numbers(&read(narrowed).await), [23].into_iter().chain(26..39).collect::<Vec<_>>());
    let filter = ByExpr::shared(&col("s").gt(text("text 050")), columns());
    let narrowing = Narrowing { row_filters: vec![filter], ..predicate(&col("n").lt(lit(30i64))) };
    let narrowed = ReadRequest { selection, narrowing, ..request };
    assert_eq!(numbers(&read(narrowed).await), (26..30).collect::<Vec<_>>());
}

#[tokio::test]
async fn row_filters_read_columns_that_no_one_wants() {
    let columns = |names: &[&str]| columns().into_iter().filter(|f| names.contains(&f.name.as_str())).collect();
    let filters = || {
        vec![
            ByExpr::shared(&col("k").gt(lit(3)), columns(&["k"])),
            ByExpr::shared(&col("s").lt(text("text 030")).and(col("k").is_not_null()), columns(&["k", "s"])),
        ]
    };
    let expected: Vec<i64> = (0..15).filter(|n| n % 5 != 0 && n % 7 > 3).collect();
    for wanted in [vec!["n"], vec!["n", "s"], vec!["n", "k", "s"]] {
        let metrics = PruneMetrics::default();
        let narrowing = Narrowing { row_filters: filters(), metrics: metrics.clone(), ..Narrowing::default() };
        assert_eq!(numbers(&rows(file(properties()), columns(&wanted), narrowing).await), expected, "{wanted:?}");
        let first = (0..40).filter(|n| n % 5 != 0 && n % 7 > 3).count();
        assert_eq!(metrics.rows_matched.value(), first + expected.len());
        assert_eq!(metrics.rows_pruned.value(), 40 - expected.len());
    }
    let narrowing = Narrowing { row_filters: filters(), ..Narrowing::default() };
    assert_eq!(rows(file(properties()), vec![], narrowing).await.num_rows(), expected.len());
}

#[tokio::test]
async fn a_filter_of_what_the_file_lacks_is_asked_once() {
    let lacking = fields(&[("absent", "INT")]);
    for (expr, left) in [(col("absent").is_null(), 40), (col("absent").eq(lit(1)), 0)] {
        let narrowing = Narrowing { row_filters: vec![ByExpr::shared(&expr, lacking.clone())], ..Narrowing::default() };
        assert_eq!(rows(file(properties()), columns(), narrowing).await.num_rows(), left);
    }
}

#[tokio::test]
async fn a_failing_filter_says_why() {
    let filter = ByExpr::shared(&(lit(1i64) / col("n")).gt(lit(0i64)), columns());
    let request = request(file(properties()), columns()).await;
    let request = ReadRequest { narrowing: Narrowing { row_filters: vec![filter], ..Narrowing::default() }, ..request };
    let read: Result<Vec<_>> = open(request).await.unwrap().try_collect().await;
    let error = read.unwrap_err().to_string();
    assert!(error.starts_with("internal") && error.contains("ivide by zero"), "{error}");
}

/// A condition on `n` that all rows fulfil until it is changed.
fn changing() -> Arc<DynamicFilterPhysicalExpr> {
    let on = vec![physical(&col("n"), &columns())];
    Arc::new(DynamicFilterPhysicalExpr::new(on, physical(&lit(true), &columns())))
}

#[tokio::test]
async fn a_predicate_that_changes_ends_the_read() {
    let dynamic = changing();
    let predicate = Some(FilePredicate::new(columns(), dynamic.clone()));
    let metrics = PruneMetrics::default();
    let narrowing = Narrowing { predicate, metrics: metrics.clone(), ..Narrowing::default() };
    let request = ReadRequest { narrowing, ..request(file(properties()), columns()).await };
    let mut stream = open(request).await.unwrap();
    assert_eq!(numbers(&stream.next().await.unwrap().unwrap()), (0..10).collect::<Vec<_>>());
    dynamic.update(physical(&col("n").lt(lit(5i64)).or(col("n").gt(lit(35i64))), &columns())).unwrap();
    assert_eq!(numbers(&stream.next().await.unwrap().unwrap()), (30..40).collect::<Vec<_>>());
    dynamic.update(physical(&col("n").lt(lit(5i64)), &columns())).unwrap();
    assert!(stream.next().await.is_none());
    // The last one was at its end.
    assert_eq!(metrics.row_groups_dynamic.value(), 3);
}

#[tokio::test]
async fn a_predicate_that_changes_ends_a_row_group() {
    let dynamic = changing();
    let predicate = Some(FilePredicate::new(columns(), dynamic.clone()));
    let narrowing = Narrowing { predicate, ..Narrowing::default() };
    let request = ReadRequest { narrowing, batch_size: 4, ..request(file(properties()), columns()).await };
    let mut stream = open(request).await.unwrap();
    assert_eq!(numbers(&stream.next().await.unwrap().unwrap()), [0, 1, 2, 3]);
    dynamic.update(physical(&col("n").gt(lit(35i64)), &columns())).unwrap();
    assert_eq!(numbers(&stream.next().await.unwrap().unwrap()), [30, 31, 32, 33]);
    dynamic.update(physical(&col("n").gt(lit(34i64)), &columns())).unwrap();
    assert_eq!(numbers(&stream.next().await.unwrap().unwrap()), [34, 35, 36, 37]);
    dynamic.update(physical(&col("n").gt(lit(99i64)), &columns())).unwrap();
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn broken_indexes_cost_no_row() {
    // The page index and the Bloom filters lie between the last page and the footer.
    let good = file(properties().set_bloom_filter_enabled(true));
    let footer = u32::from_le_bytes(good[good.len() - 8..good.len() - 4].try_into().unwrap()) as usize;
    let end = good.len() - 8 - footer;
    for byte in [0u8, 0xff, 0x15, 0x7f] {
        let mut bad = good.clone();
        bad[end - 600..end].fill(byte);
        let narrowing = predicate(&col("n").eq(lit(13i64)).and(col("s").eq(text("text 026"))));
        let got = numbers(&rows(bad, columns(), narrowing.clone()).await);
        assert!(got.contains(&13), "{byte}: {got:?}");
        assert!(narrowing.metrics.errors.value() > 0);
    }
}

/// A condition on one of the columns, and whether a row fulfils it.
fn any_condition() -> impl Strategy<Value = Expr> {
    let number = -3i64..43;
    let leaf = prop_oneof![
        number.clone().prop_map(|v| col("n").gt(lit(v))),
        number.clone().prop_map(|v| col("n").lt_eq(lit(v))),
        number.clone().prop_map(|v| col("n").not_eq(lit(v))),
        proptest::collection::vec(number.clone(), 0..4)
            .prop_map(|v| col("n").in_list(v.into_iter().map(lit).collect(), false)),
        (-1i32..8).prop_map(|v| col("k").eq(lit(v))),
        Just(col("k").is_null()),
        number.clone().prop_map(|v| col("s").gt_eq(text(&format!("text {v:03}")))),
        number.prop_map(|v| col("s").like(text(&format!("text {:02}%", v.rem_euclid(10))))),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.or(b)),
            inner.prop_map(|a| !a),
        ]
    })
}

proptest! {
    #[test]
    fn no_way_of_narrowing_loses_a_row_that_fulfils_the_condition(
        expr in any_condition(),
        deleted in proptest::collection::btree_set(0u64..40, 0..20),
        batch_size in 1usize..20,
        java in any::<bool>(),
    ) {
        let properties = properties().set_bloom_filter_enabled(true);
        let bytes = file(if java { properties.set_created_by("parquet-mr version 1.15.2".into()) } else { properties });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let filter = ByExpr::shared(&expr, columns());
        let (all, pruned, exact, both) = runtime.block_on(async {
            let selection = Some(RowSelection::without(40, deleted.iter().copied()));
            let request = ReadRequest { batch_size, selection, ..request(bytes, columns()).await };
            let with = |narrowing| read(ReadRequest { narrowing, ..request.clone() });
            let filters = || Narrowing { row_filters: vec![filter.clone()], ..Narrowing::default() };
            let pruning = || predicate(&expr);
            let both = Narrowing { row_filters: vec![filter.clone()], ..pruning() };
            (with(Narrowing::default()).await, with(pruning()).await, with(filters()).await, with(both).await)
        });
        let matching = |batch: &RecordBatch| {
            arrow::compute::filter_record_batch(batch, &filter.matches(batch).unwrap()).unwrap()
        };
        prop_assert_eq!(all.num_rows(), 40 - deleted.len());
        let want = matching(&all);
        prop_assert_eq!(&matching(&pruned), &want);
        prop_assert_eq!(&exact, &want);
        prop_assert_eq!(&both, &want);
    }
}
