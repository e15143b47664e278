//! Which decimal digits Java prints of a floating point number.
//!
//! From Java 19 on they are the fewest that read back as the same number. Up to Java 18, which is what tables are
//! written with and what the reference prints, there are now and then more: large integers keep digits that say nothing
//! (`2.08860096E9` of a `FLOAT`), and a few numbers are not given their shortest form (`9.999999999999999E22`).
//! In: a finite number that is not 0. Out: [`Digits`]. Java: `FloatingDecimal`.
//!
//! The digits up to Java 18 come from long division. With the number as B / S, and M / S half the gap to its
//! neighbour, digits are taken until what is left of B is below M or within M of the next digit. The quirks are in the
//! estimates around it, and in the arithmetic overflowing; they are kept here.

use std::cmp::Ordering;

/// Decimal digits, the first and the last not 0 (except for a lone digit), and the exponent of ten of the first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Digits {
    pub(super) digits: Vec<u8>,
    pub(super) exponent: i32,
}

/// A binary number: 53 bits of which the highest is set, the exponent of two of that bit, and how many of the bits the
/// number's type can tell apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Binary {
    fraction: u64,
    exponent: i32,
    significant_bits: i32,
}

const TOP_BIT: i32 = 52;

impl From<f64> for Binary {
    fn from(value: f64) -> Self {
        let bits = value.to_bits();
        Self::new(bits & ((1 << 52) - 1), ((bits >> 52) & 0x7ff) as i32, 52, 1023)
    }
}

impl From<f32> for Binary {
    fn from(value: f32) -> Self {
        let bits = value.to_bits();
        Self::new(u64::from(bits & ((1 << 23) - 1)), ((bits >> 23) & 0xff) as i32, 23, 127)
    }
}

impl Binary {
    fn new(fraction: u64, biased: i32, width: i32, bias: i32) -> Self {
        let to_top = TOP_BIT - width;
        if biased != 0 {
            let fraction = (fraction | (1 << width)) << to_top;
            return Self { fraction, exponent: biased - bias, significant_bits: width + 1 };
        }
        let bits = 64 - fraction.leading_zeros() as i32;
        let shift = width + 1 - bits;
        Self { fraction: fraction << (shift + to_top), exponent: 1 - shift - bias, significant_bits: bits }
    }

    /// The exponent of ten of the first digit, or one more.
    #[expect(clippy::approx_constant, reason = "the digits that Java computes with")]
    fn estimated_exponent(self) -> i32 {
        let mantissa = f64::from_bits((1023 << 52) | (self.fraction & ((1 << 52) - 1)));
        let log = (mantissa - 1.5) * 0.289_529_654 + 0.176_091_259 + f64::from(self.exponent) * 0.301_029_995_663_981;
        log.floor() as i32
    }

    pub(super) fn digits(self) -> Digits {
        let tail = self.fraction.trailing_zeros() as i32;
        let bits = TOP_BIT + 1 - tail;
        let below_one = (bits - self.exponent - 1).max(0);
        if below_one == 0 && (-21..=62).contains(&self.exponent) {
            return self.integer();
        }
        let mut exponent = self.estimated_exponent();
        let fives = (-exponent).max(0);
        let mut b = Power { factor: self.fraction >> tail, fives, twos: fives + below_one + self.exponent };
        let mut s = Power { factor: 1, fives: exponent.max(0), twos: exponent.max(0) + below_one };
        let mut m = Power { factor: 1, fives, twos: b.twos - self.significant_bits };
        b.twos -= bits - 1;
        let common = b.twos.min(s.twos);
        // Below a power of two the neighbour is only half as far.
        let lift = (m.twos - common - i32::from(bits == 1)).min(0);
        m.twos = (m.twos - common - i32::from(bits == 1)).max(0);
        b.twos -= common + lift;
        s.twos -= common + lift;
        let b_bits = bits + b.twos + five_bits(b.fives);
        let ten_s_bits = s.twos + 1 + five_bits(s.fives + 1);
        let division = match b_bits.max(ten_s_bits) {
            ..32 => divide_narrow(b, s, m, &mut exponent, |v| i64::from(v as i32)),
            32..64 => divide_narrow(b, s, m, &mut exponent, |v| v),
            _ => divide_wide(b, s, m, &mut exponent),
        };
        division.rounded(exponent)
    }

    /// An integer below 2^63; of its digits, those are dropped that are surely below its precision.
    fn integer(self) -> Digits {
        let shift = self.exponent - TOP_BIT;
        let mut value = if shift >= 0 { self.fraction << shift } else { self.fraction >> -shift };
        let unknown_bits = self.exponent - self.significant_bits - 1;
        let mut exponent = -1;
        if unknown_bits > 1 {
            let dropped = (1u64 << unknown_bits).ilog10();
            let power = 10u64.pow(dropped);
            value = value / power + u64::from(dropped > 0 && value % power >= power / 2);
            exponent += dropped as i32;
        }
        let mut digits = value.to_string().into_bytes();
        exponent += digits.len() as i32;
        digits.iter_mut().for_each(|d| *d -= b'0');
        Digits { digits: without_trailing_zeros(digits), exponent }
    }
}

fn without_trailing_zeros(mut digits: Vec<u8>) -> Vec<u8> {
    while digits.len() > 1 && digits.last() == Some(&0) {
        digits.pop();
    }
    digits
}

/// How many bits 5^n has, as Java counts: none for n = 0, too many for large n.
fn five_bits(n: i32) -> i32 {
    match u32::try_from(n) {
        Ok(0) | Err(_) => 0,
        Ok(n @ 1..=26) => 5u64.pow(n).ilog2() as i32 + 1,
        Ok(_) => n * 3,
    }
}

/// factor × 5^fives × 2^twos
#[derive(Debug, Clone, Copy)]
struct Power {
    factor: u64,
    fives: i32,
    twos: i32,
}

impl Power {
    /// The value where it is known to fit.
    fn narrow(self) -> i64 {
        let five = 5i64.wrapping_pow(self.fives.unsigned_abs());
        self.factor.cast_signed().wrapping_mul(five).wrapping_shl(self.twos.unsigned_abs())
    }

    fn wide(self) -> Big {
        let mut big = Big(vec![self.factor as u32, (self.factor >> 32) as u32]);
        let (mut fives, five_to_13) = (self.fives, 1_220_703_125);
        while fives >= 13 {
            big.multiply(five_to_13);
            fives -= 13;
        }
        big.multiply(5u32.pow(fives.unsigned_abs()));
        big.shift_left(self.twos.unsigned_abs())
    }
}

/// The digits of a division, and how what is left of it compares.
struct Division {
    digits: Vec<u8>,
    /// What is left is below M.
    low: bool,
    /// What is left is within M of the next digit.
    high: bool,
    /// What is left, compared to half a digit.
    half: Ordering,
}

impl Division {
    fn rounded(mut self, mut exponent: i32) -> Digits {
        let odd = self.digits.last().is_some_and(|d| d % 2 == 1);
        let up = self.high && (!self.low || self.half.is_gt() || (self.half.is_eq() && odd));
        if up {
            while self.digits.len() > 1 && self.digits.last() == Some(&9) {
                self.digits.pop();
            }
            match self.digits.last_mut() {
                Some(last @ 9) => {
                    *last = 1;
                    exponent += 1;
                }
                Some(last) => *last += 1,
                None => {}
            }
        }
        Digits { digits: without_trailing_zeros(self.digits), exponent }
    }
}

/// Numbers in scientific notation get two digits at least.
fn is_scientific(exponent: i32) -> bool {
    !(-3..8).contains(&exponent)
}

fn divide_narrow(b: Power, s: Power, m: Power, exponent: &mut i32, wrap: fn(i64) -> i64) -> Division {
    let (mut b, s, mut m) = (wrap(b.narrow()), wrap(s.narrow()).max(1), wrap(m.narrow()));
    let tens = wrap(s.wrapping_mul(10));
    let mut digits = vec![];
    let (mut low, mut high) = (false, false);
    let mut first = true;
    while first || !(low || high) {
        let quotient = b / s;
        b = wrap((b % s).wrapping_mul(10));
        m = wrap(m.wrapping_mul(10));
        let overflowed = !first && m <= 0;
        low = overflowed || b < m;
        high = overflowed || wrap(b.wrapping_add(m)) > tens;
        if first && quotient == 0 && !high {
            *exponent -= 1;
        } else {
            digits.push(quotient as u8);
        }
        if first && is_scientific(*exponent) {
            (low, high) = (false, false);
        }
        first = false;
    }
    Division { digits, low, high, half: wrap(wrap(b << 1).wrapping_sub(tens)).cmp(&0) }
}

fn divide_wide(b: Power, s: Power, m: Power, exponent: &mut i32) -> Division {
    let (mut b, s, mut m) = (b.wide(), s.wide(), m.wide());
    let mut tens = s.clone();
    tens.multiply(10);
    let mut digits = vec![];
    let (mut low, mut high) = (false, false);
    let mut first = true;
    while first || !(low || high) {
        let quotient = b.divide(&s);
        b.multiply(10);
        m.multiply(10);
        low = b.compare(&m).is_lt();
        high = b.plus(&m).compare(&tens).is_ge();
        if first && quotient == 0 && !high {
            *exponent -= 1;
        } else {
            digits.push(quotient);
        }
        if first && is_scientific(*exponent) {
            (low, high) = (false, false);
        }
        first = false;
    }
    Division { digits, low, high, half: b.shift_left(1).compare(&tens) }
}

/// A natural number, lowest word first.
#[derive(Debug, Clone)]
struct Big(Vec<u32>);

impl Big {
    fn multiply(&mut self, by: u32) {
        let mut carry = 0;
        for word in &mut self.0 {
            carry += u64::from(*word) * u64::from(by);
            *word = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    fn shift_left(&self, bits: u32) -> Self {
        let mut words = vec![0; (bits / 32) as usize];
        words.extend_from_slice(&self.0);
        let mut shifted = Self(words);
        shifted.multiply(1 << (bits % 32));
        shifted
    }

    fn word(&self, i: usize) -> u32 {
        self.0.get(i).copied().unwrap_or(0)
    }

    fn compare(&self, other: &Self) -> Ordering {
        let words = 0..self.0.len().max(other.0.len());
        let differing = words.rev().map(|i| self.word(i).cmp(&other.word(i)));
        differing.into_iter().find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn plus(&self, other: &Self) -> Self {
        let mut carry = 0;
        let words = 0..=self.0.len().max(other.0.len());
        let sum = words.map(|i| {
            carry += u64::from(self.word(i)) + u64::from(other.word(i));
            let word = carry as u32;
            carry >>= 32;
            word
        });
        Self(sum.collect())
    }

    /// Leaves the remainder and gives the quotient, which is a digit.
    fn divide(&mut self, by: &Self) -> u8 {
        let mut quotient = 0;
        while quotient < 10 && self.compare(by).is_ge() {
            let mut borrow = 0;
            for (i, word) in self.0.iter_mut().enumerate() {
                let difference = i64::from(*word) - i64::from(by.word(i)) - borrow;
                *word = difference as u32;
                borrow = i64::from(difference < 0);
            }
            quotient += 1;
        }
        quotient
    }
}
