//! `range-bitmap`: the values in order, and the bits of the rank that each row's value has among them.
//!
//! ```text
//! head length i32 | version 1, u8 | rows i32 | values i32 | [least, greatest] | length of the dictionary i32
//! dictionary | ranks
//!
//! dictionary:  head length i32 | version 1, u8 | chunks i32 | length of offsets i32 | length of chunk heads i32
//!              | chunks × offset i32 | chunk head … | keys
//! chunk head:  version 1, u8 | first key | its rank i32 | where its keys begin i32 | more keys i32
//!              of fixed length: length of keys i32, of one i32    else: length of offsets i32, of keys i32
//! ranks:       head length i32 | version 1, u8 | slices u8 | length of existing i32 | length of places i32
//!              | slices × (offset i32, length i32) | existing | slice …
//! ```
//! The keys of a chunk are those after its first one, each rank one more; of another length each, their offsets stand
//! before them. In: an index and a question. Out: the rows. Java: `RangeBitmap`, `ChunkedDictionary`,
//! `BitSliceIndexBitmap`.

use std::cmp::Ordering;
use std::ops::{Bound, Range};

use roaring::RoaringBitmap;

use super::bytes::Cursor;
use super::key::{Key, KeyType};
use super::question::{KeyRange, Question};
use super::slices::{Slices, all_rows, read_bitmap};
use crate::error::{Error, Result};

const VERSION: u8 = 1;
const MAX_SLICES: usize = 64;

/// The rows that are asked for; `None` where any may be. `rows` is the number of the file's.
pub(super) fn ask(bytes: &[u8], rows: u32, question: &Question, key_type: KeyType) -> Result<Option<RoaringBitmap>> {
    let index = RangeBitmap::parse(bytes, rows, key_type)?;
    let existing = || index.ranks.existing.clone();
    Ok(Some(match question {
        Question::IsNotNull => existing(),
        Question::IsNull => all_rows(rows) - existing(),
        Question::OneOf(keys) => index.one_of(keys)?,
        Question::NoneOf(keys) => existing() - index.one_of(keys)?,
        Question::Within(ranges) => {
            let mut all = RoaringBitmap::new();
            for range in ranges {
                all |= index.with_ranks(index.dictionary.ranks(range)?);
            }
            all
        }
    }))
}

struct RangeBitmap<'a> {
    dictionary: Dictionary<'a>,
    ranks: Slices,
}

impl<'a> RangeBitmap<'a> {
    fn parse(bytes: &'a [u8], rows: u32, key_type: KeyType) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let mut head = head(&mut cursor)?;
        let (told, values) = (head.int()?, head.size()?);
        if u32::try_from(told).ok() != Some(rows) {
            return Err(Error::corrupt(format!("a range bitmap of {told} rows, the file has {rows}")));
        }
        if values > 0 {
            key_type.read(&mut head)?;
            key_type.read(&mut head)?;
        }
        let length = head.size()?;
        let dictionary = Dictionary::parse(cursor.bytes(length)?, values, key_type)?;
        let ranks = if values == 0 { Slices::default() } else { ranks(cursor)? };
        Ok(Self { dictionary, ranks })
    }

    fn one_of(&self, keys: &[Key]) -> Result<RoaringBitmap> {
        let mut rows = RoaringBitmap::new();
        for key in keys {
            if let (rank, true) = self.dictionary.find(key)? {
                rows |= self.ranks.compare(rank as u64).same;
            }
        }
        Ok(rows)
    }

    fn with_ranks(&self, ranks: Range<usize>) -> RoaringBitmap {
        if ranks.is_empty() {
            return RoaringBitmap::new();
        }
        let from = self.ranks.compare(ranks.start as u64);
        let rows = from.same | from.greater;
        if ranks.end >= self.dictionary.values { rows } else { rows & self.ranks.compare(ranks.end as u64).less }
    }
}

/// Length and version of a part's head.
fn head<'a>(cursor: &mut Cursor<'a>) -> Result<Cursor<'a>> {
    let length = cursor.size()?;
    let mut head = Cursor::new(cursor.bytes(length)?);
    check_version(head.byte()?)?;
    Ok(head)
}

fn check_version(version: u8) -> Result<()> {
    match version {
        VERSION => Ok(()),
        other => Err(Error::unsupported(format!("version {other} of range bitmaps, only 1 is known"))),
    }
}

fn ranks(mut cursor: Cursor<'_>) -> Result<Slices> {
    let mut head = head(&mut cursor)?;
    let count = usize::from(head.byte()?);
    let existing_bytes = head.size()?;
    head.size()?;
    if count > MAX_SLICES {
        return Err(Error::corrupt(format!("a range bitmap of {count} slices")));
    }
    let existing = read_bitmap(&mut cursor.bytes(existing_bytes)?)?;
    let body = cursor.rest();
    let mut slices = vec![];
    for _ in 0..count {
        let (offset, length) = (head.size()?, head.size()?);
        let slice = body.get(offset..).and_then(|rest| rest.get(..length));
        let mut slice = slice.ok_or_else(|| Error::corrupt("a slice of a range bitmap lies outside of it"))?;
        slices.push(read_bitmap(&mut slice)?);
    }
    Ok(Slices { existing, slices })
}

/// The values in order, each with its rank.
struct Dictionary<'a> {
    values: usize,
    key_type: KeyType,
    /// By their first keys, whose ranks they hold.
    chunks: Vec<Chunk<'a>>,
}

struct Chunk<'a> {
    first: Key,
    rank: usize,
    more: usize,
    /// Of keys of another length each where they begin in `keys`.
    offsets: &'a [u8],
    keys: &'a [u8],
    /// The length of one key, where all have the same.
    key_bytes: usize,
}

impl<'a> Dictionary<'a> {
    fn parse(bytes: &'a [u8], values: usize, key_type: KeyType) -> Result<Self> {
        if values == 0 {
            return Ok(Self { values, key_type, chunks: vec![] });
        }
        let mut cursor = Cursor::new(bytes);
        let mut head = head(&mut cursor)?;
        let (count, offsets_bytes, heads_bytes) = (head.size()?, head.size()?, head.size()?);
        // Chunk heads follow each other in the order of their offsets.
        cursor.bytes(offsets_bytes)?;
        let mut heads = Cursor::new(cursor.bytes(heads_bytes)?);
        let keys = cursor.rest();
        let chunks = (0..count).map(|_| Chunk::parse(&mut heads, keys, key_type)).collect::<Result<_>>()?;
        Ok(Self { values, key_type, chunks })
    }

    /// The rank of a key, or that of the next greater one, and whether it is the key's own.
    fn find(&self, key: &Key) -> Result<(usize, bool)> {
        let after = self.chunks.partition_point(|chunk| chunk.first.compare(key) != Ordering::Greater);
        let Some(chunk) = after.checked_sub(1).and_then(|at| self.chunks.get(at)) else { return Ok((0, false)) };
        // The keys at `low` and before it are not greater than the key; 0 is the first one.
        let (mut low, mut high) = (0, chunk.more);
        while low < high {
            let middle = (low + high).div_ceil(2);
            match chunk.key(middle - 1, self.key_type)?.compare(key) {
                Ordering::Greater => high = middle - 1,
                _ => low = middle,
            }
        }
        let found = match low.checked_sub(1) {
            None => chunk.first.compare(key) == Ordering::Equal,
            Some(at) => chunk.key(at, self.key_type)?.compare(key) == Ordering::Equal,
        };
        let rank = chunk.rank.saturating_add(low);
        Ok(if found { (rank, true) } else { (rank.saturating_add(1), false) })
    }

    /// The ranks of the keys in a range.
    fn ranks(&self, (start, end): &KeyRange) -> Result<Range<usize>> {
        let next = |(rank, found): (usize, bool)| rank.saturating_add(usize::from(found));
        let start = match start {
            Bound::Included(key) => self.find(key)?.0,
            Bound::Excluded(key) => next(self.find(key)?),
            Bound::Unbounded => 0,
        };
        let end = match end {
            Bound::Included(key) => next(self.find(key)?),
            Bound::Excluded(key) => self.find(key)?.0,
            Bound::Unbounded => self.values,
        };
        Ok(start..end)
    }
}

impl<'a> Chunk<'a> {
    fn parse(heads: &mut Cursor<'a>, keys: &'a [u8], key_type: KeyType) -> Result<Self> {
        check_version(heads.byte()?)?;
        let first = key_type.read(heads)?;
        let (rank, begin, more) = (heads.size()?, heads.size()?, heads.size()?);
        let (a, b) = (heads.size()?, heads.size()?);
        let (offsets_bytes, keys_bytes, key_bytes) = if key_type.is_fixed() { (0, a, b) } else { (a, b, 0) };
        let outside = || Error::corrupt("keys of a range bitmap lie outside of it");
        let (offsets, keys) = keys.get(begin..).and_then(|k| k.split_at_checked(offsets_bytes)).ok_or_else(outside)?;
        let keys = keys.get(..keys_bytes).ok_or_else(outside)?;
        Ok(Self { first, rank, more, offsets, keys, key_bytes })
    }

    /// The key at a place among those after the first.
    fn key(&self, at: usize, key_type: KeyType) -> Result<Key> {
        let outside = || Error::corrupt("a key of a range bitmap lies outside of it");
        let start = if key_type.is_fixed() {
            at.checked_mul(self.key_bytes).ok_or_else(outside)?
        } else {
            Cursor::new(at.checked_mul(4).and_then(|at| self.offsets.get(at..)).ok_or_else(outside)?).size()?
        };
        key_type.read(&mut Cursor::new(self.keys.get(start..).ok_or_else(outside)?))
    }
}
