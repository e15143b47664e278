//! Values of any type as bytes that are equal where the values are.
//!
//! In: a row of an array of a canonical type. Out: bytes, appended, that no other value of the type has and that are no
//! prefix of another's. So values can stand in hash sets whatever they are. Equal as in Java: NULLs are equal, NaNs are
//! equal, -0.0 is not 0.0, the entries of a map have no order.
//!
//! ```text
//! NULL      00
//! number    01 little endian          text, bytes   01 length u32, bytes
//! list      01 length u32, elements   row           01 fields        map   01 length u32, entries in order of their bytes
//! ```

use arrow::array::{Array, ArrowPrimitiveType, AsArray};
use arrow::datatypes::{
    ArrowNativeType, DataType as ArrowType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, ToByteSlice,
};

use crate::error::{Error, Result};

/// The bytes of one value.
pub(super) fn value_bytes(array: &dyn Array, row: usize) -> Result<Box<[u8]>> {
    let mut out = Vec::new();
    append_value(array, row, &mut out)?;
    Ok(out.into_boxed_slice())
}

/// Appends the bytes of one value.
pub(super) fn append_value(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<()> {
    if row >= array.len() {
        return Err(Error::internal(format!("no row {row} among {}", array.len())));
    }
    if array.is_null(row) {
        out.push(0);
        return Ok(());
    }
    out.push(1);
    match array.data_type() {
        ArrowType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            out.extend_from_slice((if value.is_nan() { f32::NAN } else { value }).to_byte_slice());
        }
        ArrowType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            out.extend_from_slice((if value.is_nan() { f64::NAN } else { value }).to_byte_slice());
        }
        ArrowType::Utf8 => sized(array.as_string::<i32>().value(row).as_bytes(), out)?,
        ArrowType::Utf8View => sized(array.as_string_view().value(row).as_bytes(), out)?,
        ArrowType::Binary => sized(array.as_binary::<i32>().value(row), out)?,
        ArrowType::BinaryView => sized(array.as_binary_view().value(row), out)?,
        ArrowType::Struct(_) => {
            array.as_struct().columns().iter().try_for_each(|column| append_value(column, row, out))?;
        }
        ArrowType::List(_) => elements(&array.as_list::<i32>().value(row), out)?,
        ArrowType::FixedSizeList(..) => elements(&array.as_fixed_size_list().value(row), out)?,
        ArrowType::Map(..) => entries(&array.as_map().value(row), out)?,
        _ => append_fixed(array, row, out)?,
    }
    Ok(())
}

fn append_fixed(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<()> {
    match array.data_type() {
        ArrowType::Boolean => out.push(array.as_boolean().value(row).into()),
        ArrowType::Int8 => fixed::<Int8Type>(array, row, out),
        ArrowType::Int16 => fixed::<Int16Type>(array, row, out),
        ArrowType::Int32 => fixed::<Int32Type>(array, row, out),
        ArrowType::Int64 => fixed::<Int64Type>(array, row, out),
        ArrowType::Decimal128(..) => fixed::<Decimal128Type>(array, row, out),
        ArrowType::Date32 => fixed::<Date32Type>(array, row, out),
        ArrowType::Time32(TimeUnit::Millisecond) => fixed::<Time32MillisecondType>(array, row, out),
        ArrowType::Timestamp(TimeUnit::Second, _) => fixed::<TimestampSecondType>(array, row, out),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => fixed::<TimestampMillisecondType>(array, row, out),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => fixed::<TimestampMicrosecondType>(array, row, out),
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => fixed::<TimestampNanosecondType>(array, row, out),
        other => return Err(Error::internal(format!("{other} is no type of a table's value"))),
    }
    Ok(())
}

fn fixed<P: ArrowPrimitiveType>(array: &dyn Array, row: usize, out: &mut Vec<u8>)
where
    P::Native: ArrowNativeType,
{
    out.extend_from_slice(array.as_primitive::<P>().value(row).to_byte_slice());
}

fn length(length: usize, out: &mut Vec<u8>) -> Result<()> {
    let length = u32::try_from(length).map_err(|_| Error::corrupt("a value of more than 4 GiB"))?;
    out.extend_from_slice(&length.to_le_bytes());
    Ok(())
}

fn sized(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    length(bytes.len(), out)?;
    out.extend_from_slice(bytes);
    Ok(())
}

fn elements(array: &dyn Array, out: &mut Vec<u8>) -> Result<()> {
    length(array.len(), out)?;
    (0..array.len()).try_for_each(|row| append_value(array, row, out))
}

fn entries(array: &dyn Array, out: &mut Vec<u8>) -> Result<()> {
    let mut entries = (0..array.len()).map(|row| value_bytes(array, row)).collect::<Result<Vec<_>>>()?;
    entries.sort_unstable();
    length(entries.len(), out)?;
    entries.iter().for_each(|entry| out.extend_from_slice(entry));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, StringArray, StructArray};
    use arrow::datatypes::Field;

    use super::*;
    use crate::exec::merge::aggregate::testing::column;

    fn same(array: &ArrayRef, a: usize, b: usize) -> bool {
        value_bytes(array, a).unwrap() == value_bytes(array, b).unwrap()
    }

    #[test]
    fn bytes_are_equal_where_values_are() {
        let nan = f64::from_bits(0x7ff8_0000_0000_0007);
        let floats: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(-0.0), Some(0.0), Some(f64::NAN), Some(-nan), None]));
        assert!(!same(&floats, 0, 1) && same(&floats, 2, 3) && !same(&floats, 1, 4) && same(&floats, 4, 4));
        let field = |name: &str| Arc::new(Field::new(name, ArrowType::Utf8, true));
        let texts = |v: &[&str]| Arc::new(StringArray::from(v.to_vec())) as ArrayRef;
        let rows: ArrayRef = Arc::new(StructArray::from(vec![
            (field("a"), texts(&["ab", "a", "ab"])),
            (field("b"), texts(&["c", "bc", "c"])),
        ]));
        assert!(!same(&rows, 0, 1) && same(&rows, 0, 2));
    }

    #[test]
    fn the_entries_of_a_map_have_no_order_but_elements_of_a_list_do() {
        let maps = column(
            "MAP<STRING, INT>",
            &[r#"[["a",1],["b",null]]"#, r#"[["b",null],["a",1]]"#, r#"[["a",null],["b",1]]"#, "null"],
        );
        assert!(same(&maps, 0, 1) && !same(&maps, 0, 2) && !same(&maps, 0, 3));
        let lists = column("ARRAY<ARRAY<INT>>", &["[[1], [2]]", "[[1, 2]]", "[[2], [1]]", "[[1], [2]]", "[]", "null"]);
        assert!(!same(&lists, 0, 1) && !same(&lists, 0, 2) && same(&lists, 0, 3) && !same(&lists, 4, 5));
    }
}
