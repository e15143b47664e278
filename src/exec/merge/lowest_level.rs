//! Leaves out older versions that compaction has already merged into a newer one: [`LowestLevel`].
//!
//! In: the versions of a key. Out: those of level 0, and of those above only the one on the lowest level, which holds
//! what all higher ones hold. So it is in tables whose compaction looks older values up (`changelog-producer` =
//! `lookup`, `force-lookup`, deletion vectors): it lifts a merged row and leaves the old ones where they are. Java:
//! `LookupMergeFunction`.

use std::ops::Range;

use super::tournament::{KeyBatch, Sink, Version};
use crate::error::Result;

/// A sink before another one.
pub struct LowestLevel<'a, S> {
    inner: &'a mut S,
    /// The level of each file of the section.
    levels: Vec<i32>,
}

impl<'a, S: Sink> LowestLevel<'a, S> {
    /// Tells `inner` of the versions that count; `levels` are those of the section's files.
    pub fn new(inner: &'a mut S, levels: Vec<i32>) -> Self {
        Self { inner, levels }
    }
}

impl<S: Sink> Sink for LowestLevel<'_, S> {
    fn single(&mut self, batch: &KeyBatch, rows: Range<usize>) -> Result<()> {
        self.inner.single(batch, rows)
    }

    fn group(&mut self, versions: &[Version<'_>]) -> Result<()> {
        let levels = &self.levels;
        let level = |v: &Version<'_>| levels.get(v.batch.file).copied().unwrap_or(0);
        let lifted = versions.iter().enumerate().filter(|(_, v)| level(v) > 0);
        let lowest = lifted.min_by_key(|(_, v)| level(v)).map(|(at, _)| at);
        let counts = |at: usize, v: &Version<'_>| level(v) <= 0 || Some(at) == lowest;
        let kept = versions.iter().enumerate().filter(|(at, v)| counts(*at, v));
        self.inner.group(&kept.map(|(_, v)| *v).collect::<Vec<_>>())
    }

    fn heap_bytes(&self) -> usize {
        self.inner.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::keys::Keys;
    use super::super::tournament::{Kinds, Positions, Sequences};
    use super::*;

    #[derive(Default)]
    struct Files(Vec<usize>);

    impl Sink for Files {
        fn single(&mut self, _: &KeyBatch, _: Range<usize>) -> Result<()> {
            Ok(())
        }

        fn group(&mut self, versions: &[Version<'_>]) -> Result<()> {
            self.0 = versions.iter().map(|v| v.batch.file).collect();
            Ok(())
        }

        fn heap_bytes(&self) -> usize {
            0
        }
    }

    #[test]
    fn level_0_counts_and_the_lowest_level_above() {
        let batch = |file| {
            let positions = Positions::From(0);
            let (keys, sequences, kinds) = (Keys::Fixed(vec![0]), Sequences::About(0), Kinds::Adds);
            Arc::new(KeyBatch { file, positions, keys, user_sequences: None, sequences, kinds, held: None })
        };
        for (levels, want) in [
            (vec![0, 5, 0, 4], vec![0, 2, 3]),
            (vec![5, 4], vec![1]),
            (vec![3, 3, 5], vec![0]),
            (vec![0, 0], vec![0, 1]),
            (vec![5], vec![0]),
        ] {
            let mut files = Files::default();
            let batches: Vec<_> = (0..levels.len()).map(batch).collect();
            let versions: Vec<_> = batches.iter().map(|batch| Version { batch, row: 0 }).collect();
            LowestLevel::new(&mut files, levels.clone()).group(&versions).unwrap();
            assert_eq!(files.0, want, "{levels:?}");
        }
    }
}
