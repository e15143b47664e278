//! One value of a Paimon type, outside of Arrow: partition values, keys, bounds and literals.
//!
//! A [`Datum`] says what kind of value it holds but not its whole type: lengths, precisions of times and names of
//! fields stay with the [`DataType`](super::data_type::DataType). NULL is `Option::None`.

use std::cmp::Ordering;

/// A value that is not NULL.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// `BOOLEAN`
    Boolean(bool),
    /// `TINYINT`
    TinyInt(i8),
    /// `SMALLINT`
    SmallInt(i16),
    /// `INT`
    Int(i32),
    /// `BIGINT`
    BigInt(i64),
    /// `FLOAT`
    Float(f32),
    /// `DOUBLE`
    Double(f64),
    /// `DECIMAL`
    Decimal {
        /// The value without its point.
        unscaled: i128,
        /// All digits of the type.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// `CHAR`, `VARCHAR`
    String(String),
    /// `BINARY`, `VARBINARY`, `BLOB`, `GEOMETRY`, `GEOGRAPHY`
    Bytes(Vec<u8>),
    /// `DATE`, days since 1970-01-01
    Date(i32),
    /// `TIME`, milliseconds of the day
    Time(i32),
    /// `TIMESTAMP` and `TIMESTAMP WITH LOCAL TIME ZONE`
    Timestamp {
        /// Milliseconds since 1970-01-01T00:00.
        millis: i64,
        /// Nanoseconds beyond, 0 to 999 999.
        nano_of_milli: i32,
    },
    /// `VARIANT`
    Variant {
        /// The value in variant encoding.
        value: Vec<u8>,
        /// The dictionary of its keys.
        metadata: Vec<u8>,
    },
    /// `ARRAY`, `VECTOR`
    Array(Vec<Option<Datum>>),
    /// `MAP`, and `MULTISET` as a map from element to count
    Map(Vec<(Option<Datum>, Option<Datum>)>),
    /// `ROW`
    Row(Vec<Option<Datum>>),
}

impl Datum {
    /// What kind of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Datum::Boolean(_) => "BOOLEAN",
            Datum::TinyInt(_) => "TINYINT",
            Datum::SmallInt(_) => "SMALLINT",
            Datum::Int(_) => "INT",
            Datum::BigInt(_) => "BIGINT",
            Datum::Float(_) => "FLOAT",
            Datum::Double(_) => "DOUBLE",
            Datum::Decimal { .. } => "DECIMAL",
            Datum::String(_) => "STRING",
            Datum::Bytes(_) => "BYTES",
            Datum::Date(_) => "DATE",
            Datum::Time(_) => "TIME",
            Datum::Timestamp { .. } => "TIMESTAMP",
            Datum::Variant { .. } => "VARIANT",
            Datum::Array(_) => "ARRAY",
            Datum::Map(_) => "MAP",
            Datum::Row(_) => "ROW",
        }
    }

    /// The order in which Java compares atomic values: bytes unsigned, text by its UTF-8 bytes, −0.0 below 0.0, NaN
    /// above everything and equal to itself. `None` for values of different kinds and for kinds without an order.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Datum::Boolean(a), Datum::Boolean(b)) => a.cmp(b),
            (Datum::TinyInt(a), Datum::TinyInt(b)) => a.cmp(b),
            (Datum::SmallInt(a), Datum::SmallInt(b)) => a.cmp(b),
            (Datum::Int(a), Datum::Int(b)) | (Datum::Date(a), Datum::Date(b)) | (Datum::Time(a), Datum::Time(b)) => {
                a.cmp(b)
            }
            (Datum::BigInt(a), Datum::BigInt(b)) => a.cmp(b),
            (Datum::Float(a), Datum::Float(b)) => compare_doubles(f64::from(*a), f64::from(*b)),
            (Datum::Double(a), Datum::Double(b)) => compare_doubles(*a, *b),
            (Datum::Decimal { unscaled: a, scale: s, .. }, Datum::Decimal { unscaled: b, scale: t, .. }) => {
                compare_decimals(*a, *s, *b, *t)
            }
            (Datum::String(a), Datum::String(b)) => a.cmp(b),
            (Datum::Bytes(a), Datum::Bytes(b)) => a.cmp(b),
            (Datum::Timestamp { millis: a, nano_of_milli: m }, Datum::Timestamp { millis: b, nano_of_milli: n }) => {
                (a, m).cmp(&(b, n))
            }
            _ => return None,
        })
    }
}

/// All NaNs are one value, unlike in [`f64::total_cmp`].
fn compare_doubles(a: f64, b: f64) -> Ordering {
    let canonical = |x: f64| if x.is_nan() { f64::NAN.abs() } else { x };
    canonical(a).total_cmp(&canonical(b))
}

fn compare_decimals(a: i128, a_scale: u8, b: i128, b_scale: u8) -> Ordering {
    let lift = |x: i128, by: u8| 10i128.checked_pow(u32::from(by)).and_then(|p| x.checked_mul(p));
    if a_scale < b_scale {
        return compare_decimals(b, b_scale, a, a_scale).reverse();
    }
    match lift(b, a_scale - b_scale) {
        Some(b) => a.cmp(&b),
        // Beyond 128 bits the lifted one is the farther from zero.
        None => 0.cmp(&b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(unscaled: i128, scale: u8) -> Datum {
        Datum::Decimal { unscaled, precision: 38, scale }
    }

    #[test]
    fn order_is_that_of_java() {
        use Datum::*;
        let nan = f64::from_bits(0xfff8_0000_0000_0001);
        for (small, large) in [
            (Double(-0.0), Double(0.0)),
            (Double(f64::INFINITY), Double(nan)),
            (Float(-1.0), Float(f32::MIN_POSITIVE)),
            (String("Z".into()), String("a".into())),
            (Bytes(vec![0x7f]), Bytes(vec![0x80])),
            (Timestamp { millis: -1, nano_of_milli: 999_999 }, Timestamp { millis: 0, nano_of_milli: 0 }),
            (decimal(120, 2), decimal(13, 1)),
            (decimal(i128::MAX, 38), decimal(i128::MAX, 0)),
            (decimal(i128::MIN, 0), decimal(i128::MIN, 38)),
        ] {
            assert_eq!(small.compare(&large), Some(Ordering::Less), "{small:?} {large:?}");
            assert_eq!(large.compare(&small), Some(Ordering::Greater), "{small:?} {large:?}");
        }
        assert_eq!(Double(nan).compare(&Double(f64::NAN)), Some(Ordering::Equal));
        assert_eq!(decimal(120, 2).compare(&decimal(12, 1)), Some(Ordering::Equal));
        assert_eq!(Int(1).compare(&BigInt(1)), None);
        assert_eq!(Array(vec![]).compare(&Array(vec![])), None);
    }
}
