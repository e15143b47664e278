//! A file index, asked about columns of several types by each way of asking.
#![no_main]

use std::sync::LazyLock;

use bytes::Bytes;
use datafusion_paimon::predicate::file_index::{FileIndexes, IndexedColumn};
use datafusion_paimon::predicate::{ColumnRef, Predicate, Test};
use datafusion_paimon::spec::datum::Datum;
use datafusion_paimon::spec::table_schema::TableSchema;
use libfuzzer_sys::fuzz_target;

/// How many rows the file of the index is taken to have: as many as those of the golden tables.
const ROWS: i64 = 120;

static QUESTIONS: LazyLock<Vec<Predicate>> = LazyLock::new(|| {
    let schema = include_bytes!("../../tests/data/warehouse/index.db/kinds_parquet/schema/schema-0");
    let schema = TableSchema::from_json(schema).expect("the schema of a golden table");
    let text = |text: &str| Datum::String(text.to_owned());
    [
        ("i", Datum::Int(11)),
        ("l", Datum::BigInt(7)),
        ("s", text("word3")),
        ("x", Datum::Double(2.5)),
        ("d", Datum::Date(20_000)),
    ]
    .into_iter()
    .flat_map(|(name, value)| {
        let field = schema.field(name).expect("a column of the golden table");
        let column = ColumnRef { id: field.id, name: field.name.clone(), data_type: field.data_type.clone() };
        let tests = [Test::Equal(value.clone()), Test::Less(value.clone()), Test::NotEqual(value), Test::IsNull];
        tests.map(|test| Predicate::leaf(column.clone(), test))
    })
    .collect()
});

fuzz_target!(|data: &[u8]| {
    let bytes = Bytes::copy_from_slice(data);
    let column =
        |column: &ColumnRef| Some(IndexedColumn { name: column.name.clone(), data_type: column.data_type.clone() });
    for question in QUESTIONS.iter() {
        if let Ok(indexes) = FileIndexes::from_container(ROWS, &bytes, question, &column) {
            drop(indexes.evaluate(question, &column));
        }
    }
});
