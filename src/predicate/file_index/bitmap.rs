//! `bitmap`: for each value the rows that have it.
//!
//! ```text
//! version u8
//! 1: rows i32 | values i32 | has NULL u8, [offset i32] | values × (value, offset i32) | body
//! 2: rows i32 | values i32 | has NULL u8, [offset i32, length i32] | blocks i32 | blocks × (first value, offset i32)
//!    | length of all blocks i32 | block … | body           block:  entries i32 | entries × (value, offset i32, length i32)
//! ```
//! An offset counts from the first byte of the body, where a roaring bitmap begins; one that is negative is the only row,
//! as `-1 - row`. Version 2 has its values in order. In: an index and a question. Out: the rows. Java:
//! `BitmapFileIndex`, `BitmapFileIndexMeta`, `BitmapFileIndexMetaV2`.

use std::cmp::Ordering;

use roaring::RoaringBitmap;

use super::bytes::Cursor;
use super::key::{Key, KeyType};
use super::question::Question;
use super::slices::{all_rows, read_bitmap};
use crate::error::{Error, Result};

/// The rows that are asked for; `None` where any may be. `rows` is the number of the file's.
pub(super) fn ask(bytes: &[u8], rows: u32, question: &Question, key_type: KeyType) -> Result<Option<RoaringBitmap>> {
    if matches!(question, Question::Within(_)) {
        return Ok(None);
    }
    let index = BitmapIndex::parse(bytes, rows, key_type)?;
    Ok(Some(match question {
        Question::OneOf(keys) => index.one_of(keys)?,
        Question::NoneOf(keys) => index.all() - index.one_of(keys)? - index.null()?,
        Question::IsNull => index.null()?,
        Question::IsNotNull => index.all() - index.null()?,
        Question::Within(_) => return Ok(None),
    }))
}

/// Where the values are listed.
enum Dictionary<'a> {
    /// In no order.
    List(Cursor<'a>, usize),
    /// In blocks, by their first values.
    Blocks { firsts: Vec<(Key, usize)>, blocks: &'a [u8] },
}

struct BitmapIndex<'a> {
    rows: u32,
    key_type: KeyType,
    null: Option<i32>,
    dictionary: Dictionary<'a>,
    body: &'a [u8],
}

impl<'a> BitmapIndex<'a> {
    fn parse(bytes: &'a [u8], rows: u32, key_type: KeyType) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let version = cursor.byte()?;
        if !matches!(version, 1 | 2) {
            return Err(Error::unsupported(format!("version {version} of bitmap indexes, only 1 and 2 are known")));
        }
        let told = cursor.int()?;
        if u32::try_from(told).ok() != Some(rows) {
            return Err(Error::corrupt(format!("a bitmap index of {told} rows, the file has {rows}")));
        }
        let values = cursor.size()?;
        let null = if cursor.flag()? { Some(cursor.int()?) } else { None };
        let dictionary = if version == 1 {
            let list = cursor;
            for _ in 0..values {
                key_type.read(&mut cursor)?;
                cursor.int()?;
            }
            Dictionary::List(list, values)
        } else {
            if null.is_some() {
                cursor.int()?;
            }
            let mut firsts = vec![];
            for _ in 0..cursor.size()? {
                firsts.push((key_type.read(&mut cursor)?, cursor.size()?));
            }
            let length = cursor.size()?;
            Dictionary::Blocks { firsts, blocks: cursor.bytes(length)? }
        };
        Ok(Self { rows, key_type, null, dictionary, body: cursor.rest() })
    }

    fn all(&self) -> RoaringBitmap {
        all_rows(self.rows)
    }

    fn null(&self) -> Result<RoaringBitmap> {
        self.null.map_or(Ok(RoaringBitmap::new()), |offset| self.rows_at(offset))
    }

    fn one_of(&self, keys: &[Key]) -> Result<RoaringBitmap> {
        let mut rows = RoaringBitmap::new();
        for offset in self.offsets(keys)? {
            rows |= self.rows_at(offset)?;
        }
        Ok(rows)
    }

    /// Where the rows of those keys are that the file has.
    fn offsets(&self, keys: &[Key]) -> Result<Vec<i32>> {
        match &self.dictionary {
            Dictionary::List(list, values) => {
                let wanted = |key: &Key| keys.iter().any(|wanted| wanted.compare(key) == Ordering::Equal);
                self.found(*list, *values, false, &wanted)
            }
            Dictionary::Blocks { firsts, blocks } => {
                let mut offsets = vec![];
                for key in keys {
                    let after = firsts.partition_point(|(first, _)| first.compare(key) != Ordering::Greater);
                    let Some((_, start)) = after.checked_sub(1).and_then(|at| firsts.get(at)) else { continue };
                    let block = blocks.get(*start..).ok_or_else(|| Error::corrupt("a block of a bitmap index"))?;
                    let mut block = Cursor::new(block);
                    let entries = block.size()?;
                    offsets.extend(self.found(block, entries, true, &|k| k.compare(key) == Ordering::Equal)?);
                }
                Ok(offsets)
            }
        }
    }

    fn found(
        &self,
        mut list: Cursor<'_>,
        entries: usize,
        with_length: bool,
        wanted: &dyn Fn(&Key) -> bool,
    ) -> Result<Vec<i32>> {
        let mut offsets = vec![];
        for _ in 0..entries {
            let key = self.key_type.read(&mut list)?;
            let offset = list.int()?;
            if with_length {
                list.int()?;
            }
            if wanted(&key) {
                offsets.push(offset);
            }
        }
        Ok(offsets)
    }

    fn rows_at(&self, offset: i32) -> Result<RoaringBitmap> {
        match usize::try_from(offset) {
            Ok(offset) => {
                let mut bytes = self.body.get(offset..).ok_or_else(|| {
                    Error::corrupt(format!("a bitmap at {offset} of {} bytes in a bitmap index", self.body.len()))
                })?;
                read_bitmap(&mut bytes)
            }
            Err(_) => Ok(RoaringBitmap::from_iter([(-1 - i64::from(offset)) as u32])),
        }
    }
}
