//! Which bucket a row belongs to: table option `bucket-function.type`.
//!
//! In: the values of the bucket key, of exactly the table's types (a `DECIMAL` of the column's scale, a `TIMESTAMP` of
//! its precision). Out: a [`BucketHash`], which gives the bucket for any number of buckets, as partitions may have
//! been written with different ones. Java: `DefaultBucketFunction`, `ModBucketFunction`, `HiveBucketFunction`.

use super::binary_row::encode_row;
use super::data_type::{DataType, TypeKind};
use super::datum::Datum;
use crate::error::{Error, Result};

/// How rows are dealt to buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BucketFunction {
    /// Murmur3 over the key as a `BinaryRow`.
    #[default]
    Default,
    /// The remainder of a single integer key.
    Mod,
    /// The hash of Hive's bucketed tables.
    Hive,
}

/// What a key hashes to, before the number of buckets is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketHash {
    /// Of [`BucketFunction::Default`].
    Default(i32),
    /// Of [`BucketFunction::Mod`]: the key itself.
    Mod(i64),
    /// Of [`BucketFunction::Hive`].
    Hive(i32),
}

impl BucketFunction {
    /// Reads the value of `bucket-function.type`.
    pub fn parse(name: &str) -> Result<Self> {
        match name.to_ascii_lowercase().as_str() {
            "default" => Ok(BucketFunction::Default),
            "mod" => Ok(BucketFunction::Mod),
            "hive" => Ok(BucketFunction::Hive),
            _ => Err(Error::invalid_option(format!("bucket-function.type must be default, mod or hive, got '{name}'"))),
        }
    }

    /// Hashes a key. Keys of types that the function does not take are unsupported: then buckets cannot be told.
    pub fn hash<'t>(self, types: impl IntoIterator<Item = &'t DataType>, key: &[Option<Datum>]) -> Result<BucketHash> {
        match self {
            BucketFunction::Default => Ok(BucketHash::Default(hash_row(&encode_row(types, key)?))),
            BucketFunction::Mod => mod_hash(types, key).map(BucketHash::Mod),
            BucketFunction::Hive => {
                let hashes = key.iter().map(|value| value.as_ref().map_or(Ok(0), hive_hash));
                let combine = |acc: i32, hash: Result<i32>| Ok(acc.wrapping_mul(31).wrapping_add(hash?));
                hashes.into_iter().try_fold(0, combine).map(BucketHash::Hive)
            }
        }
    }
}

impl BucketHash {
    /// The bucket among `total_buckets`; `None` where that is not positive, as in tables without fixed buckets.
    pub fn bucket(self, total_buckets: i32) -> Option<i32> {
        if total_buckets <= 0 {
            return None;
        }
        Some(match self {
            BucketHash::Default(hash) => (hash % total_buckets).abs(),
            BucketHash::Mod(key) => key.rem_euclid(i64::from(total_buckets)) as i32,
            BucketHash::Hive(hash) => (hash & i32::MAX) % total_buckets,
        })
    }
}

/// Murmur3 (32 bits, seed 42) over the words of a row. Java: `BinaryRow.hashCode`.
pub fn hash_row(row: &[u8]) -> i32 {
    let (words, _) = row.as_chunks::<4>();
    let mut hash = words.iter().fold(42u32, |hash, word| {
        let k = u32::from_le_bytes(*word).wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        (hash ^ k).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    hash ^= row.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)).cast_signed()
}

/// Java reads a NULL key as 0.
fn mod_hash<'t>(types: impl IntoIterator<Item = &'t DataType>, key: &[Option<Datum>]) -> Result<i64> {
    let kinds: Vec<_> = types.into_iter().map(|t| &t.kind).collect();
    match (kinds.as_slice(), key) {
        ([TypeKind::Int], [Some(Datum::Int(v))]) => Ok(i64::from(*v)),
        ([TypeKind::BigInt], [Some(Datum::BigInt(v))]) => Ok(*v),
        ([TypeKind::Int | TypeKind::BigInt], [None]) => Ok(0),
        _ => Err(Error::unsupported("bucket-function.type=mod of anything but one key of type INT or BIGINT")),
    }
}

fn hive_hash(value: &Datum) -> Result<i32> {
    Ok(match value {
        Datum::Boolean(v) => i32::from(*v),
        Datum::TinyInt(v) => i32::from(*v),
        Datum::SmallInt(v) => i32::from(*v),
        Datum::Int(v) | Datum::Date(v) | Datum::Time(v) => *v,
        Datum::BigInt(v) => fold_long(v.cast_unsigned()),
        Datum::Float(v) if v.is_nan() => 0x7fc0_0000,
        Datum::Float(v) if *v == 0.0 => 0,
        Datum::Float(v) => v.to_bits().cast_signed(),
        Datum::Double(v) if v.is_nan() => fold_long(0x7ff8_0000_0000_0000),
        Datum::Double(v) if *v == 0.0 => 0,
        Datum::Double(v) => fold_long(v.to_bits()),
        Datum::String(v) => hive_hash_bytes(v.as_bytes()),
        Datum::Bytes(v) => hive_hash_bytes(v),
        Datum::Decimal { unscaled, scale, .. } => hive_hash_decimal(*unscaled, *scale),
        other => {
            return Err(Error::unsupported(format!("bucket-function.type=hive of a key of type {}", other.kind())));
        }
    })
}

fn fold_long(value: u64) -> i32 {
    ((value ^ (value >> 32)) as u32).cast_signed()
}

fn hive_hash_bytes(bytes: &[u8]) -> i32 {
    bytes.iter().fold(0, |hash: i32, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed())))
}

/// `BigDecimal.hashCode` without the trailing zeros after the point: the words of the magnitude, then the scale.
fn hive_hash_decimal(mut unscaled: i128, mut scale: u8) -> i32 {
    if unscaled == 0 {
        return 0;
    }
    while scale > 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    let magnitude = unscaled.unsigned_abs();
    let words = (0..4).rev().map(|i| (magnitude >> (32 * i)) as u32);
    let hash = words.fold(0u32, |hash, word| hash.wrapping_mul(31).wrapping_add(word)).cast_signed();
    let signed = if unscaled < 0 { hash.wrapping_neg() } else { hash };
    signed.wrapping_mul(31).wrapping_add(i32::from(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(function: BucketFunction, columns: &[(&str, Option<Datum>)], total: i32) -> Option<i32> {
        hash(function, columns).unwrap().bucket(total)
    }

    fn hash(function: BucketFunction, columns: &[(&str, Option<Datum>)]) -> Result<BucketHash> {
        let types: Vec<_> = columns.iter().map(|(t, _)| DataType::parse(t).unwrap()).collect();
        let key: Vec<_> = columns.iter().map(|(_, v)| v.clone()).collect();
        function.hash(&types, &key)
    }

    fn text(value: &str) -> Datum {
        Datum::String(value.into())
    }

    fn decimal(unscaled: i128, precision: u8, scale: u8) -> Datum {
        Datum::Decimal { unscaled, precision, scale }
    }

    #[test]
    fn default_hashes_are_those_of_java() {
        let ts = |nano_of_milli| Datum::Timestamp { millis: 1_700_000_000_000, nano_of_milli };
        for (data_type, value, want) in [
            ("INT", Some(Datum::Int(42)), 907_821_237),
            ("INT", Some(Datum::Int(-1)), 1_133_687_267),
            ("INT", Some(Datum::Int(0)), -300_363_099),
            ("INT", Some(Datum::Int(1)), 1_465_514_398),
            ("INT", None, -1_748_325_344),
            ("BIGINT", Some(Datum::BigInt(123_456_789)), -1_751_827_701),
            ("STRING", Some(text("hello")), 243_722_546),
            ("STRING", Some(text("hello_world")), 1_283_414_803),
            ("DECIMAL(10, 2)", Some(decimal(12_345, 10, 2)), 767_607_022),
            ("DECIMAL(20, 2)", Some(decimal(12_345, 20, 2)), -118_192_725),
            ("TIMESTAMP(3)", Some(ts(0)), -234_226_969),
            ("TIMESTAMP(6)", Some(ts(123_456)), 663_112_199),
            ("FLOAT", Some(Datum::Float(0.0)), -300_363_099),
            ("FLOAT", Some(Datum::Float(-0.0)), 916_225_219),
            ("FLOAT", Some(Datum::Float(f32::INFINITY)), 2_139_216_202),
            ("FLOAT", Some(Datum::Float(f32::NEG_INFINITY)), -106_221_671),
            ("FLOAT", Some(Datum::Float(f32::NAN)), -2_039_172_089),
            ("DOUBLE", Some(Datum::Double(-0.0)), 302_122_119),
            ("DOUBLE", Some(Datum::Double(f64::INFINITY)), -1_556_713_404),
            ("DOUBLE", Some(Datum::Double(f64::NEG_INFINITY)), -2_079_171_840),
            ("DOUBLE", Some(Datum::Double(f64::NAN)), -1_323_214_697),
        ] {
            let got = hash(BucketFunction::Default, &[(data_type, value.clone())]).unwrap();
            assert_eq!(got, BucketHash::Default(want), "{data_type} {value:?}");
        }
        let pair = [("INT", Some(Datum::Int(100))), ("STRING", Some(text("test")))];
        assert_eq!(hash(BucketFunction::Default, &pair).unwrap(), BucketHash::Default(-487_360_894));
    }

    #[test]
    fn remainders_are_truncated_floored_or_masked() {
        assert_eq!(BucketHash::Default(i32::MIN).bucket(7), Some(2));
        assert_eq!(BucketHash::Default(-8).bucket(7), Some(1));
        assert_eq!(BucketHash::Hive(-1).bucket(1000), Some(647));
        for (key, total, want) in [(-2, 5, 3), (-3, 5, 2), (7, 5, 2), (-1_000_000_003, 5, 2)] {
            assert_eq!(bucket(BucketFunction::Mod, &[("INT", Some(Datum::Int(key)))], total), Some(want));
            let long = [("BIGINT", Some(Datum::BigInt(key.into())))];
            assert_eq!(bucket(BucketFunction::Mod, &long, total), Some(want));
        }
        for total in [0, -1, -2, i32::MIN] {
            assert_eq!(BucketHash::Default(5).bucket(total), None);
        }
    }

    #[test]
    fn hive_hashes_are_those_of_java() {
        for (data_type, value, want) in [
            ("STRING", text("hello"), 99_162_322),
            ("DECIMAL(10, 4)", decimal(123_400, 10, 4), 38_256),
            ("DECIMAL(10, 4)", decimal(0, 10, 4), 0),
            ("BOOLEAN", Datum::Boolean(true), 1),
            ("DOUBLE", Datum::Double(-0.0), 0),
            ("FLOAT", Datum::Float(-0.0), 0),
        ] {
            let got = hash(BucketFunction::Hive, &[(data_type, Some(value.clone()))]).unwrap();
            assert_eq!(got, BucketHash::Hive(want), "{data_type} {value:?}");
        }
        for (data_type, value, want) in [
            ("FLOAT", Datum::Float(f32::NAN), 344),
            ("DOUBLE", Datum::Double(f64::NAN), 360),
            ("TINYINT", Datum::TinyInt(-1), 647),
        ] {
            assert_eq!(bucket(BucketFunction::Hive, &[(data_type, Some(value))], 1000), Some(want), "{data_type}");
        }
        let two = [("INT", Some(Datum::Int(3))), ("INT", None)];
        assert_eq!(hash(BucketFunction::Hive, &two).unwrap(), BucketHash::Hive(93));
    }

    #[test]
    fn keys_that_a_function_does_not_take_are_unsupported() {
        let ts = Datum::Timestamp { millis: 0, nano_of_milli: 0 };
        assert!(hash(BucketFunction::Hive, &[("TIMESTAMP(3)", Some(ts))]).is_err());
        assert!(hash(BucketFunction::Mod, &[("STRING", Some(text("1")))]).is_err());
        assert!(hash(BucketFunction::Mod, &[("INT", Some(Datum::Int(1))), ("INT", None)]).is_err());
        assert!(hash(BucketFunction::Default, &[("INT", Some(text("1")))]).is_err());
        assert!(BucketFunction::parse("murmur").is_err());
        assert_eq!(BucketFunction::parse("HIVE").unwrap(), BucketFunction::Hive);
    }
}
