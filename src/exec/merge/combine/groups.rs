//! The keys that have several versions: [`Groups`], gathered by [`GroupSink`].
//!
//! In: rows alone and rows of one key, from the tournament. Out: for each file the rows that are alone with their key,
//! and those that are in groups; and for each group the list of its versions, oldest first. A version is told by its
//! run and its rank among the run's rows in groups, which is its place in what is read of the run:
//!
//! ```text
//! run 0   . x . . x x        ranks 0 1 2       (x: in a group, .: alone)
//! run 1   x . . x            ranks 0 1
//! groups  [0:0 1:0] [0:1 0:2 1:1]
//! ```
//!
//! Ranks of a run ascend from group to group, as the keys of a run do. Eight bytes a version, and four a group.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::exec::merge::marks::Marks;
use crate::exec::merge::tournament::{KeyBatch, Sink, Version};
use crate::selection::RowSelection;
use crate::spec::row_kind::RowKind;

/// Bits of a packed version that are its kind.
const KIND_BITS: u32 = 2;
/// More versions of a key than this are not compared each with each.
const MAX_COMPARED: usize = 8;

/// One version of a key of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupVersion {
    /// The run that it is a row of.
    pub run: usize,
    /// Its number among the rows of the run that are in groups.
    pub rank: usize,
    /// Its kind.
    pub kind: RowKind,
}

impl GroupVersion {
    #[inline]
    fn unpack(origin: u32, rank: u32) -> Self {
        let kind = match origin & ((1 << KIND_BITS) - 1) {
            0 => RowKind::Insert,
            1 => RowKind::UpdateBefore,
            2 => RowKind::UpdateAfter,
            _ => RowKind::Delete,
        };
        Self { run: (origin >> KIND_BITS) as usize, rank: rank as usize, kind }
    }
}

/// The keys of a section that have several versions.
#[derive(Debug, Default)]
pub struct Groups {
    /// Of each file the rows that are in groups.
    files: Vec<RowSelection>,
    /// How many runs there are.
    runs: usize,
    /// Where the versions of each group end.
    ends: Vec<u32>,
    /// Run and kind of each version.
    origins: Vec<u32>,
    ranks: Vec<u32>,
}

/// A stretch of the groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The groups.
    pub groups: Range<usize>,
    /// For each run the ranks of the rows in them.
    pub ranks: Vec<Range<usize>>,
}

impl Groups {
    /// Of file `file` the rows that are in groups; the files are those of the section, run by run.
    pub fn file(&self, file: usize) -> Option<&RowSelection> {
        self.files.get(file)
    }

    /// Where the versions of group `group` begin and end.
    pub fn bounds(&self, group: usize) -> Range<usize> {
        let end = |group: usize| self.ends.get(group).copied().unwrap_or(u32::MAX) as usize;
        let begin = group.checked_sub(1).map_or(0, end);
        begin..end(group)
    }

    /// The versions of some numbers.
    pub fn versions(&self, of: Range<usize>) -> Result<impl ExactSizeIterator<Item = GroupVersion> + '_> {
        let parts = self.origins.get(of.clone()).zip(self.ranks.get(of.clone()));
        let (origins, ranks) =
            parts.ok_or_else(|| Error::internal(format!("there are no versions {of:?} in groups")))?;
        Ok(origins.iter().zip(ranks).map(|(origin, rank)| GroupVersion::unpack(*origin, *rank)))
    }

    /// Part `part` of `parts` that have about as many versions each.
    pub fn part(&self, part: usize, parts: usize) -> Result<Part> {
        let groups = self.group_at(part, parts)..self.group_at(part + 1, parts);
        let versions = groups.start.checked_sub(1).map_or(0, |g| self.bounds(g).end)
            ..groups.end.checked_sub(1).map_or(0, |g| self.bounds(g).end);
        let mut ranks = vec![0..0; self.runs];
        for (at, version) in self.versions(0..versions.end)?.enumerate() {
            if let Some(run) = ranks.get_mut(version.run) {
                run.end += 1;
                run.start += usize::from(at < versions.start);
            }
        }
        Ok(Part { groups, ranks })
    }

    /// The group that part `part` begins with.
    fn group_at(&self, part: usize, parts: usize) -> usize {
        let version = self.origins.len() as u128 * part as u128 / parts.max(1) as u128;
        if part >= parts { self.ends.len() } else { self.ends.partition_point(|end| u128::from(*end) <= version) }
    }

    /// The memory it holds, in bytes.
    pub fn heap_bytes(&self) -> usize {
        let files: usize = self.files.iter().map(RowSelection::heap_bytes).sum();
        files + 4 * (self.ends.capacity() + self.origins.capacity() + self.ranks.capacity())
    }
}

/// Gathers rows alone, and groups.
pub struct GroupSink {
    alone: Marks,
    grouped: Marks,
    /// The run of each file.
    run_of_file: Vec<u32>,
    /// How many rows of each run are in groups so far.
    ranks_of_run: Vec<u32>,
    groups: Groups,
    order: Vec<usize>,
}

impl GroupSink {
    /// Nothing heard yet; of each file of each run the number of rows.
    pub fn new(rows_of_runs: &[Vec<usize>]) -> Result<Self> {
        let rows = || rows_of_runs.iter().flatten().copied();
        let runs = u32::try_from(rows_of_runs.len()).ok().filter(|runs| *runs < 1 << (32 - KIND_BITS));
        let runs = runs.ok_or_else(|| Error::unsupported("more than 2^30 runs to merge"))?;
        let run_of_file = (0..runs).zip(rows_of_runs).flat_map(|(run, files)| files.iter().map(move |_| run)).collect();
        Ok(Self {
            alone: Marks::new(rows()),
            grouped: Marks::new(rows()),
            run_of_file,
            ranks_of_run: vec![0; rows_of_runs.len()],
            groups: Groups { runs: rows_of_runs.len(), ..Groups::default() },
            order: vec![],
        })
    }

    /// The rows of each file that are alone with their key and rows of the table, and the groups.
    pub fn finish(mut self) -> (Vec<RowSelection>, Groups) {
        self.groups.files = self.grouped.finish();
        self.groups.ends.shrink_to_fit();
        self.groups.origins.shrink_to_fit();
        self.groups.ranks.shrink_to_fit();
        (self.alone.finish(), self.groups)
    }

    /// Whether a run has several of some rows of one key.
    fn has_run_twice(&self, versions: &[Version<'_>]) -> bool {
        let run = |v: &Version<'_>| self.run_of_file.get(v.batch.file);
        let earlier = |at: usize| versions.get(..at).unwrap_or_default();
        versions.iter().enumerate().any(|(at, v)| earlier(at).iter().any(|e| run(e) == run(v)))
    }

    /// The next rank of the run that a file is of, and the run.
    fn next_rank(&mut self, file: usize) -> Result<(u32, u32)> {
        let lost = || Error::internal(format!("the section has no file {file}"));
        let run = *self.run_of_file.get(file).ok_or_else(lost)?;
        let next = self.ranks_of_run.get_mut(run as usize).ok_or_else(lost)?;
        let rank = *next;
        *next = rank.checked_add(1).ok_or_else(|| Error::unsupported("more than 2^32 rows to merge in a run"))?;
        Ok((rank, run))
    }
}

impl Sink for GroupSink {
    fn single(&mut self, batch: &KeyBatch, rows: Range<usize>) -> Result<()> {
        self.alone.mark_adds(batch, rows)
    }

    fn group(&mut self, versions: &[Version<'_>]) -> Result<()> {
        let first = self.groups.origins.len();
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(0..versions.len());
        // Ranks go by position; ages may not, where a run has several rows of a key.
        if versions.len() > MAX_COMPARED || self.has_run_twice(versions) {
            let place = |at: usize| versions.get(at).map(|v| (v.batch.file, v.position()));
            order.sort_unstable_by_key(|at| place(*at));
        }
        self.groups.origins.resize(first + versions.len(), 0);
        self.groups.ranks.resize(first + versions.len(), 0);
        for &at in &order {
            let Some(version) = versions.get(at) else { continue };
            self.grouped.mark(version.batch.file, version.position())?;
            let (rank, run) = self.next_rank(version.batch.file)?;
            if let Some(slot) = self.groups.ranks.get_mut(first + at) {
                *slot = rank;
            }
            if let Some(slot) = self.groups.origins.get_mut(first + at) {
                *slot = run << KIND_BITS | version.kind().to_byte() as u32;
            }
        }
        self.order = order;
        let end = u32::try_from(self.groups.origins.len());
        self.groups.ends.push(end.map_err(|_| Error::unsupported("more than 2^32 rows to merge in a section"))?);
        Ok(())
    }

    fn heap_bytes(&self) -> usize {
        self.alone.heap_bytes() + self.grouped.heap_bytes() + self.groups.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::exec::merge::keys::Keys;
    use crate::exec::merge::tournament::{Kinds, Positions, Sequences};

    fn batch(file: usize, rows: usize) -> Arc<KeyBatch> {
        let kinds = vec![RowKind::Insert, RowKind::Delete].into_iter().cycle().take(rows).collect();
        let (keys, sequences, kinds) = (Keys::Fixed(vec![0; rows]), Sequences::About(0), Kinds::Each(kinds));
        Arc::new(KeyBatch {
            file,
            positions: Positions::From(0),
            keys,
            user_sequences: None,
            sequences,
            kinds,
            held: None,
        })
    }

    #[test]
    fn the_drawing() {
        let batches = [batch(0, 3), batch(1, 3), batch(2, 4)];
        let mut sink = GroupSink::new(&[vec![3, 3], vec![4]]).unwrap();
        let v = |file: usize, row| Version { batch: &batches[file], row };
        sink.single(&batches[0], 0..1).unwrap();
        sink.group(&[v(0, 1), v(2, 0)]).unwrap();
        sink.single(&batches[0], 2..3).unwrap();
        sink.single(&batches[1], 0..1).unwrap();
        sink.single(&batches[2], 1..3).unwrap();
        // The row that comes first in its file is not the older one.
        sink.group(&[v(1, 2), v(2, 3), v(1, 1)]).unwrap();
        let (alone, groups) = sink.finish();
        let positions = |rows: &[RowSelection]| rows.iter().map(RowSelection::positions).collect::<Vec<_>>();
        assert_eq!(positions(&alone), [vec![0, 2], vec![0], vec![2]]);
        assert_eq!(positions(&groups.files), [vec![1], vec![1, 2], vec![0, 3]]);
        let versions: Vec<_> = groups.versions(0..5).unwrap().map(|v| (v.run, v.rank)).collect();
        assert_eq!(versions, [(0, 0), (1, 0), (0, 2), (1, 1), (0, 1)]);
        assert_eq!(groups.versions(0..1).unwrap().next().unwrap().kind, RowKind::Delete);
        assert_eq!((groups.bounds(0), groups.bounds(1)), (0..2, 2..5));
        assert!(groups.versions(4..6).is_err());
        assert_eq!(groups.part(0, 1).unwrap(), Part { groups: 0..2, ranks: vec![0..3, 0..2] });
        assert_eq!(groups.part(0, 2).unwrap(), Part { groups: 0..1, ranks: vec![0..1, 0..1] });
        assert_eq!(groups.part(1, 2).unwrap(), Part { groups: 1..2, ranks: vec![1..3, 1..2] });
    }

    #[test]
    fn parts_cover_all_groups_once() {
        let rows = 50;
        let batches = [batch(0, rows), batch(1, rows)];
        let mut sink = GroupSink::new(&[vec![rows], vec![rows]]).unwrap();
        for row in 0..rows {
            let versions: Vec<_> = batches.iter().map(|batch| Version { batch, row }).collect();
            sink.group(&versions).unwrap();
        }
        let (_, groups) = sink.finish();
        for parts in 1..60 {
            let mut next = 0;
            for part in 0..parts {
                let part = groups.part(part, parts).unwrap();
                assert_eq!(part.groups.start, next);
                assert_eq!(part.ranks, vec![part.groups.clone(); 2]);
                next = part.groups.end;
            }
            assert_eq!(next, rows, "{parts} parts");
        }
        assert_eq!(Groups::default().part(0, 1).unwrap(), Part { groups: 0..0, ranks: vec![] });
    }
}
