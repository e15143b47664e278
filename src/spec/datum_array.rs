//! Arrays of [`Datum`]s: how partition values, which are in no file, become columns.
//!
//! In: a type and values of it. Out: an array of exactly [`column_type`](super::arrow_type::column_type). A value of
//! another type is an error, and so is a timestamp that the unit of its precision cannot hold.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Decimal128Array, FixedSizeListArray, ListArray, MapArray,
    PrimitiveArray, StringArray, StringViewArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType as ArrowType, Date32Type, FieldRef, Fields, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time32MillisecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};

use super::arrow_type::{LTZ_ZONE, nested_type, timestamp_unit, variant_fields};
use super::data_type::{DataField, DataType, TypeKind};
use super::datum::Datum;
use crate::error::{Error, Result};

/// More elements than this in vectors come from no table.
const MAX_VECTOR_ELEMENTS: usize = 1 << 26;

/// The values as a column of the table.
pub fn datums_to_array(data_type: &DataType, values: &[Option<Datum>]) -> Result<ArrayRef> {
    let values: Vec<_> = values.iter().map(Option::as_ref).collect();
    match data_type.kind {
        TypeKind::Char(_) | TypeKind::VarChar(_) => {
            let texts = map_values(data_type, &values, as_text)?;
            Ok(Arc::new(StringViewArray::from_iter(texts)))
        }
        TypeKind::Binary(_)
        | TypeKind::VarBinary(_)
        | TypeKind::Blob
        | TypeKind::Geometry(_)
        | TypeKind::Geography(..) => {
            let bytes = map_values(data_type, &values, as_bytes)?;
            Ok(Arc::new(BinaryViewArray::from_iter(bytes)))
        }
        _ => nested_array(data_type, &values),
    }
}

/// Values as they are inside of a nested type.
fn nested_array(data_type: &DataType, values: &[Option<&Datum>]) -> Result<ArrayRef> {
    macro_rules! primitive {
        ($arrow:ty, $variant:path) => {
            primitive::<$arrow>(data_type, values, |d| if let $variant(v) = d { Some(*v) } else { None })
        };
    }
    match &data_type.kind {
        TypeKind::Boolean => {
            let flags = map_values(data_type, values, |d| if let Datum::Boolean(v) = d { Some(*v) } else { None })?;
            Ok(Arc::new(BooleanArray::from(flags)))
        }
        TypeKind::TinyInt => primitive!(Int8Type, Datum::TinyInt),
        TypeKind::SmallInt => primitive!(Int16Type, Datum::SmallInt),
        TypeKind::Int => primitive!(Int32Type, Datum::Int),
        TypeKind::BigInt => primitive!(Int64Type, Datum::BigInt),
        TypeKind::Float => primitive!(Float32Type, Datum::Float),
        TypeKind::Double => primitive!(Float64Type, Datum::Double),
        TypeKind::Date => primitive!(Date32Type, Datum::Date),
        TypeKind::Time(_) => primitive!(Time32MillisecondType, Datum::Time),
        TypeKind::Decimal { precision, scale } => decimals(data_type, values, *precision, *scale),
        TypeKind::Char(_) | TypeKind::VarChar(_) => {
            Ok(Arc::new(StringArray::from(map_values(data_type, values, as_text)?)))
        }
        TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob => binaries(data_type, values),
        TypeKind::Geometry(_) | TypeKind::Geography(..) => binaries(data_type, values),
        TypeKind::Timestamp(p) => timestamps(data_type, values, *p, None),
        TypeKind::TimestampLtz(p) => timestamps(data_type, values, *p, Some(LTZ_ZONE)),
        TypeKind::Array(element) => lists(data_type, values, element),
        TypeKind::Vector(element, length) => vectors(data_type, values, element, *length),
        TypeKind::Map(key, value) => maps(data_type, values, key, value),
        TypeKind::Multiset(element) => maps(data_type, values, element, &TypeKind::Int.not_null()),
        TypeKind::Row(fields) => rows(data_type, values, fields),
        TypeKind::Variant => variants(data_type, values),
    }
}

/// Every value through `f`, which answers `None` for a value of another type.
fn map_values<'v, T>(
    data_type: &DataType,
    values: &[Option<&'v Datum>],
    f: impl Fn(&'v Datum) -> Option<T>,
) -> Result<Vec<Option<T>>> {
    let wrong = |d: &Datum| Error::internal(format!("a value of {} for the type {data_type}", d.kind()));
    values.iter().map(|value| value.map(|d| f(d).ok_or_else(|| wrong(d))).transpose()).collect()
}

fn primitive<T: ArrowPrimitiveType>(
    data_type: &DataType,
    values: &[Option<&Datum>],
    f: impl Fn(&Datum) -> Option<T::Native>,
) -> Result<ArrayRef> {
    let natives = map_values(data_type, values, f)?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(natives)))
}

fn as_text(datum: &Datum) -> Option<&str> {
    if let Datum::String(v) = datum { Some(v) } else { None }
}

fn as_bytes(datum: &Datum) -> Option<&[u8]> {
    if let Datum::Bytes(v) = datum { Some(v) } else { None }
}

fn as_elements(datum: &Datum) -> Option<&Vec<Option<Datum>>> {
    if let Datum::Array(v) = datum { Some(v) } else { None }
}

fn binaries(data_type: &DataType, values: &[Option<&Datum>]) -> Result<ArrayRef> {
    Ok(Arc::new(BinaryArray::from(map_values(data_type, values, as_bytes)?)))
}

fn decimals(data_type: &DataType, values: &[Option<&Datum>], precision: u8, scale: u8) -> Result<ArrayRef> {
    let unscaled = map_values(data_type, values, |d| match d {
        Datum::Decimal { unscaled, scale: s, .. } if *s == scale => Some(*unscaled),
        _ => None,
    })?;
    Ok(Arc::new(Decimal128Array::from(unscaled).with_precision_and_scale(precision, scale as i8)?))
}

fn timestamps(data_type: &DataType, values: &[Option<&Datum>], precision: u8, zone: Option<&str>) -> Result<ArrayRef> {
    let unit = timestamp_unit(precision);
    let parts = map_values(data_type, values, |d| match d {
        Datum::Timestamp { millis, nano_of_milli } => Some((*millis, i64::from(*nano_of_milli))),
        _ => None,
    })?;
    let in_unit = |(millis, nanos): (i64, i64)| {
        let millis_in_unit = |per_milli: i128| i128::from(millis) * per_milli;
        let value = match unit {
            TimeUnit::Second => millis.div_euclid(1000).into(),
            TimeUnit::Millisecond => millis.into(),
            TimeUnit::Microsecond => millis_in_unit(1000) + i128::from(nanos / 1000),
            TimeUnit::Nanosecond => millis_in_unit(1_000_000) + i128::from(nanos),
        };
        let wrong = || format!("{millis} milliseconds since 1970 as {data_type}, whose unit cannot hold them");
        i64::try_from(value).map_err(|_| Error::unsupported(wrong()))
    };
    let raw = parts.into_iter().map(|p| p.map(in_unit).transpose()).collect::<Result<Vec<_>>>()?;
    Ok(match unit {
        TimeUnit::Second => zoned::<TimestampSecondType>(raw, zone),
        TimeUnit::Millisecond => zoned::<TimestampMillisecondType>(raw, zone),
        TimeUnit::Microsecond => zoned::<TimestampMicrosecondType>(raw, zone),
        TimeUnit::Nanosecond => zoned::<TimestampNanosecondType>(raw, zone),
    })
}

fn zoned<T: arrow::datatypes::ArrowTimestampType>(raw: Vec<Option<i64>>, zone: Option<&str>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter(raw).with_timezone_opt(zone))
}

/// Which of the values are there; `None` when all are.
fn validity(values: &[Option<&Datum>]) -> Option<NullBuffer> {
    let all = values.iter().all(Option::is_some);
    (!all).then(|| values.iter().map(Option::is_some).collect::<Vec<_>>().into())
}

/// The field of the elements of a list or the entries of a map, as the type mapping names it.
fn child_field(data_type: &DataType) -> Result<FieldRef> {
    match nested_type(data_type) {
        ArrowType::List(field) | ArrowType::FixedSizeList(field, _) | ArrowType::Map(field, _) => Ok(field),
        other => Err(Error::internal(format!("{data_type} is no list but {other}"))),
    }
}

fn lists(data_type: &DataType, values: &[Option<&Datum>], element: &DataType) -> Result<ArrayRef> {
    let lists = map_values(data_type, values, as_elements)?;
    let offsets = OffsetBuffer::from_lengths(lists.iter().map(|l| l.map_or(0, Vec::len)));
    let elements: Vec<_> = lists.into_iter().flatten().flatten().map(Option::as_ref).collect();
    let elements = nested_array(element, &elements)?;
    Ok(Arc::new(ListArray::try_new(child_field(data_type)?, offsets, elements, validity(values))?))
}

fn vectors(data_type: &DataType, values: &[Option<&Datum>], element: &DataType, length: u32) -> Result<ArrayRef> {
    let width = length as usize;
    let wanted = values.len().checked_mul(width).filter(|all| *all <= MAX_VECTOR_ELEMENTS);
    let wanted = wanted.ok_or_else(|| Error::unsupported(format!("{} values of {data_type}", values.len())))?;
    let vectors = map_values(data_type, values, |d| as_elements(d).filter(|v| v.len() == width))?;
    let mut elements = Vec::with_capacity(wanted);
    for vector in vectors {
        match vector {
            Some(vector) => elements.extend(vector.iter().map(Option::as_ref)),
            None => elements.extend(std::iter::repeat_n(None, width)),
        }
    }
    let elements = nested_array(element, &elements)?;
    let size = i32::try_from(length).map_err(|_| Error::unsupported(format!("{data_type}")))?;
    Ok(Arc::new(FixedSizeListArray::try_new(child_field(data_type)?, size, elements, validity(values))?))
}

fn maps(data_type: &DataType, values: &[Option<&Datum>], key: &DataType, value: &DataType) -> Result<ArrayRef> {
    let maps = map_values(data_type, values, |d| if let Datum::Map(v) = d { Some(v) } else { None })?;
    let offsets = OffsetBuffer::from_lengths(maps.iter().map(|m| m.map_or(0, Vec::len)));
    let entries: Vec<_> = maps.into_iter().flatten().flatten().collect();
    let keys: Vec<_> = entries.iter().map(|(k, _)| k.as_ref()).collect();
    let items: Vec<_> = entries.iter().map(|(_, v)| v.as_ref()).collect();
    let field = child_field(data_type)?;
    let ArrowType::Struct(fields) = field.data_type() else {
        return Err(Error::internal("the entries of a map are no struct"));
    };
    let columns = vec![nested_array(key, &keys)?, nested_array(value, &items)?];
    let entries = StructArray::try_new(fields.clone(), columns, None)?;
    Ok(Arc::new(MapArray::try_new(field, offsets, entries, validity(values), false)?))
}

fn rows(data_type: &DataType, values: &[Option<&Datum>], fields: &[DataField]) -> Result<ArrayRef> {
    let rows = map_values(data_type, values, |d| match d {
        Datum::Row(v) if v.len() == fields.len() => Some(v),
        _ => None,
    })?;
    if fields.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(values.len(), validity(values))));
    }
    let column = |(i, field): (usize, &DataField)| {
        let column: Vec<_> = rows.iter().map(|r| r.and_then(|r| r.get(i)).and_then(Option::as_ref)).collect();
        nested_array(&field.data_type, &column)
    };
    let columns = fields.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
    struct_array(super::arrow_type::nested_fields(fields), columns, validity(values))
}

fn variants(data_type: &DataType, values: &[Option<&Datum>]) -> Result<ArrayRef> {
    let parts = map_values(data_type, values, |d| match d {
        Datum::Variant { value, metadata } => Some((value.as_slice(), metadata.as_slice())),
        _ => None,
    })?;
    // The children are NOT NULL: what lies below a NULL is empty bytes.
    let parts: Vec<_> = parts.into_iter().map(|p| p.unwrap_or_default()).collect();
    let values_column = BinaryArray::from_iter_values(parts.iter().map(|(value, _)| value));
    let metadata = BinaryArray::from_iter_values(parts.iter().map(|(_, metadata)| metadata));
    let columns: Vec<ArrayRef> = vec![Arc::new(values_column), Arc::new(metadata)];
    struct_array(variant_fields(), columns, validity(values))
}

fn struct_array(fields: Fields, columns: Vec<ArrayRef>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(Arc::new(StructArray::try_new(fields, columns, nulls)?))
}

#[cfg(test)]
mod tests {
    use arrow::array::Array;

    use super::super::arrow_type::column_type;
    use super::*;

    fn array(text: &str, values: &[Option<Datum>]) -> Result<ArrayRef> {
        datums_to_array(&DataType::parse(text).unwrap(), values)
    }

    fn timestamp(millis: i64, nano_of_milli: i32) -> Option<Datum> {
        Some(Datum::Timestamp { millis, nano_of_milli })
    }

    #[test]
    fn timestamps_take_the_unit_of_their_precision() {
        let value = timestamp(-1, 234_567);
        for (text, want) in [
            ("TIMESTAMP(0)", -1),
            ("TIMESTAMP(3)", -1),
            ("TIMESTAMP(6)", -766),
            ("TIMESTAMP_LTZ(9)", -765_433),
            ("TIMESTAMP(9)", -765_433),
        ] {
            let got = array(text, &[value.clone(), None]).unwrap();
            assert_eq!(got.data_type(), &column_type(&DataType::parse(text).unwrap()), "{text}");
            let raw = arrow::compute::cast(&got, &ArrowType::Int64).unwrap();
            let raw = raw.as_any().downcast_ref::<PrimitiveArray<Int64Type>>().unwrap();
            assert_eq!((raw.value(0), raw.is_null(1)), (want, true), "{text}");
        }
        assert!(array("TIMESTAMP(6)", &[timestamp(i64::MAX / 1000, 807_999)]).is_ok());
        assert!(array("TIMESTAMP(6)", &[timestamp(i64::MAX / 1000, 808_000)]).is_err());
        assert!(array("TIMESTAMP(9)", &[timestamp(253_402_300_799_000, 0)]).is_err());
    }

    #[test]
    fn nested_values_keep_their_shape_and_nulls() {
        let int = |v| Some(Datum::Int(v));
        let text = |v: &str| Some(Datum::String(v.into()));
        let cases = [
            ("STRING", vec![text("long enough to leave the view"), None]),
            ("BYTES", vec![Some(Datum::Bytes(vec![1; 20])), None]),
            ("ARRAY<STRING>", vec![Some(Datum::Array(vec![text("a"), None])), None, Some(Datum::Array(vec![]))]),
            ("VECTOR<INT NOT NULL, 2>", vec![None, Some(Datum::Array(vec![int(1), int(2)]))]),
            ("MAP<STRING, INT>", vec![Some(Datum::Map(vec![(text("a"), None), (text("b"), int(2))])), None]),
            ("MULTISET<INT>", vec![Some(Datum::Map(vec![(int(7), int(2))]))]),
            ("ROW<a INT NOT NULL, b STRING>", vec![Some(Datum::Row(vec![int(1), text("x")])), None]),
            ("ROW<>", vec![Some(Datum::Row(vec![])), None]),
            ("VARIANT", vec![Some(Datum::Variant { value: vec![1], metadata: vec![2] }), None]),
            ("ARRAY<ROW<a ARRAY<BYTES>>>", vec![]),
        ];
        for (t, values) in cases {
            let got = array(t, &values).unwrap();
            assert_eq!(got.data_type(), &column_type(&DataType::parse(t).unwrap()), "{t}");
            let nulls: Vec<_> = (0..got.len()).map(|i| got.is_null(i)).collect();
            assert_eq!(nulls, values.iter().map(Option::is_none).collect::<Vec<_>>(), "{t}");
        }
    }

    #[test]
    fn values_of_another_type_are_errors() {
        for (t, value) in [
            ("INT", Datum::BigInt(1)),
            ("DECIMAL(5, 2)", Datum::Decimal { unscaled: 1, precision: 5, scale: 1 }),
            ("ARRAY<INT>", Datum::Array(vec![Some(Datum::Boolean(true))])),
            ("ARRAY<INT NOT NULL>", Datum::Array(vec![None])),
            ("VECTOR<INT, 2>", Datum::Array(vec![Some(Datum::Int(1))])),
            ("ROW<a INT>", Datum::Row(vec![])),
            ("MAP<INT, INT>", Datum::Map(vec![(None, None)])),
        ] {
            assert!(array(t, &[Some(value.clone())]).is_err(), "{t} {value:?}");
        }
    }
}
