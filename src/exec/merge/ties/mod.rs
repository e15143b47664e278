//! Merges the keys of runs where versions of a key are of equal age, or keys do not ascend: [`merge_tied_keys`].
//!
//! In and out: as for [`merge_keys`](super::tournament::merge_keys), which is the fast way and gives up on both. Two writers
//! that begin from one snapshot give out the same sequence numbers. Which of two such versions is the newer one is then
//! decided by how the reference's loser tree (`tree`) or heap (`heap`) happens to stand, and that by every row before:
//! so these are kept here just as there, row by row, and must see all rows of a section.

mod heap;
mod tree;

use std::sync::Arc;

use futures::stream::BoxStream;

use self::heap::MinHeap;
use self::tree::LoserTree;
use super::key_range::KeyRange;
use super::memory::Held;
use super::tournament::{KeyBatch, Sink, Version};
use crate::error::Result;
use crate::options::enums::SortEngine;

/// A row that came out.
type Popped = (Arc<KeyBatch>, usize);

/// The row as a version of its key.
fn version((batch, row): &Popped) -> Version<'_> {
    Version { batch, row: *row }
}

/// Merges the keys of runs as `engine` does, and tells `sink` of those rows whose keys are in a range.
pub async fn merge_tied_keys<S: Sink>(
    runs: Vec<BoxStream<'static, Result<KeyBatch>>>,
    engine: SortEngine,
    range: &KeyRange,
    sink: &mut S,
    held: Option<&Held>,
) -> Result<()> {
    let mut merging = Merging::new(runs, engine).await?;
    let mut told = 0usize;
    loop {
        let group = merging.next().await?;
        if group.is_empty() {
            return Ok(());
        }
        tell(&group, range, sink)?;
        told = told.wrapping_add(1);
        if told.is_multiple_of(KEYS_TOLD) {
            held.map_or(Ok(()), |held| held.resize(sink.heap_bytes()))?;
        }
    }
}

/// After so many keys it is said how much memory the sink takes.
const KEYS_TOLD: usize = 8192;

enum Merging {
    LoserTree(LoserTree),
    MinHeap(MinHeap),
}

impl Merging {
    async fn new(runs: Vec<BoxStream<'static, Result<KeyBatch>>>, engine: SortEngine) -> Result<Self> {
        Ok(match engine {
            SortEngine::LoserTree => Self::LoserTree(LoserTree::new(runs).await?),
            SortEngine::MinHeap => Self::MinHeap(MinHeap::new(runs).await?),
        })
    }

    /// The rows of the least key that is left, oldest first; none at the end.
    async fn next(&mut self) -> Result<Vec<Popped>> {
        match self {
            Self::LoserTree(tree) => tree.next().await,
            Self::MinHeap(heap) => heap.next().await,
        }
    }
}

fn tell<S: Sink>(group: &[Popped], range: &KeyRange, sink: &mut S) -> Result<()> {
    let is_in = |(batch, row): &Popped| {
        range.from().is_none_or(|from| !batch.keys.is_below(*row, from))
            && range.to().is_none_or(|to| batch.keys.is_below(*row, to))
    };
    match group {
        [] => Ok(()),
        [first, ..] if !is_in(first) => Ok(()),
        [(batch, row)] => sink.single(batch, *row..*row + 1),
        _ => sink.group(&group.iter().map(version).collect::<Vec<_>>()),
    }
}
