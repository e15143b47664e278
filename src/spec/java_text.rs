//! Floating-point numbers as Java prints them: `Double.toString` and `Float.toString` of Java 8 to 18.
//!
//! In: a number. Out: its text, as it stands in partition folders and in columns that were changed to text
//! (`1.0`, `1.0E10`, `-0.0`, `NaN`). Up to Java 18 the digits are not always the shortest that give the number back
//! (2^-44 is `5.6843418860808015E-14`, not `5.684341886080802E-14`), and `BigDecimal.valueOf(double)` goes through this
//! text, so decimals depend on it too. The invariant: parsing the text gives the number again.
//!
//! ```text
//! digits are taken off B/S until the rest is within M, half the distance to the next number
//!   10^-3 <= |x| < 10^7:  12.5       else:  1.25E10
//! ```

use std::cmp::Ordering;

/// `Double.toString`.
pub fn java_double(x: f64) -> String {
    if !x.is_finite() || x == 0.0 {
        return special(x.is_nan(), x.is_sign_negative(), x == 0.0).to_owned();
    }
    let (exponent, fraction) = ((x.to_bits() >> 52 & 0x7ff) as i32, x.to_bits() & ((1 << 52) - 1));
    let parts = match exponent {
        0 => {
            let shift = fraction.leading_zeros() as i32 - 11;
            Binary { fraction: fraction << shift, exponent: 1 - shift - 1023, significant_bits: 53 - shift }
        }
        _ => Binary { fraction: fraction | 1 << 52, exponent: exponent - 1023, significant_bits: 53 },
    };
    layout(x.is_sign_negative(), &parts.digits())
}

/// `Float.toString`.
pub fn java_float(x: f32) -> String {
    if !x.is_finite() || x == 0.0 {
        return special(x.is_nan(), x.is_sign_negative(), x == 0.0).to_owned();
    }
    let (exponent, fraction) = ((x.to_bits() >> 23 & 0xff) as i32, u64::from(x.to_bits() & ((1 << 23) - 1)));
    let parts = match exponent {
        0 => {
            let shift = fraction.leading_zeros() as i32 - 40;
            Binary { fraction: fraction << shift << 29, exponent: 1 - shift - 127, significant_bits: 24 - shift }
        }
        _ => Binary { fraction: (fraction | 1 << 23) << 29, exponent: exponent - 127, significant_bits: 24 },
    };
    layout(x.is_sign_negative(), &parts.digits())
}

fn special(nan: bool, negative: bool, zero: bool) -> &'static str {
    match (nan, negative, zero) {
        (true, ..) => "NaN",
        (_, true, true) => "-0.0",
        (_, false, true) => "0.0",
        (_, true, false) => "-Infinity",
        (_, false, false) => "Infinity",
    }
}

/// Decimal digits `d1 d2 …`, standing for `0.d1d2… × 10^exponent`.
struct Digits {
    digits: Vec<u8>,
    exponent: i32,
}

impl Digits {
    /// Adds one unit of the last digit; nines at the end become zeros that stay.
    fn round_up(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.exponent += 1;
        if let Some(first) = self.digits.first_mut() {
            *first = 1;
        }
    }
}

/// Writes digits in Java's plain or scientific form; there is always a digit on both sides of the point.
fn layout(negative: bool, decimal: &Digits) -> String {
    let mut out = String::with_capacity(26);
    if negative {
        out.push('-');
    }
    let text: String = decimal.digits.iter().map(|d| char::from(b'0' + d)).collect();
    let split = |at: usize| text.split_at_checked(at).unwrap_or((&text, ""));
    let or_zero = |digits: &str| if digits.is_empty() { "0".to_owned() } else { digits.to_owned() };
    match decimal.exponent {
        exponent @ 1..=7 => {
            let (whole, fraction) = split(exponent as usize);
            out += &format!("{whole:0<width$}.{}", or_zero(fraction), width = exponent as usize);
        }
        exponent @ -2..=0 => out += &format!("0.{:0>width$}{text}", "", width = -exponent as usize),
        exponent => {
            let (first, rest) = split(1);
            out += &format!("{first}.{}E{}", or_zero(rest), exponent - 1);
        }
    }
    out
}

/// `1.fraction × 2^exponent`: the fraction has its leading one at bit 52.
struct Binary {
    fraction: u64,
    exponent: i32,
    significant_bits: i32,
}

/// The quotient B/S, and M, as odd parts and powers of two and five.
struct Scales {
    decimal_exponent: i32,
    odd: u64,
    odd_bits: i32,
    b: (i32, i32),
    s: (i32, i32),
    m: (i32, i32),
}

impl Binary {
    fn digits(&self) -> Digits {
        let trailing = self.fraction.trailing_zeros() as i32;
        if (0..=62).contains(&self.exponent) && 52 - trailing <= self.exponent {
            return self.whole_digits();
        }
        let scales = self.scales(trailing);
        let (b_bits, s_bits) = (
            scales.odd_bits + scales.b.0 + bits_of_power_of_5(scales.b.1),
            scales.s.0 + 1 + bits_of_power_of_5(scales.s.1 + 1),
        );
        if b_bits < 64 && s_bits < 64 { scales.short(b_bits < 32 && s_bits < 32) } else { scales.long() }
    }

    /// Whole numbers below 2^63: the digits that the precision does not carry are rounded away.
    fn whole_digits(&self) -> Digits {
        let value = if self.exponent >= 52 {
            self.fraction << (self.exponent - 52)
        } else {
            self.fraction >> (52 - self.exponent)
        };
        let spare_bits = self.exponent - self.significant_bits - 1;
        let dropped = if spare_bits > 1 { (1u64 << spare_bits).ilog10() } else { 0 };
        let unit = 10u64.pow(dropped);
        let rounded = value / unit + u64::from(dropped > 0 && value % unit >= unit / 2);
        let text = rounded.to_string();
        let exponent = text.len() as i32 + dropped as i32;
        let digits = text.trim_end_matches('0').bytes().map(|c| c - b'0').collect();
        Digits { digits, exponent }
    }

    /// An estimate of `floor(log10)`, at most one too large.
    // The reference's own digits of log10(2): a better constant could give another estimate.
    #[allow(clippy::approx_constant)]
    fn decimal_exponent(&self) -> i32 {
        let mantissa = f64::from_bits(0x3ff0_0000_0000_0000 | self.fraction & ((1 << 52) - 1));
        let log = (mantissa - 1.5) * 0.289529654 + 0.176091259 + f64::from(self.exponent) * 0.301029995663981;
        log.floor() as i32
    }

    fn scales(&self, trailing: i32) -> Scales {
        let odd_bits = 53 - trailing;
        let tiny_bits = (odd_bits - self.exponent - 1).max(0);
        let decimal_exponent = self.decimal_exponent();
        let b5 = (-decimal_exponent).max(0);
        let s5 = decimal_exponent.max(0);
        let mut b2 = b5 + tiny_bits + self.exponent;
        let mut s2 = s5 + tiny_bits;
        let mut m2 = b2 - self.significant_bits;
        b2 -= odd_bits - 1;
        let common = b2.min(s2);
        (b2, s2, m2) = (b2 - common, s2 - common, m2 - common);
        if odd_bits == 1 {
            m2 -= 1;
        }
        let lift = (-m2).max(0);
        Scales {
            decimal_exponent,
            odd: self.fraction >> trailing,
            odd_bits,
            b: (b2 + lift, b5),
            s: (s2 + lift, s5),
            m: (m2 + lift, b5),
        }
    }
}

/// An upper bound of the bits of `5^n`, as the reference estimates it.
fn bits_of_power_of_5(n: i32) -> i32 {
    if n < 27 { (5u64.wrapping_pow(n as u32)).ilog2() as i32 + i32::from(n > 0) } else { n * 3 }
}

/// Where the digits stopped: the rest is below M, the rest is within M of the next digit, and how the rest compares
/// with one half where both hold.
struct Stop {
    low: bool,
    high: bool,
    half: Ordering,
}

impl Scales {
    /// In scientific form at least two digits are wanted, so the first one never stops.
    fn scientific(decimal_exponent: i32) -> bool {
        !(-3..8).contains(&decimal_exponent)
    }

    fn finish(digits: Vec<u8>, decimal_exponent: i32, stop: &Stop) -> Digits {
        let odd = digits.last().is_some_and(|d| d % 2 == 1);
        let mut out = Digits { digits, exponent: decimal_exponent + 1 };
        let up = match stop {
            Stop { high: false, .. } => false,
            Stop { low: false, .. } => true,
            Stop { half: Ordering::Equal, .. } => odd,
            Stop { half, .. } => *half == Ordering::Greater,
        };
        if up {
            out.round_up();
        }
        out
    }

    /// All in machine words of 32 (`narrow`) or 64 bits, overflow of M included: it ends the digits.
    fn short(&self, narrow: bool) -> Digits {
        let wrap = |x: i64| if narrow { i64::from(x as i32) } else { x };
        let power = |(twos, fives): (i32, i32)| {
            let five = 5i64.wrapping_pow(fives as u32);
            if narrow { i64::from((five as i32).wrapping_shl(twos as u32)) } else { five.wrapping_shl(twos as u32) }
        };
        let mut b = wrap((self.odd as i64).wrapping_mul(power(self.b)));
        let s = power(self.s).max(1);
        let mut m = power(self.m);
        let tens = wrap(s.wrapping_mul(10));
        let (mut digits, mut decimal_exponent) = (Vec::with_capacity(20), self.decimal_exponent);
        let (mut low, mut high);
        let mut first = true;
        loop {
            let q = b / s;
            b = wrap((b % s).wrapping_mul(10));
            m = wrap(m.wrapping_mul(10));
            low = b < m || !first && m <= 0;
            high = wrap(b.wrapping_add(m)) > tens || !first && m <= 0;
            if first && q == 0 && !high {
                decimal_exponent -= 1;
            } else {
                digits.push(q as u8);
            }
            if first && Self::scientific(decimal_exponent) {
                (low, high) = (false, false);
            }
            first = false;
            if low || high {
                break;
            }
        }
        let half = wrap(wrap(b << 1).wrapping_sub(tens)).cmp(&0);
        Self::finish(digits, decimal_exponent, &Stop { low, high, half })
    }

    fn long(&self) -> Digits {
        let mut b = Natural::new(self.odd, self.b);
        let s = Natural::new(1, self.s);
        let mut m = Natural::new(1, self.m);
        let tens = Natural::new(10, self.s);
        let (mut digits, mut decimal_exponent) = (Vec::with_capacity(20), self.decimal_exponent);
        let (mut low, mut high);
        let mut first = true;
        loop {
            let q = b.take_quotient(&s);
            b.multiply(10);
            m.multiply(10);
            low = b.compare(&m) == Ordering::Less;
            high = b.plus(&m).compare(&tens) != Ordering::Less;
            if first && q == 0 && !high {
                decimal_exponent -= 1;
            } else {
                digits.push(q);
            }
            if first && Self::scientific(decimal_exponent) {
                (low, high) = (false, false);
            }
            first = false;
            if low || high {
                break;
            }
        }
        b.multiply(2);
        Self::finish(digits, decimal_exponent, &Stop { low, high, half: b.compare(&tens) })
    }
}

/// A natural number of any size: words of 32 bits, the least significant first, no leading zeros.
#[derive(Clone)]
struct Natural(Vec<u32>);

impl Natural {
    /// `factor × 2^twos × 5^fives`.
    fn new(factor: u64, (twos, fives): (i32, i32)) -> Self {
        let mut n = Natural(vec![factor as u32, (factor >> 32) as u32]);
        n.trim();
        for _ in 0..fives / 13 {
            n.multiply(1_220_703_125);
        }
        n.multiply(5u32.pow((fives % 13) as u32));
        n.multiply(1 << (twos % 32));
        let words = (twos / 32) as usize;
        n.0.splice(0..0, std::iter::repeat_n(0, words));
        n
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn multiply(&mut self, factor: u32) {
        let mut carry = 0u64;
        for word in &mut self.0 {
            carry += u64::from(*word) * u64::from(factor);
            *word = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    fn plus(&self, other: &Self) -> Self {
        let (long, short) = if self.0.len() < other.0.len() { (other, self) } else { (self, other) };
        let mut carry = 0u64;
        let addends = short.0.iter().copied().chain(std::iter::repeat(0));
        let mut sum = Vec::with_capacity(long.0.len() + 1);
        for (a, b) in long.0.iter().zip(addends) {
            carry += u64::from(*a) + u64::from(b);
            sum.push(carry as u32);
            carry >>= 32;
        }
        if carry > 0 {
            sum.push(carry as u32);
        }
        Natural(sum)
    }

    /// Takes `other` off; it must not be larger.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = 0i64;
        let subtrahends = other.0.iter().copied().chain(std::iter::repeat(0));
        for (a, b) in self.0.iter_mut().zip(subtrahends) {
            let difference = i64::from(*a) - i64::from(b) + borrow;
            *a = difference as u32;
            borrow = difference >> 32;
        }
        self.trim();
    }

    /// The quotient by `other`, which is below ten; the remainder stays.
    fn take_quotient(&mut self, other: &Self) -> u8 {
        let mut quotient = 0;
        while self.compare(other) != Ordering::Less {
            self.subtract(other);
            quotient += 1;
        }
        quotient
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn doubles_print_as_in_java_17() {
        for (x, want) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (0.1, "0.1"),
            (0.001, "0.001"),
            (9.999e-4, "9.999E-4"),
            (1.0E7, "1.0E7"),
            (9999999.999, "9999999.999"),
            (1e10, "1.0E10"),
            (1e23, "9.999999999999999E22"),
            (2e23, "1.9999999999999998E23"),
            (1.0 / 3.0, "0.3333333333333333"),
            (2f64.powi(-44), "5.6843418860808015E-14"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
            (5e-324, "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (9007199254740993.0, "9.007199254740992E15"),
            (1.2345678901234568e17, "1.2345678901234568E17"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(java_double(x), want);
        }
    }

    #[test]
    fn floats_print_as_in_java_17() {
        for (x, want) in [
            (0.1f32, "0.1"),
            (3.4e38, "3.4E38"),
            (f32::MAX, "3.4028235E38"),
            (1e-45, "1.4E-45"),
            (16777216.0, "1.6777216E7"),
            (123456.79, "123456.79"),
            (1.0E10, "1.0E10"),
            (f32::INFINITY, "Infinity"),
        ] {
            assert_eq!(java_float(x), want);
        }
    }

    proptest! {
        #[test]
        fn the_text_gives_the_number_back(bits: u64, narrow: u32) {
            let (x, y) = (f64::from_bits(bits), f32::from_bits(narrow));
            prop_assert!(x.is_nan() || java_double(x).replace("Infinity", "inf").parse::<f64>().unwrap() == x);
            prop_assert!(y.is_nan() || java_float(y).replace("Infinity", "inf").parse::<f32>().unwrap() == y);
        }
    }
}
