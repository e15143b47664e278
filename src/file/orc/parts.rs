//! Which rows of a file are fetched together: [`Part`].
//!
//! In: the wanted stripes. Out: parts, one for each stripe; the stripe in which a limit is reached is two, so that the row
//! groups behind the limit are fetched only when they are needed after all.
//!
//! ```text
//! stripes        |--------------|--------------|--------------|
//! with a limit   |--------------|---|----------|--------------|
//! ```

use std::collections::VecDeque;
use std::ops::Range;

use super::tail::StripeInformation;
use crate::selection::RowSelection;

/// Rows of a stripe.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) stripe: StripeInformation,
    /// The position in the file of the stripe's first row.
    pub(super) first_row: usize,
    /// The rows, from the stripe's first one on.
    pub(super) rows: Range<u64>,
}

impl Part {
    /// All rows of a stripe.
    pub(super) fn whole((first_row, stripe): (usize, StripeInformation)) -> Self {
        Self { stripe, first_row, rows: 0..stripe.rows }
    }

    /// The positions in the file of some rows of the stripe.
    pub(super) fn positions(&self, rows: &Range<u64>) -> Range<usize> {
        let place = |row: u64| self.first_row.saturating_add(usize::try_from(row).unwrap_or(usize::MAX));
        place(rows.start)..place(rows.end)
    }

    /// How many of its rows a selection wants.
    pub(super) fn wanted_rows(&self, selection: Option<&RowSelection>) -> u64 {
        let bits = selection.and_then(|selection| selection.slice(self.positions(&self.rows)));
        bits.map_or(self.rows.end.saturating_sub(self.rows.start), |bits| bits.count_set_bits() as u64)
    }

    /// Its row groups, of `group_rows` rows each; it begins with one.
    pub(super) fn row_groups(&self, group_rows: u64) -> impl Iterator<Item = Self> {
        let (group_rows, rows) = (group_rows.max(1), self.rows.clone());
        let groups = rows.end.saturating_sub(rows.start).div_ceil(group_rows);
        let start = move |group: u64| rows.start.saturating_add(group.saturating_mul(group_rows)).min(rows.end);
        (0..groups).map(move |group| Self { rows: start(group)..start(group + 1), ..self.clone() })
    }

    /// The row groups, of `group_rows` rows each, behind the one in which the `rank`th wanted row is.
    fn split(&self, rank: u64, group_rows: u64, selection: Option<&RowSelection>) -> Option<[Self; 2]> {
        let nth = usize::try_from(rank).ok()?.checked_sub(1)?;
        let bits = selection.and_then(|selection| selection.slice(self.positions(&self.rows)));
        let row = match bits {
            Some(bits) => bits.set_indices().nth(nth)?,
            None => nth,
        };
        let end = (row as u64 / group_rows.max(1)).checked_add(1)?.checked_mul(group_rows)?;
        let part = |rows| Self { rows, ..self.clone() };
        (end < self.rows.end).then(|| [part(self.rows.start..end), part(end..self.rows.end)])
    }
}

/// The stripes as parts; the one in which the `limit`th wanted row is, and that is `worth` it, in two.
pub(super) fn parts(
    stripes: VecDeque<(usize, StripeInformation)>,
    group_rows: u64,
    limit: Option<usize>,
    selection: Option<&RowSelection>,
    worth: impl Fn(&Part) -> bool,
) -> VecDeque<Part> {
    let mut left = limit.filter(|_| group_rows > 0).map(|limit| limit as u64);
    let mut parts = VecDeque::new();
    for part in stripes.into_iter().map(Part::whole) {
        let rows = part.wanted_rows(selection);
        match left {
            Some(rank) if rank <= rows => {
                left = None;
                match Some(&part).filter(|part| worth(part)).and_then(|part| part.split(rank, group_rows, selection)) {
                    Some(halves) => parts.extend(halves),
                    None => parts.push_back(part),
                }
            }
            _ => {
                left = left.map(|left| left - rows);
                parts.push_back(part);
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stripe_in_which_a_limit_is_reached_is_cut_behind_its_row_group() {
        let stripe = |rows| StripeInformation { rows, ..Default::default() };
        let stripes = || VecDeque::from([(0, stripe(25)), (25, stripe(30))]);
        let rows = |limit, selection: Option<&RowSelection>, worth| {
            let parts = parts(stripes(), 10, limit, selection, |_| worth);
            parts.into_iter().map(|part| (part.first_row, part.rows)).collect::<Vec<_>>()
        };
        let whole = vec![(0, 0..25), (25, 0..30)];
        for (limit, want) in [
            (None, whole.clone()),
            (Some(0), whole.clone()),
            (Some(1), vec![(0, 0..10), (0, 10..25), (25, 0..30)]),
            (Some(10), vec![(0, 0..10), (0, 10..25), (25, 0..30)]),
            (Some(11), vec![(0, 0..20), (0, 20..25), (25, 0..30)]),
            (Some(21), whole.clone()),
            (Some(26), vec![(0, 0..25), (25, 0..10), (25, 10..30)]),
            (Some(99), whole.clone()),
        ] {
            assert_eq!(rows(limit, None, true), want, "{limit:?}");
            assert_eq!(rows(limit, None, false), whole);
        }
        let odd = RowSelection::without(55, (0..55).filter(|row| row % 2 == 0));
        assert_eq!(rows(Some(6), Some(&odd), true), [(0, 0..20), (0, 20..25), (25, 0..30)]);
        assert_eq!(parts(stripes(), 0, Some(1), None, |_| true).len(), 2);
    }
}
