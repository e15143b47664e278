//! Which rows of a file are left when all of its row groups were read: [`Found`].
//!
//! In: of each row group the rows that are asked for, and what its row filters say of them, one after the other. Out: the
//! positions of those that are left, for whoever wants to know them ([`FoundRows`]); nothing where they are too many, or
//! where what was said does not go together.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{BooleanArray, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;

use super::access::Group;
use crate::file::FoundRows;

/// What is known of the row groups that were begun so far.
pub(super) struct Found {
    wanted_by: Arc<dyn FoundRows>,
    /// `None` once it is known that they are too many.
    groups: Mutex<Option<Vec<Arc<Mutex<GroupRows>>>>>,
}

/// What is known of a row group.
pub(super) struct GroupRows {
    first_row: u64,
    rows: usize,
    selection: Option<BooleanBuffer>,
    /// Of each filter, what it said of the rows that the one before it left.
    said: Vec<BooleanBufferBuilder>,
}

impl GroupRows {
    /// The filter numbered `filter` said this of the next rows.
    pub fn say(&mut self, filter: usize, of_next: &BooleanArray) {
        if let Some(said) = self.said.get_mut(filter) {
            said.append_buffer(of_next.values());
        }
    }

    /// The positions of the rows that are left; `None` where that cannot be told, or they are more than `most`.
    fn positions(&self, most: usize) -> Option<Vec<u64>> {
        // What may be most of a large file is counted before it is listed.
        let mut left: Vec<usize> = match (&self.selection, self.said.first()) {
            (None, None) if self.rows > most => return None,
            (None, None) => (0..self.rows).collect(),
            (None, Some(said)) => set_indices(&said.finish_cloned(), self.rows, most)?,
            (Some(selection), None) => set_indices(selection, self.rows, most)?,
            (Some(selection), Some(said)) => {
                let said = said.finish_cloned();
                if said.len() != selection.count_set_bits() || said.count_set_bits() > most {
                    return None;
                }
                selection.set_indices().zip(said.iter()).filter_map(|(row, wanted)| wanted.then_some(row)).collect()
            }
        };
        for said in self.said.iter().skip(1) {
            let said = said.finish_cloned();
            if said.len() != left.len() {
                return None;
            }
            left = left.into_iter().zip(said.iter()).filter_map(|(row, wanted)| wanted.then_some(row)).collect();
        }
        let position = |row: usize| self.first_row.checked_add(u64::try_from(row).ok()?);
        (left.len() <= most).then(|| left.into_iter().map(position).collect())?
    }
}

/// The positions of the bits that are set, of exactly `rows`, unless they are more than `most`.
fn set_indices(bits: &BooleanBuffer, rows: usize, most: usize) -> Option<Vec<usize>> {
    (bits.len() == rows && bits.count_set_bits() <= most).then(|| bits.set_indices().collect())
}

impl Found {
    /// Nothing is known yet.
    pub fn new(wanted_by: Arc<dyn FoundRows>) -> Self {
        Self { wanted_by, groups: Mutex::new(Some(vec![])) }
    }

    /// A row group is begun, with so many filters; `None` where it need not be told what they say.
    pub fn begin(&self, group: &Group, filters: usize) -> Option<Arc<Mutex<GroupRows>>> {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        if filters == 0 && group.wanted_rows() > self.wanted_by.most() {
            *groups = None;
        }
        let said = (0..filters).map(|_| BooleanBufferBuilder::new(0)).collect();
        let selection = group.selection.clone();
        let rows = GroupRows { first_row: group.first_row, rows: group.rows, selection, said };
        let begun = Arc::new(Mutex::new(rows));
        groups.as_mut()?.push(Arc::clone(&begun));
        Some(begun)
    }

    /// All row groups were read.
    pub fn finish(&self) {
        let groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner).take();
        let most = self.wanted_by.most();
        let mut positions: Vec<u64> = vec![];
        for group in groups.iter().flatten() {
            let group = group.lock().unwrap_or_else(PoisonError::into_inner);
            match group.positions(most.saturating_sub(positions.len())) {
                Some(rows) => positions.extend(rows),
                None => return,
            }
        }
        if groups.is_some() {
            self.wanted_by.found(&positions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Told(Mutex<Option<Vec<u64>>>);

    impl FoundRows for Told {
        fn most(&self) -> usize {
            4
        }

        fn found(&self, positions: &[u64]) {
            *self.0.lock().unwrap() = Some(positions.to_vec());
        }
    }

    fn bits(text: &str) -> BooleanBuffer {
        text.chars().map(|bit| bit == '1').collect()
    }

    fn group(first_row: u64, rows: usize, selection: &str) -> Group {
        let selection = (!selection.is_empty()).then(|| bits(selection));
        Group { position: 0, first_row, rows, selection, few_pages: false }
    }

    /// What is told of row groups, each with what its filters say, in two parts.
    fn told(groups: &[(Group, Vec<&str>)]) -> Option<Vec<u64>> {
        let told = Arc::new(Told::default());
        let found = Found::new(Arc::clone(&told) as _);
        for (group, said) in groups {
            let Some(begun) = found.begin(group, said.len()) else { continue };
            for (number, said) in said.iter().enumerate() {
                let (first, second) = said.split_at(said.len() / 2);
                for part in [first, second] {
                    begun.lock().unwrap().say(number, &BooleanArray::new(bits(part), None));
                }
            }
        }
        assert_eq!(*told.0.lock().unwrap(), None);
        found.finish();
        told.0.lock().unwrap().clone()
    }

    #[test]
    fn positions_are_those_that_every_filter_leaves() {
        let cases = [
            (vec![], Some(vec![])),
            (vec![(group(5, 3, ""), vec![])], Some(vec![5, 6, 7])),
            (vec![(group(5, 5, ""), vec![])], None),
            (vec![(group(5, 3, ""), vec!["010"])], Some(vec![6])),
            (vec![(group(5, 3, "101"), vec![])], Some(vec![5, 7])),
            (vec![(group(5, 3, "101"), vec!["01"])], Some(vec![7])),
            (vec![(group(0, 5, ""), vec!["10110", "011"])], Some(vec![2, 3])),
            (vec![(group(0, 3, ""), vec!["000", ""])], Some(vec![])),
            (vec![(group(0, 3, ""), vec!["111"]), (group(3, 2, ""), vec!["01"])], Some(vec![0, 1, 2, 4])),
            (vec![(group(0, 3, ""), vec!["111"]), (group(3, 2, ""), vec!["11"])], None),
            // A filter that was not asked of every row.
            (vec![(group(0, 3, ""), vec!["10"])], None),
            (vec![(group(0, 3, "101"), vec!["101"])], None),
            (vec![(group(0, 3, ""), vec!["101", "1"])], None),
        ];
        for (groups, want) in cases {
            assert_eq!(told(&groups), want, "{groups:?}");
        }
    }
}
