//! `bsi`: the bits of whole numbers.
//!
//! ```text
//! version 1, u8 | rows i32 | has positive u8, slices | has negative u8, slices
//! slices:  version 1, u8 | least i64 | greatest i64 | existing | number of slices i32 | slice …
//! ```
//! Numbers of at least 0 are *positive*, the others stand in *negative* without their sign; what is stored is the
//! distance to the least. Bitmaps follow each other. In: an index and a question. Out: the rows. Java:
//! `BitSliceIndexBitmapFileIndex`, `BitSliceIndexRoaringBitmap`.

use std::cmp::Ordering;
use std::ops::Bound;

use roaring::RoaringBitmap;

use super::bytes::Cursor;
use super::key::{Key, KeyType};
use super::question::{KeyRange, Question};
use super::slices::{Compared, Slices, all_rows, read_bitmap};
use crate::error::{Error, Result};

const VERSION: u8 = 1;
const MAX_SLICES: usize = 64;

/// The rows that are asked for; `None` where any may be. `rows` is the number of the file's.
pub(super) fn ask(bytes: &[u8], rows: u32, question: &Question, key_type: KeyType) -> Result<Option<RoaringBitmap>> {
    if matches!(key_type, KeyType::Float | KeyType::Double | KeyType::Bytes) {
        return Ok(None);
    }
    let index = Bsi::parse(bytes, rows)?;
    Ok(Some(match question {
        Question::IsNotNull => index.existing(),
        Question::IsNull => all_rows(rows) - index.existing(),
        Question::OneOf(keys) => index.one_of(keys),
        Question::NoneOf(keys) => index.existing() - index.one_of(keys),
        Question::Within(ranges) => ranges.iter().fold(RoaringBitmap::new(), |all, range| all | index.within(range)),
    }))
}

/// Numbers of one sign, and the least of them.
#[derive(Debug, Default)]
struct OneSign {
    least: u64,
    slices: Slices,
}

#[derive(Debug, Default)]
struct Bsi {
    positive: OneSign,
    negative: OneSign,
}

impl Bsi {
    fn parse(bytes: &[u8], rows: u32) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        check_version(cursor.byte()?)?;
        let told = cursor.int()?;
        if u32::try_from(told).ok() != Some(rows) {
            return Err(Error::corrupt(format!("a bit-slice index of {told} rows, the file has {rows}")));
        }
        let mut one_sign = || if cursor.flag()? { OneSign::parse(&mut cursor) } else { Ok(OneSign::default()) };
        Ok(Self { positive: one_sign()?, negative: one_sign()? })
    }

    fn existing(&self) -> RoaringBitmap {
        &self.positive.slices.existing | &self.negative.slices.existing
    }

    fn one_of(&self, keys: &[Key]) -> RoaringBitmap {
        keys.iter().fold(RoaringBitmap::new(), |all, key| all | self.compare(key).same)
    }

    /// The rows by how they compare with a number.
    fn compare(&self, key: &Key) -> Compared {
        let Key::Long(number) = key else { return Compared::default() };
        if *number < 0 {
            let Compared { less, same, greater } = self.negative.compare(number.unsigned_abs());
            // Without its sign the lesser number is the greater.
            Compared { less: greater, same, greater: less | &self.positive.slices.existing }
        } else {
            let compared = self.positive.compare(number.unsigned_abs());
            Compared { less: compared.less | &self.negative.slices.existing, ..compared }
        }
    }

    fn within(&self, (start, end): &KeyRange) -> RoaringBitmap {
        let at = |key: &Key, side: Ordering, inclusive: bool| {
            let Compared { less, same, greater } = self.compare(key);
            let rows = if side == Ordering::Less { less } else { greater };
            if inclusive { rows | same } else { rows }
        };
        let above = match start {
            Bound::Included(key) => at(key, Ordering::Greater, true),
            Bound::Excluded(key) => at(key, Ordering::Greater, false),
            Bound::Unbounded => self.existing(),
        };
        match end {
            Bound::Included(key) => above & at(key, Ordering::Less, true),
            Bound::Excluded(key) => above & at(key, Ordering::Less, false),
            Bound::Unbounded => above,
        }
    }
}

impl OneSign {
    fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        check_version(cursor.byte()?)?;
        let (least, greatest) = (cursor.long()?, cursor.long()?);
        let least = u64::try_from(least).map_err(|_| Error::corrupt(format!("a bit-slice index from {least}")))?;
        if greatest < 0 {
            return Err(Error::corrupt(format!("a bit-slice index up to {greatest}")));
        }
        let mut rest = cursor.rest();
        let existing = read_bitmap(&mut rest)?;
        *cursor = Cursor::new(rest);
        let count = cursor.size()?;
        if count > MAX_SLICES {
            return Err(Error::corrupt(format!("a bit-slice index of {count} slices")));
        }
        let mut rest = cursor.rest();
        let slices = (0..count).map(|_| read_bitmap(&mut rest)).collect::<Result<_>>()?;
        *cursor = Cursor::new(rest);
        Ok(Self { least, slices: Slices { existing, slices } })
    }

    fn compare(&self, number: u64) -> Compared {
        match number.checked_sub(self.least) {
            Some(distance) => self.slices.compare(distance),
            None => Compared { greater: self.slices.existing.clone(), ..Compared::default() },
        }
    }
}

fn check_version(version: u8) -> Result<()> {
    match version {
        VERSION => Ok(()),
        other => Err(Error::unsupported(format!("version {other} of bit-slice indexes, only 1 is known"))),
    }
}
