//! `sum` and `product` of numbers, in typed loops.
//!
//! In: versions of a column of integers, floats or decimals. Out: their sums or products. Integers wrap around at the ends
//! of their type as in Java 1.4; a decimal that leaves its precision becomes NULL ([`super::decimal`]). A retract
//! subtracts or divides. Java: `FieldSumAgg`, `FieldProductAgg`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, NullBufferBuilder, PrimitiveArray};
use arrow::datatypes::{
    DataType as ArrowType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};

use super::decimal::Decimals;
use super::fold::{Operations, Subject, input_of, outside};
use super::{Aggregator, Member, Versions};
use crate::error::{Error, Result};

/// Which of the two functions it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reduction {
    Sum,
    Product,
}

/// `sum` or `product`.
#[derive(Debug)]
pub(super) struct Numeric {
    pub subject: Subject,
    pub reduction: Reduction,
    pub arrow_type: ArrowType,
}

/// The arithmetic of a type of numbers; `None` is a result that its type does not have.
pub(super) trait Arithmetic<T> {
    fn add(&self, a: T, b: T) -> Option<T>;
    fn subtract(&self, a: T, b: T) -> Option<T>;
    fn negate(&self, a: T) -> Option<T>;
    fn multiply(&self, a: T, b: T) -> Option<T>;
    /// An error is what Java throws `ArithmeticException` for.
    fn divide(&self, a: T, b: T) -> Result<Option<T>, &'static str>;
}

/// The arithmetic of Java's integers and floats.
pub(super) struct Native;

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Arithmetic<$type> for Native {
            fn add(&self, a: $type, b: $type) -> Option<$type> {
                Some(a.wrapping_add(b))
            }
            fn subtract(&self, a: $type, b: $type) -> Option<$type> {
                Some(a.wrapping_sub(b))
            }
            fn negate(&self, a: $type) -> Option<$type> {
                Some(a.wrapping_neg())
            }
            fn multiply(&self, a: $type, b: $type) -> Option<$type> {
                Some(a.wrapping_mul(b))
            }
            fn divide(&self, a: $type, b: $type) -> Result<Option<$type>, &'static str> {
                if b == 0 { Err("division by zero") } else { Ok(Some(a.wrapping_div(b))) }
            }
        }
    )*};
}
integers!(i8, i16, i32, i64);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Arithmetic<$type> for Native {
            fn add(&self, a: $type, b: $type) -> Option<$type> {
                Some(a + b)
            }
            fn subtract(&self, a: $type, b: $type) -> Option<$type> {
                Some(a - b)
            }
            fn negate(&self, a: $type) -> Option<$type> {
                Some(-a)
            }
            fn multiply(&self, a: $type, b: $type) -> Option<$type> {
                Some(a * b)
            }
            fn divide(&self, a: $type, b: $type) -> Result<Option<$type>, &'static str> {
                Ok(Some(a / b))
            }
        }
    )*};
}
floats!(f32, f64);

impl Aggregator for Numeric {
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        match &self.arrow_type {
            ArrowType::Int8 => self.reduce::<Int8Type, _>(versions, Native),
            ArrowType::Int16 => self.reduce::<Int16Type, _>(versions, Native),
            ArrowType::Int32 => self.reduce::<Int32Type, _>(versions, Native),
            ArrowType::Int64 => self.reduce::<Int64Type, _>(versions, Native),
            ArrowType::Float32 => self.reduce::<Float32Type, _>(versions, Native),
            ArrowType::Float64 => self.reduce::<Float64Type, _>(versions, Native),
            ArrowType::Decimal128(precision, scale) => {
                self.reduce::<Decimal128Type, _>(versions, Decimals::new(*precision, *scale))
            }
            other => Err(Error::internal(format!("{} of {other}", self.subject.function))),
        }
    }
}

impl Numeric {
    fn reduce<P: ArrowPrimitiveType, A: Arithmetic<P::Native>>(
        &self,
        versions: &Versions<'_>,
        arithmetic: A,
    ) -> Result<ArrayRef> {
        let inputs = &Primitives::<P>::new(versions, &self.arrow_type)?;
        let subject = &self.subject;
        match self.reduction {
            Reduction::Sum => {
                inputs.fold(subject, versions, &mut Reducing::<_, _, false> { subject, inputs, arithmetic })
            }
            Reduction::Product => {
                inputs.fold(subject, versions, &mut Reducing::<_, _, true> { subject, inputs, arithmetic })
            }
        }
    }
}

/// `product`, or else `sum`.
struct Reducing<'a, P: ArrowPrimitiveType, A, const PRODUCT: bool> {
    subject: &'a Subject,
    inputs: &'a Primitives<'a, P>,
    arithmetic: A,
}

impl<P: ArrowPrimitiveType, A: Arithmetic<P::Native>, const PRODUCT: bool> Operations for Reducing<'_, P, A, PRODUCT> {
    type Value = P::Native;

    #[inline]
    fn read(&self, member: Member) -> Result<Option<P::Native>> {
        self.inputs.read(member)
    }

    #[inline]
    fn aggregate(&mut self, acc: Option<P::Native>, input: Option<P::Native>) -> Result<Option<P::Native>> {
        Ok(match (acc, input) {
            (Some(acc), Some(input)) if PRODUCT => self.arithmetic.multiply(acc, input),
            (Some(acc), Some(input)) => self.arithmetic.add(acc, input),
            _ => acc.or(input),
        })
    }

    fn retract(&mut self, acc: Option<P::Native>, input: Option<P::Native>) -> Option<Result<Option<P::Native>>> {
        Some(match (acc, input) {
            (Some(acc), Some(input)) if PRODUCT => {
                self.arithmetic.divide(acc, input).map_err(|what| self.subject.error(format_args!("retract: {what}")))
            }
            (Some(acc), Some(input)) => Ok(self.arithmetic.subtract(acc, input)),
            (None, Some(input)) if !PRODUCT => Ok(self.arithmetic.negate(input)),
            (acc, _) => Ok(acc),
        })
    }
}

/// The inputs of a column of primitive values.
pub(super) struct Primitives<'a, P: ArrowPrimitiveType> {
    arrays: Vec<&'a PrimitiveArray<P>>,
    arrow_type: &'a ArrowType,
}

impl<'a, P: ArrowPrimitiveType> Primitives<'a, P> {
    /// Inputs that must all be of type `arrow_type`.
    pub fn new(versions: &Versions<'a>, arrow_type: &'a ArrowType) -> Result<Self> {
        let typed = |input: &'a ArrayRef| match input.as_primitive_opt::<P>() {
            Some(array) if array.data_type() == arrow_type => Ok(array),
            _ => Err(Error::internal(format!("a column of type {}, not {arrow_type}", input.data_type()))),
        };
        Ok(Self { arrays: versions.inputs.iter().map(typed).collect::<Result<_>>()?, arrow_type })
    }

    /// The value of a version.
    #[inline]
    pub fn read(&self, member: Member) -> Result<Option<P::Native>> {
        let array = input_of(&self.arrays, member)?;
        let row = member.row as usize;
        let value = *array.values().get(row).ok_or_else(|| outside(member))?;
        Ok(array.is_valid(row).then_some(value))
    }

    /// The folded values as an array.
    pub fn fold<O: Operations<Value = P::Native>>(
        &self,
        subject: &Subject,
        versions: &Versions<'_>,
        operations: &mut O,
    ) -> Result<ArrayRef> {
        let mut values = Vec::with_capacity(versions.key_count());
        let mut nulls = NullBufferBuilder::new(versions.key_count());
        subject.fold(versions, operations, |value| {
            nulls.append(value.is_some());
            values.push(value.unwrap_or_default());
            Ok(())
        })?;
        let array = PrimitiveArray::<P>::try_new(values.into(), nulls.finish())?;
        Ok(Arc::new(array.with_data_type(self.arrow_type.clone())))
    }
}
