//! Two files of another engine, and files of a small writer: of every type, of several blocks, damaged.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int32Type;
use arrow::util::pretty::pretty_format_batches;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use crate::file::{FileFormat, Lane, Narrowing};
use crate::spec::data_type::DataType;

/// `(id INT, v STRING)`: (1, 'a'), (2, NULL), as paimon-rust wrote them.
const TWO_ROWS: &str = "28b52ffd2018c10000000100000001610202000000000000000700000002000000\
                        014201300100020000000000000001000000210000000000000006000000010000\
                        0053574f52";

fn field(name: &str, data_type: &str) -> DataField {
    DataField::new(0, name, DataType::parse(data_type).unwrap())
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

async fn request(file: &[u8], written: &[DataField], fields: &[DataField]) -> ReadRequest {
    let (store, path) = (InMemory::new(), Path::from("dir/data-1.row"));
    store.put(&path, file.to_vec().into()).await.unwrap();
    ReadRequest {
        file: InputFile::new(Arc::new(store) as Arc<dyn ObjectStore>, path, Some(file.len() as u64)),
        format: FileFormat::Row,
        fields: fields.to_vec(),
        written: written.to_vec(),
        range: None,
        selection: None,
        batch_size: 3,
        orc_legacy_ltz: true,
        footers: None,
        narrowing: Narrowing::default(),
        lane: Lane::alone(),
        limit: None,
    }
}

fn read(request: impl Future<Output = ReadRequest>) -> Result<Vec<RecordBatch>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { crate::file::open(request.await).await?.try_collect().await })
}

fn table(batches: &[RecordBatch]) -> String {
    pretty_format_batches(batches).unwrap().to_string()
}

/// Bytes after their length.
fn sized(value: &[u8]) -> Vec<u8> {
    [&[value.len() as u8], value].concat()
}

/// A file of blocks of rows, each row as its bytes.
fn write(blocks: &[Vec<Vec<u8>>]) -> Vec<u8> {
    let (mut file, mut sizes, mut plain_sizes, mut first_rows, mut rows) = (vec![], vec![], vec![], vec![], 0i64);
    for block in blocks {
        let mut plain = block.concat();
        let mut offset = 0i32;
        for row in block {
            plain.extend(offset.to_le_bytes());
            offset += row.len() as i32;
        }
        plain.extend((block.len() as i32).to_le_bytes());
        let compressed = zstd::bulk::compress(&plain, 1).unwrap();
        sizes.push(compressed.len() as i64);
        plain_sizes.push(plain.len() as i64);
        first_rows.push(rows);
        rows += block.len() as i64;
        file.extend(compressed);
    }
    let index_offset = file.len() as i64;
    for numbers in [sizes, plain_sizes, first_rows] {
        let (mut deltas, mut last) = (vec![], 0);
        for number in numbers {
            let delta: i64 = number - last;
            let mut raw = (delta << 1 ^ delta >> 63) as u64;
            while raw > 0x7f {
                deltas.push(raw as u8 | 0x80);
                raw >>= 7;
            }
            deltas.push(raw as u8);
            last = number;
        }
        file.extend(sized(&deltas));
    }
    let index_bytes = file.len() as i64 - index_offset;
    file.extend(rows.to_le_bytes());
    file.extend((blocks.len() as i32).to_le_bytes());
    file.extend(index_offset.to_le_bytes());
    file.extend((index_bytes as i32).to_le_bytes());
    file.extend([1, 0, 0, 0]);
    file.extend(b"SWOR");
    file
}

#[test]
fn a_file_of_another_engine() {
    let written = [field("id", "INT"), field("v", "STRING")];
    let wanted = [field("v", "STRING"), field("lacks", "DOUBLE"), field("id", "INT")];
    let batches = read(request(&hex(TWO_ROWS), &written, &wanted)).unwrap();
    let want = "\
+---+-------+----+
| v | lacks | id |
+---+-------+----+
| a |       | 1  |
|   |       | 2  |
+---+-------+----+";
    assert_eq!(table(&batches), want);
}

/// A row of one value of each type, behind its null bits.
fn every_type() -> (Vec<DataField>, Vec<u8>) {
    let decimal = (-12345678901234567890i128).to_be_bytes();
    let values: Vec<(&str, Vec<u8>)> = vec![
        ("BOOLEAN", vec![1]),
        ("TINYINT", vec![0xff]),
        ("SMALLINT", (-2i16).to_le_bytes().to_vec()),
        ("BIGINT", i64::MIN.to_le_bytes().to_vec()),
        ("FLOAT", 1.5f32.to_le_bytes().to_vec()),
        ("DOUBLE", (-2.5f64).to_le_bytes().to_vec()),
        ("DATE", 19_000i32.to_le_bytes().to_vec()),
        ("TIME(3)", 3_661_001i32.to_le_bytes().to_vec()),
        ("DECIMAL(10, 2)", (-1234i64).to_le_bytes().to_vec()),
        ("DECIMAL(25, 5)", sized(&decimal[7..])),
        ("BYTES", sized(&[0xab, 0xcd])),
        ("TIMESTAMP(3)", 1_500i64.to_le_bytes().to_vec()),
        ("TIMESTAMP(6)", [&1_500i64.to_le_bytes()[..], &[0xc0, 0xc4, 0x07]].concat()),
        ("ARRAY<INT>", [&[3, 0b010][..], &7i32.to_le_bytes(), &9i32.to_le_bytes()].concat()),
        ("MAP<STRING, TINYINT>", vec![2, 0, 1, b'a', 1, b'b', 2, 0b10, 5]),
        ("MULTISET<STRING>", [&[1, 0, 1, b'x', 1, 0][..], &2i32.to_le_bytes()].concat()),
        ("ROW<p TINYINT, q STRING>", vec![0b01, 1, b'q']),
        ("VECTOR<TINYINT, 2>", vec![2, 3, 4]),
    ];
    let fields = values.iter().enumerate().map(|(at, (text, _))| field(&format!("c{at}"), text)).collect();
    let nulls = vec![0; values.len().div_ceil(8)];
    (fields, [nulls].into_iter().chain(values.into_iter().map(|(_, bytes)| bytes)).flatten().collect())
}

#[test]
fn every_type_of_value() {
    let (fields, row) = every_type();
    let batches = read(request(&write(&[vec![row]]), &fields, &fields)).unwrap();
    let text = table(&batches);
    let values = text.lines().nth(3).unwrap().split('|').map(str::trim).filter(|v| !v.is_empty());
    let want = [
        "true",
        "-1",
        "-2",
        "-9223372036854775808",
        "1.5",
        "-2.5",
        "2022-01-08",
        "01:01:01.001",
        "-12.34",
        "-123456789012345.67890",
        "abcd",
        "1970-01-01T00:00:01.500",
        "1970-01-01T00:00:01.500123",
        "[7, , 9]",
        "{a: 5, b: }",
        "{x: 2}",
        "{p: , q: q}",
        "[3, 4]",
    ];
    assert_eq!(values.collect::<Vec<_>>(), want);
}

#[test]
fn nested_fields_are_cut_by_name() {
    let written = [field("r", "ROW<p TINYINT, q STRING>"), field("last", "TINYINT")];
    let file = write(&[vec![vec![0, 0, 4, 1, b'q', 8], vec![0b01, 9]]]);
    let wanted = [field("r", "ROW<q STRING, gone INT>"), field("last", "TINYINT")];
    let text = table(&read(request(&file, &written, &wanted)).unwrap());
    let rows: Vec<_> = text.lines().skip(3).take(2).collect();
    assert_eq!(rows, ["| {q: q, gone: } | 8    |", "|                | 9    |"]);
}

/// Numbered rows in blocks of these sizes.
fn numbered(blocks: &[usize]) -> Vec<u8> {
    let mut numbers = 0i32..;
    let row = |n: i32| [&[0][..], &n.to_le_bytes()].concat();
    write(&blocks.iter().map(|rows| numbers.by_ref().take(*rows).map(row).collect()).collect::<Vec<_>>())
}

fn numbers(batches: &[RecordBatch]) -> Vec<i32> {
    batches.iter().flat_map(|b| b.column(0).as_primitive::<Int32Type>().values().to_vec()).collect()
}

proptest! {
    #[test]
    fn selections_and_ranges_take_rows_of_any_blocks(
        blocks in proptest::collection::vec(1usize..9, 0..5),
        keep in proptest::collection::vec(any::<bool>(), 40),
        cut in 0.0f64..1.0,
    ) {
        let rows: usize = blocks.iter().sum();
        let file = numbered(&blocks);
        let fields = [field("n", "INT NOT NULL")];
        let deleted = (0..rows).filter(|row| !keep[*row]).map(|row| row as u64);
        let selection = RowSelection::without(rows, deleted);
        let middle = (file.len() as f64 * cut) as u64;
        let parts = [0..middle, middle..file.len() as u64].map(|range| {
            let wanted = |fields: Vec<DataField>| {
                let (range, selection) = (Some(range.clone()), Some(selection.clone()));
                let (file, written) = (file.clone(), field("n", "INT NOT NULL"));
                read(async move { ReadRequest { range, selection, ..request(&file, &[written], &fields).await } }).unwrap()
            };
            let (rows, counted) = (wanted(fields.to_vec()), wanted(vec![]));
            assert!(rows.iter().all(|batch| batch.num_rows() <= 3));
            let count: usize = counted.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(count, numbers(&rows).len());
            numbers(&rows)
        });
        let want: Vec<_> = (0..rows).filter(|row| keep[*row]).map(|row| row as i32).collect();
        prop_assert_eq!(parts.concat(), want);
    }

    #[test]
    fn damaged_files_end_in_errors(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let (fields, row) = every_type();
        let mut file = write(&[vec![row.clone(), row.clone()], vec![row]]);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if cut {
            file.truncate(length.index(file.len()));
        }
        let _ = read(request(&file, &fields, &fields));
    }
}

#[test]
fn errors_name_the_file_and_what_is_wrong() {
    let good = numbered(&[2]);
    let fields = [field("n", "INT")];
    let at_end = |back: usize, byte: u8| {
        let mut file = good.clone();
        let at = file.len() - back;
        file[at] = byte;
        file
    };
    for (file, want) in [
        (vec![], "expected a row file, found 0 bytes"),
        (at_end(1, b'X'), "expected a row file, it ends in 'SWOX'"),
        (at_end(8, 9), "row files of version 9"),
        (at_end(32, 3), "a block of 2 rows, the index says 3"),
        (at_end(24, 2), "1 compressed sizes of 2 blocks"),
    ] {
        let error = read(request(&file, &fields, &fields)).unwrap_err();
        assert!(error.to_string().contains(want) && error.to_string().contains("data-1.row"), "{want}: {error}");
        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{error:?}");
    }
}
