//! What is known of the values that a column has in some files: [`ColumnRange`].
//!
//! In: bounds and NULL counts of files. Out: those of all of them together. Bounds may be wider than the values are.

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};

use super::data_type::{DataType, TypeKind};
use super::datum::Datum;

/// What is known of a column in some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnRange {
    /// How many rows.
    pub rows: usize,
    /// The least and the greatest value, `Some(None)` where there is none but NULL; `None` where that is not known.
    pub values: Option<Option<(Datum, Datum)>>,
    /// How many rows are NULL; `None` where that is not known.
    pub nulls: Option<usize>,
}

/// Of no rows.
impl Default for ColumnRange {
    fn default() -> Self {
        Self { rows: 0, values: Some(None), nulls: Some(0) }
    }
}

impl ColumnRange {
    /// Rows of which nothing is known.
    pub fn unknown(rows: usize) -> Self {
        Self { rows, values: None, nulls: None }
    }

    /// Rows that are all NULL.
    pub fn all_null(rows: usize) -> Self {
        Self { rows, values: Some(None), nulls: Some(rows) }
    }

    /// Adds other rows.
    pub fn add(&mut self, other: Self) {
        self.rows = self.rows.saturating_add(other.rows);
        self.nulls = self.nulls.zip(other.nulls).map(|(a, b)| a.saturating_add(b));
        match (&mut self.values, other.values) {
            (_, Some(None)) => {}
            (Some(Some((least, greatest))), Some(Some((min, max)))) => {
                if min.compare(least) == Some(Ordering::Less) {
                    *least = min;
                }
                if max.compare(greatest) == Some(Ordering::Greater) {
                    *greatest = max;
                }
            }
            (values @ Some(None), more) => *values = more,
            (values, _) => *values = None,
        }
    }

    /// About what is known of so many of these rows.
    #[must_use]
    pub fn of_some(self, rows: usize) -> Self {
        let share = |nulls: usize| (nulls as u128 * rows as u128).div_ceil(self.rows.max(1) as u128);
        let nulls = self.nulls.map(|nulls| usize::try_from(share(nulls)).unwrap_or(rows).min(rows));
        Self { rows, nulls, ..self }
    }
}

/// Of more columns than this nothing is kept: what is kept is small beside the files that it is of.
const MAX_KEPT: usize = 32;

/// What was found of columns of some files, kept for whoever asks again.
#[derive(Debug, Default)]
pub struct KnownRanges(Mutex<Vec<(i32, TypeKind, ColumnRange)>>);

impl KnownRanges {
    /// What was found of a column, in a type.
    pub fn get(&self, column: i32, data_type: &DataType) -> Option<ColumnRange> {
        let ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ranges.iter().find(|(id, kind, _)| *id == column && *kind == data_type.kind);
        known.map(|(_, _, range)| range.clone())
    }

    /// Whether nothing more is kept.
    pub fn is_full(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len() >= MAX_KEPT
    }

    /// Keeps what was found of a column.
    pub fn keep(&self, column: i32, data_type: &DataType, range: ColumnRange) {
        let mut ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ranges.iter().any(|(id, kind, _)| *id == column && *kind == data_type.kind);
        if !known && ranges.len() < MAX_KEPT {
            ranges.push((column, data_type.kind.clone(), range));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(rows: usize, values: Option<(i32, i32)>, nulls: usize) -> ColumnRange {
        let values = values.map(|(min, max)| (Datum::Int(min), Datum::Int(max)));
        ColumnRange { rows, values: Some(values), nulls: Some(nulls) }
    }

    #[test]
    fn what_is_known_of_columns_is_kept_by_type_and_of_few() {
        let (known, int, big) = (KnownRanges::default(), TypeKind::Int.nullable(), TypeKind::BigInt.nullable());
        known.keep(1, &int, range(3, Some((4, 6)), 1));
        known.keep(1, &int, ColumnRange::unknown(3));
        assert_eq!(known.get(1, &int), Some(range(3, Some((4, 6)), 1)));
        assert_eq!((known.get(1, &big), known.get(2, &int)), (None, None));
        (2..100).for_each(|column| known.keep(column, &int, ColumnRange::unknown(3)));
        assert!(known.is_full());
        assert_eq!((known.get(32, &int).is_some(), known.get(33, &int).is_some()), (true, false));
    }

    #[test]
    fn ranges_add_up() {
        let mut all = ColumnRange::default();
        for (more, want) in [
            (ColumnRange::default(), ColumnRange::default()),
            (ColumnRange::all_null(2), range(2, None, 2)),
            (range(3, Some((4, 6)), 1), range(5, Some((4, 6)), 3)),
            (range(3, Some((5, 9)), 0), range(8, Some((4, 9)), 3)),
            (range(1, Some((-1, 0)), 0), range(9, Some((-1, 9)), 3)),
            (ColumnRange::unknown(4), ColumnRange::unknown(13)),
            (range(3, Some((5, 9)), 0), ColumnRange::unknown(16)),
            (ColumnRange::all_null(2), ColumnRange::unknown(18)),
        ] {
            all.add(more);
            assert_eq!(all, want);
        }
    }

    #[test]
    fn some_rows_have_their_share_of_nulls() {
        let all = range(100, Some((1, 9)), 10);
        assert_eq!(all.clone().of_some(20), range(20, Some((1, 9)), 2));
        assert_eq!(all.of_some(1), range(1, Some((1, 9)), 1));
        assert_eq!(ColumnRange::all_null(7).of_some(3), ColumnRange::all_null(3));
        assert_eq!(ColumnRange::default().of_some(0), ColumnRange::default());
    }
}
