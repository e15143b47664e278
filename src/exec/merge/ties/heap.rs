//! The reference's heap of runs, row by row: [`MinHeap`].
//!
//! Which of two versions of equal age comes out first is decided by how they lie in the heap. Runs go back into it once the
//! rows of a key are told; later than the others those whose row was the last of a batch of the reference.
//!
//! Java: `SortMergeReaderWithMinHeap`.

use std::cmp::Ordering;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;

use super::super::tournament::{Cursor, KeyBatch};
use super::{Popped, version};
use crate::error::Result;
use crate::spec::java_queue::PriorityQueue;

/// The rows of a batch of the reference, within a file. Java: the default of `read.batch-size`.
const BATCH_ROWS: usize = 1024;

/// A run, and the row that it stands at.
struct Head {
    row: Popped,
    cursor: Cursor,
}

type Compare = fn(&Head, &Head) -> Ordering;

/// The heap.
pub struct MinHeap {
    heap: PriorityQueue<Head, Compare>,
    /// The runs whose rows were told last.
    told: Vec<Head>,
}

impl MinHeap {
    /// A heap of these runs.
    pub async fn new(runs: Vec<BoxStream<'static, Result<KeyBatch>>>) -> Result<Self> {
        let mut heap = PriorityQueue::new(compare as Compare);
        for batches in runs {
            let mut cursor = Cursor::new(batches.fuse());
            cursor.fill().await?;
            Head::at(cursor).into_iter().for_each(|head| heap.offer(head));
        }
        Ok(Self { heap, told: vec![] })
    }

    /// The rows of the least key that is left; none at the end.
    pub async fn next(&mut self) -> Result<Vec<Popped>> {
        let mut later = vec![];
        for mut head in self.told.drain(..) {
            let batch = batch_of(&head.row);
            head.cursor.row += 1;
            head.cursor.fill().await?;
            match Head::at(head.cursor) {
                Some(next) if batch_of(&next.row) == batch => self.heap.offer(next),
                next => later.extend(next),
            }
        }
        later.into_iter().for_each(|head| self.heap.offer(head));
        while let Some(head) = self.heap.peek()
            && self.told.first().is_none_or(|first| compare_keys(&first.row, &head.row) == Ordering::Equal)
        {
            self.told.extend(self.heap.poll());
        }
        Ok(self.told.iter().map(|head| head.row.clone()).collect())
    }
}

impl Head {
    /// `None` where the run has ended.
    fn at(cursor: Cursor) -> Option<Self> {
        let row = (Arc::clone(cursor.batch.as_ref()?), cursor.row);
        Some(Self { row, cursor })
    }
}

fn compare(a: &Head, b: &Head) -> Ordering {
    let by_age = || version(&a.row).compare_age(&version(&b.row));
    compare_keys(&a.row, &b.row).then_with(by_age)
}

fn compare_keys((a, at): &Popped, (b, other): &Popped) -> Ordering {
    a.keys.compare(*at, &b.keys, *other)
}

/// The file of a row, and which of its batches the row is in.
fn batch_of((batch, row): &Popped) -> (usize, usize) {
    (batch.file, batch.positions.at(*row) / BATCH_ROWS)
}
