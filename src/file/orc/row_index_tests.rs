//! Files of the Java writer with several row groups in a stripe: what is read by the index are the same rows.

use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::{cast, concat_batches, filter_record_batch};
use arrow::datatypes::{DataType as ArrowType, Int32Type};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use proptest::prelude::*;

use super::super::prefetch::{PrefetchMetrics, ReadAhead, ReadAheadSettings};
use super::super::{FileFormat, FilePredicate, Lane, Narrowing, PruneMetrics, ReadRequest};
use super::tests::{block, field};
use super::*;
use crate::selection::RowSelection;
use crate::spec::data_type::DataField;
use crate::storage::{Coalescing, RecordingStore, Request};

/// `groups-plain.orc`: row groups of 1000, 1000, 500 rows. `groups-zstd.orc`: of 4 × 1000 and 96 rows, of 1000 and 904.
const FILES: [(&str, usize); 2] = [("groups-plain", 2500), ("groups-zstd", 6000)];

fn fields() -> Vec<DataField> {
    let ab = "ROW<a INT, b ARRAY<BIGINT>>";
    [
        ("id", "INT NOT NULL"),
        ("flag", "BOOLEAN"),
        ("i8", "TINYINT"),
        ("i16", "SMALLINT"),
        ("i64", "BIGINT"),
        ("f32", "FLOAT"),
        ("f64", "DOUBLE"),
        ("dec", "DECIMAL(10, 2)"),
        ("text", "STRING"),
        ("word", "STRING"),
        ("code", "CHAR(5)"),
        ("bin", "BYTES"),
        ("day", "DATE"),
        ("t6", "TIMESTAMP(6)"),
        ("z3", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("tm", "TIME(3)"),
        ("arr", "ARRAY<STRING>"),
        ("m", &format!("MAP<STRING, {ab}>")),
        ("r", ab),
    ]
    .map(|(name, text)| field(name, text))
    .into()
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/orc/{name}.orc", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// How a file is read.
#[derive(Debug, Default)]
struct Asked {
    fields: Vec<DataField>,
    selection: Option<RowSelection>,
    limit: Option<usize>,
    narrowing: Narrowing,
    batch_size: usize,
}

impl Asked {
    fn of(names: &[&str]) -> Self {
        let fields = fields().into_iter().filter(|field| names.contains(&field.name.as_str())).collect();
        Self { fields, batch_size: 300, ..Self::default() }
    }

    /// The stream of a file, and what it asked of the store.
    async fn open(self, bytes: Vec<u8>) -> (Result<BatchStream>, Arc<RecordingStore>) {
        let (store, path) = (InMemory::new(), Path::from("t/bucket-0/data-1.orc"));
        let size = bytes.len() as u64;
        store.put(&path, bytes.into()).await.unwrap();
        let store = Arc::new(RecordingStore::new(Arc::new(store)));
        // What lies between two ranges is not fetched with them.
        let coalescing = Coalescing { hole_bytes: 0, ..Coalescing::default() };
        let settings = ReadAheadSettings { coalescing, ..ReadAheadSettings::default() };
        let lane = Lane::new(&ReadAhead::new(settings, None), PrefetchMetrics::default(), Arc::default());
        let request = ReadRequest {
            file: lane.counted(InputFile::new(Arc::clone(&store) as Arc<dyn ObjectStore>, path, Some(size))),
            format: FileFormat::Orc,
            fields: self.fields,
            written: vec![],
            range: None,
            selection: self.selection,
            batch_size: self.batch_size,
            orc_legacy_ltz: true,
            footers: None,
            narrowing: self.narrowing,
            lane,
            limit: self.limit,
        };
        (open(request).await, store)
    }

    async fn read(self, bytes: Vec<u8>) -> Result<RecordBatch> {
        let schema = arrow_schema(&self.fields);
        let batches: Vec<_> = self.open(bytes).await.0?.try_collect().await?;
        Ok(concat_batches(&schema, &batches)?)
    }
}

fn whole(name: &str) -> RecordBatch {
    block(Asked { fields: fields(), batch_size: 10_000, ..Asked::default() }.read(bytes(name))).unwrap()
}

fn equals(field: &DataField, value: ScalarValue, metrics: &PruneMetrics) -> Narrowing {
    let (column, value) = (Arc::new(Column::new(&field.name, 0)), Arc::new(Literal::new(value)));
    let expr = Arc::new(BinaryExpr::new(column, Operator::Eq, value));
    let predicate = Some(FilePredicate::new(vec![field.clone()], expr));
    Narrowing { predicate, metrics: metrics.clone(), ..Narrowing::default() }
}

/// Pruned and matched rows.
fn counted(metrics: &PruneMetrics) -> (usize, usize) {
    (metrics.page_rows.pruned(), metrics.page_rows.matched())
}

/// How many bytes were asked for besides the tail.
fn asked_bytes(store: &RecordingStore) -> u64 {
    let bytes = |request: &Request| match request {
        Request::Get(_, Some(object_store::GetRange::Bounded(range))) => range.end - range.start,
        Request::GetRanges(_, ranges) => ranges.iter().map(|range| range.end - range.start).sum(),
        other => panic!("{other:?}"),
    };
    store.take().iter().skip(1).map(bytes).sum()
}

#[test]
fn the_files_are_what_java_wrote() {
    for (name, rows) in FILES {
        let all = whole(name);
        let ids: Vec<i32> = all.column(0).as_primitive::<Int32Type>().values().to_vec();
        assert_eq!(ids, (0..rows as i32).collect::<Vec<_>>());
        let text = |row: usize| (!row.is_multiple_of(17)).then(|| format!("text {row}"));
        let texts = cast(all.column(8), &ArrowType::Utf8).unwrap();
        assert!(texts.as_string::<i32>().iter().map(|t| t.map(str::to_owned)).eq((0..rows).map(text)));
    }
}

#[test]
fn row_groups_that_a_predicate_rules_out_are_not_read() {
    let metrics = PruneMetrics::default();
    let fields = fields();
    for (name, column, value, want, expected) in [
        ("groups-plain", 0, ScalarValue::Int32(Some(1234)), 1000..2000, (1500, 1000)),
        ("groups-plain", 0, ScalarValue::Int32(Some(-1)), 0..0, (0, 0)),
        ("groups-zstd", 0, ScalarValue::Int32(Some(4095)), 4000..4096, (4000, 96)),
        ("groups-zstd", 12, ScalarValue::Date32(Some(350)), 4000..5096, (4904, 1096)),
    ] {
        let metrics = PruneMetrics::default();
        let asked = Asked { narrowing: equals(&fields[column], value.clone(), &metrics), ..Asked::of(&["id"]) };
        let read = block(asked.read(bytes(name))).unwrap();
        let ids: Vec<i32> = read.column(0).as_primitive::<Int32Type>().values().to_vec();
        assert!(ids == want.collect::<Vec<_>>(), "{name} {value}: {:?} to {:?}", ids.first(), ids.last());
        assert_eq!(metrics.errors.value(), 0);
        if expected != (0, 0) {
            assert_eq!(counted(&metrics), expected, "{name} {value}");
        }
    }
    let mut narrowing = equals(&fields[0], ScalarValue::Int32(Some(1234)), &metrics);
    narrowing.switches.page_index = false;
    let read = block(Asked { narrowing, ..Asked::of(&["id"]) }.read(bytes("groups-plain"))).unwrap();
    assert_eq!((read.num_rows(), counted(&metrics)), (2500, (0, 0)));
}

#[test]
fn a_limit_asks_for_the_row_groups_that_it_needs_and_goes_on_where_they_are_not_enough() {
    block(async {
        let (stream, store) = Asked::of(&["text"]).open(bytes("groups-plain")).await;
        let whole = stream.unwrap().try_collect::<Vec<_>>().await.unwrap();
        let all = asked_bytes(&store);
        let (stream, store) = Asked { limit: Some(10), ..Asked::of(&["text"]) }.open(bytes("groups-plain")).await;
        let mut stream = stream.unwrap();
        assert_eq!(stream.try_next().await.unwrap().unwrap().num_rows(), 300);
        let some = asked_bytes(&store);
        assert!(some * 4 < all * 3, "{some} of {all} bytes");
        let rest: Vec<_> = stream.try_collect().await.unwrap();
        let whole = concat_batches(&whole[0].schema(), &whole).unwrap();
        assert_eq!(concat_batches(&whole.schema(), &rest).unwrap(), whole.slice(300, 2200));
    });
}

#[test]
fn an_index_that_is_damaged_is_done_without() {
    for (name, rows) in FILES {
        let file = bytes(name);
        let stripes = block(tests::stripes_of(&file));
        let want = whole(name);
        let wanted = RowSelection::only(rows, [5, 2020, 2021]);
        let mut fallbacks = 0;
        for (at, zeros) in (0..40).flat_map(|n| [(n, 1), (n, 400)]) {
            let mut broken = file.clone();
            let index = stripes[0].offset as usize..(stripes[0].offset + stripes[0].index_bytes) as usize;
            let start = index.start + at * (index.len() - zeros) / 40;
            broken[start..start + zeros].fill(if zeros == 1 { 0x7f } else { 0 });
            let metrics = PruneMetrics::default();
            let narrowing = Narrowing { metrics: metrics.clone(), ..Narrowing::default() };
            let asked = Asked { fields: fields(), selection: Some(wanted.clone()), narrowing, ..Asked::of(&[]) };
            // One byte may be another position that is one: then other values are there.
            let read = block(asked.read(broken));
            if metrics.errors.value() > 0 && zeros > 1 {
                fallbacks += 1;
                let bits = BooleanArray::new(wanted.slice(0..rows).unwrap(), None);
                assert_eq!(read.unwrap(), filter_record_batch(&want, &bits).unwrap());
            }
        }
        assert!(fallbacks > 20, "{fallbacks}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_rows_of_any_columns_are_the_same(
        file in 0..2usize,
        groups in proptest::collection::vec(any::<bool>(), 7),
        odd in proptest::collection::vec(0u64..6000, 0..4),
        columns in proptest::collection::vec(0..19usize, 1..6),
        limit in proptest::option::of(0..6000usize),
        batch_size in 1..3000usize,
    ) {
        let (name, rows) = FILES[file];
        let of_groups = (0..rows as u64).filter(|row| groups[*row as usize / 1000] && row % 10 != 3);
        let selection = RowSelection::only(rows, of_groups.chain(odd));
        let mut columns = columns;
        columns.sort_unstable();
        columns.dedup();
        let all = fields();
        let wanted = columns.iter().map(|at| all[*at].clone()).collect();
        let metrics = PruneMetrics::default();
        let narrowing = Narrowing { metrics: metrics.clone(), ..Narrowing::default() };
        let asked = Asked { fields: wanted, selection: Some(selection.clone()), limit, narrowing, batch_size };
        let read = block(asked.read(bytes(name))).unwrap();
        let whole = whole(name).project(&columns).unwrap();
        let want = match selection.slice(0..rows) {
            Some(bits) => filter_record_batch(&whole, &BooleanArray::new(bits, None)).unwrap(),
            None => whole,
        };
        prop_assert_eq!(read, want);
        prop_assert_eq!(metrics.errors.value(), 0);
    }

    #[test]
    fn no_row_that_fulfils_a_predicate_is_lost(file in 0..2usize, column in 0..16usize, row in 0..2500usize) {
        let (all, whole) = (fields(), whole(FILES[file].0));
        let value = ScalarValue::try_from_array(whole.column(column), row).unwrap();
        if value.is_null() {
            return Ok(());
        }
        let metrics = PruneMetrics::default();
        let narrowing = equals(&all[column], value.clone(), &metrics);
        let asked = Asked { fields: all, narrowing, batch_size: 1000, ..Asked::default() };
        let read = block(asked.read(bytes(FILES[file].0))).unwrap();
        let equal = |batch: &RecordBatch| {
            let scalar = value.to_scalar().unwrap();
            let matches = arrow::compute::kernels::cmp::eq(batch.column(column), &scalar).unwrap();
            filter_record_batch(batch, &matches).unwrap()
        };
        prop_assert_eq!(equal(&read), equal(&whole));
        prop_assert!(equal(&read).num_rows() > 0);
        prop_assert_eq!(metrics.errors.value(), 0);
    }
}
