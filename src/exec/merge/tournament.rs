//! Merges the keys of sorted runs: [`Tournament`].
//!
//! In: for each run a stream of [`KeyBatch`]es in key order. Out: every row, exactly once and in the order of its run,
//! is told to a [`Sink`]: alone, when no other row has its key, else with all rows of its key, oldest version first.
//! Rows of one run whose keys lie below the heads of all other runs are told as one range, so that long stretches of
//! one run cost one comparison a row. The value columns are not looked at.
//!
//! Java: `SortMergeReaderWithLoserTree`; the order of versions is that of `MergeSorter` and `UserDefinedSeqComparator`.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::row::Rows;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::keys::Keys;
use super::loser_tree::LoserTree;
use crate::error::Result;
use crate::spec::row_kind::RowKind;

/// The keys of consecutive rows of one file, and what orders versions of a key.
#[derive(Debug)]
pub struct KeyBatch {
    /// The file, by its number in the section.
    pub file: usize,
    /// The physical position of each row, ascending.
    pub positions: Positions,
    /// The key of each row.
    pub keys: Keys,
    /// The user's sequence columns, in a form that compares; `None` when there are none.
    pub user_sequences: Option<Rows>,
    /// `_SEQUENCE_NUMBER`
    pub sequences: Vec<i64>,
    /// `_VALUE_KIND`
    pub kinds: Vec<RowKind>,
}

/// Physical positions of the rows of a batch.
#[derive(Debug, Clone)]
pub enum Positions {
    /// Rows that follow each other, from this one on.
    From(usize),
    /// Rows with gaps.
    List(Vec<usize>),
}

impl Positions {
    /// The position of row `row`.
    pub fn at(&self, row: usize) -> usize {
        match self {
            Positions::From(first) => first + row,
            Positions::List(list) => list.get(row).copied().unwrap_or(usize::MAX),
        }
    }
}

impl KeyBatch {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.sequences.len()
    }
}

/// One row, as a version of its key.
#[derive(Debug, Clone)]
pub struct Version {
    /// The batch that it is a row of.
    pub batch: Arc<KeyBatch>,
    /// The row.
    pub row: usize,
}

impl Version {
    /// The kind of the row.
    pub fn kind(&self) -> RowKind {
        self.batch.kinds.get(self.row).copied().unwrap_or(RowKind::Insert)
    }

    /// The row's physical position in its file.
    pub fn position(&self) -> usize {
        self.batch.positions.at(self.row)
    }

    fn same_key(&self, other: &Self) -> bool {
        self.batch.keys.compare(self.row, &other.batch.keys, other.row) == Ordering::Equal
    }

    /// Older versions first: by the user's sequence columns, the sequence number, retracts before adds.
    fn compare_age(&self, other: &Self) -> Ordering {
        let user = match (&self.batch.user_sequences, &other.batch.user_sequences) {
            (Some(a), Some(b)) => a.row(self.row).cmp(&b.row(other.row)),
            _ => Ordering::Equal,
        };
        let number = |v: &Self| v.batch.sequences.get(v.row).copied();
        user.then_with(|| number(self).cmp(&number(other)))
            .then_with(|| other.kind().is_retract().cmp(&self.kind().is_retract()))
    }
}

/// Hears of every row of a section.
pub trait Sink {
    /// Rows of a batch whose keys no other rows have.
    fn single(&mut self, batch: &KeyBatch, rows: Range<usize>) -> Result<()>;

    /// At least two rows of one key, oldest version first.
    fn group(&mut self, versions: &[Version]) -> Result<()>;
}

/// A run: its batches, and where merging is in them.
struct Cursor {
    batches: BoxStream<'static, Result<KeyBatch>>,
    /// `None` once the run has ended.
    head: Option<Version>,
}

impl Cursor {
    /// Goes to row `row` of the current batch, or to the first row of the next batch when there is none.
    async fn go_to(&mut self, row: usize) -> Result<()> {
        if let Some(head) = &mut self.head
            && row < head.batch.rows()
        {
            head.row = row;
            return Ok(());
        }
        self.head = None;
        while let Some(batch) = self.batches.next().await.transpose()? {
            if batch.rows() > 0 {
                self.head = Some(Version { batch: Arc::new(batch), row: 0 });
                break;
            }
        }
        Ok(())
    }
}

/// Whether the head of run `a` comes before that of run `b`; runs that have ended come last.
fn less(cursors: &[Cursor], a: usize, b: usize) -> bool {
    let head = |run: usize| cursors.get(run).and_then(|c| c.head.as_ref());
    match (head(a), head(b)) {
        (Some(x), Some(y)) => x.batch.keys.compare(x.row, &y.batch.keys, y.row).then(a.cmp(&b)) == Ordering::Less,
        (Some(_), None) => true,
        (None, Some(_)) => false,
        (None, None) => a < b,
    }
}

/// Merges the keys of runs, and tells `sink` of every row.
pub async fn merge_keys<S: Sink>(runs: Vec<BoxStream<'static, Result<KeyBatch>>>, sink: &mut S) -> Result<()> {
    let mut cursors: Vec<_> = runs.into_iter().map(|batches| Cursor { batches, head: None }).collect();
    for cursor in &mut cursors {
        cursor.go_to(0).await?;
    }
    let mut tree = LoserTree::new(cursors.len(), |a, b| less(&cursors, a, b));
    let mut group: Vec<Version> = vec![];
    loop {
        let winner = tree.winner();
        let runner_up = tree.runner_up(|a, b| less(&cursors, a, b));
        let runner_up = runner_up.and_then(|run| cursors.get(run)).and_then(|c| c.head.clone());
        let Some(cursor) = cursors.get_mut(winner) else { return Ok(()) };
        let Some(head) = cursor.head.clone() else { return Ok(()) };
        let end = stretch(&head, runner_up.as_ref());
        if end > head.row {
            sink.single(&head.batch, head.row..end)?;
            cursor.go_to(end).await?;
            tree.replay(|a, b| less(&cursors, a, b));
            continue;
        }
        group.clear();
        while let Some(cursor) = cursors.get_mut(tree.winner()) {
            let Some(version) = cursor.head.clone().filter(|v| v.same_key(&head)) else { break };
            let next = version.row + 1;
            group.push(version);
            cursor.go_to(next).await?;
            tree.replay(|a, b| less(&cursors, a, b));
        }
        match group.as_slice() {
            [alone] => sink.single(&alone.batch, alone.row..alone.row + 1)?,
            _ => {
                group.sort_by(Version::compare_age);
                sink.group(&group)?;
            }
        }
    }
}

/// Where the rows end, from the head on, that surely have keys of their own: strictly ascending, and below the head of
/// every other run. The last row of a batch is never among them: the next batch of its run may begin with its key.
fn stretch(head: &Version, other: Option<&Version>) -> usize {
    let batch = &head.batch;
    let (mut row, last) = (head.row, batch.rows().saturating_sub(1));
    while row < last {
        let below = other.is_none_or(|o| batch.keys.compare(row, &o.batch.keys, o.row) == Ordering::Less);
        let alone = batch.keys.compare(row, &batch.keys, row + 1) == Ordering::Less;
        if !(below && alone) {
            break;
        }
        row += 1;
    }
    row
}
