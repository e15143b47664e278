//! Casts among booleans, integers, floats and decimals.
//!
//! Java's primitive conversions: integers wrap, a float saturates to INT or BIGINT and then wraps, NaN is 0. A number
//! becomes a decimal by its exact value, or a float by its Java text; half a unit is rounded away from zero, and what
//! does not fit the precision is NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, PrimitiveArray};
use arrow::datatypes::{Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};

use super::decimal::{DecimalText, Rescale, to_double};
use super::not_canonical;
use crate::error::{Error, Result};
use crate::spec::data_type::TypeKind;
use crate::spec::java_text::double_to_string;

/// A native number, as Java widens it.
trait Number: Copy {
    /// Narrowed to 64 bits: floats saturate.
    fn to_i64(self) -> i64;
    /// Narrowed to 32 bits: integers wrap, floats saturate.
    fn to_i32(self) -> i32;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
    /// The value of an integer; floats have none.
    fn integer(self) -> Option<i64>;
}

macro_rules! number {
    ($integer:expr; $($native:ty),*) => {$(
        impl Number for $native {
            fn to_i64(self) -> i64 { self as i64 }
            fn to_i32(self) -> i32 { self as i32 }
            fn to_f32(self) -> f32 { self as f32 }
            fn to_f64(self) -> f64 { self as f64 }
            fn integer(self) -> Option<i64> { $integer.then_some(self as i64) }
        }
    )*};
}
number!(true; i8, i16, i32, i64);
number!(false; f32, f64);

/// Casts between two of these types.
pub(super) fn between_numbers(array: &ArrayRef, from: &TypeKind, to: &TypeKind) -> Result<ArrayRef> {
    match from {
        TypeKind::Boolean => of_boolean(array, to),
        TypeKind::TinyInt => of_primitive::<Int8Type>(array, from, to),
        TypeKind::SmallInt => of_primitive::<Int16Type>(array, from, to),
        TypeKind::Int => of_primitive::<Int32Type>(array, from, to),
        TypeKind::BigInt => of_primitive::<Int64Type>(array, from, to),
        TypeKind::Float => of_primitive::<Float32Type>(array, from, to),
        TypeKind::Double => of_primitive::<Float64Type>(array, from, to),
        TypeKind::Decimal { precision, scale } => of_decimal(array, (*precision, *scale), to),
        _ => Err(super::refused(from, to)),
    }
}

fn of_boolean(array: &ArrayRef, to: &TypeKind) -> Result<ArrayRef> {
    let booleans = array.as_boolean_opt().ok_or_else(|| not_canonical(array, "BOOLEAN"))?;
    let bits = booleans.values().iter().map(i8::from);
    let bytes = PrimitiveArray::<Int8Type>::new(bits.collect::<Vec<_>>().into(), booleans.nulls().cloned());
    if *to == TypeKind::TinyInt {
        return Ok(Arc::new(bytes));
    }
    of_primitive::<Int8Type>(&(Arc::new(bytes) as ArrayRef), &TypeKind::Boolean, to)
}

fn of_primitive<P: ArrowPrimitiveType>(array: &ArrayRef, from: &TypeKind, to: &TypeKind) -> Result<ArrayRef>
where
    P::Native: Number,
{
    let numbers = array.as_primitive_opt::<P>().ok_or_else(|| not_canonical(array, from))?;
    Ok(match to {
        TypeKind::Boolean => {
            let bits = numbers.values().iter().map(|n| n.to_i64() != 0).collect();
            Arc::new(BooleanArray::new(bits, numbers.nulls().cloned()))
        }
        TypeKind::TinyInt => Arc::new(numbers.unary::<_, Int8Type>(|n| n.to_i32() as i8)),
        TypeKind::SmallInt => Arc::new(numbers.unary::<_, Int16Type>(|n| n.to_i32() as i16)),
        TypeKind::Int => Arc::new(numbers.unary::<_, Int32Type>(Number::to_i32)),
        TypeKind::BigInt => Arc::new(numbers.unary::<_, Int64Type>(Number::to_i64)),
        TypeKind::Float => Arc::new(numbers.unary::<_, Float32Type>(Number::to_f32)),
        TypeKind::Double => Arc::new(numbers.unary::<_, Float64Type>(Number::to_f64)),
        TypeKind::Decimal { precision, scale } => Arc::new(to_decimal(numbers, *precision, *scale)?),
        _ => return Err(super::refused(from, to)),
    })
}

fn to_decimal<P: ArrowPrimitiveType>(numbers: &PrimitiveArray<P>, precision: u8, scale: u8) -> Result<Decimal128Array>
where
    P::Native: Number,
{
    let rescale = Rescale::new(0, precision, scale);
    if let Some(bad) = numbers.iter().flatten().find(|n| !n.to_f64().is_finite()) {
        return Err(Error::corrupt(format!("{} is no DECIMAL({precision}, {scale})", double_to_string(bad.to_f64()))));
    }
    let decimals = numbers.unary_opt::<_, Decimal128Type>(|n| match n.integer() {
        Some(integer) => rescale.apply(i128::from(integer)),
        None => DecimalText::parse(&double_to_string(n.to_f64())).and_then(|text| text.unscaled(precision, scale)),
    });
    Ok(decimals.with_precision_and_scale(precision, scale as i8)?)
}

fn of_decimal(array: &ArrayRef, (precision, scale): (u8, u8), to: &TypeKind) -> Result<ArrayRef> {
    let decimals = array.as_primitive_opt::<Decimal128Type>().ok_or_else(|| not_canonical(array, "DECIMAL"))?;
    if let TypeKind::Decimal { precision: to_precision, scale: to_scale } = to {
        let rescale = Rescale::new(scale, *to_precision, *to_scale);
        let out = decimals.unary_opt::<_, Decimal128Type>(|d| rescale.apply(d));
        return Ok(Arc::new(out.with_precision_and_scale(*to_precision, *to_scale as i8)?));
    }
    let unit = 10i128.checked_pow(u32::from(scale)).unwrap_or(i128::MAX);
    let whole = |d: i128| (d / unit) as i64;
    let double = |d: i128| to_double(d, precision, scale);
    Ok(match to {
        TypeKind::TinyInt => Arc::new(decimals.unary::<_, Int8Type>(|d| whole(d) as i8)),
        TypeKind::SmallInt => Arc::new(decimals.unary::<_, Int16Type>(|d| whole(d) as i16)),
        TypeKind::Int => Arc::new(decimals.unary::<_, Int32Type>(|d| whole(d) as i32)),
        TypeKind::BigInt => Arc::new(decimals.unary::<_, Int64Type>(whole)),
        TypeKind::Float => Arc::new(decimals.unary::<_, Float32Type>(|d| double(d) as f32)),
        TypeKind::Double => Arc::new(decimals.unary::<_, Float64Type>(double)),
        _ => return Err(super::refused(&TypeKind::Decimal { precision, scale }, to)),
    })
}
