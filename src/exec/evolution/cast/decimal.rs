//! Arithmetic of decimals: changing the scale, reading text, becoming a double, printing.
//!
//! In and out: unscaled values in 128 bits. Half a unit is rounded away from zero; what has more digits than the
//! precision allows is `None`. Java: `Decimal.fromBigDecimal`, `DecimalUtils`.

use std::fmt::Write;

use crate::error::{Error, Result};

/// `10^digits`, at most `10^38`.
fn power(digits: u32) -> i128 {
    10i128.checked_pow(digits).unwrap_or(i128::MAX)
}

/// A change of scale, and the check of the precision after it.
pub(super) struct Rescale {
    factor: i128,
    up: bool,
    limit: i128,
}

impl Rescale {
    /// From scale `from_scale` to `DECIMAL(precision, scale)`.
    pub(super) fn new(from_scale: u8, precision: u8, scale: u8) -> Self {
        Self {
            factor: power(u32::from(from_scale.abs_diff(scale))),
            up: scale >= from_scale,
            limit: power(u32::from(precision)),
        }
    }

    /// The unscaled value at the new scale, `None` where it does not fit.
    pub(super) fn apply(&self, unscaled: i128) -> Option<i128> {
        let out = if self.up {
            unscaled.checked_mul(self.factor)?
        } else {
            let (whole, rest) = (unscaled / self.factor, unscaled % self.factor);
            let away = rest.unsigned_abs() >= self.factor.unsigned_abs().div_ceil(2);
            whole + if away { unscaled.signum() } else { 0 }
        };
        (out.unsigned_abs() < self.limit.unsigned_abs()).then_some(out)
    }
}

/// The nearest double; up to 18 digits by a division of two doubles, as the reference has it.
pub(super) fn to_double(unscaled: i128, precision: u8, scale: u8) -> f64 {
    if precision <= 18 {
        return unscaled as i64 as f64 / power(u32::from(scale)) as f64;
    }
    if unscaled.unsigned_abs() < 1 << 52 && scale <= 22 {
        return unscaled as f64 / power(u32::from(scale)) as f64;
    }
    format!("{unscaled}e-{scale}").parse().unwrap_or(f64::NAN)
}

/// Appends a decimal in plain form: as many digits after the point as the scale says.
pub(super) fn print(unscaled: i128, scale: u8, out: &mut String) -> Result<()> {
    let magnitude = unscaled.unsigned_abs();
    let unit = power(u32::from(scale)).unsigned_abs();
    let sign = if unscaled < 0 { "-" } else { "" };
    match scale {
        0 => write!(out, "{sign}{magnitude}"),
        _ => write!(out, "{sign}{}.{:0>width$}", magnitude / unit, magnitude % unit, width = usize::from(scale)),
    }
    .map_err(|e| Error::internal("text could not be written").caused_by(e))
}

/// A number as `BigDecimal` reads it: sign, digits with a point, exponent; no blanks.
pub(super) struct DecimalText<'a> {
    negative: bool,
    /// Digits before and after the point.
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> DecimalText<'a> {
    /// `None` where it is no number.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (negative, rest) = strip_sign(text);
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent_of(exponent)?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || whole.len() + fraction.len() == 0 {
            return None;
        }
        let scale = i64::try_from(fraction.len()).ok()? - i64::from(exponent);
        i32::try_from(scale).ok()?;
        Some(Self { negative, whole, fraction, exponent: i64::from(exponent) })
    }

    /// The unscaled value of `DECIMAL(precision, scale)`, `None` where it does not fit.
    pub(super) fn unscaled(&self, precision: u8, scale: u8) -> Option<i128> {
        let digits = || self.whole.bytes().chain(self.fraction.bytes()).skip_while(|b| *b == b'0').map(|b| b - b'0');
        let zeros = self.whole.bytes().chain(self.fraction.bytes()).take_while(|b| *b == b'0').count();
        let kept = i64::try_from(self.whole.len()).ok()? - i64::try_from(zeros).ok()?;
        let kept = kept.checked_add(self.exponent)?.checked_add(i64::from(scale))?;
        if kept < 0 || digits().next().is_none() {
            return Some(0);
        }
        if kept > i64::from(precision) {
            return None;
        }
        let mut digits = digits();
        let mut value = 0i128;
        for _ in 0..kept {
            value = value * 10 + i128::from(digits.next().unwrap_or(0));
        }
        value += i128::from(digits.next().is_some_and(|d| d >= 5));
        let value = if self.negative { -value } else { value };
        (value.unsigned_abs() < power(u32::from(precision)).unsigned_abs()).then_some(value)
    }
}

/// A leading sign: whether it is a minus, and what follows.
pub(super) fn strip_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// The exponent: an optional sign and digits, within 32 bits.
fn exponent_of(text: &str) -> Option<i32> {
    let (negative, digits) = strip_sign(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.trim_start_matches('0');
    let magnitude = if magnitude.is_empty() { 0 } else { magnitude.parse::<i64>().ok()? };
    i32::try_from(if negative { -magnitude } else { magnitude }).ok()
}
