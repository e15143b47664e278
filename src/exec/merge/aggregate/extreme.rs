//! `max` and `min` of everything that has an order.
//!
//! In: versions of a column of numbers, dates, times, timestamps, text or bytes (booleans: [`super::bools`]). Out: each key's
//! greatest or least value, NULLs left out. Floats have Java's total order: -0.0 below 0.0, NaN above all. Text and bytes
//! are compared byte by byte, and the winners are gathered as views. Neither can retract. Java: `FieldMaxAgg`,
//! `FieldMinAgg`, `InternalRowUtils.compare`.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, GenericByteViewArray};
use arrow::datatypes::{
    BinaryViewType, ByteViewType, DataType as ArrowType, Date32Type, Decimal128Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, StringViewType, Time32MillisecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};

use super::fold::{Operations, Subject, input_of, outside};
use super::numeric::Primitives;
use super::pick::gather;
use super::{Aggregator, Member, Versions};
use crate::error::{Error, Result};

/// `max` or `min`.
#[derive(Debug)]
pub(super) struct Extreme {
    pub subject: Subject,
    /// Whether the greatest value is asked for.
    pub max: bool,
    pub arrow_type: ArrowType,
}

/// Java's order of a type of values.
trait JavaOrder: Copy {
    fn order(self, other: Self) -> Ordering;
}

macro_rules! natural_order {
    ($($type:ty),*) => {$(
        impl JavaOrder for $type {
            #[inline]
            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }
        }
    )*};
}
natural_order!(i8, i16, i32, i64, i128);

macro_rules! float_order {
    ($($type:ty),*) => {$(
        impl JavaOrder for $type {
            #[inline]
            fn order(self, other: Self) -> Ordering {
                match (self.is_nan(), other.is_nan()) {
                    (false, false) => self.total_cmp(&other),
                    (a, b) => a.cmp(&b),
                }
            }
        }
    )*};
}
float_order!(f32, f64);

impl Aggregator for Extreme {
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        match &self.arrow_type {
            ArrowType::Int8 => self.primitive::<Int8Type>(versions),
            ArrowType::Int16 => self.primitive::<Int16Type>(versions),
            ArrowType::Int32 => self.primitive::<Int32Type>(versions),
            ArrowType::Int64 => self.primitive::<Int64Type>(versions),
            ArrowType::Float32 => self.primitive::<Float32Type>(versions),
            ArrowType::Float64 => self.primitive::<Float64Type>(versions),
            ArrowType::Decimal128(..) => self.primitive::<Decimal128Type>(versions),
            ArrowType::Date32 => self.primitive::<Date32Type>(versions),
            ArrowType::Time32(TimeUnit::Millisecond) => self.primitive::<Time32MillisecondType>(versions),
            ArrowType::Timestamp(TimeUnit::Second, _) => self.primitive::<TimestampSecondType>(versions),
            ArrowType::Timestamp(TimeUnit::Millisecond, _) => self.primitive::<TimestampMillisecondType>(versions),
            ArrowType::Timestamp(TimeUnit::Microsecond, _) => self.primitive::<TimestampMicrosecondType>(versions),
            ArrowType::Timestamp(TimeUnit::Nanosecond, _) => self.primitive::<TimestampNanosecondType>(versions),
            ArrowType::Utf8View => self.views::<StringViewType>(versions),
            ArrowType::BinaryView => self.views::<BinaryViewType>(versions),
            other => Err(Error::internal(format!("{} of {other}", self.subject.function))),
        }
    }
}

impl Extreme {
    fn primitive<P: ArrowPrimitiveType<Native: JavaOrder>>(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        let inputs = Primitives::<P>::new(versions, &self.arrow_type)?;
        inputs.fold(&self.subject, versions, &mut OfPrimitives { max: self.max, inputs: &inputs })
    }

    fn views<T: ByteViewType>(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        let typed = |input: &ArrayRef| Ok(input.as_byte_view_opt::<T>().ok_or_else(|| self.not_of(input))?.clone());
        let arrays = versions.inputs.iter().map(typed).collect::<Result<_>>()?;
        let mut picks = Vec::with_capacity(versions.key_count());
        self.subject.fold(versions, &mut OfViews::<T> { max: self.max, arrays }, |pick| {
            picks.push(pick);
            Ok(())
        })?;
        gather(versions.inputs, &picks, &self.arrow_type)
    }

    fn not_of(&self, input: &ArrayRef) -> Error {
        Error::internal(format!("a column of type {}, not {}", input.data_type(), self.arrow_type))
    }
}

/// Whether the input takes the place of the accumulator, given how they compare.
fn replaces(max: bool, acc_to_input: Ordering) -> bool {
    (acc_to_input == Ordering::Less) == max
}

struct OfPrimitives<'a, P: ArrowPrimitiveType> {
    max: bool,
    inputs: &'a Primitives<'a, P>,
}

impl<P: ArrowPrimitiveType<Native: JavaOrder>> Operations for OfPrimitives<'_, P> {
    type Value = P::Native;

    #[inline]
    fn read(&self, member: Member) -> Result<Option<P::Native>> {
        self.inputs.read(member)
    }

    #[inline]
    fn aggregate(&mut self, acc: Option<P::Native>, input: Option<P::Native>) -> Result<Option<P::Native>> {
        Ok(match (acc, input) {
            (Some(a), Some(b)) => Some(if replaces(self.max, a.order(b)) { b } else { a }),
            _ => acc.or(input),
        })
    }
}

struct OfViews<T: ByteViewType> {
    max: bool,
    arrays: Vec<GenericByteViewArray<T>>,
}

impl<T: ByteViewType> OfViews<T> {
    /// How the bytes of two versions compare; mostly their first four tell.
    #[inline]
    fn order(&self, a: Member, b: Member) -> Result<Ordering> {
        let array = |member: Member| input_of(&self.arrays, member);
        let first = |member: Member| {
            let view = *array(member)?.views().get(member.row as usize).ok_or_else(|| outside(member))?;
            // The length comes first, then four bytes of the value; a shorter value is filled up with zeros.
            Ok::<_, Error>(((view >> u32::BITS) as u32).swap_bytes())
        };
        let whole = |member: Member| Ok::<&[u8], Error>(array(member)?.value(member.row as usize).as_ref());
        Ok(match first(a)?.cmp(&first(b)?) {
            Ordering::Equal => whole(a)?.cmp(whole(b)?),
            order => order,
        })
    }
}

impl<T: ByteViewType> Operations for OfViews<T> {
    type Value = Member;

    #[inline]
    fn read(&self, member: Member) -> Result<Option<Member>> {
        let (array, row) = (input_of(&self.arrays, member)?, member.row as usize);
        if row >= array.len() {
            return Err(outside(member));
        }
        Ok(array.is_valid(row).then_some(member))
    }

    #[inline]
    fn aggregate(&mut self, acc: Option<Member>, input: Option<Member>) -> Result<Option<Member>> {
        Ok(match (acc, input) {
            (Some(a), Some(b)) => Some(if replaces(self.max, self.order(a, b)?) { b } else { a }),
            _ => acc.or(input),
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::BinaryViewArray;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_are_ordered_one_by_one(values in proptest::collection::vec(proptest::collection::vec(0u8..3, 0..16), 2..12)) {
            // Zeros at the end are not what fills up short values.
            let views = OfViews::<BinaryViewType> { max: true, arrays: vec![BinaryViewArray::from_iter_values(&values)] };
            let member = |row: usize| Member { input: 0, row: row as u32 };
            for (a, left) in values.iter().enumerate() {
                for (b, right) in values.iter().enumerate() {
                    prop_assert_eq!(views.order(member(a), member(b)).unwrap(), left.cmp(right));
                }
            }
            prop_assert!(views.order(member(0), member(values.len())).is_err());
        }
    }
}
