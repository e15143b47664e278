//! Which columns and rows are read: names, what lacks, ranges, batches, footers.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, StringArray, StringViewArray};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::execution::runtime_env::RuntimeEnv;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::WriterProperties;

use super::super::footer::Footer;
use super::{batches, fields, read, read_range, request, write};
use crate::error::ErrorKind;
use crate::file::{FooterCache, ReadRequest};
use crate::storage::{Location, Storage};

fn ints(values: Vec<Option<i32>>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}

/// Four row groups of 10, 10, 10 and 5 rows.
fn grouped() -> Vec<u8> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..35));
    let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..35).map(|i| format!("text number {i}"))));
    write(vec![("n", numbers), ("s", text)], WriterProperties::builder().set_max_row_group_row_count(Some(10)).build())
}

#[tokio::test]
async fn names_are_taken_as_they_are() {
    let one = |i| ints(vec![Some(i)]);
    let file = write(
        vec![("a.b", one(1)), ("a", one(2)), ("A", one(3)), ("é ü", one(4)), ("\"q\"", one(5))],
        WriterProperties::default(),
    );
    let wanted = [("A", "INT"), ("\"q\"", "INT"), ("a.b", "INT"), ("é ü", "INT"), ("a", "INT"), ("á", "INT")];
    let batch = read(file, &wanted).await.unwrap();
    let values: Vec<_> =
        batch.columns().iter().map(|c| c.as_primitive::<arrow::datatypes::Int32Type>().iter().next()).collect();
    assert_eq!(values, [3, 5, 1, 4, 2].map(|i| Some(Some(i))).into_iter().chain([Some(None)]).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_lacks_is_null_where_that_is_allowed() {
    let file = || write(vec![("a", ints(vec![Some(1), None]))], WriterProperties::default());
    let batch = read(file(), &[("b", "STRING"), ("a", "INT")]).await.unwrap();
    assert_eq!((batch.column(0).null_count(), batch.column(1).null_count()), (2, 1));
    let batch = read(file(), &[("b", "STRING")]).await.unwrap();
    assert_eq!((batch.num_rows(), batch.column(0).null_count()), (2, 2));
    for wanted in [[("a", "INT NOT NULL")], [("b", "INT NOT NULL")]] {
        assert_eq!(read(file(), &wanted).await.unwrap_err().kind(), ErrorKind::Corrupt);
    }
    let full = write(vec![("a", ints(vec![Some(1), Some(2)]))], WriterProperties::default());
    assert_eq!(read(full, &[("a", "INT NOT NULL")]).await.unwrap().num_rows(), 2);
}

#[tokio::test]
async fn batches_keep_their_size_and_their_order() {
    for batch_size in [1, 3, 10, 1000] {
        let request = request(grouped(), fields(&[("s", "STRING"), ("n", "BIGINT")])).await;
        let batches = batches(ReadRequest { batch_size, ..request }).await.unwrap();
        assert!(batches.iter().all(|b| b.num_rows() <= batch_size.min(10)));
        let numbers = batches.iter().flat_map(|b| b.column(1).as_primitive::<Int64Type>().values().to_vec());
        assert_eq!(numbers.collect::<Vec<_>>(), (0..35).collect::<Vec<_>>());
        let text = batches
            .iter()
            .flat_map(|b| b.column(0).as_string_view().iter().flatten().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(text.collect::<Vec<_>>(), (0..35).map(|i| format!("text number {i}")).collect::<Vec<_>>());
    }
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

#[tokio::test]
async fn each_row_group_is_in_one_range() {
    let file = grouped();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::from(file.clone())).unwrap();
    let size = file.len() as u64;
    let starts: Vec<u64> = metadata.row_groups().iter().map(|g| g.column(0).byte_range().0).collect();
    for wanted in [vec![], vec![("n", "BIGINT")], vec![("s", "STRING")], vec![("absent", "INT")]] {
        let wanted = fields(&wanted);
        for cut in [0, starts[1] - 1, starts[1], starts[1] + 1, starts[3], size] {
            let left = read_range(file.clone(), wanted.clone(), 0..cut).await;
            let right = read_range(file.clone(), wanted.clone(), cut..size).await;
            let expected = starts.iter().filter(|s| **s < cut).count() * 10;
            assert_eq!((rows(&left), rows(&right)), (expected.min(35), 35 - expected.min(35)), "{cut}");
        }
    }
}

#[tokio::test]
async fn no_columns_are_a_number_of_rows() {
    let request = request(grouped(), vec![]).await;
    let batches = batches(ReadRequest { batch_size: 4, ..request }).await.unwrap();
    let sizes: Vec<_> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(sizes, [4, 4, 2, 4, 4, 2, 4, 4, 2, 4, 1]);
}

#[tokio::test]
async fn an_arrow_schema_in_the_file_changes_nothing() {
    let column: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, Some("x")]));
    let packed =
        arrow::compute::cast(&column, &DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::LargeUtf8)))
            .unwrap();
    let batch = RecordBatch::try_from_iter([("s", packed)]).unwrap();
    let mut writer = ArrowWriter::try_new(vec![], batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    let read = read(writer.into_inner().unwrap(), &[("s", "STRING")]).await.unwrap();
    assert_eq!(read.column(0).as_ref(), &StringViewArray::from(vec![Some("x"), None, Some("x")]));
}

#[tokio::test]
async fn a_long_footer_comes_with_a_second_request() {
    let columns: Vec<(String, ArrayRef)> = (0..2000).map(|i| (format!("column_{i}"), ints(vec![Some(i)]))).collect();
    let file = write(columns.iter().map(|(n, c)| (n.as_str(), Arc::clone(c))).collect(), WriterProperties::default());
    let length = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap());
    assert!(length > 64 * 1024);
    let batch = read(file, &[("column_1999", "INT"), ("column_7", "INT")]).await.unwrap();
    assert_eq!(batch.column(0).as_ref(), &Int32Array::from(vec![1999]));
}

#[tokio::test]
async fn footers_are_kept() {
    let runtime = RuntimeEnv::default();
    let store = Arc::new(InMemory::new());
    let url = url::Url::parse("memory://store").unwrap();
    runtime.register_object_store(&url, store.clone());
    let location = Location::parse("memory://store/data-1.parquet").unwrap();
    let bytes = grouped();
    let size = bytes.len() as u64;
    store.put(location.path(), bytes.into()).await.unwrap();
    let file = Storage::new(&runtime).file(&location, Some(size)).unwrap();
    let footers = Arc::new(FooterCache::new(&runtime));
    let request = request(vec![], fields(&[("n", "BIGINT")])).await;
    let request = ReadRequest { file: file.clone(), footers: Some(Arc::clone(&footers)), ..request };
    assert_eq!(rows(&batches(request.clone()).await.unwrap()), 35);
    assert!(footers.get::<Footer>(&file, size).is_some());
    // With the footer at hand, rows are counted without the file.
    store.delete(location.path()).await.unwrap();
    assert_eq!(rows(&batches(ReadRequest { fields: vec![], ..request }).await.unwrap()), 35);
}
