//! The container of a file's indexes.
//!
//! ```text
//! magic i64 | version i32 | head length i32 | columns i32 | column … | redundant length i32, bytes | body
//! column:  name | indexes i32 | index …          index:  kind | start i32 | length i32
//! ```
//! Numbers are big-endian, text is that of Java's `writeUTF`; `start` counts from the first byte of the container and is
//! -1 for an index without values. In: the head. Out: a [`Container`]. Kinds that are not known are left out. Java:
//! `FileIndexFormat`.

use std::ops::Range;

use bytes::Bytes;

use super::bytes::Cursor;
use super::{IndexedColumn, Predicate};
use crate::error::{Error, Result};
use crate::predicate::ColumnRef;

const MAGIC: i64 = 1_493_475_289_347_502;
const VERSION: i32 = 1;
/// Magic, version and length of the head.
const FIXED_BYTES: usize = 16;

/// What kind of index it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// `bloom-filter`
    BloomFilter,
    /// `bitmap`
    Bitmap,
    /// `bsi`
    Bsi,
    /// `range-bitmap`
    RangeBitmap,
}

impl IndexKind {
    /// All of them, the cheapest to ask first.
    pub const ALL: [IndexKind; 4] = [IndexKind::BloomFilter, IndexKind::Bitmap, IndexKind::RangeBitmap, IndexKind::Bsi];

    /// Its name in the format.
    pub fn name(self) -> &'static str {
        match self {
            IndexKind::BloomFilter => "bloom-filter",
            IndexKind::Bitmap => "bitmap",
            IndexKind::Bsi => "bsi",
            IndexKind::RangeBitmap => "range-bitmap",
        }
    }
}

/// One index of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The column's name in the file's schema, or `map[key]`.
    pub column: String,
    /// What kind of index it is.
    pub kind: IndexKind,
    /// Where it lies in the container; `None` where no value was put into it.
    pub range: Option<Range<u64>>,
}

/// What a container holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// The indexes of known kinds, in the file's order.
    pub entries: Vec<IndexEntry>,
}

impl Container {
    /// How long the head is, by the first bytes of a container; it may be longer than these.
    pub fn head_bytes(start: &[u8]) -> Result<usize> {
        let mut cursor = Cursor::new(start);
        if cursor.long()? != MAGIC {
            return Err(Error::corrupt("a file index does not begin with its magic"));
        }
        match cursor.int()? {
            VERSION => {}
            other => return Err(Error::unsupported(format!("version {other} of file indexes, only 1 is known"))),
        }
        match cursor.size()? {
            head if head >= FIXED_BYTES => Ok(head),
            head => Err(Error::corrupt(format!("the head of a file index has {head} bytes"))),
        }
    }

    /// Reads the head that some bytes begin with.
    pub fn parse(start: &[u8]) -> Result<Self> {
        let length = Self::head_bytes(start)?;
        let head = Cursor::new(start).bytes(length)?;
        let mut head = Cursor::new(head.get(FIXED_BYTES..).unwrap_or_default());
        let mut entries = vec![];
        for _ in 0..head.size()? {
            let column = head.text()?;
            for _ in 0..head.size()? {
                let name = head.text()?;
                let range = range(head.int()?, head.int()?)?;
                let kind = IndexKind::ALL.into_iter().find(|kind| kind.name() == name);
                entries.extend(kind.map(|kind| IndexEntry { column: column.clone(), kind, range }));
            }
        }
        Ok(Self { entries })
    }

    /// The indexes about columns of a predicate, the cheapest to ask first.
    pub fn wanted(
        self,
        predicate: &Predicate,
        column: &dyn Fn(&ColumnRef) -> Option<IndexedColumn>,
    ) -> Vec<IndexEntry> {
        let names = column_names(predicate, column);
        let mut wanted: Vec<_> = self.entries.into_iter().filter(|entry| names.contains(&entry.column)).collect();
        wanted.sort_by_key(|entry| IndexKind::ALL.iter().position(|kind| *kind == entry.kind));
        wanted
    }
}

/// The names that a predicate's columns have in a file.
pub fn column_names(predicate: &Predicate, column: &dyn Fn(&ColumnRef) -> Option<IndexedColumn>) -> Vec<String> {
    match predicate {
        Predicate::And(list) | Predicate::Or(list) => list.iter().flat_map(|p| column_names(p, column)).collect(),
        Predicate::Leaf(leaf) => column(&leaf.column).map(|column| column.name).into_iter().collect(),
    }
}

fn range(start: i32, length: i32) -> Result<Option<Range<u64>>> {
    if start == -1 {
        return Ok(None);
    }
    match (u64::try_from(start), u64::try_from(length)) {
        (Ok(start), Ok(length)) => Ok(Some(start..start + length)),
        _ => Err(Error::corrupt(format!("a file index of {length} bytes at {start}"))),
    }
}

/// A part of a container that is in memory.
pub(super) fn slice(container: &Bytes, range: &Range<u64>) -> Result<Bytes> {
    let wrong = || Error::corrupt(format!("a file index lies at {range:?} of {} bytes", container.len()));
    let (start, end) = (usize::try_from(range.start), usize::try_from(range.end));
    let (start, end) = (start.map_err(|_| wrong())?, end.map_err(|_| wrong())?);
    if end > container.len() || start > end {
        return Err(wrong());
    }
    Ok(container.slice(start..end))
}
