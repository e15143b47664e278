//! Whole files: what is written is read, ranges and projections hold, and broken files are errors.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::Int64Type;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use orc_rust::ArrowWriterBuilder;
use orc_rust::compression::CompressionType;
use proptest::prelude::*;

use super::super::{FileFormat, Lane, ReadRequest};
use super::*;
use crate::error::ErrorKind;
use crate::spec::data_type::{DataField, DataType};

pub(super) fn field(name: &str, text: &str) -> DataField {
    DataField::new(0, name, DataType::parse(text).unwrap())
}

async fn input(bytes: Vec<u8>) -> InputFile {
    let (store, path) = (InMemory::new(), Path::from("t/bucket-0/data-1.orc"));
    let size = bytes.len() as u64;
    store.put(&path, bytes.into()).await.unwrap();
    let store: Arc<dyn ObjectStore> = Arc::new(store);
    InputFile::new(store, path, Some(size))
}

/// The stripes of a file.
pub(super) async fn stripes_of(bytes: &[u8]) -> Vec<StripeInformation> {
    stripes(&input(bytes.to_vec()).await).await.unwrap()
}

async fn read(bytes: &[u8], fields: &[DataField], range: Option<Range<u64>>, size: usize) -> Result<Vec<RecordBatch>> {
    read_with(bytes, fields, range, size, true).await
}

pub(super) async fn read_with(
    bytes: &[u8],
    fields: &[DataField],
    range: Option<Range<u64>>,
    batch_size: usize,
    orc_legacy_ltz: bool,
) -> Result<Vec<RecordBatch>> {
    let file = input(bytes.to_vec()).await;
    let fields = fields.to_vec();
    open(ReadRequest {
        file,
        format: FileFormat::Orc,
        fields,
        written: vec![],
        range,
        selection: None,
        batch_size,
        orc_legacy_ltz,
        footers: None,
        narrowing: Default::default(),
        lane: Lane::alone(),
        limit: None,
    })
    .await?
    .try_collect()
    .await
}

pub(super) fn block<F: Future>(f: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap().block_on(f)
}

fn write(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let mut bytes = vec![];
    let mut builder = ArrowWriterBuilder::new(&mut bytes, batches[0].schema()).with_compression_block_size(4096);
    if let Some(compression) = compression {
        builder = builder.with_compression(compression);
    }
    let mut writer = builder.try_build().unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
        writer.flush_stripe().unwrap();
    }
    writer.close().unwrap();
    bytes
}

const TYPES: [(&str, &str); 11] = [
    ("b", "BOOLEAN"),
    ("i8", "TINYINT"),
    ("i16", "SMALLINT"),
    ("i32", "INT"),
    ("i64", "BIGINT"),
    ("f32", "FLOAT"),
    ("f64", "DOUBLE"),
    ("s", "STRING"),
    ("x", "BYTES"),
    ("d", "DATE"),
    ("t", "TIMESTAMP(6)"),
];

fn fields() -> Vec<DataField> {
    TYPES.iter().map(|(name, text)| field(name, text)).collect()
}

/// A batch of all types that the writer has, from one seed per row; every seed that divides by 5 is NULL. Integers keep
/// away from the ends of their types, where the writer's own arithmetic overflows.
fn batch(seeds: &[i64]) -> RecordBatch {
    fn column<T, A: FromIterator<Option<T>> + Array + 'static>(seeds: &[i64], f: impl Fn(i64) -> T) -> ArrayRef {
        Arc::new(seeds.iter().map(|s| (s % 5 != 0).then(|| f(*s))).collect::<A>())
    }
    let columns = [
        column::<_, BooleanArray>(seeds, |s| s % 3 == 0),
        column::<_, Int8Array>(seeds, |s| s as i8),
        column::<_, Int16Array>(seeds, |s| (s % 16_000) as i16),
        column::<_, Int32Array>(seeds, |s| (s % 1_000_000_000) as i32),
        column::<_, Int64Array>(seeds, |s| s),
        column::<_, Float32Array>(seeds, |s| s as f32 / 3.0),
        column::<_, Float64Array>(seeds, |s| s as f64 / 3.0),
        column::<_, StringArray>(seeds, |s| format!("é{s}").repeat(1 + s as usize % 4)),
        column::<_, BinaryArray>(seeds, |s| s.to_le_bytes().to_vec()),
        column::<_, Date32Array>(seeds, |s| s as i32 % 100_000),
        column::<_, TimestampMicrosecondArray>(seeds, |s| s.abs() % 4_000_000_000_000_000),
    ];
    RecordBatch::try_from_iter_with_nullable(TYPES.iter().zip(columns).map(|((name, _), array)| (*name, array, true)))
        .unwrap()
}

/// The batch as it is to be read.
fn expected(batch: &RecordBatch) -> RecordBatch {
    let schema = arrow_schema(&fields());
    let columns = batch.columns().iter().zip(schema.fields()).map(|(c, f)| cast(c, f.data_type()).unwrap()).collect();
    RecordBatch::try_new(schema, columns).unwrap()
}

#[test]
fn projections_ranges_and_batch_sizes() {
    let stripes: Vec<_> = [0..100, 100..101, 101..5000].map(|r: Range<i64>| batch(&r.collect::<Vec<_>>())).into();
    let bytes = write(&stripes, Some(CompressionType::Zstd));
    block(async {
        let listed = super::stripes(&input(bytes.clone()).await).await.unwrap();
        assert_eq!(listed.iter().map(|s| s.rows).collect::<Vec<_>>(), [100, 1, 4899]);
        assert!(listed.windows(2).all(|w| w[0].offset + w[0].length_bytes() <= w[1].offset));

        // Order, absent columns, batch sizes.
        let wanted = [field("i64", "BIGINT"), field("gone", "ARRAY<INT>"), field("b", "BOOLEAN")];
        let batches = read(&bytes, &wanted, None, 1000).await.unwrap();
        let sizes: Vec<_> = batches.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(sizes, [100, 1, 1000, 1000, 1000, 1000, 899]);
        let all = concat_batches(&arrow_schema(&wanted), &batches).unwrap();
        assert_eq!(all.column(0).as_primitive::<Int64Type>().value(4321), 4321);
        assert_eq!(all.column(1).null_count(), 5000);

        // A stripe belongs to the range that its first byte is in.
        for (range, rows) in [
            (0..listed[0].offset, 0),
            (0..listed[0].offset + 1, 100),
            (listed[0].offset + 1..listed[1].offset + 1, 1),
            (listed[2].offset..u64::MAX, 4899),
        ] {
            for wanted in [&wanted[..], &[]] {
                let batches = read(&bytes, wanted, Some(range.clone()), 1000).await.unwrap();
                assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), rows, "{range:?}");
            }
        }
    });
}

#[test]
fn wrong_types_and_null_where_none_may_be_are_errors() {
    let bytes = write(&[batch(&[1, 5])], None);
    block(async {
        let error = read(&bytes, &[field("i32", "BIGINT")], None, 10).await.unwrap_err();
        assert_eq!((error.kind(), error.file()), (ErrorKind::Corrupt, Some("t/bucket-0/data-1.orc")));
        assert!(error.to_string().contains("column 'i32' has ORC type int, expected one for BIGINT"), "{error}");
        let error = read(&bytes, &[field("i32", "INT NOT NULL")], None, 10).await.unwrap_err();
        assert!(error.to_string().contains("column 'i32'"), "{error}");
        let error = read(b"", &[], None, 10).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    });
}

/// orc-rust encodes short integers in their own width, where zigzag and differences overflow.
#[test]
fn what_overflows_in_other_writers_is_read() {
    let shorts = vec![0, 31962, 0, 0, -1, 0, 0, 0, -27956, -1, 0, -1, 12118, 17461, -1, 0, 0, -24962, 32767, -32768];
    let ints: Vec<i32> = (0..20).map(|i| if i < 10 { 1_700_000_000 + i } else { i32::MAX * (i % 2) - i }).collect();
    let columns: [(&str, ArrayRef); 2] =
        [("s", Arc::new(Int16Array::from(shorts))), ("i", Arc::new(Int32Array::from(ints)))];
    for rows in 1..20 {
        for start in 0..20 - rows {
            let batch = RecordBatch::try_from_iter(columns.clone()).unwrap().slice(start, rows);
            let bytes = write(std::slice::from_ref(&batch), None);
            let read = block(read(&bytes, &[field("s", "SMALLINT"), field("i", "INT")], None, 100)).unwrap();
            assert_eq!(read[0].columns(), batch.columns(), "{start} {rows}");
        }
    }
}

#[test]
fn a_file_that_is_cut_off_is_corrupt() {
    let bytes = write(&[batch(&(0..200).collect::<Vec<_>>())], Some(CompressionType::Zlib));
    block(async {
        for length in (0..bytes.len()).step_by(7) {
            assert!(read(&bytes[..length], &fields(), None, 100).await.is_err(), "{length}");
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_written_is_read(
        seeds in proptest::collection::vec(proptest::collection::vec(0i64..1 << 60, 1..700), 1..4),
        codec in 0usize..5,
        size in 1usize..300,
    ) {
        use CompressionType::*;
        let codec = [None, Some(Zlib), Some(Snappy), Some(Lz4), Some(Zstd)][codec];
        let batches: Vec<_> = seeds.iter().map(|s| batch(s)).collect();
        let read = block(read(&write(&batches, codec), &fields(), None, size)).unwrap();
        let schema = arrow_schema(&fields());
        let want = concat_batches(&schema, &batches.iter().map(expected).collect::<Vec<_>>()).unwrap();
        prop_assert_eq!(concat_batches(&schema, &read).unwrap(), want);
    }

    #[test]
    fn changed_bytes_do_not_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        from_end: bool,
        codec in 0usize..3,
    ) {
        let codec = [None, Some(CompressionType::Snappy), Some(CompressionType::Zstd)][codec];
        let mut bytes = write(&[batch(&(0..300).collect::<Vec<_>>()), batch(&[1, 2, 3])], codec);
        for (at, value) in changes {
            let window = if from_end { bytes.len() - 900..bytes.len() } else { 0..bytes.len() };
            let at = window.start + at.index(window.len());
            bytes[at] = value;
        }
        let _ = block(read(&bytes, &fields(), None, 100));
    }
}
