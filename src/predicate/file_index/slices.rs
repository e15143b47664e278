//! Numbers of rows, stored bit by bit: [`Slices`].
//!
//! ```text
//! row        0  1  2  3        existing {0, 1, 3}
//! number     5  1  -  4        slice 2  {0, 3}    slice 1 {}    slice 0 {0, 1}
//! ```
//! In: a number. Out: the rows whose number is less, the same, or greater. From the highest bit down, rows part from
//! those that are still the same as the number.

use roaring::RoaringBitmap;

use crate::error::{Error, Result};

/// The numbers of some rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Slices {
    /// The rows that have a number.
    pub existing: RoaringBitmap,
    /// The rows whose numbers have a bit set, the lowest bit first.
    pub slices: Vec<RoaringBitmap>,
}

/// The rows by how their numbers compare with one number.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Compared {
    /// Less than it.
    pub less: RoaringBitmap,
    /// The same.
    pub same: RoaringBitmap,
    /// Greater.
    pub greater: RoaringBitmap,
}

impl Slices {
    /// Parts the rows by a number.
    pub fn compare(&self, number: u64) -> Compared {
        let bits = self.slices.len() as u32;
        if number.checked_shr(bits).is_some_and(|above| above > 0) {
            return Compared { less: self.existing.clone(), ..Compared::default() };
        }
        let mut parts = Compared { same: self.existing.clone(), ..Compared::default() };
        for (bit, slice) in self.slices.iter().enumerate().rev() {
            if number.checked_shr(bit as u32).unwrap_or(0) & 1 == 1 {
                parts.less |= &parts.same - slice;
                parts.same &= slice;
            } else {
                parts.greater |= &parts.same & slice;
                parts.same -= slice;
            }
        }
        parts
    }
}

/// All rows of a file.
pub(super) fn all_rows(rows: u32) -> RoaringBitmap {
    let mut all = RoaringBitmap::new();
    all.insert_range(0..rows);
    all
}

/// Takes a bitmap off the front of some bytes.
pub(super) fn read_bitmap(bytes: &mut &[u8]) -> Result<RoaringBitmap> {
    RoaringBitmap::deserialize_from(bytes)
        .map_err(|e| Error::corrupt("a bitmap of a file index is no roaring bitmap").caused_by(e))
}
