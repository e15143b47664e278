//! `bloom-filter`: bits that the hashes of all values have set.
//!
//! ```text
//! hash functions i32 | bits, the p-th is bit p % 8 of byte p / 8
//! ```
//! In: a filter and a question. Out: whether surely none of the values that are asked for is in the file. Java:
//! `BloomFilterFileIndex`, `FastHash`, `BloomFilter64`.

use super::FileIndexResult;
use super::bytes::Cursor;
use super::key::Key;
use super::question::Question;
use super::xxhash::xxh64;
use crate::error::{Error, Result};
use crate::spec::data_type::{DataType, TypeKind};

/// No writer has so many.
const MAX_HASH_FUNCTIONS: usize = 1 << 10;

/// What a filter says.
pub(super) fn ask(bytes: &[u8], question: &Question, data_type: &DataType) -> Result<FileIndexResult> {
    let Question::OneOf(keys) = question else { return Ok(FileIndexResult::Remain) };
    if matches!(data_type.kind, TypeKind::Boolean | TypeKind::Decimal { .. }) {
        return Ok(FileIndexResult::Remain);
    }
    let mut cursor = Cursor::new(bytes);
    let functions = cursor.size()?;
    let bits = cursor.rest();
    if bits.is_empty() || functions > MAX_HASH_FUNCTIONS {
        let bytes = bits.len();
        return Err(Error::corrupt(format!("a Bloom filter of {functions} hash functions and {bytes} bytes")));
    }
    let may_hold = keys.iter().any(|key| holds(bits, functions, hash(key)));
    Ok(if may_hold { FileIndexResult::Remain } else { FileIndexResult::Skip })
}

fn holds(bits: &[u8], functions: usize, hash: u64) -> bool {
    places(hash, functions, bits.len()).all(|(at, bit)| bits.get(at).is_some_and(|byte| byte & bit != 0))
}

/// The bytes, and the bits in them, that a hash sets. Java's `int` arithmetic: two hashes of 32 bits give all others.
pub(super) fn places(hash: u64, functions: usize, bytes: usize) -> impl Iterator<Item = (usize, u8)> {
    let (mut combined, step) = (hash as i32, (hash >> 32) as i32);
    let bits = (bytes as u64).saturating_mul(8).max(1);
    (0..functions).map(move |_| {
        combined = combined.wrapping_add(step);
        let positive = if combined < 0 { !combined } else { combined };
        let at = u64::from(positive as u32) % bits;
        ((at / 8) as usize, 1 << (at % 8))
    })
}

pub(super) fn hash(key: &Key) -> u64 {
    match key {
        Key::Long(value) => mix(*value),
        Key::Float(value) => mix(i64::from(value.to_bits() as i32)),
        Key::Double(value) => mix(value.to_bits() as i64),
        Key::Bytes(bytes) => xxh64(bytes),
    }
}

/// Thomas Wang's hash of 64 bits, with arithmetic shifts.
fn mix(key: i64) -> u64 {
    let mut key = (!key).wrapping_add(key << 21);
    key ^= key >> 24;
    key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    key ^= key >> 14;
    key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    key ^= key >> 28;
    key.wrapping_add(key << 31) as u64
}
