//! Merges the keys of sorted runs: [`merge_keys`].
//!
//! In: for each run a stream of [`KeyBatch`]es in key order. Out: every row, exactly once and in the order of its run,
//! is told to a [`Sink`]: alone, when no other row has its key, else with all rows of its key, oldest version first.
//! Rows of one run whose keys lie below the heads of all other runs are told as one range, so that long stretches of
//! one run cost one comparison a row. The value columns are not looked at.
//!
//! Batches are merged window by window: one batch of each run, until the first of them ends. A window is merged without
//! waiting, and by code made for the form of the keys. A key that may go on in the next batch is carried over.
//!
//! Versions may be of equal age, and keys of a run may not ascend: ORC files of the reference lack blanks at the end of CHAR,
//! and have times before 1970 a second late. Where the sink needs the order of such versions, and for such runs, merging
//! gives up ([`Outcome::Undecided`]), and [`ties`](super::ties) finds out what the reference makes of it.
//!
//! Java: `SortMergeReaderWithLoserTree`; the order of versions is that of `MergeSorter` and `UserDefinedSeqComparator`.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::row::{Row, Rows};
use futures::StreamExt;
use futures::stream::{BoxStream, Fuse};

use super::keys::Keys;
use super::loser_tree::LoserTree;
use super::memory::Held;
use crate::error::{Error, Result};
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
    pub sequences: Sequences,
    /// `_VALUE_KIND`
    pub kinds: Kinds,
    /// The memory that it takes.
    pub held: Option<Held>,
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

    /// The positions of a range of the rows.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Self {
        match self {
            Positions::From(first) => Positions::From(first + rows.start),
            Positions::List(list) => Positions::List(list.get(rows).unwrap_or_default().to_vec()),
        }
    }
}

/// The sequence numbers of a batch.
#[derive(Debug)]
pub enum Sequences {
    /// One for each row.
    Each(Vec<i64>),
    /// All rows lie on the same side of the rows of all other runs, as this number does.
    About(i64),
}

/// The kinds of the rows of a batch.
#[derive(Debug)]
pub enum Kinds {
    /// One for each row.
    Each(Vec<RowKind>),
    /// No row takes its key back.
    Adds,
}

impl Kinds {
    /// The kind of row `row`.
    pub fn at(&self, row: usize) -> RowKind {
        match self {
            Kinds::Each(kinds) => kinds.get(row).copied().unwrap_or(RowKind::Insert),
            Kinds::Adds => RowKind::Insert,
        }
    }

    /// Whether surely no row takes its key back.
    pub fn are_adds(&self) -> bool {
        matches!(self, Kinds::Adds)
    }
}

impl KeyBatch {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.keys.len()
    }

    /// The memory it holds, in bytes.
    pub fn heap_bytes(&self) -> usize {
        let positions = if let Positions::List(list) = &self.positions { size_of_val(list.as_slice()) } else { 0 };
        let sequences = if let Sequences::Each(list) = &self.sequences { size_of_val(list.as_slice()) } else { 0 };
        let kinds = if let Kinds::Each(list) = &self.kinds { size_of_val(list.as_slice()) } else { 0 };
        self.keys.heap_bytes() + self.user_sequences.as_ref().map_or(0, Rows::size) + positions + sequences + kinds
    }

    fn sequence(&self, row: usize) -> i64 {
        match &self.sequences {
            Sequences::Each(sequences) => sequences.get(row).copied().unwrap_or(i64::MAX),
            Sequences::About(sequence) => *sequence,
        }
    }
}

/// One row, as a version of its key.
#[derive(Debug, Clone, Copy)]
pub struct Version<'a> {
    /// The batch that it is a row of.
    pub batch: &'a Arc<KeyBatch>,
    /// The row.
    pub row: usize,
}

impl Version<'_> {
    /// The kind of the row.
    pub fn kind(&self) -> RowKind {
        self.batch.kinds.at(self.row)
    }

    /// The row's physical position in its file.
    pub fn position(&self) -> usize {
        self.batch.positions.at(self.row)
    }

    /// Older versions first: by the user's sequence columns, then by the sequence number.
    pub fn compare_age(&self, other: &Self) -> Ordering {
        let user = match (&self.batch.user_sequences, &other.batch.user_sequences) {
            (Some(a), Some(b)) => a.row(self.row).cmp(&b.row(other.row)),
            _ => Ordering::Equal,
        };
        user.then_with(|| self.batch.sequence(self.row).cmp(&other.batch.sequence(other.row)))
    }
}

/// Hears of every row of a section.
pub trait Sink {
    /// Rows of a batch whose keys no other rows have.
    fn single(&mut self, batch: &KeyBatch, rows: Range<usize>) -> Result<()>;

    /// At least two rows of one key, oldest version first.
    fn group(&mut self, versions: &[Version<'_>]) -> Result<()>;

    /// Whether it only matters which version of a key is the newest.
    fn heeds_newest_only(&self) -> bool {
        false
    }

    /// The memory it holds, in bytes.
    fn heap_bytes(&self) -> usize;
}

/// How merging ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The sink has heard of all rows.
    Done,
    /// There are versions of equal age, whose order the sink needs, or keys of a run do not ascend. What the sink has heard
    /// is of no use.
    Undecided,
}

/// A run: its batches, and where merging is in them.
pub struct Cursor {
    batches: Fuse<BoxStream<'static, Result<KeyBatch>>>,
    /// `None` once the run has ended.
    pub batch: Option<Arc<KeyBatch>>,
    /// The row in it.
    pub row: usize,
}

impl Cursor {
    /// Before the first batch.
    pub fn new(batches: Fuse<BoxStream<'static, Result<KeyBatch>>>) -> Self {
        Self { batches, batch: None, row: 0 }
    }

    /// Goes on to the next batch where there is no row left in this one.
    pub async fn fill(&mut self) -> Result<()> {
        if self.batch.as_ref().is_some_and(|batch| self.row < batch.rows()) {
            return Ok(());
        }
        (self.batch, self.row) = (None, 0);
        while let Some(batch) = self.batches.next().await.transpose()? {
            if batch.rows() > 0 {
                self.batch = Some(Arc::new(batch));
                break;
            }
        }
        Ok(())
    }
}

/// What outlives a window: the versions heard so far of a key that may go on, and the run that the last came from.
#[derive(Default)]
struct Carried {
    versions: Vec<(Arc<KeyBatch>, usize)>,
    run: Option<usize>,
}

/// Merges the keys of runs, and tells `sink` of every row; `held` knows what the sink takes.
pub async fn merge_keys<S: Sink>(
    runs: Vec<BoxStream<'static, Result<KeyBatch>>>,
    sink: &mut S,
    held: Option<&Held>,
) -> Result<Outcome> {
    let mut cursors: Vec<_> = runs.into_iter().map(|batches| Cursor::new(batches.fuse())).collect();
    let mut carried = Carried::default();
    loop {
        for cursor in &mut cursors {
            cursor.fill().await?;
        }
        match merge_window(&mut cursors, &mut carried, sink)? {
            Some(Outcome::Done) => {}
            Some(Outcome::Undecided) => return Ok(Outcome::Undecided),
            None => break,
        }
        held.map_or(Ok(()), |held| held.resize(sink.heap_bytes()))?;
    }
    let mut last: Vec<_> = carried.versions.iter().map(|(batch, row)| Version { batch, row: *row }).collect();
    tell(&mut last, sink)
}

/// Merges until a batch ends; `None` where all runs have ended.
fn merge_window<S: Sink>(cursors: &mut [Cursor], carried: &mut Carried, sink: &mut S) -> Result<Option<Outcome>> {
    let Some(batch) = cursors.iter().find_map(|cursor| cursor.batch.as_ref()) else { return Ok(None) };
    let merged = match &batch.keys {
        Keys::Small(_) => Window::<&[u64]>::new(cursors, carried)?.merge(sink)?,
        Keys::Fixed(_) => Window::<&[u128]>::new(cursors, carried)?.merge(sink)?,
        Keys::Rows(_) => Window::<&Rows>::new(cursors, carried)?.merge(sink)?,
    };
    let Some((rows, rest)) = merged else { return Ok(Some(Outcome::Undecided)) };
    *carried = rest;
    cursors.iter_mut().zip(rows).for_each(|(cursor, row)| cursor.row = row);
    Ok(Some(Outcome::Done))
}

/// Tells of the rows of one key.
fn tell<S: Sink>(versions: &mut [Version<'_>], sink: &mut S) -> Result<Outcome> {
    match versions {
        [] => {}
        [alone] => sink.single(alone.batch, alone.row..alone.row + 1)?,
        [a, b] => {
            match a.compare_age(b) {
                Ordering::Less => {}
                Ordering::Equal => return Ok(Outcome::Undecided),
                Ordering::Greater => std::mem::swap(a, b),
            }
            sink.group(versions)?;
        }
        _ => {
            // Versions that stand beside each other in the end were compared.
            let mut tied = false;
            versions.sort_by(|a, b| {
                let order = a.compare_age(b);
                tied |= order == Ordering::Equal;
                order
            });
            if tied && sink.heeds_newest_only() {
                tied = matches!(versions, [.., a, b] if a.compare_age(b) == Ordering::Equal);
            }
            if tied {
                return Ok(Outcome::Undecided);
            }
            sink.group(versions)?;
        }
    }
    Ok(Outcome::Done)
}

/// Keys of one form.
trait KeyColumn<'a>: Copy {
    type Key: Ord + Copy;

    /// The keys, if they have this form.
    fn of(keys: &'a Keys) -> Option<Self>;

    /// The key of a row; `None` behind the last one.
    fn at(self, row: usize) -> Option<Self::Key>;

    /// Where the rows end, from `row` on, whose keys are strictly ascending and less than `limit`. The last row is never
    /// among them: the next batch may begin with its key.
    fn ascent(self, row: usize, limit: Option<Self::Key>) -> usize;
}

impl<'a, K: Ord + Copy> KeyColumn<'a> for &'a [K]
where
    Self: OfKeys<'a>,
{
    type Key = K;

    fn of(keys: &'a Keys) -> Option<Self> {
        Self::of_keys(keys)
    }

    fn at(self, row: usize) -> Option<K> {
        self.get(row).copied()
    }

    fn ascent(self, row: usize, limit: Option<K>) -> usize {
        let keys = self.get(row..).unwrap_or_default();
        let pairs = keys.iter().zip(keys.iter().skip(1));
        row + match limit {
            Some(limit) => pairs.take_while(|(key, next)| *key < *next && **key < limit).count(),
            None => pairs.take_while(|(key, next)| *key < *next).count(),
        }
    }
}

/// Finds the integers of keys.
trait OfKeys<'a>: Sized {
    fn of_keys(keys: &'a Keys) -> Option<Self>;
}

impl<'a> OfKeys<'a> for &'a [u64] {
    fn of_keys(keys: &'a Keys) -> Option<Self> {
        if let Keys::Small(keys) = keys { Some(keys) } else { None }
    }
}

impl<'a> OfKeys<'a> for &'a [u128] {
    fn of_keys(keys: &'a Keys) -> Option<Self> {
        if let Keys::Fixed(keys) = keys { Some(keys) } else { None }
    }
}

impl<'a> KeyColumn<'a> for &'a Rows {
    type Key = Row<'a>;

    fn of(keys: &'a Keys) -> Option<Self> {
        if let Keys::Rows(rows) = keys { Some(rows) } else { None }
    }

    fn at(self, row: usize) -> Option<Row<'a>> {
        (row < self.num_rows()).then(|| self.row(row))
    }

    fn ascent(self, row: usize, limit: Option<Row<'a>>) -> usize {
        let last = self.num_rows().saturating_sub(1);
        let ascends = |row: &usize| {
            let key = self.row(*row);
            limit.is_none_or(|limit| key < limit) && key < self.row(*row + 1)
        };
        row + (row..last).take_while(ascends).count()
    }
}

/// One batch of each run.
struct Window<'a, C: KeyColumn<'a>> {
    runs: Vec<WindowRun<'a, C>>,
    /// The key of each run's next row; `None` where the run has ended.
    heads: Vec<Option<C::Key>>,
    /// The rows heard so far of the least key.
    group: Vec<Version<'a>>,
    group_key: Option<C::Key>,
    /// The run that the last row came from, in the window before.
    last: Option<usize>,
}

/// A run in a window.
struct WindowRun<'a, C> {
    /// `None` where the run has ended.
    batch: Option<(&'a Arc<KeyBatch>, C)>,
    row: usize,
}

/// Whether run `a` comes before run `b`; those that have ended come last.
fn less<K: Ord>(heads: &[Option<K>], a: usize, b: usize) -> bool {
    match (heads.get(a), heads.get(b)) {
        // Not by `cmp`: for equality a wide integer is loaded at once, and just after it was stored in halves that stalls.
        (Some(Some(x)), Some(Some(y))) => x < y || (a < b && y >= x),
        (Some(Some(_)), _) => true,
        (_, Some(Some(_))) => false,
        _ => a < b,
    }
}

impl<'a, C: KeyColumn<'a>> Window<'a, C> {
    fn new(cursors: &'a [Cursor], carried: &'a Carried) -> Result<Self> {
        let other = || Error::internal("keys of two forms in one section");
        let column = |batch: &'a Arc<KeyBatch>| C::of(&batch.keys).ok_or_else(other);
        let run = |cursor: &'a Cursor| {
            let batch = cursor.batch.as_ref().map(|batch| Ok::<_, Error>((batch, column(batch)?))).transpose()?;
            Ok(WindowRun { batch, row: cursor.row })
        };
        let runs = cursors.iter().map(run).collect::<Result<Vec<_>>>()?;
        let heads = runs.iter().map(|run| run.batch.and_then(|(_, keys)| keys.at(run.row))).collect();
        let group: Vec<_> = carried.versions.iter().map(|(batch, row)| Version { batch, row: *row }).collect();
        let first = group.first().map(|version| Ok::<_, Error>(column(version.batch)?.at(version.row)));
        Ok(Self { runs, heads, group, group_key: first.transpose()?.flatten(), last: carried.run })
    }

    /// Merges until a batch ends. Returns where each run is, and the rows of a key that may go on; `None` where that is
    /// undecided.
    fn merge<S: Sink>(mut self, sink: &mut S) -> Result<Option<(Vec<usize>, Carried)>> {
        let mut tree = LoserTree::new(self.heads.len(), |a, b| less(&self.heads, a, b));
        let mut last = self.last;
        loop {
            let run = tree.winner();
            let Some(head) = self.heads.get(run).copied().flatten() else { break };
            let same_run = last == Some(run);
            last = Some(run);
            if self.group_key.is_some_and(|key| key < head) {
                if tell(&mut self.group, sink)? == Outcome::Undecided {
                    return Ok(None);
                }
                self.group.clear();
                self.group_key = None;
            } else if self.group_key.is_some_and(|key| same_run || head < key) {
                return Ok(None);
            }
            // A run that comes twice in a row may well come more often.
            let stretches = self.group_key.is_none() && same_run;
            let goes_on = match stretches {
                true => self.stretch(&tree, run, sink)?,
                false => self.step(run, head),
            };
            if !goes_on {
                break;
            }
            tree.replay(|a, b| less(&self.heads, a, b));
        }
        let versions = self.group.iter().map(|version| (Arc::clone(version.batch), version.row)).collect();
        let carried = Carried { versions, run: last };
        Ok(Some((self.runs.into_iter().map(|run| run.row).collect(), carried)))
    }

    /// Takes the head of a run into the group; false at the end of its batch.
    fn step(&mut self, run: usize, head: C::Key) -> bool {
        let Some(WindowRun { batch: Some((batch, _)), row }) = self.runs.get(run) else { return false };
        self.group.push(Version { batch, row: *row });
        self.group_key = Some(head);
        self.go_to(run, row + 1)
    }

    /// Tells of the rows of a run that come before all other runs; false at the end of its batch.
    fn stretch<S: Sink>(&mut self, tree: &LoserTree, run: usize, sink: &mut S) -> Result<bool> {
        let Some(WindowRun { batch: Some((batch, keys)), row }) = self.runs.get(run) else { return Ok(false) };
        let runner_up = tree.runner_up(|a, b| less(&self.heads, a, b));
        let limit = runner_up.and_then(|other| self.heads.get(other).copied().flatten());
        let end = keys.ascent(*row, limit);
        if end == *row {
            let head = keys.at(*row);
            return Ok(head.is_some_and(|head| self.step(run, head)));
        }
        sink.single(batch, *row..end)?;
        Ok(self.go_to(run, end))
    }

    fn go_to(&mut self, run: usize, row: usize) -> bool {
        let Some(of_run) = self.runs.get_mut(run) else { return false };
        of_run.row = row;
        let head = of_run.batch.and_then(|(_, keys)| keys.at(row));
        if let Some(slot) = self.heads.get_mut(run) {
            *slot = head;
        }
        head.is_some()
    }
}
