//! What a row of a primary-key table does to its key. Java: `RowKind`.
//!
//! In: the byte of `_VALUE_KIND` or of a `BinaryRow` header. Out: a [`RowKind`]; any other byte is an error.

use std::fmt;

use crate::error::{Error, Result};

/// The kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(i8)]
pub enum RowKind {
    /// `+I`, a new row
    #[default]
    Insert = 0,
    /// `-U`, the row before an update
    UpdateBefore = 1,
    /// `+U`, the row after an update
    UpdateAfter = 2,
    /// `-D`, a deleted row
    Delete = 3,
}

impl RowKind {
    /// The kind that a byte stands for.
    pub fn from_byte(byte: i8) -> Result<Self> {
        match byte {
            0 => Ok(RowKind::Insert),
            1 => Ok(RowKind::UpdateBefore),
            2 => Ok(RowKind::UpdateAfter),
            3 => Ok(RowKind::Delete),
            other => Err(Error::corrupt(format!("a row kind must be 0 to 3, got {other}"))),
        }
    }

    /// The byte that stands for it.
    pub fn to_byte(self) -> i8 {
        self as i8
    }

    /// Whether the row is there afterwards: `+I` and `+U`.
    pub fn is_add(self) -> bool {
        matches!(self, RowKind::Insert | RowKind::UpdateAfter)
    }

    /// Whether the row is taken back: `-U` and `-D`.
    pub fn is_retract(self) -> bool {
        !self.is_add()
    }
}

impl fmt::Display for RowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RowKind::Insert => "+I",
            RowKind::UpdateBefore => "-U",
            RowKind::UpdateAfter => "+U",
            RowKind::Delete => "-D",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_are_kinds_and_no_other() {
        for (byte, text, add) in [(0, "+I", true), (1, "-U", false), (2, "+U", true), (3, "-D", false)] {
            let kind = RowKind::from_byte(byte).unwrap();
            assert_eq!((kind.to_byte(), kind.to_string().as_str(), kind.is_add()), (byte, text, add));
        }
        assert!([-1, 4, i8::MIN, i8::MAX].into_iter().all(|b| RowKind::from_byte(b).is_err()));
    }
}
