//! What the output partitions of a scan do: [`Dealt`].
//!
//! In: splits and a wanted number of output partitions. Out: the tasks of each. Those of splits that are yet to be made
//! are dealt out when the first output partition is executed, away from the async runtime, so that planning a scan of
//! very many files costs nothing for each of them.

use std::sync::{Arc, OnceLock};

use datafusion::common::runtime::SpawnedTask;
use datafusion::common::stats::Precision;

use super::assign::{ScanTask, ScanTasks, ScanUnit};
use super::context::ScanSpec;
use super::order::FileOrder;
use crate::error::{Error, Result};
use crate::split::Splits;

/// The tasks of output partitions.
#[derive(Debug)]
pub struct Dealt {
    splits: Splits,
    spec: Arc<ScanSpec>,
    partitions: usize,
    tasks: OnceLock<Vec<Vec<ScanTask>>>,
    /// By which tasks that are yet to be dealt out are ordered.
    order: Option<FileOrder>,
}

/// What dealing out in an order gives.
#[derive(Debug)]
pub enum Ordered {
    /// The rows of each output partition come sorted.
    Sorted(Dealt),
    /// Each output partition begins with the files that may have the first rows.
    FirstFirst(Dealt),
    /// Nothing to begin with.
    Alike,
}

impl Dealt {
    /// Deals out splits to at most `target` output partitions.
    pub fn new(splits: Splits, spec: Arc<ScanSpec>, target: usize) -> Result<Self> {
        if let Some(summary) = splits.summary() {
            let partitions = target.min(summary.files).max(1);
            return Ok(Self { splits, spec, partitions, tasks: OnceLock::new(), order: None });
        }
        let tasks = ScanTasks::new(splits.get()?, &spec).assign(target);
        Ok(Self::of_tasks(splits, spec, tasks))
    }

    /// Tasks that were dealt out otherwise.
    pub fn of_tasks(splits: Splits, spec: Arc<ScanSpec>, tasks: Vec<Vec<ScanTask>>) -> Self {
        Self { splits, spec, partitions: tasks.len(), tasks: OnceLock::from(tasks), order: None }
    }

    /// The same tasks in an order, in as many output partitions. `whole` tells that the order is all that is asked for:
    /// only then rows may come sorted.
    pub fn ordered(&self, order: &FileOrder, whole: bool) -> Ordered {
        let dealt = |tasks| Self::of_tasks(self.splits.clone(), Arc::clone(&self.spec), tasks);
        let Some(tasks) = self.tasks.get().filter(|_| self.splits.summary().is_none()) else {
            let (splits, spec, order) = (self.splits.clone(), Arc::clone(&self.spec), Some(order.clone()));
            let later = Self { splits, spec, partitions: self.partitions, tasks: OnceLock::new(), order };
            return Ordered::FirstFirst(later);
        };
        if whole && let Some(tasks) = order.sorted(tasks) {
            return Ordered::Sorted(dealt(tasks));
        }
        order.helpful(tasks).map_or(Ordered::Alike, |tasks| Ordered::FirstFirst(dealt(tasks)))
    }

    /// How many output partitions there are; some may have nothing to do.
    pub fn len(&self) -> usize {
        self.partitions
    }

    /// The tasks of an output partition, if they are dealt out.
    pub fn ready(&self, partition: usize) -> Option<Vec<ScanTask>> {
        self.tasks.get().map(|tasks| tasks.get(partition).cloned().unwrap_or_default())
    }

    /// The tasks of an output partition.
    pub async fn later(self: Arc<Self>, partition: usize) -> Result<Vec<ScanTask>> {
        let dealing = SpawnedTask::spawn_blocking(move || {
            if let Some(tasks) = self.ready(partition) {
                return Ok(tasks);
            }
            let mut tasks = ScanTasks::new(self.splits.get()?, &self.spec).assign(self.partitions);
            if let Some(ordered) = self.order.as_ref().and_then(|order| order.helpful(&tasks)) {
                tasks = ordered;
            }
            let tasks = self.tasks.get_or_init(|| tasks);
            Ok(tasks.get(partition).cloned().unwrap_or_default())
        });
        dealing.await.unwrap_or_else(|e| Err(Error::internal("dealing out files was aborted").caused_by(e)))
    }

    /// All files that are read; none where their splits are yet to be made.
    pub fn units(&self) -> Vec<ScanUnit> {
        ScanTasks::new(self.splits.ready(), &self.spec).units().collect()
    }

    /// How many rows an output partition gives.
    pub fn rows_of(&self, partition: usize) -> Precision<usize> {
        if let Some(summary) = self.splits.summary() {
            return Precision::Inexact(summary.rows / self.partitions.max(1));
        }
        let tasks = self.tasks.get().and_then(|tasks| tasks.get(partition));
        let rows = tasks.map(|tasks| tasks.iter().map(ScanTask::rows).reduce(|a, b| a.add(&b)));
        rows.map_or(Precision::Absent, |rows| rows.unwrap_or(Precision::Exact(0)))
    }

    /// Whether rows are combined of several versions.
    pub fn combines(&self) -> bool {
        let tasks = self.tasks.get().filter(|_| self.splits.summary().is_none());
        tasks.is_some_and(|tasks| tasks.iter().flatten().any(|task| matches!(task, ScanTask::Combine(_))))
    }
}
