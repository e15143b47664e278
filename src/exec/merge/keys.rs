//! Keys in a form that compares fast: [`KeyEncoder`] turns key columns into [`Keys`].
//!
//! In: the key columns of a batch, in canonical Arrow types. Out: one comparable value a row, whose order is that of
//! the reference's keys: column by column, ascending, NULL first, text and bytes unsigned, `-0.0` and `0.0` one key,
//! every NaN the same and last. Keys of at most 8 or 16 bytes of fixed width become one integer each; all others
//! `arrow-row`'s bytes. A column that may be NULL has a byte more, which is 0 where it is:
//!
//! ```text
//! (BIGINT NOT NULL, INT)   | sign-flipped i64, 8 bytes | 1 | sign-flipped i32, 4 bytes |   as a u128
//! ```
//!
//! Java: `CodeGenUtils.newRecordComparator`, `GenerateUtils.generateRowCompare`, which compares floating point numbers
//! by `<` and `>`. (It so takes NaN for equal to everything, which is no order; only a NaN beside other keys shows it.)

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::unary;
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow::row::{RowConverter, Rows, SortField};

use crate::error::{Error, Result};
use crate::spec::arrow_type::column_type;
use crate::spec::data_type::{DataField, DataType, TypeKind};

/// The keys of one batch.
#[derive(Debug)]
pub enum Keys {
    /// Keys of fixed width, of at most 8 bytes.
    Small(Vec<u64>),
    /// Keys of fixed width, of at most 16 bytes.
    Fixed(Vec<u128>),
    /// Any other keys.
    Rows(Rows),
}

impl Keys {
    /// How the key of row `row` compares with row `other_row` of `other`. Rows past the end are last.
    pub fn compare(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        match (self, other) {
            (Keys::Small(a), Keys::Small(b)) => compare_rows(a, row, b, other_row),
            (Keys::Fixed(a), Keys::Fixed(b)) => compare_rows(a, row, b, other_row),
            (Keys::Rows(a), Keys::Rows(b)) => a.row(row).cmp(&b.row(other_row)),
            // One encoder makes keys of one form.
            (a, b) => a.form().cmp(&b.form()),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Keys::Small(keys) => keys.len(),
            Keys::Fixed(keys) => keys.len(),
            Keys::Rows(rows) => rows.num_rows(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory they hold, in bytes.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Keys::Small(keys) => size_of_val(keys.as_slice()),
            Keys::Fixed(keys) => size_of_val(keys.as_slice()),
            Keys::Rows(rows) => rows.size(),
        }
    }

    fn form(&self) -> u8 {
        match self {
            Keys::Small(_) => 0,
            Keys::Fixed(_) => 1,
            Keys::Rows(_) => 2,
        }
    }
}

fn compare_rows<K: Ord>(a: &[K], row: usize, b: &[K], other_row: usize) -> Ordering {
    match (a.get(row), b.get(other_row)) {
        (Some(a), Some(b)) => a.cmp(b),
        (a, b) => a.is_none().cmp(&b.is_none()),
    }
}

/// The least key whose first column has a value, as keys of an encoder compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyBound {
    /// Among [`Keys::Small`].
    Small(u64),
    /// Among [`Keys::Fixed`].
    Fixed(u128),
    /// Among [`Keys::Rows`]: what rows of that value begin with.
    Rows(Vec<u8>),
}

impl Keys {
    /// How many of the keys, which must be sorted, are less than a bound.
    pub fn below(&self, bound: &KeyBound) -> usize {
        match (self, bound) {
            (Keys::Small(keys), KeyBound::Small(bound)) => keys.partition_point(|key| key < bound),
            (Keys::Fixed(keys), KeyBound::Fixed(bound)) => keys.partition_point(|key| key < bound),
            (Keys::Rows(rows), KeyBound::Rows(bound)) => {
                let (mut low, mut high) = (0, rows.num_rows());
                while low < high {
                    let middle = low + (high - low) / 2;
                    match rows.row(middle).as_ref() < bound.as_slice() {
                        true => low = middle + 1,
                        false => high = middle,
                    }
                }
                low
            }
            _ => 0,
        }
    }

    /// Whether the key of a row is less than a bound.
    pub fn is_below(&self, row: usize, bound: &KeyBound) -> bool {
        match (self, bound) {
            (Keys::Small(keys), KeyBound::Small(bound)) => keys.get(row).is_some_and(|key| key < bound),
            (Keys::Fixed(keys), KeyBound::Fixed(bound)) => keys.get(row).is_some_and(|key| key < bound),
            (Keys::Rows(rows), KeyBound::Rows(bound)) => {
                row < rows.num_rows() && rows.row(row).as_ref() < bound.as_slice()
            }
            _ => false,
        }
    }

    /// Whether each is greater than the one before.
    pub fn ascend(&self) -> bool {
        match self {
            Keys::Small(keys) => keys.is_sorted_by(|a, b| a < b),
            Keys::Fixed(keys) => keys.is_sorted_by(|a, b| a < b),
            Keys::Rows(rows) => rows.iter().is_sorted_by(|a, b| a < b),
        }
    }
}

/// Turns key columns into [`Keys`]; one encoder for all batches that are compared.
#[derive(Debug)]
pub struct KeyEncoder {
    types: Vec<ArrowType>,
    /// How each column stands in a fixed key, when all are of fixed width.
    slots: Option<Vec<Slot>>,
    /// Whether fixed keys have at most 8 bytes.
    small: bool,
    converter: RowConverter,
}

/// A column in a fixed key.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Without the byte that says whether it is NULL.
    value_bytes: u32,
    nullable: bool,
}

impl Slot {
    /// The slot of a column of this type, if it is of fixed width.
    fn new(data_type: &DataType) -> Option<Self> {
        Some(Self { value_bytes: fixed_bytes(&data_type.kind)?, nullable: data_type.nullable })
    }

    fn bytes(self) -> u32 {
        self.value_bytes + u32::from(self.nullable)
    }
}

impl KeyEncoder {
    /// An encoder of the given key columns.
    pub fn new(fields: &[DataField]) -> Result<Self> {
        let types: Vec<_> = fields.iter().map(|f| column_type(&f.data_type)).collect();
        let slots: Option<Vec<Slot>> = fields.iter().map(|f| Slot::new(&f.data_type)).collect();
        let bytes = |slots: &[Slot]| slots.iter().map(|s| s.bytes()).sum::<u32>();
        let slots = slots.filter(|slots| bytes(slots) <= 16);
        let small = slots.as_deref().is_some_and(|slots| bytes(slots) <= 8);
        let converter = RowConverter::new(types.iter().cloned().map(SortField::new).collect())?;
        Ok(Self { types, slots, small, converter })
    }

    /// The keys of a batch's key columns.
    pub fn encode(&self, columns: &[ArrayRef]) -> Result<Keys> {
        if columns.len() != self.types.len() {
            return Err(Error::internal(format!("{} key columns, not {}", self.types.len(), columns.len())));
        }
        match &self.slots {
            Some(slots) => {
                let rows = columns.first().map_or(0, |c| c.len());
                let mut keys = vec![0u128; rows];
                columns.iter().zip(slots).try_for_each(|(column, slot)| append(&mut keys, column, *slot))?;
                Ok(match self.small {
                    true => Keys::Small(keys.into_iter().map(|key| key as u64).collect()),
                    false => Keys::Fixed(keys),
                })
            }
            None => {
                let columns: Vec<_> = columns.iter().map(with_plain_floats).collect();
                Ok(Keys::Rows(self.converter.convert_columns(&columns)?))
            }
        }
    }
}

impl KeyEncoder {
    /// The least key whose first column has the value that is the only row of `first`.
    pub fn bound(&self, first: &ArrayRef) -> Result<KeyBound> {
        let lacks = || Error::internal("a key without columns has no bound");
        if let Some(slots) = &self.slots {
            let (slot, rest) = slots.split_first().ok_or_else(lacks)?;
            let mut key = vec![0u128];
            append(&mut key, first, *slot)?;
            let rest = rest.iter().map(|slot| slot.bytes()).sum::<u32>() * 8;
            let key = key.first().and_then(|key| key.checked_shl(rest)).ok_or_else(lacks)?;
            return Ok(if self.small { KeyBound::Small(key as u64) } else { KeyBound::Fixed(key) });
        }
        let field = SortField::new(self.types.first().cloned().ok_or_else(lacks)?);
        let rows = RowConverter::new(vec![field])?.convert_columns(&[with_plain_floats(first)])?;
        Ok(KeyBound::Rows(if rows.num_rows() == 1 { rows.row(0).as_ref().to_vec() } else { return Err(lacks()) }))
    }
}

/// How many bytes a column of this type takes in a fixed key.
fn fixed_bytes(kind: &TypeKind) -> Option<u32> {
    match kind {
        TypeKind::Boolean | TypeKind::TinyInt => Some(1),
        TypeKind::SmallInt => Some(2),
        TypeKind::Int | TypeKind::Date | TypeKind::Time(_) | TypeKind::Float => Some(4),
        TypeKind::BigInt | TypeKind::Double | TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_) => Some(8),
        TypeKind::Decimal { precision, .. } if *precision <= 18 => Some(8),
        TypeKind::Decimal { .. } => Some(16),
        _ => None,
    }
}

/// Shifts keys left by the width of a column and puts its values, in unsigned order, below.
fn append(keys: &mut [u128], column: &ArrayRef, slot: Slot) -> Result<()> {
    macro_rules! signed {
        ($arrow:ty, $bits:literal) => {{
            let values = column.as_primitive::<$arrow>().values().iter();
            shift_in::<$bits>(keys, values.map(|value| flipped::<$bits>(i128::from(*value))), column, slot)
        }};
    }
    macro_rules! float {
        ($arrow:ty, $plain:ident, $signed:ty, $bits:literal) => {{
            let values = column.as_primitive::<$arrow>().values().iter();
            let bits = values.map(|value| {
                let bits = $plain(*value).to_bits() as $signed;
                let ordered = bits ^ (((bits >> ($bits - 1)) as $signed) & <$signed>::MAX);
                flipped::<$bits>(i128::from(ordered))
            });
            shift_in::<$bits>(keys, bits, column, slot)
        }};
    }
    match column.data_type() {
        ArrowType::Boolean => shift_in::<8>(keys, column.as_boolean().values().iter().map(u128::from), column, slot),
        ArrowType::Int8 => signed!(Int8Type, 8),
        ArrowType::Int16 => signed!(Int16Type, 16),
        ArrowType::Int32 => signed!(Int32Type, 32),
        ArrowType::Date32 => signed!(Date32Type, 32),
        ArrowType::Time32(TimeUnit::Millisecond) => signed!(Time32MillisecondType, 32),
        ArrowType::Int64 => signed!(Int64Type, 64),
        ArrowType::Timestamp(TimeUnit::Second, _) => signed!(TimestampSecondType, 64),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => signed!(TimestampMillisecondType, 64),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => signed!(TimestampMicrosecondType, 64),
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => signed!(TimestampNanosecondType, 64),
        ArrowType::Decimal128(..) if slot.value_bytes == 8 => signed!(Decimal128Type, 64),
        ArrowType::Decimal128(..) => signed!(Decimal128Type, 128),
        ArrowType::Float32 => float!(Float32Type, plain_f32, i32, 32),
        ArrowType::Float64 => float!(Float64Type, plain_f64, i64, 64),
        other => Err(Error::internal(format!("a key column of type {other} has no fixed width"))),
    }
}

/// The low `BITS` bits of a number in unsigned order.
fn flipped<const BITS: u32>(value: i128) -> u128 {
    (value as u128 & (u128::MAX >> (128 - BITS))) ^ (1u128 << (BITS - 1))
}

/// Puts the bits of a column's values, of which each has `BITS`, below what keys have, with a byte for NULL where there may
/// be one.
fn shift_in<const BITS: u32>(
    keys: &mut [u128],
    bits: impl Iterator<Item = u128>,
    column: &ArrayRef,
    slot: Slot,
) -> Result<()> {
    if slot.value_bytes * 8 != BITS {
        return Err(Error::internal(format!("a key column of {BITS} bits, not {} bytes", slot.value_bytes)));
    }
    if !slot.nullable {
        if column.null_count() > 0 {
            return Err(Error::corrupt("NULL in a column of the primary key"));
        }
        keys.iter_mut().zip(bits).for_each(|(key, bits)| *key = key.checked_shl(BITS).unwrap_or(0) | bits);
        return Ok(());
    }
    let present = 1u128.checked_shl(BITS).unwrap_or(0);
    for (row, (key, bits)) in keys.iter_mut().zip(bits).enumerate() {
        let bits = if column.is_valid(row) { present | bits } else { 0 };
        *key = key.checked_shl(BITS + 8).unwrap_or(0) | bits;
    }
    Ok(())
}

fn plain_f32(value: f32) -> f32 {
    // Adding zero makes -0.0 positive.
    if value.is_nan() { f32::NAN } else { value + 0.0 }
}

fn plain_f64(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}

/// A column with one zero and one NaN, which is how the reference compares floating point numbers of keys and sequences.
pub fn with_plain_floats(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        ArrowType::Float32 => Arc::new(unary::<_, _, Float32Type>(column.as_primitive::<Float32Type>(), plain_f32)),
        ArrowType::Float64 => Arc::new(unary::<_, _, Float64Type>(column.as_primitive::<Float64Type>(), plain_f64)),
        _ => Arc::clone(column),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        BooleanArray, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, StringViewArray, UInt32Array,
    };
    use arrow::compute::take;

    use super::*;

    fn fields(types: &[&str]) -> Vec<DataField> {
        types
            .iter()
            .enumerate()
            .map(|(i, t)| DataField::new(i as i32, i.to_string(), DataType::parse(t).unwrap()))
            .collect()
    }

    /// Rows that are given in ascending order, of which `equal` names neighbours that are equal.
    fn check(types: &[&str], columns: &[ArrayRef], equal: &[usize]) {
        let keys = KeyEncoder::new(&fields(types)).unwrap().encode(columns).unwrap();
        for i in 1..columns[0].len() {
            let want = if equal.contains(&i) { Ordering::Equal } else { Ordering::Less };
            assert_eq!(keys.compare(i - 1, &keys, i), want, "{types:?} row {i}");
            assert_eq!(keys.compare(i, &keys, i - 1), want.reverse(), "{types:?} row {i}");
        }
    }

    #[test]
    fn keys_have_the_order_of_the_reference() {
        let nan2 = f64::from_bits(0xfff8_0000_0000_0001);
        let doubles = vec![f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.0, f64::INFINITY, f64::NAN, nan2];
        for nullability in ["", " NOT NULL"] {
            let t = |t: &str| format!("{t}{nullability}");
            check(&[&t("DOUBLE")], &[Arc::new(Float64Array::from(doubles.clone()))], &[3, 7]);
            let floats: Vec<f32> = doubles.iter().map(|d| *d as f32).collect();
            check(&[&t("FLOAT")], &[Arc::new(Float32Array::from(floats))], &[3, 7]);
            check(&[&t("BIGINT")], &[Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, 1, i64::MAX]))], &[]);
            check(&[&t("BOOLEAN")], &[Arc::new(BooleanArray::from(vec![false, true]))], &[]);
            let decimals =
                Decimal128Array::from(vec![-10i128.pow(37), -1, 0, 10i128.pow(37)]).with_precision_and_scale(38, 2);
            check(&[&t("DECIMAL(38, 2)")], &[Arc::new(decimals.unwrap())], &[]);
            let pair: [ArrayRef; 2] =
                [Arc::new(Int64Array::from(vec![-5, -5, -5, 7])), Arc::new(Int32Array::from(vec![-1, 3, 3, -9]))];
            check(&[&t("BIGINT"), &t("INT")], &pair, &[2]);
            let texts = StringViewArray::from(vec!["", "a", "aa", "b", "é", "\u{ffff}", "\u{10000}"]);
            check(&[&t("STRING")], &[Arc::new(texts)], &[]);
        }
        check(&["INT"], &[Arc::new(Int32Array::from(vec![None, None, Some(i32::MIN), Some(0)]))], &[1]);
        let pair: [ArrayRef; 2] = [
            Arc::new(BooleanArray::from(vec![None, None, Some(false), Some(true)])),
            Arc::new(Int64Array::from(vec![None, Some(-7), Some(9), None])),
        ];
        check(&["BOOLEAN", "BIGINT"], &pair, &[]);
    }

    #[test]
    fn keys_below_a_value_of_the_first_column() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![-7, -7, 0, 5, 5]));
        let more: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, 1, -1, i64::MIN, i64::MAX]));
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["", "", "a", "ab", "ab"]));
        let others: ArrayRef = Arc::new(StringViewArray::from(vec!["", "z", "", "", "z"]));
        let turned = UInt32Array::from(vec![0, 1, 4, 3, 2]);
        for (types, columns) in [
            (vec!["INT NOT NULL"], vec![&numbers]),
            (vec!["INT NOT NULL", "BIGINT NOT NULL"], vec![&numbers, &more]),
            (vec!["INT NOT NULL", "STRING NOT NULL"], vec![&numbers, &others]),
            (vec!["STRING NOT NULL", "STRING NOT NULL"], vec![&texts, &others]),
        ] {
            let encoder = KeyEncoder::new(&fields(&types)).unwrap();
            let columns: Vec<_> = columns.into_iter().cloned().collect();
            let keys = encoder.encode(&columns).unwrap();
            let below: Vec<_> =
                (0..5).map(|at| keys.below(&encoder.bound(&columns[0].slice(at, 1)).unwrap())).collect();
            assert_eq!(below, [0, 0, 2, 3, 3], "{types:?}");
            let bound = encoder.bound(&columns[0].slice(3, 1)).unwrap();
            let each: Vec<_> = (0..6).map(|row| keys.is_below(row, &bound)).collect();
            assert_eq!(each, [true, true, true, false, false, false], "{types:?}");
            assert_eq!(keys.ascend(), types.len() == 2, "{types:?}");
            let turned: Vec<_> = columns.iter().map(|column| take(column, &turned, None).unwrap()).collect();
            assert!(!encoder.encode(&turned).unwrap().ascend());
        }
    }

    #[test]
    fn null_in_a_not_null_key_is_an_error() {
        let encoder = KeyEncoder::new(&fields(&["INT NOT NULL"])).unwrap();
        assert!(encoder.encode(&[Arc::new(Int32Array::from(vec![None, Some(1)]))]).is_err());
    }
}
