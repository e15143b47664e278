//! Timestamps as the reference holds them: milliseconds, and nanoseconds within the millisecond.
//!
//! In: Arrow timestamps of any unit. Out: [`Moment`]s, and back to the unit of a type. The split is floored, so that
//! the nanoseconds are never negative; going back to a coarser unit floors too. A moment that the unit of a type cannot
//! hold is an error, never a wrapped value.

use arrow::array::{Array, ArrayRef, AsArray, make_array};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{
    DataType as ArrowType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};

use super::not_canonical;
use crate::error::{Error, Result};
use crate::spec::arrow_type::nested_type;
use crate::spec::data_type::TypeKind;

/// Milliseconds of a day.
pub(super) const MILLIS_PER_DAY: i64 = 86_400_000;

/// A point of the time line, or of a wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Milliseconds since 1970-01-01 00:00:00, floored.
    pub(super) millis: i64,
    /// Nanoseconds since then, 0 to 999 999.
    pub(super) nanos: i64,
}

impl Moment {
    /// A whole number of milliseconds.
    pub(super) fn of_millis(millis: i64) -> Self {
        Self { millis, nanos: 0 }
    }

    fn of_unit(unit: TimeUnit, value: i64) -> Option<Self> {
        Some(match unit {
            TimeUnit::Second => Self::of_millis(value.checked_mul(1000)?),
            TimeUnit::Millisecond => Self::of_millis(value),
            TimeUnit::Microsecond => Self { millis: value.div_euclid(1000), nanos: value.rem_euclid(1000) * 1000 },
            TimeUnit::Nanosecond => Self { millis: value.div_euclid(1_000_000), nanos: value.rem_euclid(1_000_000) },
        })
    }

    fn in_unit(self, unit: TimeUnit) -> Option<i64> {
        match unit {
            TimeUnit::Second => Some(self.millis.div_euclid(1000)),
            TimeUnit::Millisecond => Some(self.millis),
            TimeUnit::Microsecond => self.millis.checked_mul(1000)?.checked_add(self.nanos / 1000),
            TimeUnit::Nanosecond => {
                // The smallest value of 64 bits has more milliseconds than 64 bits of nanoseconds: go through 128.
                i64::try_from(i128::from(self.millis) * 1_000_000 + i128::from(self.nanos)).ok()
            }
        }
    }
}

/// An array of timestamps.
#[derive(Clone, Copy)]
pub(super) struct Moments<'a> {
    unit: TimeUnit,
    values: &'a [i64],
    array: &'a dyn Array,
}

impl<'a> Moments<'a> {
    pub(super) fn new(array: &'a dyn Array) -> Result<Self> {
        let ArrowType::Timestamp(unit, _) = array.data_type() else { return Err(not_canonical(array, "TIMESTAMP")) };
        let values: Option<&[i64]> = match unit {
            TimeUnit::Second => array.as_primitive_opt::<TimestampSecondType>().map(|a| a.values().as_ref()),
            TimeUnit::Millisecond => array.as_primitive_opt::<TimestampMillisecondType>().map(|a| a.values().as_ref()),
            TimeUnit::Microsecond => array.as_primitive_opt::<TimestampMicrosecondType>().map(|a| a.values().as_ref()),
            TimeUnit::Nanosecond => array.as_primitive_opt::<TimestampNanosecondType>().map(|a| a.values().as_ref()),
        };
        let values = values.ok_or_else(|| not_canonical(array, "TIMESTAMP"))?;
        Ok(Self { unit: *unit, values, array })
    }

    /// The moment at a row that is not NULL.
    pub(super) fn get(self, row: usize) -> Result<Moment> {
        let value = self.values.get(row).copied().unwrap_or_default();
        Moment::of_unit(self.unit, value).ok_or_else(|| beyond(value))
    }

    /// One value for each row; rows that are NULL get a zero.
    pub(super) fn map<T: Default>(self, f: impl Fn(Moment) -> Result<T>) -> Result<Vec<T>> {
        let rows = self.values.iter().enumerate();
        rows.map(|(row, _)| if self.array.is_null(row) { Ok(T::default()) } else { f(self.get(row)?) }).collect()
    }
}

fn beyond(value: impl std::fmt::Display) -> Error {
    Error::unsupported(format!("the time {value} is beyond what 64 bits hold in the unit of its type"))
}

/// The value of a moment in the unit of a timestamp type.
pub(super) fn in_unit_of(to: &TypeKind, moment: Moment) -> Result<i64> {
    let ArrowType::Timestamp(unit, _) = nested_type(&to.clone().nullable()) else {
        return Err(Error::internal(format!("{to} is no timestamp")));
    };
    moment.in_unit(unit).ok_or_else(|| beyond(format!("{} ms", moment.millis)))
}

/// Timestamps of type `to`, one for each row of `source`; NULL where that is.
pub(super) fn timestamps(source: &dyn Array, to: &TypeKind, values: Vec<i64>) -> Result<ArrayRef> {
    let data = arrow::array::ArrayData::builder(nested_type(&to.clone().nullable()))
        .len(values.len())
        .add_buffer(ScalarBuffer::from(values).into_inner())
        .nulls(source.nulls().cloned())
        .build()?;
    Ok(make_array(data))
}
