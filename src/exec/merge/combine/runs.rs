//! The rows in groups of one run, as they come: [`Run`].
//!
//! In: the batches of the run's files, of the rows in groups only. Out: batches by the ranks of their rows. A run holds
//! the batches that the current chunk of keys needs, and no more.

use std::collections::VecDeque;
use std::ops::Range;

use arrow::array::{ArrayRef, RecordBatch};
use datafusion::common::utils::memory::get_record_batch_memory_size;
use futures::StreamExt;

use super::plan::CombinePlan;
use super::sequence::SequenceValues;
use crate::error::{Error, Result};
use crate::exec::merge::aggregate::Member;
use crate::file::BatchStream;

/// The rows in groups of a run.
pub struct Run {
    batches: BatchStream,
    loaded: VecDeque<Loaded>,
    /// The rank of the first row that is not loaded.
    next_rank: usize,
}

/// A batch that is held.
#[derive(Debug)]
pub struct Loaded {
    first_rank: usize,
    batch: RecordBatch,
    /// Of each sequence group that matters.
    sequences: Vec<SequenceValues>,
}

impl Run {
    /// A run whose batches begin with the row of rank `first_rank`.
    pub fn new(batches: BatchStream, first_rank: usize) -> Self {
        Self { batches, loaded: VecDeque::new(), next_rank: first_rank }
    }

    /// Loads batches up to the row before rank `end`.
    pub async fn load(&mut self, end: usize, plan: &CombinePlan) -> Result<()> {
        while self.next_rank < end {
            let batch = self.batches.next().await.transpose()?;
            let batch = batch.ok_or_else(|| Error::corrupt("a file has fewer rows than were merged"))?;
            let (first_rank, sequences) = (self.next_rank, plan.sequences(&batch)?);
            self.next_rank += batch.num_rows();
            self.loaded.push_back(Loaded { first_rank, batch, sequences });
        }
        Ok(())
    }

    /// The memory that the loaded batches hold, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.loaded.iter().map(|loaded| get_record_batch_memory_size(&loaded.batch)).sum()
    }

    /// Lets go of batches without rows of rank `begin` and above.
    pub fn release(&mut self, begin: usize) {
        while self.loaded.front().is_some_and(|l| l.first_rank + l.batch.num_rows() <= begin) {
            self.loaded.pop_front();
        }
    }
}

/// All batches that are held for a chunk of keys.
pub struct Inputs<'a> {
    batches: Vec<&'a Loaded>,
    /// Where the batches of each run begin.
    runs: Vec<usize>,
}

impl<'a> Inputs<'a> {
    /// The batches of runs.
    pub fn new(runs: &'a [Run]) -> Self {
        let mut inputs = Self { batches: vec![], runs: vec![] };
        for run in runs {
            inputs.runs.push(inputs.batches.len());
            inputs.batches.extend(&run.loaded);
        }
        inputs
    }

    /// A finder of rows.
    pub fn finder(&self) -> Finder<'_> {
        Finder { inputs: self, last: vec![Found::default(); self.runs.len()] }
    }

    /// The input that has the row of a rank of a run.
    fn find(&self, run: usize, rank: usize) -> Option<Found> {
        let begin = *self.runs.get(run)?;
        let end = self.runs.get(run + 1).copied().unwrap_or(self.batches.len());
        let batches = self.batches.get(begin..end)?;
        let at = batches.partition_point(|l| l.first_rank <= rank).checked_sub(1)?;
        let loaded = batches.get(at)?;
        // Rows are numbered by 32 bits.
        let rows = u32::try_from(loaded.batch.num_rows()).ok()? as usize;
        let ranks = loaded.first_rank..loaded.first_rank + rows;
        Some(Found { input: u32::try_from(begin + at).ok()?, ranks }).filter(|found| found.ranks.contains(&rank))
    }

    /// The sequences of a group in an input.
    pub fn sequences(&self, input: u32, group: usize) -> Option<&'a SequenceValues> {
        self.batches.get(input as usize)?.sequences.get(group)
    }

    /// The arrays of a column, one for each input.
    pub fn column(&self, at: usize) -> Result<Vec<ArrayRef>> {
        let column = |l: &&Loaded| l.batch.columns().get(at).cloned();
        let columns: Option<_> = self.batches.iter().map(column).collect();
        columns.ok_or_else(|| Error::internal(format!("a batch to combine has no column {at}")))
    }
}

/// An input, and the ranks of its rows.
#[derive(Debug, Clone, Default)]
struct Found {
    input: u32,
    ranks: Range<usize>,
}

/// Finds where rows of runs stand; those of a run are best asked for in their order.
pub struct Finder<'a> {
    inputs: &'a Inputs<'a>,
    /// What was found last in each run.
    last: Vec<Found>,
}

impl Finder<'_> {
    /// Where the row of a rank of a run stands.
    #[inline]
    pub fn member(&mut self, run: usize, rank: usize) -> Result<Member> {
        let lost = || Error::internal(format!("row {rank} of run {run} is not loaded"));
        let last = self.last.get_mut(run).ok_or_else(lost)?;
        if !last.ranks.contains(&rank) {
            *last = self.inputs.find(run, rank).ok_or_else(lost)?;
        }
        Ok(Member { input: last.input, row: (rank - last.ranks.start) as u32 })
    }
}
