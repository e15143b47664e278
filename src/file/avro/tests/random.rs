//! Random tables: whatever is written comes back, in any codec, cut into any ranges, and changed bytes never panic.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::super::testing::{self, CODECS};
use super::read;
use crate::file::container::read_container;
use crate::spec::arrow_type::arrow_schema;
use crate::spec::data_type::{DataField, DataType, TypeKind};

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    Decimal(i128),
    Bytes(Vec<u8>),
    Items(Vec<Value>),
}

/// Where all randomness comes from.
struct Dice(u64);

impl Dice {
    fn long(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.long() % n
    }

    /// Small and large ones.
    fn signed(&mut self, bits: u32) -> i64 {
        let bits = 1 + self.below(u64::from(bits)) as u32;
        (self.long() as i64) >> (64 - bits)
    }

    fn data_type(&mut self, depth: u32) -> DataType {
        let kind = match self.below(if depth == 0 { 16 } else { 22 }) {
            0 => TypeKind::Boolean,
            1 => TypeKind::TinyInt,
            2 => TypeKind::SmallInt,
            3 => TypeKind::Int,
            4 => TypeKind::BigInt,
            5 => TypeKind::Float,
            6 => TypeKind::Double,
            7 | 8 => TypeKind::Decimal { precision: 1 + self.below(38) as u8, scale: 1 },
            9 => TypeKind::Char(5),
            10 | 11 => TypeKind::string(),
            12 => TypeKind::VarBinary(9),
            13 => TypeKind::Date,
            14 => TypeKind::Timestamp(self.below(10) as u8),
            15 => TypeKind::TimestampLtz(self.below(10) as u8),
            16 => TypeKind::Array(Box::new(self.data_type(depth - 1))),
            17 => TypeKind::Map(Box::new(TypeKind::string().nullable()), Box::new(self.data_type(depth - 1))),
            18 => TypeKind::Map(Box::new(self.data_type(depth - 1)), Box::new(self.data_type(depth - 1))),
            19 => TypeKind::Multiset(Box::new(TypeKind::string().nullable())),
            20 => TypeKind::Vector(Box::new(self.data_type(depth - 1)), 3),
            _ => TypeKind::Row(self.fields(depth - 1)),
        };
        DataType { kind, nullable: self.below(3) > 0 }
    }

    fn fields(&mut self, depth: u32) -> Vec<DataField> {
        (0..1 + self.below(4)).map(|i| DataField::new(i as i32, format!("f{i}"), self.data_type(depth))).collect()
    }

    fn value(&mut self, t: &DataType) -> Value {
        if t.nullable && self.below(4) == 0 { Value::Null } else { self.some(t) }
    }

    fn some(&mut self, t: &DataType) -> Value {
        match &t.kind {
            TypeKind::Boolean => Value::Bool(self.below(2) == 1),
            TypeKind::TinyInt => Value::Int(self.signed(8)),
            TypeKind::SmallInt => Value::Int(self.signed(16)),
            TypeKind::Int | TypeKind::Date => Value::Int(self.signed(32)),
            TypeKind::BigInt => Value::Int(self.signed(64)),
            TypeKind::Float => Value::Float(u64::from((self.signed(20) as f32).to_bits())),
            TypeKind::Double => Value::Float((self.signed(40) as f64).to_bits()),
            TypeKind::Decimal { precision, .. } => {
                let wide = i128::from(self.signed(64)) << self.below(64) | i128::from(self.long());
                Value::Decimal(wide % 10i128.pow(u32::from(*precision)))
            }
            TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_) => Value::Int(self.signed(50)),
            TypeKind::Array(e) => Value::Items((0..self.below(4)).map(|_| self.value(e)).collect()),
            TypeKind::Vector(e, n) => Value::Items((0..*n).map(|_| self.value(e)).collect()),
            TypeKind::Map(k, v) => self.map(k, v),
            TypeKind::Multiset(k) => self.map(k, &TypeKind::Int.not_null()),
            TypeKind::Row(fields) => Value::Items(fields.iter().map(|f| self.value(&f.data_type)).collect()),
            _ => Value::Bytes((0..self.below(20)).map(|_| b'a' + self.below(26) as u8).collect()),
        }
    }

    fn map(&mut self, k: &DataType, v: &DataType) -> Value {
        let mut entry = || Value::Items(vec![self.some(k), self.value(v)]);
        Value::Items((0..2).map(|_| entry()).collect())
    }

    /// Some of the fields, in any order, and one that no file has; nested ones too.
    fn cut(&mut self, fields: &[DataField]) -> Vec<DataField> {
        let mut cut: Vec<_> = fields.iter().filter(|_| self.below(3) > 0).cloned().collect();
        for field in &mut cut {
            if let TypeKind::Row(nested) = &mut field.data_type.kind {
                *nested = self.cut(nested);
            }
        }
        if self.below(3) == 0 {
            let at = self.below(cut.len() as u64 + 1) as usize;
            cut.insert(at, DataField::new(99, "nowhere", self.data_type(1).as_nullable()));
        }
        cut
    }
}

/// Null is the first or the second branch.
fn null_branch(t: &DataType) -> i64 {
    (t.to_string().len() % 2) as i64
}

/// The schema that Paimon writes for a type.
fn schema(t: &DataType, name: &str) -> Json {
    let logical = |t: &str, l: String| json!({"type": t, "logicalType": l});
    let inner = match &t.kind {
        TypeKind::Boolean => json!("boolean"),
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int => json!("int"),
        TypeKind::BigInt => json!("long"),
        TypeKind::Float => json!("float"),
        TypeKind::Double => json!("double"),
        TypeKind::Date => logical("int", "date".into()),
        TypeKind::Timestamp(p) => logical("long", format!("timestamp-{}", if *p > 3 { "micros" } else { "millis" })),
        TypeKind::TimestampLtz(p) => {
            logical("long", format!("local-timestamp-{}", if *p > 3 { "micros" } else { "millis" }))
        }
        TypeKind::Decimal { precision, scale } if precision % 2 == 0 => {
            json!({"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale})
        }
        TypeKind::Decimal { precision, scale } => json!({"type": "fixed", "name": name, "size": 17,
            "logicalType": "decimal", "precision": precision, "scale": scale}),
        TypeKind::Array(e) | TypeKind::Vector(e, _) => {
            json!({"type": "array", "items": schema(e, &format!("{name}_e"))})
        }
        TypeKind::Map(k, v) => map_schema(k, v, name),
        TypeKind::Multiset(k) => map_schema(k, &TypeKind::Int.not_null(), name),
        TypeKind::Row(fields) => record_schema(fields, name),
        TypeKind::VarBinary(_) => json!("bytes"),
        _ => json!("string"),
    };
    match (t.nullable, null_branch(t)) {
        (false, _) => inner,
        (true, 0) => json!(["null", inner]),
        (true, _) => json!([inner, "null"]),
    }
}

fn text_key(k: &DataType) -> bool {
    matches!(k.kind, TypeKind::VarChar(_) | TypeKind::Char(_))
}

fn map_schema(k: &DataType, v: &DataType, name: &str) -> Json {
    if text_key(k) {
        return json!({"type": "map", "values": schema(v, &format!("{name}_v"))});
    }
    let fields = [DataField::new(0, "key", k.clone()), DataField::new(1, "value", v.clone())];
    json!({"type": "array", "items": record_schema(&fields, name)})
}

fn record_schema(fields: &[DataField], name: &str) -> Json {
    let field = |f: &DataField| json!({"name": f.name, "type": schema(&f.data_type, &format!("{name}_{}", f.name))});
    json!({"type": "record", "name": name, "fields": fields.iter().map(field).collect::<Vec<_>>()})
}

fn encode(to: &mut Vec<u8>, t: &DataType, value: &Value) {
    if t.nullable {
        let null = null_branch(t);
        testing::long(to, if *value == Value::Null { null } else { 1 - null });
    }
    match (value, &t.kind) {
        (Value::Null, _) => {}
        (Value::Bool(b), _) => to.push(u8::from(*b)),
        (Value::Int(n), _) => testing::long(to, *n),
        (Value::Float(bits), TypeKind::Float) => to.extend((*bits as u32).to_le_bytes()),
        (Value::Float(bits), _) => to.extend(bits.to_le_bytes()),
        (Value::Decimal(n), TypeKind::Decimal { precision, .. }) if precision % 2 == 1 => {
            to.push(if *n < 0 { 0xff } else { 0 });
            to.extend(n.to_be_bytes());
        }
        (Value::Decimal(n), _) => {
            let bytes = n.to_be_bytes();
            let sign = if *n < 0 { 0xff } else { 0 };
            let skip = (0..15).take_while(|i| bytes[*i] == sign && (bytes[i + 1] ^ sign) < 0x80).count();
            testing::bytes(to, &bytes[skip..]);
        }
        (Value::Bytes(b), _) => testing::bytes(to, b),
        (Value::Items(items), TypeKind::Row(fields)) => {
            fields.iter().zip(items).for_each(|(f, v)| encode(to, &f.data_type, v));
        }
        (Value::Items(items), TypeKind::Array(e) | TypeKind::Vector(e, _)) => {
            encode_items(to, items, |to, v| encode(to, e, v));
        }
        (Value::Items(items), TypeKind::Map(k, v)) => encode_map(to, items, k, v),
        (Value::Items(items), TypeKind::Multiset(k)) => encode_map(to, items, k, &TypeKind::Int.not_null()),
        other => panic!("{other:?}"),
    }
}

fn encode_map(to: &mut Vec<u8>, items: &[Value], k: &DataType, v: &DataType) {
    let key = if text_key(k) { DataType { nullable: false, ..k.clone() } } else { k.clone() };
    encode_items(to, items, |to, entry| {
        let Value::Items(entry) = entry else { panic!() };
        encode(to, &key, &entry[0]);
        encode(to, v, &entry[1]);
    });
}

/// One block, or two of which the first one says its size.
fn encode_items(to: &mut Vec<u8>, items: &[Value], write: impl Fn(&mut Vec<u8>, &Value)) {
    let (sized, plain) = items.split_at(items.len() / 2);
    if !sized.is_empty() {
        let mut block = vec![];
        sized.iter().for_each(|v| write(&mut block, v));
        testing::long(to, -(sized.len() as i64));
        testing::bytes(to, &block);
    }
    if !plain.is_empty() {
        testing::long(to, plain.len() as i64);
        plain.iter().for_each(|v| write(to, v));
    }
    testing::long(to, 0);
}

/// What is read of a value that was written as one type and is wanted as another.
fn expected(value: &Value, written: &DataType, wanted: &DataType) -> Value {
    let nested = |items: &[Value], w: &DataType, t: &DataType| {
        Value::Items(items.iter().map(|v| expected(v, w, t)).collect::<Vec<_>>())
    };
    match (value, &written.kind, &wanted.kind) {
        (Value::Int(n), TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p), _) => Value::Int(match p {
            0 => n.div_euclid(1000),
            7.. => n * 1000,
            _ => *n,
        }),
        (Value::Items(items), TypeKind::Array(w), TypeKind::Array(t)) => nested(items, w, t),
        (Value::Items(items), TypeKind::Vector(w, _), TypeKind::Vector(t, _)) => nested(items, w, t),
        (Value::Items(items), TypeKind::Map(wk, wv), TypeKind::Map(tk, tv)) => Value::Items(
            items
                .iter()
                .map(|entry| {
                    let Value::Items(entry) = entry else { panic!() };
                    Value::Items(vec![expected(&entry[0], wk, tk), expected(&entry[1], wv, tv)])
                })
                .collect(),
        ),
        (Value::Items(items), TypeKind::Row(written), TypeKind::Row(wanted)) => {
            Value::Items(expected_fields(items, written, wanted))
        }
        _ => value.clone(),
    }
}

fn expected_fields(row: &[Value], written: &[DataField], wanted: &[DataField]) -> Vec<Value> {
    let one = |want: &DataField| match written.iter().position(|w| w.name == want.name) {
        Some(at) => expected(&row[at], &written[at].data_type, &want.data_type),
        None => Value::Null,
    };
    wanted.iter().map(one).collect()
}

/// A value of an Arrow array.
fn value_of(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    let items = |array: &dyn Array| Value::Items((0..array.len()).map(|i| value_of(array, i)).collect());
    macro_rules! int {
        ($t:ty) => {
            Value::Int(array.as_primitive::<$t>().value(row).into())
        };
    }
    match array.data_type() {
        ArrowType::Boolean => Value::Bool(array.as_boolean().value(row)),
        ArrowType::Int8 => int!(Int8Type),
        ArrowType::Int16 => int!(Int16Type),
        ArrowType::Int32 => int!(Int32Type),
        ArrowType::Int64 => int!(Int64Type),
        ArrowType::Date32 => int!(Date32Type),
        ArrowType::Time32(_) => int!(Time32MillisecondType),
        ArrowType::Timestamp(TimeUnit::Second, _) => int!(TimestampSecondType),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => int!(TimestampMillisecondType),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => int!(TimestampMicrosecondType),
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => int!(TimestampNanosecondType),
        ArrowType::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(row).to_bits().into()),
        ArrowType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row).to_bits()),
        ArrowType::Decimal128(..) => Value::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
        ArrowType::Utf8 => Value::Bytes(array.as_string::<i32>().value(row).into()),
        ArrowType::Utf8View => Value::Bytes(array.as_string_view().value(row).into()),
        ArrowType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).into()),
        ArrowType::BinaryView => Value::Bytes(array.as_binary_view().value(row).into()),
        ArrowType::List(_) => items(&array.as_list::<i32>().value(row)),
        ArrowType::FixedSizeList(..) => items(&array.as_fixed_size_list().value(row)),
        ArrowType::Map(..) => items(&array.as_map().value(row)),
        ArrowType::Struct(_) => Value::Items(array.as_struct().columns().iter().map(|c| value_of(c, row)).collect()),
        other => panic!("{other}"),
    }
}

fn rows_of(batches: &[RecordBatch]) -> Vec<Vec<Value>> {
    let row = |b: &RecordBatch, row| b.columns().iter().map(|c| value_of(c, row)).collect();
    batches.iter().flat_map(|b| (0..b.num_rows()).map(move |i| row(b, i))).collect()
}

/// A random table and its file.
struct Table {
    fields: Vec<DataField>,
    rows: Vec<Vec<Value>>,
    file: Vec<u8>,
}

fn table(dice: &mut Dice) -> Table {
    let fields = dice.fields(3);
    let top_union = dice.below(3) == 0;
    let record = record_schema(&fields, "a.b.record");
    let schema = if top_union { json!(["null", record]) } else { record };
    let (mut rows, mut blocks) = (vec![], vec![]);
    for _ in 0..dice.below(6) {
        let mut plain = vec![];
        let n = dice.below(30);
        for _ in 0..n {
            let row: Vec<_> = fields.iter().map(|f| dice.value(&f.data_type)).collect();
            if top_union {
                testing::long(&mut plain, 1);
            }
            fields.iter().zip(&row).for_each(|(f, v)| encode(&mut plain, &f.data_type, v));
            rows.push(row);
        }
        blocks.push((n as i64, plain));
    }
    let codec = CODECS[dice.below(CODECS.len() as u64) as usize];
    Table { file: testing::file(&schema.to_string(), codec, &blocks), fields, rows }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_is_written_comes_back(seed: u64, batch_size in 1usize..100) {
        let mut dice = Dice(seed);
        let table = table(&mut dice);
        let wanted = dice.cut(&table.fields);
        let want: Vec<_> = table.rows.iter().map(|r| expected_fields(r, &table.fields, &wanted)).collect();
        let batches = read(&table.file, &wanted, None, batch_size).unwrap();
        for batch in &batches {
            prop_assert_eq!(batch.schema(), arrow_schema(&wanted));
            prop_assert!(batch.num_rows() <= batch_size && batch.num_rows() > 0);
        }
        prop_assert_eq!(rows_of(&batches), want);
    }

    #[test]
    fn ranges_that_tile_the_file_give_every_row_once(seed: u64) {
        let mut dice = Dice(seed);
        let table = table(&mut dice);
        let size = table.file.len() as u64;
        let mut cuts: Vec<_> = (0..dice.below(6)).map(|_| dice.below(size + 1)).collect();
        cuts.extend([0, size]);
        cuts.sort_unstable();
        let parts = cuts.windows(2).map(|w| read(&table.file, &table.fields, Some(w[0]..w[1]), 1000).unwrap());
        let rows: Vec<_> = parts.flat_map(|batches| rows_of(&batches)).collect();
        let want: Vec<_> = table.rows.iter().map(|r| expected_fields(r, &table.fields, &table.fields)).collect();
        prop_assert_eq!(rows, want);
        let counted: usize = read(&table.file, &[], None, 7).unwrap().iter().map(RecordBatch::num_rows).sum();
        prop_assert_eq!(counted, table.rows.len());
    }

    #[test]
    fn changed_bytes_never_panic(seed: u64, changes in 1u64..4) {
        let mut dice = Dice(seed);
        let mut table = table(&mut dice);
        for _ in 0..changes {
            let at = dice.below(table.file.len() as u64) as usize;
            table.file[at] = dice.long() as u8;
        }
        let _ = read(&table.file, &table.fields, None, 1000);
        let _ = read_container(Bytes::from(table.file), &[]);
    }
}
