//! What the output partitions of one execution share: [`ScanRun`], and the work that waits: [`WorkQueue`].
//!
//! In: the tasks of each output partition, when it is executed. Out: for each of them its next task. A partition that is at
//! the end of its own tasks takes over waiting ones of the partition that has most left, the last first, so that one slow
//! partition does not decide how long a query takes. Only tasks of partitions that are executed here are taken over: the
//! others may be executed elsewhere. Dropping a partition's stream drops its waiting tasks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use datafusion::execution::TaskContext;

use super::assign::ScanTask;
use crate::file::prefetch::{ReadAhead, ReadAheadSettings};

/// The tasks that no output partition has begun.
#[derive(Debug, Default)]
pub struct WorkQueue {
    /// Whether each output partition does just its own tasks, because order must be kept.
    own_only: AtomicBool,
    partitions: Mutex<BTreeMap<usize, VecDeque<ScanTask>>>,
}

impl WorkQueue {
    fn partitions(&self) -> MutexGuard<'_, BTreeMap<usize, VecDeque<ScanTask>>> {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next of an output partition's own tasks.
    pub fn next(&self, partition: usize) -> Option<ScanTask> {
        self.partitions().get_mut(&partition)?.pop_front()
    }

    /// The next task of an output partition that has nothing to do: its own, or another's.
    pub fn next_or_other(&self, partition: usize) -> Option<ScanTask> {
        let mut partitions = self.partitions();
        if let Some(own) = partitions.get_mut(&partition)?.pop_front() {
            return Some(own);
        }
        if self.own_only.load(Ordering::Relaxed) {
            return None;
        }
        let bytes = |tasks: &VecDeque<ScanTask>| tasks.iter().map(ScanTask::bytes).sum::<u64>();
        let slowest = partitions.values_mut().filter(|tasks| !tasks.is_empty()).max_by_key(|tasks| bytes(tasks))?;
        slowest.pop_back()
    }

    /// Drops what an output partition has not begun.
    pub fn leave(&self, partition: usize) {
        if let Some(tasks) = self.partitions().get_mut(&partition) {
            tasks.clear();
        }
    }
}

/// One execution of a scan.
#[derive(Debug)]
pub struct ScanRun {
    task: usize,
    /// The waiting tasks.
    pub work: WorkQueue,
    /// What all output partitions may read ahead.
    pub read_ahead: Arc<ReadAhead>,
}

/// The executions of a plan's node that are under way. A copy of the node has none.
#[derive(Debug, Default)]
pub struct ScanRuns {
    runs: Arc<Mutex<Vec<Weak<ScanRun>>>>,
}

impl Clone for ScanRuns {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl ScanRuns {
    /// Another handle on the same executions, for an output partition that is executed later.
    pub fn handle(&self) -> Self {
        Self { runs: Arc::clone(&self.runs) }
    }

    /// Executes an output partition with its tasks, together with others of the same task context. One that is executed
    /// again belongs to another execution; which of the two the partitions after it belong to cannot be told, so that
    /// nothing is taken over in either any more.
    pub fn join(
        &self,
        partition: usize,
        tasks: Vec<ScanTask>,
        context: &Arc<TaskContext>,
        settings: ReadAheadSettings,
        keeps_order: bool,
    ) -> Arc<ScanRun> {
        let task = Arc::as_ptr(context) as usize;
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|run| run.strong_count() > 0);
        let of_context = |run: &Arc<ScanRun>| run.task == task && !run.work.partitions().contains_key(&partition);
        let others = || runs.iter().filter_map(Weak::upgrade).filter(|run| run.task == task);
        let again = others().any(|run| run.work.partitions().contains_key(&partition));
        others().filter(|_| again).for_each(|run| run.work.own_only.store(true, Ordering::Relaxed));
        let own_only = AtomicBool::new(keeps_order || again);
        let run = runs.iter().filter_map(Weak::upgrade).find(of_context).unwrap_or_else(|| {
            let work = WorkQueue { own_only, ..WorkQueue::default() };
            let read_ahead = ReadAhead::new(settings, Some(context.memory_pool()));
            let run = Arc::new(ScanRun { task, work, read_ahead });
            runs.push(Arc::downgrade(&run));
            run
        });
        run.work.partitions().insert(partition, tasks.into());
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::assign::ScanUnit;
    use crate::spec::data_file::DataFileMeta;
    use crate::split::SplitFile;

    fn tasks(names: &[(&str, i64)]) -> Vec<ScanTask> {
        let task = |(name, size): &(&str, i64)| {
            let meta = Arc::new(DataFileMeta { file_size: *size, ..DataFileMeta::empty() });
            let file = SplitFile { path: (*name).to_owned(), meta, deletion: None, range: None };
            let (partition, bucket) = (Arc::from([].as_slice()), (0, 1));
            ScanTask::Read(ScanUnit { branch: None, partition, bucket, file, merge: None })
        };
        names.iter().map(task).collect()
    }

    fn name(task: Option<ScanTask>) -> String {
        match task {
            Some(ScanTask::Read(unit)) => unit.file.path,
            _ => String::new(),
        }
    }

    fn join(runs: &ScanRuns, partition: usize, names: &[(&str, i64)], context: &Arc<TaskContext>) -> Arc<ScanRun> {
        runs.join(partition, tasks(names), context, ReadAheadSettings::default(), false)
    }

    #[test]
    fn who_is_idle_takes_over_the_last_task_of_who_has_most_left() {
        let (runs, context) = (ScanRuns::default(), Arc::new(TaskContext::default()));
        let run = join(&runs, 0, &[("a", 1)], &context);
        assert_eq!((name(run.work.next_or_other(0)), name(run.work.next_or_other(0))), ("a".into(), String::new()));
        let same = join(&runs, 1, &[("b", 1), ("c", 1)], &context);
        join(&runs, 2, &[("d", 9)], &context);
        assert!(Arc::ptr_eq(&run, &same));
        assert!(run.work.next(0).is_none());
        assert_eq!(name(run.work.next_or_other(0)), "d");
        assert_eq!((name(run.work.next(1)), name(run.work.next_or_other(0))), ("b".into(), "c".into()));
        assert!([0, 1, 2].iter().all(|p| run.work.next_or_other(*p).is_none()));
    }

    #[test]
    fn executions_do_not_mix() {
        let (runs, context) = (ScanRuns::default(), Arc::new(TaskContext::default()));
        let first = join(&runs, 0, &[("a", 1)], &context);
        let again = join(&runs, 0, &[("a", 1)], &context);
        let other = join(&runs, 1, &[("b", 1)], &Arc::new(TaskContext::default()));
        assert!(!Arc::ptr_eq(&first, &again) && !Arc::ptr_eq(&first, &other));
        assert_eq!(name(other.work.next(1)), "b");
        assert!(other.work.next_or_other(1).is_none());
        first.work.leave(0);
        assert!(first.work.next(0).is_none());
        assert_eq!(name(again.work.next(0)), "a");
    }

    #[test]
    fn executions_that_cannot_be_told_apart_take_over_nothing() {
        let (runs, context) = (ScanRuns::default(), Arc::new(TaskContext::default()));
        let first = join(&runs, 0, &[], &context);
        let second = join(&runs, 0, &[], &context);
        // Whose partition this is may be the one's or the other's.
        let either = join(&runs, 1, &[("b", 1)], &context);
        assert!(Arc::ptr_eq(&first, &either));
        assert!(first.work.next_or_other(0).is_none() && second.work.next_or_other(0).is_none());
        assert_eq!(name(either.work.next_or_other(1)), "b");
    }
}
