//! Deletion vectors: which rows of a data file are deleted, by their position in it.
//!
//! ```text
//! index file: | version 1, 1 byte | entry | entry | …        an entry begins where the index manifest says
//! entry:      | size, i32 big-endian | vector, size bytes | CRC-32 of the vector, i32 big-endian |
//! 32 bits:    | magic 1581511376, i32 big-endian    | roaring bitmap |
//! 64 bits:    | magic 1681511377, i32 little-endian | n, i64 | n × ( high 32 bits, i32 | roaring bitmap ) |
//! ```
//!
//! The length in the index manifest is the size for 32 bits, and that of the whole entry for 64 bits. In: the bytes of
//! an entry. Out: a [`DeletionVector`]. Java: `BitmapDeletionVector`, `Bitmap64DeletionVector`,
//! `DeletionVectorsIndexFile`.

use std::ops::Range;

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;
use roaring::RoaringBitmap;

use crate::error::{Error, Result};

/// The first byte of an index file.
const VERSION: u8 = 1;
const MAGIC_32: [u8; 4] = 1_581_511_376_u32.to_be_bytes();
const MAGIC_64: [u8; 4] = 1_681_511_377_u32.to_le_bytes();
/// Size before and checksum behind a vector.
const FRAME_BYTES: u64 = 8;

/// The deleted rows of one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeletionVector {
    /// By the high 32 bits of the positions, ascending; no bitmap is empty. Nearly always one.
    bitmaps: Vec<(u32, RoaringBitmap)>,
}

impl DeletionVector {
    /// Checks the first byte of an index file.
    pub fn check_version(file: &[u8]) -> Result<()> {
        match file.first() {
            Some(&VERSION) => Ok(()),
            Some(other) => Err(Error::unsupported(format!("version {other} of deletion vectors, only 1 is known"))),
            None => Err(Error::corrupt("a file of deletion vectors must not be empty")),
        }
    }

    /// The bytes of a file to read for an entry of which the index manifest gives `offset` and `length`. With 64 bits
    /// they include up to 8 bytes of what follows.
    pub fn entry_range(offset: u64, length: u64, file_bytes: u64) -> Range<u64> {
        let end = offset.saturating_add(length).saturating_add(FRAME_BYTES).min(file_bytes);
        offset.min(end)..end
    }

    /// Decodes the entry that `bytes` begin with; more bytes may follow. `length` is that of the index manifest.
    pub fn decode(bytes: &[u8], length: u64) -> Result<Self> {
        let short = || Error::corrupt(format!("a deletion vector ends after {} bytes", bytes.len()));
        let (size, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
        let size = i32::from_be_bytes(*size);
        let size = usize::try_from(size).map_err(|_| Error::corrupt(format!("size {size} of a deletion vector")))?;
        if size as u64 != length && size as u64 + FRAME_BYTES != length {
            return Err(Error::corrupt(format!("a deletion vector has {size} bytes, the manifest says {length}")));
        }
        let (vector, rest) = rest.split_at_checked(size).ok_or_else(short)?;
        let checksum = u32::from_be_bytes(*rest.first_chunk::<4>().ok_or_else(short)?);
        let actual = crc32fast::hash(vector);
        if checksum != actual {
            return Err(Error::corrupt(format!(
                "checksum of a deletion vector: {checksum:08x} expected, is {actual:08x}"
            )));
        }
        match vector.split_first_chunk::<4>() {
            Some((&MAGIC_32, body)) => Self::decode_32(body),
            Some((&MAGIC_64, body)) => Self::decode_64(body),
            Some((magic, _)) => Err(Error::corrupt(format!("{magic:02x?} is no magic of a deletion vector"))),
            None => Err(Error::corrupt("a deletion vector has no magic")),
        }
    }

    fn decode_32(mut body: &[u8]) -> Result<Self> {
        let bitmap = read_bitmap(&mut body)?;
        Ok(Self { bitmaps: if bitmap.is_empty() { vec![] } else { vec![(0, bitmap)] } })
    }

    fn decode_64(body: &[u8]) -> Result<Self> {
        let short = || Error::corrupt("a deletion vector of 64 bits ends early");
        let (count, mut body) = body.split_first_chunk::<8>().ok_or_else(short)?;
        let mut bitmaps: Vec<(u32, RoaringBitmap)> = vec![];
        // Every turn takes bytes, so a wrong count ends as an error.
        for _ in 0..u64::from_le_bytes(*count) {
            let (high, rest) = body.split_first_chunk::<4>().ok_or_else(short)?;
            let high = u32::from_le_bytes(*high);
            if bitmaps.last().is_some_and(|(last, _)| *last >= high) {
                return Err(Error::corrupt("the bitmaps of a deletion vector are out of order"));
            }
            body = rest;
            let bitmap = read_bitmap(&mut body)?;
            if !bitmap.is_empty() {
                bitmaps.push((high, bitmap));
            }
        }
        Ok(Self { bitmaps })
    }

    /// The entry of an index file with 32 bits; an error where a position needs more.
    pub fn encode_32(&self) -> Result<Vec<u8>> {
        let empty = RoaringBitmap::new();
        let bitmap = match self.bitmaps.as_slice() {
            [] => &empty,
            [(0, bitmap)] => bitmap,
            _ => return Err(Error::unsupported("deletion vectors of 32 bits for positions beyond")),
        };
        let mut vector = MAGIC_32.to_vec();
        write_bitmap(&mut vector, bitmap)?;
        framed(&vector)
    }

    /// The entry of an index file with 64 bits.
    pub fn encode_64(&self) -> Result<Vec<u8>> {
        let mut vector = MAGIC_64.to_vec();
        vector.extend_from_slice(&(self.bitmaps.len() as u64).to_le_bytes());
        for (high, bitmap) in &self.bitmaps {
            vector.extend_from_slice(&high.to_le_bytes());
            write_bitmap(&mut vector, bitmap)?;
        }
        framed(&vector)
    }

    /// Whether the row at a position is deleted.
    pub fn contains(&self, position: u64) -> bool {
        let (high, low) = split(position);
        let found = self.bitmaps.binary_search_by_key(&high, |(high, _)| *high);
        found.ok().and_then(|i| self.bitmaps.get(i)).is_some_and(|(_, bitmap)| bitmap.contains(low))
    }

    /// How many rows are deleted.
    pub fn cardinality(&self) -> u64 {
        self.bitmaps.iter().map(|(_, bitmap)| bitmap.len()).sum()
    }

    /// Whether no row is deleted.
    pub fn is_empty(&self) -> bool {
        self.bitmaps.is_empty()
    }

    /// The deleted positions, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.bitmaps.iter().flat_map(|(high, bitmap)| bitmap.iter().map(|low| join(*high, low)))
    }

    /// The bitmaps that a range of positions touches, each with the range of its low halves.
    fn parts(&self, rows: Range<u64>) -> impl Iterator<Item = (u32, &RoaringBitmap, Range<u64>)> {
        self.bitmaps.iter().filter_map(move |(high, bitmap)| {
            let first = join(*high, 0);
            let low = rows.start.saturating_sub(first)..rows.end.saturating_sub(first).min(1 << 32);
            (low.start < low.end).then_some((*high, bitmap, low))
        })
    }

    /// How many rows of a range are deleted.
    pub fn cardinality_in(&self, rows: Range<u64>) -> u64 {
        let count = |(_, bitmap, low): (u32, &RoaringBitmap, Range<u64>)| {
            bitmap.range_cardinality(low.start as u32..=(low.end - 1) as u32)
        };
        self.parts(rows).map(count).sum()
    }

    /// The deleted positions of a range, ascending.
    pub fn iter_in(&self, rows: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        self.parts(rows).flat_map(|(high, bitmap, low)| {
            bitmap.range(low.start as u32..=(low.end - 1) as u32).map(move |low| join(high, low))
        })
    }

    /// One bit per row of a range, set where the row is not deleted; `None` where none is deleted.
    pub fn live_rows(&self, rows: Range<u64>) -> Option<BooleanBuffer> {
        if self.cardinality_in(rows.clone()) == 0 {
            return None;
        }
        let length = usize::try_from(rows.end.saturating_sub(rows.start)).ok()?;
        let mut live = BooleanBufferBuilder::new(length);
        live.append_n(length, true);
        for position in self.iter_in(rows.clone()) {
            live.set_bit((position - rows.start) as usize, false);
        }
        Some(live.finish())
    }

    /// The bytes that it takes in memory, about.
    pub fn heap_bytes(&self) -> usize {
        self.bitmaps.iter().map(|(_, bitmap)| bitmap.serialized_size() + size_of::<(u32, RoaringBitmap)>()).sum()
    }
}

impl FromIterator<u64> for DeletionVector {
    fn from_iter<I: IntoIterator<Item = u64>>(positions: I) -> Self {
        let mut by_high = std::collections::BTreeMap::<u32, RoaringBitmap>::new();
        for position in positions {
            let (high, low) = split(position);
            by_high.entry(high).or_default().insert(low);
        }
        Self { bitmaps: by_high.into_iter().collect() }
    }
}

fn split(position: u64) -> (u32, u32) {
    ((position >> 32) as u32, position as u32)
}

fn join(high: u32, low: u32) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

/// Takes a bitmap off the front of `bytes`.
fn read_bitmap(bytes: &mut &[u8]) -> Result<RoaringBitmap> {
    RoaringBitmap::deserialize_from(bytes)
        .map_err(|e| Error::corrupt("the bitmap of a deletion vector is no roaring bitmap").caused_by(e))
}

fn write_bitmap(out: &mut Vec<u8>, bitmap: &RoaringBitmap) -> Result<()> {
    bitmap.serialize_into(out).map_err(|e| Error::internal("a bitmap could not be written").caused_by(e))
}

fn framed(vector: &[u8]) -> Result<Vec<u8>> {
    let size = i32::try_from(vector.len()).map_err(|_| Error::unsupported("deletion vectors of more than 2 GiB"))?;
    Ok([&size.to_be_bytes(), vector, &crc32fast::hash(vector).to_be_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
    }

    /// What Java 1.4 writes for 1, 3, 5, 1000, 65535, 65536, 1000000 and, with 64 bits, 5000000000.
    const JAVA_32: &str = "000000325e43f2d03a3000000300000000000400010000000f000000200000002a0000002c00\
                           0000010003000500e803ffff0000404251c35771";
    const JAVA_64: &str = "00000054d1d339640200000000000000000000003a3000000300000000000400010000000f00\
                           0000200000002a0000002c000000010003000500e803ffff00004042010000003a3000000100\
                           0000052a00001000000000f25838c5c8";

    #[test]
    fn vectors_of_java_are_read_and_written() {
        let small = [1, 3, 5, 1000, 65_535, 65_536, 1_000_000];
        let large = [small.as_slice(), &[5_000_000_000]].concat();
        let (b32, b64) = (bytes(JAVA_32), bytes(JAVA_64));
        let v32 = DeletionVector::decode(&b32, 0x32).unwrap();
        assert_eq!((v32.iter().collect::<Vec<_>>(), v32.encode_32().unwrap()), (small.to_vec(), b32));
        let v64 = DeletionVector::decode(&b64, 0x54 + 8).unwrap();
        assert_eq!((v64.iter().collect::<Vec<_>>(), v64.encode_64().unwrap()), (large, b64));
        assert_eq!((v64.cardinality(), v64.contains(5_000_000_000), v64.contains(5_000_000_001)), (8, true, false));
        assert!(v64.encode_32().is_err());
    }

    #[test]
    fn empty_and_run_encoded_vectors_of_java_are_read() {
        for hex in ["0000000c5e43f2d03a300000000000005de5c7e9", "0000000cd1d339640000000000000000bf18480c"] {
            assert!(DeletionVector::decode(&bytes(hex), 12).unwrap().is_empty());
        }
        let runs =
            DeletionVector::decode(&bytes("000000135e43f2d03b3000000100007d1301000a007d137d32fef8"), 19).unwrap();
        assert_eq!((runs.cardinality(), runs.contains(10), runs.contains(5000)), (4990, true, false));
    }

    #[test]
    fn damage_is_told() {
        let good = bytes(JAVA_32);
        assert!(DeletionVector::decode(&[good.clone(), vec![1, 2]].concat(), 0x32).is_ok());
        for (damage, length) in [
            (good[..good.len() - 1].to_vec(), 0x32),
            (good.clone(), 0x33),
            ([&good[..20], &[0xff], &good[21..]].concat(), 0x32),
            (framed(b"none and more").unwrap(), 13),
            (framed(b"").unwrap(), 0),
            (vec![0xff; 30], u64::MAX),
            (vec![], 0),
        ] {
            assert!(DeletionVector::decode(&damage, length).is_err());
        }
        let swapped = [&MAGIC_64[..], &2u64.to_le_bytes(), &[1, 0, 0, 0], &bytes("3a30000000000000")].concat();
        assert!(DeletionVector::decode(&framed(&swapped).unwrap(), swapped.len() as u64).is_err());
        assert!(DeletionVector::check_version(&[1, 7]).is_ok());
        assert!(DeletionVector::check_version(&[2]).is_err() && DeletionVector::check_version(&[]).is_err());
    }

    #[test]
    fn ranges_reach_over_the_whole_entry() {
        assert_eq!(DeletionVector::entry_range(1, 50, 1000), 1..59);
        assert_eq!(DeletionVector::entry_range(1, 50, 55), 1..55);
        assert_eq!(DeletionVector::entry_range(u64::MAX, u64::MAX, 10), 10..10);
    }

    #[test]
    fn live_rows_are_those_that_are_not_deleted() {
        let vector: DeletionVector = [3, 64, (1 << 32) - 1, 1 << 32, (1 << 32) + 2].into_iter().collect();
        let live = |rows: Range<u64>| vector.live_rows(rows).map(|b| b.iter().collect::<Vec<_>>());
        assert_eq!(live(2..5), Some(vec![true, false, true]));
        assert_eq!(live(4..64), None);
        assert_eq!(live((1 << 32) - 2..(1 << 32) + 1), Some(vec![true, false, false]));
        assert_eq!(vector.cardinality_in(0..u64::MAX), 5);
        #[expect(clippy::reversed_empty_ranges)]
        let none = vector.cardinality_in(5..3);
        assert_eq!((none, vector.cardinality_in(3..3)), (0, 0));
        assert!(vector.heap_bytes() > 0);
    }

    proptest! {
        #[test]
        fn vectors_round_trip(positions in proptest::collection::btree_set(0u64..20_000_000_000, 0..50)) {
            let vector: DeletionVector = positions.iter().copied().collect();
            let encoded = vector.encode_64().unwrap();
            let back = DeletionVector::decode(&encoded, encoded.len() as u64).unwrap();
            prop_assert_eq!(back.iter().collect::<Vec<_>>(), positions.into_iter().collect::<Vec<_>>());
            if let Ok(encoded) = vector.encode_32() {
                prop_assert_eq!(&DeletionVector::decode(&encoded, encoded.len() as u64 - 8).unwrap(), &back);
            }
        }

        #[test]
        fn ranges_agree_with_the_whole(
            positions in proptest::collection::btree_set(0u64..300, 0..40), start in 0u64..300, length in 0u64..200,
        ) {
            let rows = start + (1 << 32) - 150..start + (1 << 32) - 150 + length;
            let vector: DeletionVector = positions.iter().map(|p| p + (1 << 32) - 150).collect();
            let want: Vec<bool> = rows.clone().map(|p| !vector.contains(p)).collect();
            match vector.live_rows(rows) {
                Some(live) => prop_assert_eq!(live.iter().collect::<Vec<_>>(), want),
                None => prop_assert!(want.iter().all(|live| *live)),
            }
        }

        #[test]
        fn no_bitmap_panics(body in any::<Vec<u8>>(), wide in any::<bool>(), runs in any::<bool>(), n in 0u8..3) {
            let cookie: &[u8] = if runs { &[0x3b, 0x30, n, 0] } else { &[0x3a, 0x30, 0, 0, n, 0, 0, 0] };
            let magic: Vec<u8> = if wide { [&MAGIC_64[..], &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat() } else { MAGIC_32.to_vec() };
            let vector = [&magic, cookie, &body].concat();
            let _ = DeletionVector::decode(&framed(&vector).unwrap(), vector.len() as u64);
        }
    }
}
