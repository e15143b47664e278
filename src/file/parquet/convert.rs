//! Decoded arrays to the canonical types: one vectorised pass where the decoder cannot give the type itself.
//!
//! In: an array as decoded. Out: an array of exactly [`Conversion::target`]. [`How::Same`] hands the array on. Names
//! and nullability of nested fields are set anew without touching values; NULLs where the target has none are refused.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, FixedSizeListArray, Int64Array, ListArray, MapArray, PrimitiveArray,
    RecordBatch, RecordBatchOptions, StructArray, Time32MillisecondArray, UInt64Array, new_null_array,
};
use arrow::compute::{CastOptions, cast_with_options, take};
use arrow::datatypes::{
    DataType as ArrowType, Decimal128Type, FieldRef, Fields, Int64Type, Time64MicrosecondType, Time64NanosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};

use super::schema::Projection;
use super::{int96, variant};
use crate::error::{Error, Result};

/// The way from a decoded type to the canonical one.
#[derive(Debug, Clone)]
pub(super) struct Conversion {
    /// The type that comes out.
    pub target: ArrowType,
    /// What is done.
    pub how: How,
}

/// What a [`Conversion`] does.
#[derive(Debug, Clone)]
pub(super) enum How {
    /// Nothing: the array is of the type already.
    Same,
    /// All NULL, whatever is decoded.
    Null,
    /// Arrow's cast; what does not fit is an error.
    Cast,
    /// Another precision of the same scale.
    Decimal,
    /// Microseconds or nanoseconds of the day to milliseconds, rounded down.
    Time {
        /// How many units make a millisecond.
        per_milli: i64,
    },
    /// Another unit, rounded down, or another zone.
    Timestamp,
    /// 12 bytes of INT96.
    Int96,
    /// A list with converted elements.
    List(Box<Conversion>),
    /// A list whose lengths must be those of the target.
    Vector(Box<Conversion>),
    /// A map with converted keys and values.
    Map(Box<Conversion>, Box<Conversion>),
    /// A struct; for each field of the target the position of its source.
    Struct(Vec<(Option<usize>, Conversion)>),
    /// A variant: fields in order, shredded values put back.
    Variant,
}

impl Projection {
    /// The batch that is handed out for one that was decoded.
    pub fn apply(&self, decoded: &RecordBatch) -> Result<RecordBatch> {
        let rows = decoded.num_rows();
        let columns = self.columns.iter().zip(self.schema.fields()).map(|((source, conversion), field)| {
            let source = source.and_then(|position| decoded.columns().get(position));
            conversion.apply_to(source, rows).map_err(|e| in_column(field.name(), e))
        });
        self.batch(columns.collect::<Result<Vec<_>>>()?, rows)
    }

    /// A batch of rows of which nothing is read: all columns are NULL.
    pub fn unread(&self, rows: usize) -> Result<RecordBatch> {
        let columns = self.schema.fields().iter().map(|f| new_null_array(f.data_type(), rows));
        self.batch(columns.collect(), rows)
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|e| Error::corrupt("the rows break the schema").caused_by(e))
    }
}

fn in_column(name: &str, error: Error) -> Error {
    Error::new(error.kind(), format!("column '{name}'")).caused_by(error)
}

impl Conversion {
    /// All NULL.
    pub fn null(target: &ArrowType) -> Self {
        Self { target: target.clone(), how: How::Null }
    }

    fn apply_to(&self, source: Option<&ArrayRef>, rows: usize) -> Result<ArrayRef> {
        match source {
            Some(source) => self.apply(source),
            None => Ok(new_null_array(&self.target, rows)),
        }
    }

    /// Brings one array to the target type.
    pub fn apply(&self, array: &ArrayRef) -> Result<ArrayRef> {
        match &self.how {
            How::Same => Ok(Arc::clone(array)),
            How::Null => Ok(new_null_array(&self.target, array.len())),
            How::Cast => {
                let strict = CastOptions { safe: false, ..CastOptions::default() };
                cast_with_options(array, &self.target, &strict).map_err(broken)
            }
            How::Decimal => decimal(array, &self.target),
            How::Time { per_milli } => time(array, *per_milli),
            How::Timestamp => timestamp(array, &self.target),
            How::Int96 => {
                let bytes = array.as_fixed_size_binary_opt().ok_or_else(undecoded)?;
                let ArrowType::Timestamp(unit, _) = &self.target else { return Err(undecoded()) };
                timestamps(int96::to_timestamps(bytes, *unit)?, &self.target)
            }
            How::List(element) => list(array, element, &self.target),
            How::Vector(element) => vector(array, element, &self.target),
            How::Map(key, value) => map(array, key, value, &self.target),
            How::Struct(sources) => structure(array, sources, &self.target),
            How::Variant => variant::plain(array, &self.target),
        }
    }
}

/// An invariant: the decoder gave the type that it was told to give.
fn undecoded() -> Error {
    Error::internal("a column was decoded as another type than asked for")
}

fn broken(e: arrow::error::ArrowError) -> Error {
    Error::corrupt("its values break its type").caused_by(e)
}

fn decimal(array: &ArrayRef, target: &ArrowType) -> Result<ArrayRef> {
    let decoded = array.as_primitive_opt::<Decimal128Type>().ok_or_else(undecoded)?;
    let ArrowType::Decimal128(precision, scale) = *target else { return Err(undecoded()) };
    if precision < decoded.precision() {
        decoded.validate_decimal_precision(precision).map_err(broken)?;
    }
    Ok(Arc::new(decoded.clone().with_precision_and_scale(precision, scale).map_err(broken)?))
}

fn time(array: &ArrayRef, per_milli: i64) -> Result<ArrayRef> {
    let units = match array.data_type() {
        ArrowType::Time64(TimeUnit::Microsecond) => as_i64::<Time64MicrosecondType>(array)?,
        _ => as_i64::<Time64NanosecondType>(array)?,
    };
    let millis: Time32MillisecondArray = units.try_unary(|value| {
        i32::try_from(value.div_euclid(per_milli)).map_err(|_| Error::corrupt("a time of day is not in a day"))
    })?;
    Ok(Arc::new(millis))
}

fn as_i64<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef) -> Result<Int64Array> {
    Ok(array.as_primitive_opt::<T>().ok_or_else(undecoded)?.reinterpret_cast::<Int64Type>())
}

fn timestamp(array: &ArrayRef, target: &ArrowType) -> Result<ArrayRef> {
    let (ArrowType::Timestamp(from, _), ArrowType::Timestamp(to, _)) = (array.data_type(), target) else {
        return Err(undecoded());
    };
    let values = match from {
        TimeUnit::Second => as_i64::<TimestampSecondType>(array)?,
        TimeUnit::Millisecond => as_i64::<TimestampMillisecondType>(array)?,
        TimeUnit::Microsecond => as_i64::<TimestampMicrosecondType>(array)?,
        TimeUnit::Nanosecond => as_i64::<TimestampNanosecondType>(array)?,
    };
    let (from, to) = (per_second(from), per_second(to));
    let values = match from.cmp(&to) {
        std::cmp::Ordering::Equal => values,
        std::cmp::Ordering::Greater => values.unary(|value| value.div_euclid(from / to)),
        std::cmp::Ordering::Less => values.try_unary(|v| v.checked_mul(to / from).ok_or_else(int96::out_of_range))?,
    };
    timestamps(values, target)
}

fn per_second(unit: &TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Numbers as timestamps of the target's unit and zone.
fn timestamps(values: Int64Array, target: &ArrowType) -> Result<ArrayRef> {
    fn of<T: arrow::datatypes::ArrowTimestampType>(values: &Int64Array, zone: &Option<Arc<str>>) -> ArrayRef {
        let timestamps: PrimitiveArray<T> = values.reinterpret_cast();
        Arc::new(timestamps.with_timezone_opt(zone.clone()))
    }
    let ArrowType::Timestamp(unit, zone) = target else { return Err(undecoded()) };
    Ok(match unit {
        TimeUnit::Second => of::<TimestampSecondType>(&values, zone),
        TimeUnit::Millisecond => of::<TimestampMillisecondType>(&values, zone),
        TimeUnit::Microsecond => of::<TimestampMicrosecondType>(&values, zone),
        TimeUnit::Nanosecond => of::<TimestampNanosecondType>(&values, zone),
    })
}

fn list(array: &ArrayRef, element: &Conversion, target: &ArrowType) -> Result<ArrayRef> {
    let ArrowType::List(field) = target else { return Err(undecoded()) };
    let (_, offsets, values, nulls) = array.as_list_opt::<i32>().ok_or_else(undecoded)?.clone().into_parts();
    let values = element.apply(&values)?;
    Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, nulls).map_err(broken)?))
}

fn vector(array: &ArrayRef, element: &Conversion, target: &ArrowType) -> Result<ArrayRef> {
    let ArrowType::FixedSizeList(field, length) = target else { return Err(undecoded()) };
    let lists = array.as_list_opt::<i32>().ok_or_else(undecoded)?;
    let width = usize::try_from(*length).map_err(|_| Error::corrupt("the length of a VECTOR is negative"))?;
    for row in (0..lists.len()).filter(|row| lists.is_valid(*row)) {
        let found = lists.value_length(row);
        if found != *length {
            return Err(Error::corrupt(format!("expected VECTOR of length {length}, found {found} elements")));
        }
    }
    let values = element.apply(lists.values())?;
    let values = if lists.null_count() == 0 {
        let start = lists.offsets().first().map_or(0, |first| *first as usize);
        values.slice(start, width * lists.len())
    } else {
        spread(lists, &values, width)?
    };
    let nulls = lists.nulls().cloned();
    let vectors = FixedSizeListArray::try_new_with_length(Arc::clone(field), *length, values, nulls, lists.len());
    Ok(Arc::new(vectors.map_err(broken)?))
}

/// Elements with room for those of NULL vectors, as fixed-size lists have it.
fn spread(lists: &ListArray, values: &ArrayRef, width: usize) -> Result<ArrayRef> {
    let mut indices: Vec<Option<u64>> = Vec::with_capacity(lists.len().saturating_mul(width).min(1 << 20));
    for (row, start) in lists.offsets().iter().take(lists.len()).enumerate() {
        let valid = lists.is_valid(row);
        indices.extend((0..width as u64).map(|i| valid.then_some(*start as u64 + i)));
    }
    take(values, &UInt64Array::from(indices), None).map_err(broken)
}

fn map(array: &ArrayRef, key: &Conversion, value: &Conversion, target: &ArrowType) -> Result<ArrayRef> {
    let ArrowType::Map(field, sorted) = target else { return Err(undecoded()) };
    let ArrowType::Struct(fields) = field.data_type() else { return Err(undecoded()) };
    let (_, offsets, entries, nulls, _) = array.as_map_opt().ok_or_else(undecoded)?.clone().into_parts();
    let (_, columns, entry_nulls) = entries.into_parts();
    let [keys, values] = &columns[..] else { return Err(undecoded()) };
    let columns = vec![key.apply(keys)?, value.apply(values)?];
    let entries = StructArray::try_new(fields.clone(), columns, entry_nulls).map_err(broken)?;
    Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted).map_err(broken)?))
}

fn structure(array: &ArrayRef, sources: &[(Option<usize>, Conversion)], target: &ArrowType) -> Result<ArrayRef> {
    let ArrowType::Struct(fields) = target else { return Err(undecoded()) };
    let decoded = array.as_struct_opt().ok_or_else(undecoded)?;
    let columns = sources.iter().zip(fields).map(|((source, conversion), field)| {
        let source = source.and_then(|position| decoded.columns().get(position));
        conversion.apply_to(source, decoded.len()).map_err(|e| in_field(field, e))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    struct_array(fields, columns, decoded)
}

fn in_field(field: &FieldRef, error: Error) -> Error {
    Error::new(error.kind(), format!("field '{}'", field.name())).caused_by(error)
}

/// Columns under the NULLs of the struct that they come from.
pub(super) fn struct_array(fields: &Fields, columns: Vec<ArrayRef>, like: &StructArray) -> Result<ArrayRef> {
    let nulls = like.nulls().cloned();
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, like.len()).map_err(broken)?))
}
