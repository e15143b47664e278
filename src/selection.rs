//! Which rows of a file are wanted: [`RowSelection`].
//!
//! In: positions that are deleted, or a bit for each row. Out: for any range of rows the bits of those that are wanted.
//! Positions are physical: the n-th row of the file, all row groups, stripes or blocks laid end to end. Deletions,
//! indexes and merging each give a selection, and selections are intersected.

use std::ops::Range;

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;

/// A bit for each row of a file, set where the row is wanted. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSelection {
    wanted: BooleanBuffer,
}

impl RowSelection {
    /// The rows whose bit is set.
    pub fn new(wanted: BooleanBuffer) -> Self {
        Self { wanted }
    }

    /// All of `rows` rows but those at the given positions; positions past the end are no rows.
    pub fn without(rows: usize, deleted: impl IntoIterator<Item = u64>) -> Self {
        let mut bits = BooleanBufferBuilder::new(rows);
        bits.append_n(rows, true);
        for position in deleted {
            if let Some(position) = usize::try_from(position).ok().filter(|p| *p < rows) {
                bits.set_bit(position, false);
            }
        }
        Self { wanted: bits.finish() }
    }

    /// Of `rows` rows those at the given positions; positions past the end are no rows.
    pub fn only(rows: usize, positions: impl IntoIterator<Item = u64>) -> Self {
        let mut bits = BooleanBufferBuilder::new(rows);
        bits.append_n(rows, false);
        for position in positions {
            if let Some(position) = usize::try_from(position).ok().filter(|p| *p < rows) {
                bits.set_bit(position, true);
            }
        }
        Self { wanted: bits.finish() }
    }

    /// Of how many rows it speaks.
    pub fn len(&self) -> usize {
        self.wanted.len()
    }

    /// Whether it speaks of no rows.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// How many rows are wanted.
    pub fn wanted_rows(&self) -> usize {
        self.wanted.count_set_bits()
    }

    /// The bits of a range of rows, `None` where all of them are wanted. Rows past the end are not wanted.
    pub fn slice(&self, rows: Range<usize>) -> Option<BooleanBuffer> {
        let length = rows.end.saturating_sub(rows.start);
        let known = rows.end.min(self.len()).saturating_sub(rows.start);
        let bits = self.wanted.slice(rows.start.min(self.len()), known);
        if known == length {
            return (bits.count_set_bits() != length).then_some(bits);
        }
        let mut padded = BooleanBufferBuilder::new(length);
        padded.append_buffer(&bits);
        padded.append_n(length - known, false);
        Some(padded.finish())
    }

    /// Of the wanted rows those whose number among them is in a range.
    #[must_use]
    pub fn ranked(&self, ranks: Range<usize>) -> Self {
        let mut positions = self.wanted.set_indices();
        let begin = positions.nth(ranks.start).unwrap_or(self.len());
        let rest = ranks
            .end
            .checked_sub(ranks.start + 1)
            .map(|more| more.checked_sub(1).map_or(Some(begin), |n| positions.nth(n)));
        let end = rest.map_or(begin, |last| last.map_or(self.len(), |last| (last + 1).min(self.len())));
        let mut bits = BooleanBufferBuilder::new(self.len());
        bits.append_n(begin, false);
        bits.append_buffer(&self.wanted.slice(begin, end - begin));
        bits.append_n(self.len() - end, false);
        Self { wanted: bits.finish() }
    }

    /// The stretches of wanted rows, ascending.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        self.wanted.set_slices().map(|(start, end)| start..end).collect()
    }

    /// The positions of the wanted rows, ascending.
    pub fn positions(&self) -> Vec<usize> {
        self.wanted.set_indices().collect()
    }

    /// The rows that both want; of different lengths, the rows past the shorter one's end are not wanted.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let length = self.len().min(other.len());
        Self { wanted: &self.wanted.slice(0, length) & &other.wanted.slice(0, length) }
    }

    /// The memory it holds, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.wanted.inner().capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_say_what_is_wanted_and_nothing_where_all_is() {
        let s = RowSelection::without(10, [0, 7, 99]);
        assert_eq!((s.len(), s.wanted_rows()), (10, 8));
        assert_eq!(s.slice(1..7), None);
        assert_eq!(s.slice(6..9).unwrap().iter().collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(s.slice(9..12).unwrap().iter().collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(s.slice(20..21).unwrap().iter().collect::<Vec<_>>(), [false]);
        assert_eq!(s.slice(3..3), None);
    }

    #[test]
    fn wanted_rows_are_found_by_their_number() {
        let s = RowSelection::without(8, [0, 3, 4]);
        for (ranks, want) in [
            (0..5, vec![1, 2, 5, 6, 7]),
            (0..1, vec![1]),
            (1..3, vec![2, 5]),
            (4..9, vec![7]),
            (2..2, vec![]),
            (5..7, vec![]),
        ] {
            let ranked = s.ranked(ranks.clone());
            assert_eq!((ranked.positions(), ranked.len()), (want, 8), "{ranks:?}");
        }
    }

    #[test]
    fn selections_intersect() {
        let both = RowSelection::without(4, [0]).and(&RowSelection::without(3, [2]));
        assert_eq!(both, RowSelection::new(BooleanBuffer::from(vec![false, true, false])));
        assert_eq!(both, RowSelection::only(3, [1, 3]));
    }
}
