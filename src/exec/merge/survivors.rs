//! Which rows of a section survive merging, for engines whose result is one of the rows: [`Survivors`].
//!
//! In: rows alone and rows of one key, from the tournament. Out: for each file a [`RowSelection`] of the rows that are
//! in the table. `deduplicate` keeps the newest version, `first-row` the oldest; a row that takes its key back is no
//! row of the table. Java: `DeduplicateMergeFunction`, `FirstRowMergeFunction`, `DropDeleteReader`.

use std::ops::Range;

use super::marks::Marks;
use super::tournament::{KeyBatch, Sink, Version};
use crate::error::{Error, Result};
use crate::selection::RowSelection;

/// Which version of a key is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Keep {
    /// `deduplicate`: the newest version; with `ignore_delete` the newest that is no delete.
    Newest {
        /// Option `ignore-delete`.
        ignore_delete: bool,
    },
    /// `first-row`: the oldest version; deletes are an error unless they are ignored.
    Oldest {
        /// Option `ignore-delete`.
        ignore_delete: bool,
    },
}

impl Keep {
    /// The version that is kept, if it is a row of the table.
    fn of<'a, 'b>(self, versions: &'a [Version<'b>]) -> Result<Option<&'a Version<'b>>> {
        let add = |v: &&Version<'b>| v.kind().is_add();
        match self {
            Keep::Newest { ignore_delete: true } => Ok(versions.iter().rev().find(add)),
            Keep::Newest { ignore_delete: false } => Ok(versions.last().filter(add)),
            Keep::Oldest { ignore_delete } => {
                if !ignore_delete && versions.iter().any(|v| v.kind().is_retract()) {
                    let message = "a delete record in a table of merge-engine 'first-row' without 'ignore-delete'";
                    return Err(Error::unsupported(message));
                }
                Ok(versions.iter().find(add))
            }
        }
    }
}

/// Gathers the surviving rows of the files of a section.
pub struct Survivors {
    keep: Keep,
    rows: Marks,
}

impl Survivors {
    /// Nothing heard yet, of files with the given numbers of rows.
    pub fn new(keep: Keep, rows: impl IntoIterator<Item = usize>) -> Self {
        Self { keep, rows: Marks::new(rows) }
    }

    /// The surviving rows of each file.
    pub fn finish(self) -> Vec<RowSelection> {
        self.rows.finish()
    }
}

impl Sink for Survivors {
    fn single(&mut self, batch: &KeyBatch, rows: Range<usize>) -> Result<()> {
        self.rows.mark_adds(batch, rows)
    }

    fn group(&mut self, versions: &[Version<'_>]) -> Result<()> {
        match self.keep.of(versions)? {
            Some(kept) => self.rows.mark(kept.batch.file, kept.position()),
            None => Ok(()),
        }
    }

    fn heeds_newest_only(&self) -> bool {
        self.keep == Keep::Newest { ignore_delete: false }
    }

    fn heap_bytes(&self) -> usize {
        self.rows.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array};
    use futures::stream::BoxStream;
    use futures::{StreamExt, stream};
    use proptest::prelude::*;

    use super::super::key_range::KeyRange;
    use super::super::keys::KeyEncoder;
    use super::super::ties::merge_tied_keys;
    use super::super::tournament::{Kinds, Outcome, Positions, Sequences, merge_keys};
    use super::*;
    use crate::options::enums::SortEngine;
    use crate::spec::data_type::{DataField, TypeKind};
    use crate::spec::row_kind::RowKind;

    /// One row of a run: key, sequence number, kind.
    type Row = (i32, i64, RowKind);

    fn batches(file: usize, rows: &[Row], size: usize) -> Vec<Result<KeyBatch>> {
        let encoder = KeyEncoder::new(&[DataField::new(0, "k", TypeKind::Int.not_null())]).unwrap();
        let batch = |(at, rows): (usize, &[Row])| {
            let keys: ArrayRef = Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.0)));
            Ok(KeyBatch {
                file,
                positions: Positions::From(at * size),
                keys: encoder.encode(&[keys])?,
                user_sequences: None,
                sequences: Sequences::Each(rows.iter().map(|r| r.1).collect()),
                kinds: Kinds::Each(rows.iter().map(|r| r.2).collect()),
                held: None,
            })
        };
        rows.chunks(size).enumerate().map(batch).collect()
    }

    fn survivors(runs: &[Vec<Row>], size: usize, keep: Keep) -> Result<Vec<Row>> {
        let mut sink = Survivors::new(keep, runs.iter().map(Vec::len));
        let outcome = futures::executor::block_on(merge_keys(streams(runs, size), &mut sink, None))?;
        assert_eq!(outcome, Outcome::Done);
        Ok(rows_of(runs, sink))
    }

    /// The same, by the way for ties.
    fn survivors_of_ties(runs: &[Vec<Row>], size: usize, keep: Keep, engine: SortEngine) -> Vec<Row> {
        let (mut sink, range) = (Survivors::new(keep, runs.iter().map(Vec::len)), KeyRange::default());
        let merging = merge_tied_keys(streams(runs, size), engine, &range, &mut sink, None);
        futures::executor::block_on(merging).unwrap();
        rows_of(runs, sink)
    }

    fn streams(runs: &[Vec<Row>], size: usize) -> Vec<BoxStream<'static, Result<KeyBatch>>> {
        runs.iter().enumerate().map(|(file, rows)| stream::iter(batches(file, rows, size)).boxed()).collect()
    }

    fn rows_of(runs: &[Vec<Row>], sink: Survivors) -> Vec<Row> {
        let mut rows = vec![];
        for (run, selection) in runs.iter().zip(sink.finish()) {
            let bits = selection.slice(0..run.len());
            rows.extend(
                run.iter().enumerate().filter(|(i, _)| bits.as_ref().is_none_or(|b| b.value(*i))).map(|(_, r)| *r),
            );
        }
        rows.sort_by_key(|r| r.0);
        rows
    }

    /// Row at a time: all versions of each key in order of age.
    fn model(runs: &[Vec<Row>], keep: Keep) -> Vec<Row> {
        let mut keys: BTreeMap<i32, Vec<Row>> = BTreeMap::new();
        runs.iter().flatten().for_each(|r| keys.entry(r.0).or_default().push(*r));
        let pick = |mut versions: Vec<Row>| {
            versions.sort_by_key(|r| r.1);
            if versions.len() == 1 {
                return versions.pop().filter(|r| r.2.is_add());
            }
            match keep {
                Keep::Newest { ignore_delete } => {
                    versions.into_iter().rev().find(|r| !ignore_delete || r.2.is_add()).filter(|r| r.2.is_add())
                }
                Keep::Oldest { .. } => versions.into_iter().find(|r| r.2.is_add()),
            }
        };
        keys.into_values().filter_map(pick).collect()
    }

    fn any_runs() -> impl Strategy<Value = Vec<Vec<Row>>> {
        let kind = prop_oneof![
            4 => Just(RowKind::Insert), 1 => Just(RowKind::UpdateAfter),
            1 => Just(RowKind::Delete), 1 => Just(RowKind::UpdateBefore)];
        let run = proptest::collection::btree_map(0i32..30, kind, 0..25);
        proptest::collection::vec(run, 1..6).prop_map(|runs| {
            let mut sequence = 0;
            let mut row = |(key, kind)| {
                sequence += 1;
                (key, sequence, kind)
            };
            runs.into_iter().map(|run| run.into_iter().map(&mut row).collect()).collect()
        })
    }

    proptest! {
        #[test]
        fn what_survives_is_what_the_model_keeps(runs in any_runs(), size in 1usize..9, ignore in any::<bool>()) {
            for keep in [Keep::Newest { ignore_delete: ignore }, Keep::Oldest { ignore_delete: true }] {
                prop_assert_eq!(survivors(&runs, size, keep).unwrap(), model(&runs, keep));
                for engine in [SortEngine::LoserTree, SortEngine::MinHeap] {
                    prop_assert_eq!(survivors_of_ties(&runs, size, keep, engine), model(&runs, keep));
                }
            }
        }
    }

    #[test]
    fn versions_of_equal_age_stand_as_the_reference_has_them() {
        let (newest, any) = (Keep::Newest { ignore_delete: false }, Keep::Newest { ignore_delete: true });
        let add = |key, sequence| (key, sequence, RowKind::Insert);
        let delete = |key, sequence| (key, sequence, RowKind::Delete);
        // Of two runs that begin with the key the first has the newest version; else the one that came to it last.
        let tree = |runs: &[Vec<Row>]| survivors_of_ties(runs, 2, newest, SortEngine::LoserTree);
        let first = [vec![add(1, 5)], vec![delete(1, 5)]];
        assert_eq!(tree(&first), [add(1, 5)]);
        let second = [vec![delete(1, 5)], vec![add(1, 5)]];
        assert_eq!(tree(&second), []);
        let later = [vec![delete(2, 5)], vec![add(1, 1), add(2, 5)]];
        assert_eq!(tree(&later), [add(1, 1), add(2, 5)]);
        // In a heap it is the other way about.
        let heap = |runs: &[Vec<Row>]| survivors_of_ties(runs, 2, newest, SortEngine::MinHeap);
        assert_eq!((heap(&first), heap(&second), heap(&later)), (vec![], vec![add(1, 5)], vec![add(1, 1), add(2, 5)]));
        let mut sink = Survivors::new(newest, [1, 1]);
        let outcome = |runs: &[Vec<Row>], sink: &mut Survivors| {
            futures::executor::block_on(merge_keys(streams(runs, 2), sink, None)).unwrap()
        };
        assert_eq!(outcome(&first, &mut sink), Outcome::Undecided);
        // Ties among older versions do not matter, unless the newest may be passed over.
        let older = [vec![add(1, 5)], vec![add(1, 5)], vec![add(1, 9)]];
        assert_eq!(survivors(&older, 2, newest).unwrap(), [add(1, 9)]);
        assert_eq!(outcome(&older, &mut Survivors::new(any, [1, 1, 1])), Outcome::Undecided);
    }

    #[test]
    fn first_row_refuses_deletes_that_are_not_ignored() {
        let runs = [vec![(1, 1, RowKind::Insert)], vec![(1, 2, RowKind::Delete)]];
        assert!(survivors(&runs, 4, Keep::Oldest { ignore_delete: false }).is_err());
    }

    #[test]
    fn runs_whose_keys_do_not_ascend_are_merged_as_the_reference_does() {
        let add = |key, sequence| (key, sequence, RowKind::Insert);
        let keep = Keep::Newest { ignore_delete: false };
        for (runs, want) in [
            // A key twice in a run is two keys.
            (vec![vec![add(1, 1), add(1, 2), add(2, 3)]], vec![1, 2, 3]),
            (vec![vec![add(1, 1), add(1, 2)], vec![add(1, 3)]], vec![2, 3]),
            (vec![vec![add(1, 3)], vec![add(1, 1), add(1, 2)]], vec![2, 3]),
            // What comes too late in its run meets what is left of the others.
            (vec![vec![add(3, 1), add(1, 2), add(4, 3)], vec![add(1, 4), add(3, 5)]], vec![2, 3, 4, 5]),
            (vec![vec![add(2, 1), add(1, 2)], vec![add(2, 3), add(1, 4)]], vec![3, 4]),
        ] {
            for size in 1..4 {
                let mut sink = Survivors::new(keep, runs.iter().map(Vec::len));
                let outcome = futures::executor::block_on(merge_keys(streams(&runs, size), &mut sink, None)).unwrap();
                assert_eq!(outcome, Outcome::Undecided, "{runs:?} {size}");
                let rows = survivors_of_ties(&runs, size, keep, SortEngine::LoserTree);
                let mut sequences: Vec<_> = rows.iter().map(|row| row.1).collect();
                sequences.sort_unstable();
                assert_eq!(sequences, want, "{runs:?}");
            }
        }
    }
}
