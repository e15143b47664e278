//! From filled columns to Arrow arrays.
//!
//! In: a [`Column`] and the Arrow field that it was compiled for. Out: the array of all values since the last call;
//! the column is empty again, with room for as many. Text is checked for UTF-8 here, a whole column at once.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeListArray, ListArray,
    MapArray, PrimitiveArray, StringArray, StringViewArray, StructArray, new_null_array,
};
use arrow::buffer::{Buffer as ArrowBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType as ArrowType, Date32Type, Decimal128Type, Field as ArrowField, FieldRef, Fields, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};

use super::column::{Buffer, Column, Record, Step, Values};
use crate::error::{Error, Result};

impl Column {
    /// The array of the values so far.
    pub(super) fn finish(&mut self, field: &ArrowField) -> Result<ArrayRef> {
        let nulls = self.validity.finish();
        self.values
            .finish(field, nulls)
            .map_err(|e| Error::new(e.kind(), format!("column '{}'", field.name())).caused_by(e))
    }
}

impl Values {
    fn finish(&mut self, field: &ArrowField, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let data_type = field.data_type();
        Ok(match self {
            Values::Boolean(v) => Arc::new(BooleanArray::new(v.finish(), nulls)),
            Values::Int8(v) => primitive::<Int8Type>(v, data_type, nulls)?,
            Values::Int16(v) => primitive::<Int16Type>(v, data_type, nulls)?,
            Values::Int32(v) => match data_type {
                ArrowType::Date32 => primitive::<Date32Type>(v, data_type, nulls)?,
                ArrowType::Time32(_) => primitive::<Time32MillisecondType>(v, data_type, nulls)?,
                _ => primitive::<Int32Type>(v, data_type, nulls)?,
            },
            Values::Int64(v) | Values::Scaled(v, _) => longs(v, data_type, nulls)?,
            Values::Float32(v) => primitive::<Float32Type>(v, data_type, nulls)?,
            Values::Float64(v) => primitive::<Float64Type>(v, data_type, nulls)?,
            Values::Decimal(v, _) => primitive::<Decimal128Type>(v, data_type, nulls)?,
            Values::Bytes(buffer, _) | Values::Enum(buffer, _) => bytes(buffer, data_type, nulls)?,
            Values::Struct(record) => match data_type {
                ArrowType::Struct(fields) => Arc::new(record.finish(fields, nulls)?),
                other => return Err(lost(other)),
            },
            Values::List(..) | Values::Vector(..) | Values::Map(..) => self.finish_items(data_type, nulls)?,
        })
    }

    fn finish_items(&mut self, data_type: &ArrowType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        Ok(match (self, data_type) {
            (Values::List(ends, item), ArrowType::List(field)) => {
                let values = item.finish(field)?;
                Arc::new(ListArray::try_new(Arc::clone(field), offsets(ends), values, nulls)?)
            }
            (Values::List(ends, item), ArrowType::Map(field, ordered)) => {
                let entries = item.finish(field)?;
                map(field, offsets(ends), entries, nulls, *ordered)?
            }
            (Values::Map(ends, keys, values), ArrowType::Map(field, ordered)) => {
                let ArrowType::Struct(fields) = field.data_type() else { return Err(lost(data_type)) };
                let [key, value] = fields.as_ref() else { return Err(lost(data_type)) };
                let arrays = vec![bytes(keys, key.data_type(), None)?, values.finish(value)?];
                let entries = StructArray::try_new(fields.clone(), arrays, None)?;
                map(field, offsets(ends), Arc::new(entries), nulls, *ordered)?
            }
            (Values::Vector(_, rows, item), ArrowType::FixedSizeList(field, n)) => {
                let values = item.finish(field)?;
                let rows = std::mem::take(rows);
                Arc::new(FixedSizeListArray::try_new_with_length(Arc::clone(field), *n, values, nulls, rows)?)
            }
            (_, other) => return Err(lost(other)),
        })
    }
}

impl Record {
    /// The struct of the values so far; fields that the file lacks are NULL.
    pub(super) fn finish(&mut self, fields: &Fields, nulls: Option<NullBuffer>) -> Result<StructArray> {
        let rows = self.rows;
        let arrays = self.finish_fields(fields)?;
        Ok(StructArray::try_new_with_length(fields.clone(), arrays, nulls, rows)?)
    }

    pub(super) fn finish_fields(&mut self, fields: &Fields) -> Result<Vec<ArrayRef>> {
        let rows = std::mem::take(&mut self.rows);
        let mut arrays: Vec<Option<ArrayRef>> = vec![None; fields.len()];
        for step in &mut self.steps {
            let Step::Read(position, column) = step else { continue };
            if let (Some(array), Some(field)) = (arrays.get_mut(*position), fields.get(*position)) {
                *array = Some(column.finish(field)?);
            }
        }
        let missing = |field: &FieldRef| new_null_array(field.data_type(), rows);
        Ok(arrays.into_iter().zip(fields).map(|(array, field)| array.unwrap_or_else(|| missing(field))).collect())
    }
}

fn lost(data_type: &ArrowType) -> Error {
    Error::internal(format!("an Avro column was not compiled for {data_type}"))
}

/// The vector's values; it keeps room for as many.
fn take<T>(values: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(values.len());
    std::mem::replace(values, room)
}

fn primitive<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    data_type: &ArrowType,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    if !PrimitiveArray::<T>::is_compatible(data_type) {
        return Err(lost(data_type));
    }
    let array = PrimitiveArray::<T>::try_new(ScalarBuffer::from(take(values)), nulls)?;
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

fn longs(values: &mut Vec<i64>, data_type: &ArrowType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    match data_type {
        ArrowType::Timestamp(TimeUnit::Second, _) => primitive::<TimestampSecondType>(values, data_type, nulls),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => {
            primitive::<TimestampMillisecondType>(values, data_type, nulls)
        }
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<TimestampMicrosecondType>(values, data_type, nulls)
        }
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => primitive::<TimestampNanosecondType>(values, data_type, nulls),
        _ => primitive::<Int64Type>(values, data_type, nulls),
    }
}

fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    offsets.append(ends);
    OffsetBuffer::new(offsets.into())
}

/// Views are made of the plain array, which is checked as a whole, much faster than value by value.
fn bytes(buffer: &mut Buffer, data_type: &ArrowType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let offsets = offsets(&mut buffer.ends);
    let data = ArrowBuffer::from_vec(take(&mut buffer.data));
    Ok(match data_type {
        ArrowType::Utf8 => Arc::new(StringArray::try_new(offsets, data, nulls)?),
        ArrowType::Utf8View => Arc::new(StringViewArray::from(&StringArray::try_new(offsets, data, nulls)?)),
        ArrowType::Binary => Arc::new(BinaryArray::try_new(offsets, data, nulls)?),
        ArrowType::BinaryView => Arc::new(BinaryViewArray::from(&BinaryArray::try_new(offsets, data, nulls)?)),
        other => return Err(lost(other)),
    })
}

fn map(
    field: &FieldRef,
    offsets: OffsetBuffer<i32>,
    entries: ArrayRef,
    nulls: Option<NullBuffer>,
    ordered: bool,
) -> Result<ArrayRef> {
    let entries = entries.as_any().downcast_ref::<StructArray>().ok_or_else(|| lost(field.data_type()))?;
    Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries.clone(), nulls, ordered)?))
}
