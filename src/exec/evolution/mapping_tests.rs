//! Mappings of whole batches: ids, names, order, nested fields, what lacks, and what cannot be.

use std::sync::Arc;

use arrow::array::{
    ArrayData, AsArray, BooleanArray, Decimal128Array, FixedSizeListArray, Float64Array, Int32Array, Int64Array,
    StringArray, StringViewArray, StructArray, make_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType as ArrowType, Int64Type};
use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::exec::evolution::cast_column;
use crate::spec::data_type::TypeKind;

const UTC: CastContext = CastContext { zone: chrono_tz::Tz::UTC };

/// Fields from `[[id, name, type]…]`; nested types as [`row`], [`array`], [`map`] make them.
fn fields(list: &Value) -> Vec<DataField> {
    let Value::Array(list) = list else { panic!() };
    list.iter().map(|f| DataField::from_json(&field(f), &mut 0).unwrap()).collect()
}

fn field(f: &Value) -> Value {
    json!({"id": f[0], "name": f[1], "type": f[2]})
}

fn row(list: Value) -> Value {
    json!({"type": "ROW", "fields": list.as_array().unwrap().iter().map(field).collect::<Vec<_>>()})
}

fn array(element: Value) -> Value {
    json!({"type": "ARRAY", "element": element})
}

fn map(key: Value, value: Value) -> Value {
    json!({"type": "MAP", "key": key, "value": value})
}

/// An array of JSON values: rows as arrays of their fields, maps as arrays of pairs.
fn build(data_type: &ArrowType, values: &[Value]) -> ArrayRef {
    let nulls = Some(NullBuffer::from_iter(values.iter().map(|v| !v.is_null())));
    let flat = || values.iter().flat_map(|v| v.as_array().cloned().unwrap_or_default()).collect::<Vec<_>>();
    let offsets = || OffsetBuffer::from_lengths(values.iter().map(|v| v.as_array().map_or(0, Vec::len)));
    match data_type {
        ArrowType::Int32 => Arc::new(values.iter().map(|v| v.as_i64().map(|n| n as i32)).collect::<Int32Array>()),
        ArrowType::Int64 => Arc::new(values.iter().map(Value::as_i64).collect::<Int64Array>()),
        ArrowType::Float64 => Arc::new(values.iter().map(Value::as_f64).collect::<Float64Array>()),
        ArrowType::Utf8 => Arc::new(values.iter().map(Value::as_str).collect::<StringArray>()),
        ArrowType::Utf8View => Arc::new(values.iter().map(Value::as_str).collect::<StringViewArray>()),
        ArrowType::Struct(fields) => {
            let column = |(i, f): (usize, &Arc<Field>)| {
                build(f.data_type(), &values.iter().map(|v| v[i].clone()).collect::<Vec<_>>())
            };
            let columns = fields.iter().enumerate().map(column).collect();
            Arc::new(StructArray::new(fields.clone(), columns, nulls))
        }
        ArrowType::List(element) => {
            let data = build(element.data_type(), &flat()).to_data();
            make_array(list_data(data_type, values.len(), offsets(), data, nulls))
        }
        ArrowType::Map(entries, _) => {
            let data = build(entries.data_type(), &flat()).to_data();
            make_array(list_data(data_type, values.len(), offsets(), data, nulls))
        }
        other => panic!("{other}"),
    }
}

fn list_data(
    data_type: &ArrowType,
    rows: usize,
    offsets: OffsetBuffer<i32>,
    child: ArrayData,
    nulls: Option<NullBuffer>,
) -> ArrayData {
    let data = ArrayData::builder(data_type.clone()).len(rows).add_buffer(offsets.into_inner().into_inner());
    data.add_child_data(child).nulls(nulls).build().unwrap()
}

/// The rows of a mapped batch as text, columns between bars.
fn map_rows(file: &Value, table: &Value, rows: &Value) -> Result<Vec<String>> {
    let (file, table) = (fields(file), fields(table));
    let mapping = SchemaMapping::new(&file, &table, UTC)?;
    let schema = arrow_schema(mapping.read_fields());
    let rows = rows.as_array().unwrap();
    let columns = mapping.read_fields().iter().map(|read| {
        let at = file.iter().position(|f| f.id == read.id).unwrap();
        let values: Vec<_> = rows.iter().map(|row| project(&row[at], &file[at].data_type, &read.data_type)).collect();
        build(schema.field_with_name(&read.name).unwrap().data_type(), &values)
    });
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let batch = RecordBatch::try_new_with_options(schema.clone(), columns.collect(), &options).unwrap();
    let out = mapping.apply(batch)?;
    assert_eq!(out.schema(), arrow_schema(&table));
    assert_eq!(out.num_rows(), rows.len());
    Ok(show(&out, &table))
}

/// What a reader gives of a value where the type was cut.
fn project(value: &Value, file: &DataType, read: &DataType) -> Value {
    let each = |f: &dyn Fn(&Value) -> Value| value.as_array().map(|list| list.iter().map(f).collect());
    let out: Option<Value> = match (&file.kind, &read.kind) {
        (TypeKind::Row(file), TypeKind::Row(read)) => value.as_array().map(|row| {
            let at = |f: &DataField| file.iter().position(|g| g.id == f.id).unwrap();
            read.iter().map(|f| project(&row[at(f)], &file[at(f)].data_type, &f.data_type)).collect()
        }),
        (TypeKind::Array(file), TypeKind::Array(read)) => each(&|v| project(v, file, read)),
        (TypeKind::Map(_, file), TypeKind::Map(_, read)) => each(&|v| json!([v[0], project(&v[1], file, read)])),
        _ => Some(value.clone()),
    };
    out.unwrap_or(Value::Null)
}

fn show(batch: &RecordBatch, table: &[DataField]) -> Vec<String> {
    let string = TypeKind::string().nullable();
    let text = |(array, field): (&ArrayRef, &DataField)| {
        let text = cast_column(array, &field.data_type, &string, &UTC).unwrap();
        text.as_string_view().iter().map(|t| t.unwrap_or("NULL").to_owned()).collect::<Vec<_>>()
    };
    let columns: Vec<_> = batch.columns().iter().zip(table).map(text).collect();
    (0..batch.num_rows()).map(|row| columns.iter().map(|c| c[row].clone()).collect::<Vec<_>>().join("|")).collect()
}

#[test]
fn columns_are_found_by_id() {
    let file = json!([[0, "a", "INT"], [1, "b", "STRING"], [2, "c", "DOUBLE"]]);
    let rows = json!([[1, "x", 1.5], [null, null, null], [3, "z", -0.0]]);
    for (table, want) in [
        (json!([[0, "a", "INT"], [1, "b", "STRING"], [2, "c", "DOUBLE"]]), ["1|x|1.5", "NULL|NULL|NULL", "3|z|-0.0"]),
        (json!([[1, "a", "STRING"], [0, "b", "INT"]]), ["x|1", "NULL|NULL", "z|3"]),
        (json!([[9, "a", "INT"], [0, "aa", "BIGINT"]]), ["NULL|1", "NULL|NULL", "NULL|3"]),
        (json!([[9, "c", "DATE"]]), ["NULL", "NULL", "NULL"]),
        (
            json!([[2, "c", "STRING"], [8, "m", map(json!("INT"), json!("INT"))]]),
            ["1.5|NULL", "NULL|NULL", "-0.0|NULL"],
        ),
        (json!([[0, "a", "INT"], [0, "again", "STRING"]]), ["1|1", "NULL|NULL", "3|3"]),
        (json!([]), ["", "", ""]),
    ] {
        assert_eq!(map_rows(&file, &table, &rows).unwrap(), want, "{table}");
    }
}

#[test]
fn what_is_equal_is_moved() {
    let file = fields(&json!([[0, "a", "INT NOT NULL"], [1, "r", row(json!([[2, "x", "INT"], [3, "y", "STRING"]]))]]));
    let mapping = SchemaMapping::new(&file, &file, UTC).unwrap();
    assert!(mapping.is_identity());
    assert_eq!(mapping.read_fields(), file);
    let renamed = fields(&json!([[1, "s", row(json!([[2, "x", "INT"], [3, "y", "STRING"]]))], [0, "b", "INT"]]));
    let mapping = SchemaMapping::new(&file, &renamed, UTC).unwrap();
    assert!(!mapping.is_identity() && mapping.columns.iter().all(|c| c.step.is_keep()));
    for other in [json!([[0, "b", "INT NOT NULL"]]), json!([[0, "a", "INT"]]), json!([[0, "a", "BIGINT NOT NULL"]])] {
        assert!(!SchemaMapping::new(&file[..1], &fields(&other), UTC).unwrap().is_identity(), "{other}");
    }
}

#[test]
fn nested_fields_are_found_by_id_and_structs_keep_their_nullness() {
    let file = json!([[1, "r", row(json!([[2, "a", "INT"], [3, "b", "STRING"], [4, "c", "DOUBLE"]]))]]);
    let rows = json!([[[1, "x", 0.5]], [null], [[null, null, null]]]);
    for (nested, want) in [
        (
            json!([[2, "a", "BIGINT"], [3, "text", "STRING"], [5, "n", "INT"]]),
            ["{1, x, null}", "NULL", "{null, null, null}"],
        ),
        (json!([[4, "a", "STRING"], [2, "b", "INT"]]), ["{0.5, 1}", "NULL", "{null, null}"]),
        (json!([[3, "b", "STRING"]]), ["{x}", "NULL", "{null}"]),
        (json!([[9, "a", "INT"], [8, "b", "STRING"]]), ["NULL", "NULL", "NULL"]),
    ] {
        let table = json!([[1, "r", row(nested)]]);
        assert_eq!(map_rows(&file, &table, &rows).unwrap(), want, "{table}");
    }
}

#[test]
fn only_wanted_nested_fields_are_read_in_the_file_s_order() {
    let file = fields(&json!([
        [0, "z", "INT"],
        [
            1,
            "r",
            row(json!([[2, "a", "INT"], [3, "b", row(json!([[4, "c", "INT"], [5, "d", "INT"]]))], [6, "e", "INT"]]))
        ],
        [7, "xs", array(row(json!([[8, "p", "INT"]])))],
    ]));
    let table = fields(&json!([
        [7, "ys", array(row(json!([[9, "new", "INT"]])))],
        [1, "s", row(json!([[6, "E", "BIGINT"], [3, "B", row(json!([[5, "D", "INT"]]))]]))],
    ]));
    let mapping = SchemaMapping::new(&file, &table, UTC).unwrap();
    let want = fields(&json!([[1, "r", row(json!([[3, "b", row(json!([[5, "d", "INT"]]))], [6, "e", "INT"]]))]]));
    assert_eq!(mapping.read_fields(), want);
}

#[test]
fn elements_of_collections_evolve() {
    let inner = |name: &str, kind: &str| row(json!([[2, name, kind], [3, "q", "STRING"]]));
    let file = json!([
        [1, "xs", array(inner("p", "INT"))],
        [4, "m", map(json!("STRING"), row(json!([[5, "u", "INT"], [7, "v", row(json!([[6, "w", "INT"]]))]])))],
        [8, "ai", array(json!("INT"))],
    ]);
    let table = json!([
        [1, "xs", array(row(json!([[2, "p", "BIGINT"], [3, "qq", "STRING"], [9, "z", "INT"]])))],
        [4, "m", map(json!("STRING"), row(json!([[7, "v", row(json!([[6, "w", "INT"], [10, "x", "STRING"]]))]])))],
        [8, "ai", array(json!("STRING"))],
    ]);
    let rows = json!([
        [[[1, "a"], null, [null, null]], [["k", [1, [2]]], ["l", [3, null]], ["n", null]], [1, null]],
        [null, null, null],
        [[], [], []],
    ]);
    let want = [
        "[{1, a, null}, null, {null, null, null}]|{k -> {{2, null}}, l -> {null}, n -> null}|[1, null]",
        "NULL|NULL|NULL",
        "[]|{}|[]",
    ];
    assert_eq!(map_rows(&file, &table, &rows).unwrap(), want);
}

#[test]
fn sliced_batches_and_values_under_null_are_left_alone() {
    let from = DataType::from_json(&array(json!("STRING"))).unwrap();
    let to = DataType::from_json(&array(json!("INT"))).unwrap();
    let lists = build(&crate::spec::arrow_type::column_type(&from), &[json!(["bad"]), json!(["1", "2"]), json!(["x"])]);
    let out = cast_column(&lists.slice(1, 1), &from, &to, &UTC).unwrap();
    assert_eq!(out.as_list::<i32>().value(0).as_primitive::<arrow::datatypes::Int32Type>().values(), &[1, 2]);
    assert!(cast_column(&lists, &from, &to, &UTC).unwrap_err().to_string().contains("'bad'"));

    let from = DataType::from_json(&row(json!([[1, "a", "STRING"]]))).unwrap();
    let to = DataType::from_json(&row(json!([[1, "a", "INT"]]))).unwrap();
    let ArrowType::Struct(arrow_fields) = crate::spec::arrow_type::column_type(&from) else { panic!() };
    let hidden: ArrayRef = Arc::new(StringArray::from(vec!["bad", "7"]));
    let rows: ArrayRef =
        Arc::new(StructArray::new(arrow_fields, vec![hidden], Some(NullBuffer::from(vec![false, true]))));
    let out = cast_column(&rows, &from, &to, &UTC).unwrap();
    assert!(out.is_null(0) && out.is_valid(1));
}

#[test]
fn vectors_and_multisets_are_cast_by_element() {
    let vector = |element: &str, n| json!({"type": "VECTOR", "element": element, "length": n});
    let types = |from: &Value, to: &Value| (DataType::from_json(from).unwrap(), DataType::from_json(to).unwrap());
    let (from, to) = types(&vector("INT", 2), &vector("BIGINT", 2));
    let ArrowType::FixedSizeList(element, _) = crate::spec::arrow_type::column_type(&from) else { panic!() };
    let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)]));
    let nulls = Some(NullBuffer::from(vec![true, false]));
    let vectors: ArrayRef = Arc::new(FixedSizeListArray::new(element, 2, values, nulls));
    let out = cast_column(&vectors, &from, &to, &UTC).unwrap();
    assert_eq!(out.data_type(), &crate::spec::arrow_type::column_type(&to));
    assert!(out.is_null(1));
    assert_eq!(out.as_fixed_size_list().value(0).as_primitive::<Int64Type>().value(0), 1);
    let (from, to) = types(&vector("INT", 2), &vector("INT", 3));
    assert_eq!(cast_column(&vectors, &from, &to, &UTC).unwrap_err().kind(), ErrorKind::Unsupported);

    let multiset = |element: &str| json!({"type": "MULTISET", "element": element});
    let (from, to) = types(&multiset("INT"), &multiset("STRING"));
    let bags = build(&crate::spec::arrow_type::column_type(&from), &[json!([[7, 2]]), Value::Null]);
    let out = cast_column(&bags, &from, &to, &UTC).unwrap();
    assert_eq!(out.as_map().keys().as_string::<i32>().value(0), "7");
}

#[test]
fn null_in_a_not_null_column_is_an_error_that_names_it() {
    let file = json!([[0, "a", "INT"], [1, "d", "DOUBLE"]]);
    let rows = json!([[1, 1e10], [null, 1.0]]);
    for (table, good) in [
        (json!([[0, "b", "INT NOT NULL"]]), false),
        (json!([[9, "b", "INT NOT NULL"]]), false),
        (json!([[1, "b", "DECIMAL(5, 0) NOT NULL"]]), false),
        (json!([[1, "b", "DECIMAL(12, 0) NOT NULL"]]), true),
    ] {
        let result = map_rows(&file, &table, &rows);
        assert_eq!(result.is_ok(), good, "{table}");
        if let Err(e) = result {
            assert!(e.kind() == ErrorKind::Corrupt && e.to_string().contains("'b'"), "{e}");
        }
    }
    let file = json!([[0, "r", row(json!([[1, "x", "INT"]]))]]);
    let table = json!([[0, "r", row(json!([[1, "x", "INT NOT NULL"]]))]]);
    assert!(map_rows(&file, &table, &json!([[[1]], [null]])).is_ok());
    assert_eq!(map_rows(&file, &table, &json!([[[1]], [[null]]])).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn types_that_cannot_be_cast_are_refused_before_reading() {
    let file = |kind: Value| fields(&json!([[0, "a", kind]]));
    for (from, to) in [
        (json!("INT"), json!("DATE")),
        (json!("DOUBLE"), json!("BOOLEAN")),
        (json!("DATE"), json!("VARCHAR(10)")),
        (json!("INT"), row(json!([[1, "x", "INT"]]))),
        (row(json!([[1, "x", "INT"]])), array(json!("INT"))),
        (array(json!("DATE")), array(json!("INT"))),
        (map(json!("INT"), json!("INT")), map(json!("BIGINT"), json!("INT"))),
        (json!("BLOB"), json!("BYTES")),
    ] {
        let e = SchemaMapping::new(&file(from.clone()), &file(to.clone()), UTC).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported, "{from} {to}");
        assert!(e.to_string().contains("column 'a'"), "{e}");
    }
}

#[test]
fn an_error_names_the_value_and_the_column() {
    let e = map_rows(&json!([[0, "a", "STRING"]]), &json!([[0, "b", "INT"]]), &json!([["1"], ["x1"]])).unwrap_err();
    assert_eq!(e.to_string(), "corrupt: column 'b': corrupt: the text 'x1' is no INT");
}

#[test]
fn collections_are_printed_as_in_java() {
    let kinds = row(json!([
        [1, "a", "DOUBLE"],
        [2, "b", array(json!("STRING"))],
        [3, "c", map(json!("STRING"), json!("INT"))]
    ]));
    let from = DataType::from_json(&kinds).unwrap();
    let rows = [
        json!([1.0, ["x", null], [["k", null], ["l", 2]]]),
        json!([null, [], []]),
        json!([null, null, null]),
        json!(null),
    ];
    let rows = build(&crate::spec::arrow_type::column_type(&from), &rows);
    for to in ["STRING", "CHAR(3)", "VARCHAR(5)"] {
        let out = cast_column(&rows, &from, &DataType::parse(to).unwrap(), &UTC).unwrap();
        let texts: Vec<_> = out.as_string_view().iter().collect();
        let want =
            [Some("{1.0, [x, null], {k -> null, l -> 2}}"), Some("{null, [], {}}"), Some("{null, null, null}"), None];
        assert_eq!(texts, want, "{to}");
    }
}

#[test]
fn booleans_and_decimals_of_slices_keep_their_rows() {
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![Some(false), Some(true), None, Some(true)]));
    let kind = |text: &str| DataType::parse(text).unwrap();
    let out = cast_column(&flags.slice(1, 3), &kind("BOOLEAN"), &kind("BIGINT"), &UTC).unwrap();
    assert_eq!(out.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(1), None, Some(1)]);
    let decimals = Decimal128Array::from(vec![Some(1), Some(-250), None]).with_precision_and_scale(5, 2).unwrap();
    let decimals: ArrayRef = Arc::new(decimals);
    let out = cast_column(&decimals.slice(1, 2), &kind("DECIMAL(5, 2)"), &kind("STRING"), &UTC).unwrap();
    assert_eq!(out.as_string_view().iter().collect::<Vec<_>>(), [Some("-2.50"), None]);
}
