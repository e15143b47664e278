//! Casts of text to numbers and booleans.
//!
//! Each type has its own grammar. Integers: a sign and digits, and a fraction that is dropped; no blanks. Floats: Java's
//! literals, hexadecimal ones, `NaN` and `Infinity` included, blanks around them. Decimals: what `BigDecimal` reads, no
//! blanks. Booleans: ten words in any case. All else is an error. Java: `BinaryStringUtils`, `Double.parseDouble`.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, BooleanArray, Decimal128Array, PrimitiveArray};
use arrow::datatypes::{Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};

use super::decimal::{DecimalText, strip_sign};
use super::{Texts, unreadable};
use crate::error::Result;
use crate::spec::data_type::TypeKind;

/// Reads every text as a value of `to`.
pub(super) fn parse(array: &ArrayRef, to: &TypeKind) -> Result<ArrayRef> {
    let texts = Texts::new(array)?;
    Ok(match to {
        TypeKind::Boolean => {
            let read = |t: Option<&str>| t.map(|t| boolean(t).ok_or_else(|| unreadable(t, to))).transpose();
            Arc::new(texts.iter().map(read).collect::<Result<BooleanArray>>()?)
        }
        TypeKind::TinyInt => Arc::new(primitives::<Int8Type>(texts, to, |t| integer(t, 32)?.try_into().ok())?),
        TypeKind::SmallInt => Arc::new(primitives::<Int16Type>(texts, to, |t| integer(t, 32)?.try_into().ok())?),
        TypeKind::Int => Arc::new(primitives::<Int32Type>(texts, to, |t| integer(t, 32)?.try_into().ok())?),
        TypeKind::BigInt => Arc::new(primitives::<Int64Type>(texts, to, |t| integer(t, 64))?),
        TypeKind::Float => Arc::new(primitives::<Float32Type>(texts, to, float)?),
        TypeKind::Double => Arc::new(primitives::<Float64Type>(texts, to, double)?),
        TypeKind::Decimal { precision, scale } => Arc::new(decimals(texts, to, *precision, *scale)?),
        _ => return Err(super::refused(&TypeKind::string(), to)),
    })
}

fn primitives<P: ArrowPrimitiveType>(
    texts: Texts,
    to: &TypeKind,
    read: impl Fn(&str) -> Option<P::Native>,
) -> Result<PrimitiveArray<P>> {
    texts.iter().map(|t| t.map(|t| read(t).ok_or_else(|| unreadable(t, to))).transpose()).collect()
}

fn decimals(texts: Texts, to: &TypeKind, precision: u8, scale: u8) -> Result<Decimal128Array> {
    let read = |t: &str| match DecimalText::parse(t) {
        Some(text) => Ok(text.unscaled(precision, scale)),
        None => Err(unreadable(t, to)),
    };
    let decimals =
        texts.iter().map(|t| t.map_or(Ok(None), read)).collect::<Result<PrimitiveArray<Decimal128Type>>>()?;
    Ok(decimals.with_precision_and_scale(precision, scale as i8)?)
}

fn boolean(text: &str) -> Option<bool> {
    let is = |words: [&str; 5]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match () {
        () if is(["t", "true", "y", "yes", "1"]) => Some(true),
        () if is(["f", "false", "n", "no", "0"]) => Some(false),
        () => None,
    }
}

/// An integer of `bits` bits; a fraction after it is checked and dropped.
pub(super) fn integer(text: &str, bits: u32) -> Option<i64> {
    let (negative, rest) = strip_sign(text);
    if rest.is_empty() {
        return None;
    }
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut value = 0i64;
    for byte in whole.bytes() {
        let digit = i64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
        value = value.checked_mul(10)?.checked_sub(digit)?;
    }
    let value = if negative { value } else { value.checked_neg()? };
    (bits == 64 || i32::try_from(value).is_ok()).then_some(value)
}

/// A floating-point literal of Java.
enum FloatText<'a> {
    Nan,
    Infinity { negative: bool },
    Decimal(&'a str),
    Hexadecimal { negative: bool, mantissa: u128, sticky: bool, exponent: i64 },
}

fn double(text: &str) -> Option<f64> {
    Some(match float_text(text)? {
        FloatText::Nan => f64::NAN,
        FloatText::Infinity { negative } => {
            if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        FloatText::Decimal(digits) => digits.parse().ok()?,
        FloatText::Hexadecimal { negative, mantissa, sticky, exponent } => {
            let magnitude = binary(mantissa, sticky, exponent, 53, -1074);
            if negative { -magnitude } else { magnitude }
        }
    })
}

fn float(text: &str) -> Option<f32> {
    Some(match float_text(text)? {
        FloatText::Decimal(digits) => digits.parse().ok()?,
        FloatText::Hexadecimal { negative, mantissa, sticky, exponent } => {
            let magnitude = binary(mantissa, sticky, exponent, 24, -149) as f32;
            if negative { -magnitude } else { magnitude }
        }
        _ => double(text)? as f32,
    })
}

fn float_text(text: &str) -> Option<FloatText<'_>> {
    let text = text.trim_matches(|c| c <= ' ');
    let (negative, rest) = strip_sign(text);
    match rest {
        "NaN" => return Some(FloatText::Nan),
        "Infinity" => return Some(FloatText::Infinity { negative }),
        _ => {}
    }
    let body = |t: &'_ str| t.len() - usize::from(t.ends_with(['f', 'F', 'd', 'D']));
    if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        let (mantissa, exponent) = hex.split_once(['p', 'P'])?;
        let exponent = exponent.get(..body(exponent))?;
        return hexadecimal(negative, mantissa, exponent);
    }
    let digits = text.get(..body(text))?;
    let (_, unsigned) = strip_sign(digits);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(strip_sign(exponent).1)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    let good = all_digits(whole)
        && all_digits(fraction)
        && whole.len() + fraction.len() > 0
        && exponent.is_none_or(|e| !e.is_empty() && all_digits(e));
    good.then_some(FloatText::Decimal(digits))
}

fn hexadecimal<'a>(negative: bool, mantissa: &str, exponent: &str) -> Option<FloatText<'a>> {
    let (down, digits) = strip_sign(exponent);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse::<i64>().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    let mut exponent = if down { -magnitude } else { magnitude };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    let (mut value, mut sticky) = (0u128, false);
    for (digit, after_point) in whole.chars().map(|c| (c, false)).chain(fraction.chars().map(|c| (c, true))) {
        let digit = digit.to_digit(16)?;
        let full = value >> 120 != 0;
        if full {
            sticky |= digit != 0;
        } else {
            value = value << 4 | u128::from(digit);
        }
        exponent += 4 * (i64::from(full) - i64::from(after_point));
    }
    Some(FloatText::Hexadecimal { negative, mantissa: value, sticky, exponent })
}

/// `mantissa × 2^exponent` rounded to `bits` bits, none below `2^smallest`; half goes to even. `sticky` says that
/// digits other than zero were left off.
fn binary(mantissa: u128, sticky: bool, exponent: i64, bits: i64, smallest: i64) -> f64 {
    let length = i64::from(128 - mantissa.leading_zeros());
    let kept = bits.min(length.saturating_add(exponent).saturating_sub(smallest));
    if mantissa == 0 || kept < 0 {
        return 0.0;
    }
    let dropped = (length - kept).max(0) as u32;
    let unit = 1u128.checked_shl(dropped).unwrap_or(0);
    let (whole, rest) = (mantissa.checked_shr(dropped).unwrap_or(0), mantissa & unit.wrapping_sub(1));
    let half = unit >> 1;
    let up = dropped > 0 && (rest > half || rest == half && (sticky || whole & 1 == 1));
    let rounded = (whole + u128::from(up)) as f64;
    let exponent = exponent.saturating_add(i64::from(dropped)).clamp(-2000, 2000) as i32;
    let first = exponent.clamp(-1000, 1000);
    rounded * 2f64.powi(first) * 2f64.powi(exponent - first)
}
