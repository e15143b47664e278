//! The arithmetic of Java Paimon's decimals, on unscaled values.
//!
//! In: unscaled values of one precision and scale. Out: unscaled values of the same, or `None` where Java's result is NULL.
//! Sums of up to 18 digits are sums of longs that are checked against 64 bits only, not against the declared precision:
//! they may leave it. Everything else is rounded half up to the scale and is NULL beyond the precision.
//! Java: `DecimalUtils.add`, `subtract`, `Decimal.fromBigDecimal`, `BigDecimal.divide`.

use arrow::datatypes::i256;

use super::numeric::Arithmetic;

/// The digits up to which Java keeps a decimal in a long.
const MAX_COMPACT_PRECISION: u8 = 18;

/// Decimals of one precision and scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decimals {
    compact: bool,
    /// The least value that has too many digits.
    bound: i128,
    /// Ten to the power of the scale.
    unit: i256,
}

impl Decimals {
    /// Decimals of `precision` digits, `scale` of them after the point.
    pub fn new(precision: u8, scale: i8) -> Self {
        let ten = i256::from_i128(10);
        Self {
            compact: precision <= MAX_COMPACT_PRECISION,
            bound: 10i128.checked_pow(u32::from(precision)).unwrap_or(i128::MAX),
            unit: ten.checked_pow(u32::from(scale.unsigned_abs())).unwrap_or(i256::ONE),
        }
    }

    fn checked(&self, value: i128) -> Option<i128> {
        (value.unsigned_abs() < self.bound.unsigned_abs()).then_some(value)
    }

    fn summed(&self, wide: Option<i128>) -> Option<i128> {
        let value = wide?;
        if self.compact && i64::try_from(value).is_ok() { Some(value) } else { self.checked(value) }
    }

    /// `dividend / divisor`, rounded half up (away from zero at the middle); the divisor is positive.
    fn rounded(&self, dividend: i256, divisor: i256) -> Option<i128> {
        let (quotient, rest) = (dividend.checked_div(divisor)?, dividend.checked_rem(divisor)?);
        let up = rest.wrapping_abs() >= divisor.wrapping_sub(rest.wrapping_abs());
        let step = if dividend.is_negative() { i256::MINUS_ONE } else { i256::ONE };
        let value = if up { quotient.checked_add(step)? } else { quotient };
        self.checked(value.to_i128()?)
    }
}

impl Arithmetic<i128> for Decimals {
    fn add(&self, a: i128, b: i128) -> Option<i128> {
        self.summed(a.checked_add(b))
    }

    fn subtract(&self, a: i128, b: i128) -> Option<i128> {
        self.summed(a.checked_sub(b))
    }

    fn negate(&self, a: i128) -> Option<i128> {
        self.checked(a.checked_neg()?)
    }

    fn multiply(&self, a: i128, b: i128) -> Option<i128> {
        let product = i256::from_i128(a).checked_mul(i256::from_i128(b))?;
        self.rounded(product, self.unit)
    }

    fn divide(&self, a: i128, b: i128) -> Result<Option<i128>, &'static str> {
        if b == 0 {
            return Err("division by zero");
        }
        let divisor = i128::try_from(gcd(a.unsigned_abs(), b.unsigned_abs())).unwrap_or(1);
        let (mut a, mut b) = (a / divisor, b / divisor);
        if b < 0 {
            (a, b) = (a.wrapping_neg(), b.wrapping_neg());
        }
        if !divides_a_power_of_ten(b) {
            return Err("the exact quotient of the decimals has no end");
        }
        let dividend = i256::from_i128(a).checked_mul(self.unit);
        Ok(dividend.and_then(|dividend| self.rounded(dividend, i256::from_i128(b))))
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

fn divides_a_power_of_ten(mut n: i128) -> bool {
    for prime in [2, 5] {
        while n != 0 && n % prime == 0 {
            n /= prime;
        }
    }
    n == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_few_digits_leave_the_precision_and_wide_ones_do_not() {
        let narrow = Decimals::new(5, 2);
        assert_eq!(narrow.add(99_999, 501), Some(100_500));
        assert_eq!(narrow.negate(100_500), None);
        let longs = Decimals::new(18, 0);
        assert_eq!(longs.add(i64::MAX as i128, 1), None);
        assert_eq!(longs.subtract(i64::MIN as i128, -1), Some(i64::MIN as i128 + 1));
        let wide = Decimals::new(19, 0);
        assert_eq!(wide.add(10i128.pow(19) - 1, 1), None);
        assert_eq!(wide.add(10i128.pow(19) - 2, 1), Some(10i128.pow(19) - 1));
        assert_eq!(Decimals::new(38, 0).add(10i128.pow(38) - 1, 10i128.pow(38) - 1), None);
    }

    #[test]
    fn products_and_quotients_are_rounded_half_up() {
        let d = Decimals::new(5, 2);
        for (a, b, product) in
            [(105, 110, Some(116)), (-105, 110, Some(-116)), (104, 101, Some(105)), (99_999, 200, None)]
        {
            assert_eq!(d.multiply(a, b), product, "{a} * {b}");
        }
        for (a, b, quotient) in [
            (100, 800, Ok(Some(13))),
            (-100, 800, Ok(Some(-13))),
            (100, -800, Ok(Some(-13))),
            (300, 150, Ok(Some(200))),
            (0, 700, Ok(Some(0))),
            (99_999, 1, Ok(None)),
            (100, 300, Err("the exact quotient of the decimals has no end")),
            (100, 0, Err("division by zero")),
        ] {
            assert_eq!(d.divide(a, b), quotient, "{a} / {b}");
        }
        let wide = Decimals::new(38, 38);
        assert_eq!(wide.multiply(10i128.pow(37), 10i128.pow(37)), Some(10i128.pow(36)));
        assert_eq!(wide.divide(1, 10i128.pow(37)), Ok(Some(10)));
    }
}
