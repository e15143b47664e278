//! Theta sketches of Apache DataSketches: which numbers of distinct values were seen, by a sample of their hashes.
//!
//! In: the bytes of a sketch of serial version 3, compact or still a hash table. Out: the union as Java's `Union` of the
//! default size makes it, a compact ordered sketch. It holds the hashes of both below the lesser theta; if there are
//! more than [`MAX_ENTRIES`], the least of them, and theta is the next one. Java: `org.apache.datasketches.theta.Union`.
//!
//! ```text
//! longs of preamble u8 | 03 | family u8 | lg size u8 x2 | flags u8 | seed hash u16      1 long: empty, or one hash follows
//! entries u32 | sampling f32                                                            2 longs
//! theta u64                                                                             3 longs
//! hashes u64 …
//! ```

use crate::error::{Error, Result};

/// The entries that a union of the default size keeps.
const MAX_ENTRIES: usize = 4096;
/// What a sketch of one hash takes.
const MIN_BYTES: usize = 16;
const SERIAL_VERSION: u8 = 3;
const COMPACT: u8 = 3;
/// Families of sketches that are still hash tables: alpha and quick select.
const HASH_TABLES: [u8; 2] = [1, 2];
const MAX_THETA: u64 = i64::MAX as u64;
/// The hash of the seed 9001, which all sketches have that may be united.
const SEED_HASH: u16 = 0x93cc;
const IS_EMPTY: u8 = 4;
const IS_COMPACT_READ_ONLY: u8 = 8 | 2;
const IS_ORDERED: u8 = 16;
const IS_SINGLE: u8 = 32;

/// A theta sketch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ThetaSketch {
    empty: bool,
    theta: u64,
    /// Ascending hashes below theta.
    hashes: Vec<u64>,
}

impl ThetaSketch {
    /// Reads a sketch. Bytes too few to hold a hash are an empty one, whatever they are, as in Java's `UnionImpl.union`.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let empty = Self { empty: true, theta: MAX_THETA, hashes: vec![] };
        let Some(header) = bytes.get(..8).filter(|_| bytes.len() >= MIN_BYTES) else { return Ok(empty) };
        let header: [u8; 8] = header.try_into().map_err(|_| corrupt("it is too short"))?;
        let [longs, version, family, _, lg_table, flags, seed_low, seed_high] = header;
        if version != SERIAL_VERSION {
            return Err(Error::unsupported(format!("theta sketch of serial version {version}")));
        }
        let table = HASH_TABLES.contains(&family);
        if family != COMPACT && !table {
            return Err(corrupt(format_args!("family {family}")));
        }
        if flags & IS_EMPTY != 0 {
            return Ok(empty);
        }
        if u16::from_le_bytes([seed_low, seed_high]) != SEED_HASH {
            return Err(corrupt("another seed"));
        }
        let preamble_longs = longs & 0x3f;
        let count = match (preamble_longs, table) {
            (1, false) => 1,
            (2 | 3, false) => u64_at(bytes, 1)? as u32 as usize,
            (3, true) if lg_table < 32 => 1 << lg_table,
            _ => return Err(corrupt(format_args!("preamble of {preamble_longs} longs"))),
        };
        let theta = if preamble_longs == 3 { u64_at(bytes, 2)? } else { MAX_THETA };
        let start = usize::from(preamble_longs) * 8;
        let stored = bytes.get(start..).and_then(|b| b.get(..count.checked_mul(8)?));
        let stored = stored.ok_or_else(|| corrupt("it ends too early"))?;
        let mut hashes: Vec<u64> =
            stored.chunks_exact(8).filter_map(|c| c.try_into().ok()).map(u64::from_le_bytes).collect();
        if !table && hashes.iter().any(|hash| *hash == 0 || *hash >= theta) {
            return Err(corrupt("a hash that is not below theta"));
        }
        hashes.retain(|hash| *hash != 0 && *hash < theta);
        hashes.sort_unstable();
        Ok(Self { empty: false, theta, hashes })
    }

    /// The union of two sketches.
    pub fn union(mut self, other: &Self) -> Self {
        self.empty &= other.empty;
        self.theta = self.theta.min(other.theta);
        self.hashes.extend_from_slice(&other.hashes);
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.hashes.truncate(self.hashes.partition_point(|hash| *hash < self.theta));
        if let Some(next) = self.hashes.get(MAX_ENTRIES) {
            self.theta = *next;
            self.hashes.truncate(MAX_ENTRIES);
        }
        self
    }

    /// Writes the sketch.
    pub fn write(&self) -> Vec<u8> {
        let exact = self.theta == MAX_THETA;
        let single = exact && self.hashes.len() == 1;
        let (longs, flags) = match (exact, self.hashes.is_empty()) {
            (true, true) if self.empty => (1, IS_EMPTY),
            (true, _) if single => (1, IS_SINGLE),
            (true, _) => (2, 0),
            (false, _) => (3, 0),
        };
        let mut out = vec![longs, SERIAL_VERSION, COMPACT, 0, 0, flags | IS_COMPACT_READ_ONLY | IS_ORDERED];
        let seed_hash = if flags & IS_EMPTY == 0 { SEED_HASH } else { 0 };
        out.extend_from_slice(&seed_hash.to_le_bytes());
        if longs > 1 {
            out.extend_from_slice(&(self.hashes.len() as u32).to_le_bytes());
            out.extend_from_slice(&1f32.to_le_bytes());
        }
        if longs > 2 {
            out.extend_from_slice(&self.theta.to_le_bytes());
        }
        self.hashes.iter().for_each(|hash| out.extend_from_slice(&hash.to_le_bytes()));
        out
    }
}

fn u64_at(bytes: &[u8], long: usize) -> Result<u64> {
    let at = bytes.get(long * 8..long * 8 + 8).and_then(|b| b.try_into().ok());
    at.map(u64::from_le_bytes).ok_or_else(|| corrupt("it ends too early"))
}

fn corrupt(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("theta sketch: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_too_few_for_a_hash_are_an_empty_sketch() {
        let one = ThetaSketch { empty: false, theta: MAX_THETA, hashes: vec![7] };
        let written = one.write();
        assert_eq!((written.len(), ThetaSketch::read(&written).unwrap()), (MIN_BYTES, one.clone()));
        for n in 0..MIN_BYTES {
            let cut = ThetaSketch::read(&written[..n]).unwrap();
            assert_eq!(cut.clone().union(&one), one, "{n}");
            assert_eq!(cut.union(&ThetaSketch::read(b"none").unwrap()).write().len(), 8, "{n}");
        }
        // With room for a hash they must be a sketch.
        assert!(ThetaSketch::read(&[0; MIN_BYTES]).is_err());
    }
}
